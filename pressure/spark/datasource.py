"""The data source named ``pressure``: the classes that Spark calls.

The modules that work on a queue do not import Spark. Spark creates these objects again in many processes, so
they have no state except options and the connections of the process.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import pyspark
from pyspark.sql import datasource
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from pressure.spark.columns import check_columns, checked, columns_of
from pressure.spark.errors import OptionError
from pressure.spark.options import OPTIONS, PUSHDOWN, Options, options_of
from pressure.spark.peeking import EVERY, Peek, Slice
from pressure.spark.places import new_id
from pressure.spark.server import QueueServer
from pressure.spark.streaming import ADMITS, StreamReader, arrow_schema
from pressure.spark.writing import StreamWriter, Writer

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
        if limits and not ADMITS:
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
            yield from batches_of(options, arrow_schema(self._schema), peek.read(part))


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
