"""The data source named ``pressure``: the classes that Spark calls.

The modules that work on a queue do not import Spark. Spark creates these objects again in many processes, so
they have no state except options and the connections of the process.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from inspect import signature
from typing import Any, Final

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

from pressure.spark.errors import OptionError
from pressure.spark.options import BYTES, ROWS, Options, options_of
from pressure.spark.payloads import batches_of, check_columns
from pressure.spark.peeking import Peek, Slice
from pressure.spark.places import new_id
from pressure.spark.server import QueueServer
from pressure.spark.source import Source, State, slices
from pressure.spark.writing import StreamWriter, Writer

#: Whether this Spark can limit the rows of a micro-batch, and supports ``availableNow`` for such sources.
_ADMITS: Final = hasattr(datasource.DataSourceStreamReader, "getDefaultReadLimit")

_VALUES: Final = {"binary": "BINARY", "text": "STRING"}
_COLUMNS: Final = "position BIGINT, id STRING, value {value}, enqueued TIMESTAMP, deliveries INT"
#: With malformed=keep: the bytes of a message that is not in the format, and why it is not.
_KEPT: Final = ", raw BINARY, reason STRING"


class PressureDataSource(DataSource):
    """A queue as a table and as a stream; see the README for its options and columns."""

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
        if options.format == "json" and options.schema is None:
            raise OptionError(
                "option schema is missing: the fields of a JSON message, such as 'user STRING, n INT'"
            )
        _check_server(options, reading=True)
        value = _VALUES.get(options.format) or f"STRUCT<{options.schema}>"
        return _COLUMNS.format(value=value) + (_KEPT if options.malformed == "keep" else "")

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for ``spark.read``."""
        if self._chosen.dead is not None:
            raise OptionError("option dead is for streams: a batch read takes nothing from its queue")
        return Reader(self._chosen, _checked(schema, self._chosen), self._table)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader for ``spark.readStream``."""
        if self._chosen.dead is not None:
            _check_server(replace(self._chosen, queue=self._chosen.dead, kind="pressure"))
        if not _ADMITS and (self._chosen.rows_per_batch or self._chosen.most_bytes):
            warnings.warn(
                f"with availableNow, Spark {pyspark.__version__} reads one batch, and so stops after that; "
                "leave rowsPerBatch and maxBytesPerBatch out to drain the queue, or use Spark 4.2 or newer",
                stacklevel=1,
            )
        _warn_of_weaknesses(self._chosen)
        return StreamReader(self._chosen, _checked(schema, self._chosen))

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
    server = QueueServer(replace(options, retry=0.0))
    try:
        server.check(reading=reading)
    finally:
        server.close()


def _warn_of_weaknesses(options: Options) -> None:
    server = QueueServer(replace(options, retry=0.0))
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


def _checked(schema: StructType, options: Options) -> StructType:
    """The schema. Raises OptionError if it is not that of the data source."""
    names = ["position", "id", "value", "enqueued", "deliveries"]
    names += ["raw", "reason"] if options.malformed == "keep" else []
    if schema.fieldNames() != names:
        raise OptionError(
            f"a queue has the columns {', '.join(names)}; leave out .schema(...), and give the fields of "
            "JSON messages as the option schema"
        )
    value = {"binary": "binary", "text": "string"}.get(options.format)
    if value is not None and schema["value"].dataType.simpleString() != value:
        raise OptionError(f"with format={options.format} the column value is {value}; leave out .schema(...)")
    return schema


def _check_writing(options: Options, schema: StructType) -> None:
    check_columns(options, {field.name: field.dataType.simpleString() for field in schema.fields})
    _check_server(options)


class Reader(DataSourceReader):
    """Reads a queue as a table, and leaves it unchanged."""

    def __init__(self, options: Options, schema: StructType, table: str) -> None:
        self._options = options
        self._schema = schema
        self._table = table

    def partitions(self) -> list[InputPartition]:
        """Slices of the queue as it is at this moment."""
        with Peek(self._options, self._table) as peek:
            return [InputPartition(each) for each in peek.plan()] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The record batches of one slice."""
        part: Slice | None = partition.value
        if part is None:
            return
        with Peek(self._options, self._table) as peek:
            yield from batches_of(self._options, _arrow(self._schema), peek.read(part))


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
    """Reads a queue as a stream: claims rows, reads them and acknowledges them."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._end: int | None = None

    @cached_property
    def _source(self) -> Source:
        return Source(self._options)

    def _offset(self, row: int) -> dict[str, Any]:
        return offset_of(self._options, self._source.state.id, row)

    def _row(self, offset: dict[str, Any]) -> int:
        """The row number in an offset. Raises RowsGoneError if the row is gone."""
        self._source.check(offset["stream"], offset["row"])
        return int(offset["row"])

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The first row that is not acknowledged, so rows that an earlier query claimed are redelivered."""
        return self._offset(self._source.state.first)

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:  # noqa: N802
        """Claim rows; returns the offset after them. Spark 4.2 and newer pass ``start`` and ``limit``."""
        row, (most, most_bytes) = None if start is None else self._row(start), self._limits(limit)
        if self._end is None and self._source.is_early(row):
            return self._offset(self._source.state.claimed if row is None else row)
        return self._offset(self._source.advance(row, most, self._end, most_bytes))

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

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """End the stream at the rows that are in the queue now."""
        self._end = self._source.state.claimed + self._source.waiting()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """The offset after the last row in the queue, for the query's progress."""
        return self._offset(self._source.state.claimed + self._source.waiting())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The rows between two offsets, in slices."""
        low, high = start["row"], end["row"]
        if low == high:
            return []
        self._row(start)
        self._row(end)
        low = max(low, self._source.state.renumbered)
        parts = slices(low, high, self._options.partitions) if low < high else []
        return [InputPartition((self._source.state, first, last)) for first, last in parts]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Record batches of one slice."""
        state, first, last = partition.value
        assert isinstance(state, State)
        source = Source(self._options)
        try:
            divert = partial(source.divert, state) if self._options.dead else None
            rows = source.read(state, first, last)
            yield from batches_of(self._options, _arrow(self._schema), rows, divert)
        finally:
            source.close()

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledge all rows before an offset."""
        self._source.acknowledge(end["row"], end["stream"])

    def stop(self) -> None:
        """Stop being the owner. Not every version of Spark calls this."""
        if "_source" in self.__dict__:
            self._source.release()


def offset_of(options: Options, stream: str, row: int) -> dict[str, Any]:
    """An offset: the row number and the id of the stream, and for ``finish`` the queues."""
    return {
        "pressure": options.queue, "kind": options.kind, "prefix": options.prefix or "",
        "stream": stream, "row": row, **({"dead": options.dead} if options.dead else {}),
    }  # fmt: skip
