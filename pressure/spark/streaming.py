"""The part of the data source that reads queues as a stream."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from inspect import signature
from typing import Any, Final

from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pressure.spark.errors import OptionError
from pressure.spark.options import BYTES, ROWS, Options
from pressure.spark.source import Source, offset_of, offsets_in, slices

#: Whether this Spark can limit the rows of a micro-batch, and supports ``availableNow`` for such sources.
ADMITS: Final = hasattr(datasource.DataSourceStreamReader, "getDefaultReadLimit")
#: Spark 4.1 and newer require the time zone.
_ZONE: Final = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def arrow_schema(schema: StructType) -> Any:
    """The schema for Arrow."""
    return to_arrow_schema(schema, **_ZONE)


_Draining: Final[Any] = object
if ADMITS:
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
            yield from batches_of(options, arrow_schema(self._schema), rows, divert)
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
