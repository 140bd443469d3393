"""The data source named ``pressure``: the classes that Spark calls.

The modules that work on a queue do not import Spark. Spark creates these objects again in many processes, so
they have no state except options and the connections of the process.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from inspect import signature
from typing import Any, ClassVar, Final

import pyspark
from pyspark.sql import datasource
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pressure.spark.columns import check_columns, checked, columns_of
from pressure.spark.errors import OptionError
from pressure.spark.options import BYTES, OPTIONS, PUSHDOWN, ROWS, Options, options_of
from pressure.spark.peeking import EVERY, Peek, Slice
from pressure.spark.places import new_id
from pressure.spark.server import QueueServer
from pressure.spark.source import Source, offset_of, offsets_in, slices
from pressure.spark.writing import StreamWriter, Writer

#: Whether this Spark can limit the rows of a micro-batch, and supports ``availableNow`` for such sources.
_ADMITS: Final = hasattr(datasource.DataSourceStreamReader, "getDefaultReadLimit")
#: The options that an older one applies with ``availableNow``, too.
_LIMITS: Final = ("rowsPerBatch", "maxBytesPerBatch", "minRowsPerBatch")


class PressureDataSource(DataSource):
    """A queue as a table and as a stream; see the README for its options and columns."""

    _reader: ClassVar[type[Reader]]

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._chosen = options_of(options)
        self._table = new_id()

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "pressure"

    def schema(self) -> str:
        """The columns. Spark asks for them before it reads."""
        options = self._chosen
        if options.format == "json" and options.schema is None and not options.infer_schema:
            raise OptionError(
                "option schema is missing: the fields of a JSON message, such as 'user STRING, n INT'; "
                "inferSchema=true finds them in a sample"
            )
        _check_server(options, reading=True)
        if options.infer_schema:
            from pressure.spark.inferring import inferred

            options = options.but(schema=inferred(options))
        return ", ".join(map(" ".join, columns_of(options).items()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for ``spark.read``."""
        if self._chosen.dead is not None:
            raise OptionError("option dead is for streams: a batch read takes nothing from its queue")
        return self._reader(self._chosen, checked(schema, self._chosen), self._table)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader for ``spark.readStream``."""
        if self._chosen.dead is not None:
            _check_server(self._chosen.but(queue=self._chosen.dead, queues=(), kind="pressure"))
        limits = [name for name in _LIMITS if getattr(self._chosen, OPTIONS[name].field) is not None]
        if limits and not _ADMITS:
            warnings.warn(
                f"with availableNow, Spark {pyspark.__version__} reads one batch and stops, or none if "
                f"minRowsPerBatch has it wait; leave {' and '.join(limits)} out to drain the "
                "queue, or use Spark 4.2 or newer",
                stacklevel=1,
            )
        _warn_of_weaknesses(self._chosen)
        return StreamReader(self._chosen, checked(schema, self._chosen))

    def writer(self, schema: StructType, overwrite: bool) -> Writer:
        """The writer for ``df.write``."""
        if overwrite:
            raise OptionError("a queue cannot be overwritten; use mode('append')")
        _check_writing(self._chosen, schema)
        return Writer(self._chosen)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        """The writer for ``df.writeStream``."""
        if self._chosen.writer is not None:
            raise OptionError(
                "option writer is for batch writes; leave it out: a stream is identified by its checkpoint"
            )
        if overwrite:
            raise OptionError(
                "a queue cannot be written with outputMode('complete'); use 'append' or 'update'"
            )
        _check_writing(self._chosen, schema)
        if self._chosen.delivery == "exactly_once":
            _warn_of_weaknesses(self._chosen)
        return StreamWriter(self._chosen)


def _check_server(options: Options, *, reading: bool = False) -> None:
    for each in options.each:
        server = QueueServer(each.but(retry=0.0))
        try:
            server.check(reading=reading)
        finally:
            server.close()


def _warn_of_weaknesses(options: Options) -> None:
    server = QueueServer(options.but(retry=0.0))
    try:
        if found := server.weaknesses():
            warnings.warn(
                f"queue {server.places.keys}: exactly once is as strong as its server, which has {found}; "
                "set appendonly yes, appendfsync always and maxmemory-policy noeviction, or see the guide "
                "for what a power loss may cost",
                stacklevel=2,
            )
    finally:
        server.close()


def _check_writing(options: Options, schema: StructType) -> None:
    if options.queues or options.include_queue:
        raise OptionError("options queues and includeQueue are for reading; a table is written to one queue")
    check_columns(options, {field.name: field.dataType.simpleString() for field in schema.fields})
    _check_server(options)


class Reader(DataSourceReader):
    """Reads a queue as a table, and leaves it unchanged."""

    def __init__(self, options: Options, schema: StructType, table: str) -> None:
        self._options = options
        self._schema = schema
        self._table = table
        self._within = EVERY

    def partitions(self) -> list[InputPartition]:
        """Slices of the queue as it is at this moment."""
        found = [(each, part) for each in self._options.each for part in self._plan(each)]
        return [InputPartition(each) for each in found] or [InputPartition(None)]

    def _plan(self, options: Options) -> list[Slice]:
        with Peek(options, self._table) as peek:
            return peek.plan(self._within)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The record batches of one slice."""
        from pressure.spark.payloads import batches_of

        if partition.value is None:
            return
        options, part = partition.value
        with Peek(options, self._table) as peek:
            yield from batches_of(options, _arrow(self._schema), peek.read(part))


class FilteringReader(Reader):
    """Reads only the positions that a query asks for."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:  # noqa: N802
        """Note what filters say of the position. Spark applies all of them, too."""
        for each in filters:
            bound = _BOUNDS.get(type(each).__name__)
            value = getattr(each, "value", None)
            values = value if isinstance(value, tuple | list) else (value,)
            if bound and each.attribute == ("position",) and all(isinstance(one, int) for one in values):
                low, high = bound(values)
                self._within = max(self._within[0], low), min(self._within[1], high)
        return filters


#: The first position that a filter lets through, and the one after the last, by the values of the filter.
_BOUNDS: Final[dict[str, Callable[[Sequence[int]], tuple[float, float]]]] = {
    "EqualTo": lambda values: (values[0], values[0] + 1),
    "EqualNullSafe": lambda values: (values[0], values[0] + 1),
    "In": lambda values: (min(values), max(values) + 1),
    "GreaterThan": lambda values: (values[0] + 1, EVERY[1]),
    "GreaterThanOrEqual": lambda values: (values[0], EVERY[1]),
    "LessThan": lambda values: (0, values[0]),
    "LessThanOrEqual": lambda values: (0, values[0] + 1),
}

PressureDataSource._reader = Reader


class FilteringDataSource(PressureDataSource):
    """The same for a Spark that passes filters; another one would refuse it."""

    _reader = FilteringReader


def data_source_for(spark: Any) -> type[PressureDataSource]:
    """The data source for a session."""
    filters = hasattr(datasource, "Filter") and spark.conf.get(PUSHDOWN, "false") == "true"
    return FilteringDataSource if filters else PressureDataSource


#: Spark 4.1 and newer require the time zone.
_ZONE: Final = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def _arrow(schema: StructType) -> Any:
    return to_arrow_schema(schema, **_ZONE)


_Draining: Final[Any] = object
if _ADMITS:
    from pyspark.sql.streaming.datasource import (  # type: ignore[import-not-found,unused-ignore]
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    _Draining = SupportsTriggerAvailableNow  # type: ignore[misc]


class StreamReader(DataSourceStreamReader, _Draining):
    """Reads queues as one stream: claims rows, reads them and acknowledges them."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._ends: dict[str, int] = {}
        self._batch_at = time.monotonic()

    @cached_property
    def _sources(self) -> dict[str, Source]:
        """Each queue by its name."""
        return {each.queue: Source(each) for each in self._options.each}

    def _offset(self, rows: Mapping[str, int]) -> dict[str, Any]:
        found = {name: offset_of(source, rows[name]) for name, source in self._sources.items()}
        return {"pressure": found} if self._options.queues else found[self._options.queue]

    def _told(self, offset: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The offsets of the queues in an offset. Raises OptionError for a queue that the options lack."""
        told = offsets_in(offset)
        if gone := sorted(told.keys() - self._sources.keys()):
            raise OptionError(
                f"the checkpoint has rows of {', '.join(map(repr, gone))}, which the option queues does not "
                "name; add it, or finish the query and start with a new checkpoint"
            )
        return told

    def _rows(self, offset: dict[str, Any]) -> dict[str, int]:
        """The row of each queue in an offset; of a new queue, its first. Raises RowsGoneError."""
        told = self._told(offset)
        for name, source in self._sources.items():
            if name in told:
                source.check(told[name]["stream"], told[name]["row"])
            else:  # Spark knows no row of it
                source.compare(source.state.id, source.state.first)
        return {name: each.state.first for name, each in self._sources.items()} | {
            name: int(each["row"]) for name, each in told.items()
        }

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The first row that is not acknowledged, so rows that an earlier query claimed are redelivered."""
        return self._offset({name: each.state.first for name, each in self._sources.items()})

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:  # noqa: N802
        """Claim rows; returns the offset after them. Spark 4.2 and newer pass ``start`` and ``limit``."""
        rows: Mapping[str, int | None] = dict.fromkeys(self._sources) if start is None else self._rows(start)
        if self._is_early(rows):
            claimed = {name: each.state.claimed for name, each in self._sources.items()}
            return self._offset(claimed | {name: row for name, row in rows.items() if row is not None})
        self._batch_at = time.monotonic()
        return self._offset(self._claim(rows, *self._limits(limit)))

    def _is_early(self, rows: Mapping[str, int | None]) -> bool:
        """Whether there are fewer rows than ``minRowsPerBatch``, and ``maxBatchDelay`` has not passed."""
        options = self._options
        if options.min_rows is None or self._ends:
            return False
        found = sum(self._sources[name].unread(row) for name, row in rows.items())
        return found < options.min_rows and time.monotonic() - self._batch_at < options.max_delay

    def _claim(
        self, rows: Mapping[str, int | None], most: int | None, most_bytes: int | None
    ) -> dict[str, int]:
        """Claim rows of each queue. The shortest is first: what it leaves of its share is for the others."""
        names, found = [*rows], dict[str, int]()
        if len(names) > 1:
            names.sort(key=lambda name: self._sources[name].unread(rows[name]))
        for at, name in enumerate(names):
            source, row = self._sources[name], rows[name]
            base = source.state.claimed if row is None else row
            share = None if most is None else most // (len(names) - at)
            part = None if most_bytes is None else max(1, most_bytes // len(names))
            found[name] = source.advance(row, share, self._ends.get(name), part)
            most = None if most is None else most - (found[name] - base)
        return found

    def _limits(self, limit: Any) -> tuple[int | None, int | None]:
        """The most rows and bytes of a micro-batch; None for no limit."""
        options = self._options
        if limit is None:
            return options.rows_per_batch, options.most_bytes
        most = getattr(limit, "max_rows", None)  # a query that is triggered once has none
        return most, None if most is None else options.most_bytes or BYTES

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """The most rows of a micro-batch."""
        return ReadMaxRows(self._options.rows_per_batch or ROWS)

    def _last(self) -> dict[str, int]:
        return {name: each.state.claimed + each.waiting() for name, each in self._sources.items()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """End the stream at the rows that are in the queues now."""
        self._ends = self._last()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """The offset after the last row in each queue, for the query's progress."""
        return self._offset(self._last())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The rows between two offsets, in slices."""
        if start == end:
            return []
        low, high = self._rows(start), self._rows(end)
        found = []
        for name, source in self._sources.items():
            first = max(low[name], source.state.renumbered)
            parts = slices(first, high[name], self._options.partitions) if first < high[name] else []
            found += [InputPartition((source.options, source.state, *part)) for part in parts]
        return found

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Record batches of one slice."""
        from pressure.spark.payloads import batches_of

        options, state, first, last = partition.value
        source = Source(options)
        try:
            divert = partial(source.divert, state) if options.dead else None
            rows = source.read(state, first, last)
            yield from batches_of(options, _arrow(self._schema), rows, divert)
        finally:
            source.close()

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledge all rows before an offset."""
        for name, each in self._told(end).items():
            self._sources[name].compare(each["stream"], each["row"])
            self._sources[name].acknowledge(each["row"], each["stream"], each.get("dead"))

    def stop(self) -> None:
        """Stop being the owner. Not every version of Spark calls this."""
        for each in self.__dict__.get("_sources", {}).values():
            each.release()
