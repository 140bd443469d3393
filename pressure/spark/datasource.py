"""The data source named ``pressure``: what of it Spark calls.

Everything that touches a queue is in modules that do not know Spark. Spark makes these objects anew in many
processes, so they hold nothing but options, and what a process has open.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
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

from pressure.spark.asking import Asking
from pressure.spark.errors import OptionError
from pressure.spark.options import ROWS, Options, options_of
from pressure.spark.payloads import batches_of, check_columns
from pressure.spark.peeking import Peek, Slice
from pressure.spark.source import Source, State, slices
from pressure.spark.writing import StreamWriter, Writer

__all__ = ["PressureDataSource", "offset_of"]

#: From this version on Spark asks for a stream in parts, and can drain one.
_ADMITS: Final = hasattr(datasource.DataSourceStreamReader, "getDefaultReadLimit")

_VALUES: Final = {"binary": "BINARY", "text": "STRING"}
_COLUMNS: Final = "position BIGINT, id STRING, value {value}, enqueued TIMESTAMP, deliveries INT"


class PressureDataSource(DataSource):
    """A queue as a table and as a stream; see the README for its options and columns."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._chosen = options_of(options)

    @classmethod
    def name(cls) -> str:
        """What ``format`` is told."""
        return "pressure"

    def schema(self) -> str:
        """The columns; asked for before anything is read."""
        options = self._chosen
        if options.format == "json" and options.schema is None:
            raise OptionError(
                "option schema is missing: the fields of a JSON message, such as 'user STRING, n INT'"
            )
        _check_server(options)
        value = _VALUES.get(options.format) or f"STRUCT<{options.schema}>"
        return _COLUMNS.format(value=value)

    def reader(self, schema: StructType) -> DataSourceReader:
        """For ``spark.read``."""
        return Reader(self._chosen, _checked(schema, self._chosen))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """For ``spark.readStream``."""
        if not _ADMITS and self._chosen.rows_per_batch is not None:
            warnings.warn(
                f"with availableNow, Spark {pyspark.__version__} reads one batch, and so stops after "
                f"rowsPerBatch={self._chosen.rows_per_batch} rows; leave that out to drain the queue, "
                "or use Spark 4.2 or newer",
                stacklevel=1,
            )
        return StreamReader(self._chosen, _checked(schema, self._chosen))

    def writer(self, schema: StructType, overwrite: bool) -> Writer:
        """For ``df.write``."""
        if overwrite:
            raise OptionError("a queue cannot be overwritten; use mode('append')")
        _check_writing(self._chosen, schema)
        return Writer(self._chosen)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        """For ``df.writeStream``."""
        if self._chosen.writer is not None:
            raise OptionError(
                "option writer is for batch writes; leave it out: a stream is identified by its checkpoint"
            )
        if overwrite:
            raise OptionError(
                "a queue cannot be written with outputMode('complete'); use 'append' or 'update'"
            )
        _check_writing(self._chosen, schema)
        return StreamWriter(self._chosen)


def _check_server(options: Options) -> None:
    asking = Asking(options)
    try:
        asking.check()
    finally:
        asking.close()


def _checked(schema: StructType, options: Options) -> StructType:
    """Raises OptionError for a schema that is another than ours."""
    names = ["position", "id", "value", "enqueued", "deliveries"]
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
    """Looks at a queue."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """Slices of the queue as it is now."""
        with Peek(self._options) as peek:
            return [InputPartition(each) for each in peek.plan()] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Record batches of one slice."""
        part: Slice | None = partition.value
        if part is None:
            return
        with Peek(self._options) as peek:
            yield from batches_of(self._options, _arrow(self._schema), peek.read(part))


#: What 4.1 and newer have to be told.
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
    """Claims rows of a queue, reads them, acknowledges them."""

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
        """The row that an offset stands for; raises RowsGoneError if it is not there."""
        self._source.check(offset["stream"], offset["row"])
        return int(offset["row"])

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The first row that is not acknowledged: what an earlier query left comes again."""
        return self._offset(self._source.state.first)

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:  # noqa: N802
        """Claim rows; Spark from 4.2 on says from where on and how many."""
        most = getattr(limit, "max_rows", None) if limit is not None else self._options.rows_per_batch
        return self._offset(
            self._source.advance(None if start is None else self._row(start), most, self._end)
        )

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """How many rows a batch has at most."""
        return ReadMaxRows(self._options.rows_per_batch or ROWS)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there now is what there is to do."""
        self._end = self._source.state.claimed + self._source.waiting()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """How far the queue goes, for the query's progress."""
        return self._offset(self._source.state.claimed + self._source.waiting())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Slices of the rows between two offsets."""
        low, high = start["row"], end["row"]
        if low == high:
            return []
        self._row(start)
        self._row(end)
        parts = slices(low, high, self._options.partitions)
        return [InputPartition((self._source.state, first, last)) for first, last in parts]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Record batches of one slice."""
        state, first, last = partition.value
        assert isinstance(state, State)
        source = Source(self._options)
        try:
            yield from batches_of(self._options, _arrow(self._schema), source.read(state, first, last))
        finally:
            source.close()

    def commit(self, end: dict[str, Any]) -> None:
        """Be done with all rows before an offset."""
        self._source.acknowledge(end["row"], end["stream"])

    def stop(self) -> None:
        """Stop being the owner; not every version of Spark says so."""
        if "_source" in self.__dict__:
            self._source.release()


def offset_of(options: Options, stream: str, row: int) -> dict[str, Any]:
    """An offset: a row of a stream, and which queue's stream that is, for ``finish``."""
    return {
        "pressure": options.queue, "kind": options.kind, "prefix": options.prefix or "",
        "stream": stream, "row": row,
    }  # fmt: skip
