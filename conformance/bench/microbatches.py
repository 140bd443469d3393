"""What a micro-batch from queue to queue takes, beside one of a source and a sink that do nothing.

Both are sources and sinks in Python, so each batch starts as many tasks and Python workers. What is left is
the work for the queues: rows are claimed, read, staged, moved and acknowledged.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Generator, Iterator
from typing import Any, Final

import pressure
import pressure.spark

from .spark import LENGTH, SOURCE, TARGET, filled, session, values_of
from .turns import MissingError, Pair
from .workbench import Measure, Workbench

__all__ = ["beside_nothing"]

BATCHES: Final = 50
"""Batches of a turn; Spark remembers the last hundred."""

WARM: Final = 3
"""The first ones, which start workers and are not counted."""


def beside_nothing(rows: int) -> Measure:
    """Milliseconds for a micro-batch of so many rows: the median of a query that has several."""

    def measure(bench: Workbench) -> Generator[Pair]:
        batches = WARM + bench.effort.scaled(BATCHES)
        with session("local[*]") as spark:
            idle = idle_source()
            spark.dataSource.register(idle)
            for _ in bench.turns():
                ours = queue_to_queue(spark, bench, rows, batches)
                nothing = {"rows": str(rows), "batches": str(batches)}
                yield Pair(ours, taken(spark, idle.name(), nothing, idle.name(), {}, batches))

    return measure


def queue_to_queue(spark: Any, bench: Workbench, rows: int, batches: int) -> float:
    """Milliseconds for a micro-batch."""
    with filled(bench, values_of(rows * batches)) as url, pressure.Queue(TARGET, url=url) as target:
        target.create(0)
        source = {"queue": SOURCE, "url": url, "rowsPerBatch": str(rows)}
        found = taken(spark, "pressure", source, "pressure", {"queue": TARGET, "url": url}, batches)
        assert target.length() == rows * batches, "rows were lost or doubled"
    return found


def taken(
    spark: Any, source: str, reading: dict[str, str], sink: str, writing: dict[str, str], batches: int
) -> float:
    """Milliseconds for a micro-batch of a query that drains its source."""
    table = spark.readStream.format(source).options(**reading).load().select("value")
    with tempfile.TemporaryDirectory() as checkpoint:
        query = table.writeStream.format(sink).options(**writing, checkpointLocation=checkpoint)
        query = query.trigger(availableNow=True).start()
        query.awaitTermination()
        if "url" in reading:
            pressure.spark.finish(query, reading["url"])
        found = [
            each["durationMs"]["triggerExecution"] for each in query.recentProgress if each["numInputRows"]
        ]
    assert len(found) == batches, f"{len(found)} batches, not {batches}"
    return float(statistics.median(found[WARM:]))


def idle_source() -> Any:
    """A data source whose rows are made at once, and whose sink forgets them.

    Raises:
        MissingError: This Spark does not limit the rows of a batch with ``availableNow``.
    """
    import pyarrow as pa
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceStreamArrowWriter,
        DataSourceStreamReader,
        InputPartition,
        WriterCommitMessage,
    )

    if not hasattr(DataSourceStreamReader, "getDefaultReadLimit"):
        raise MissingError("PySpark 4.2 or newer, which limits the rows of a batch with availableNow")
    from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow

    class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc,unused-ignore]
        def __init__(self, rows: int, batches: int) -> None:
            self.rows, self.last = rows, rows * batches

        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return {"row": 0}

        def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: ARG002, N802
            return {"row": min(start["row"] + self.rows, self.last)}

        def getDefaultReadLimit(self) -> Any:  # noqa: N802
            return ReadMaxRows(self.rows)

        def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
            return {"row": self.last}

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            pass

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
            return [InputPartition(end["row"] - start["row"])]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            value = pa.array([b"x" * LENGTH] * partition.value, pa.binary())
            yield pa.RecordBatch.from_arrays([value], ["value"])

        def commit(self, end: dict[str, int]) -> None:
            pass

    class Writer(DataSourceStreamArrowWriter):  # type: ignore[misc,unused-ignore]
        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            for _ in iterator:
                pass
            return WriterCommitMessage()

    class Idle(DataSource):  # type: ignore[misc,unused-ignore]
        @classmethod
        def name(cls) -> str:
            return "idle"

        def schema(self) -> str:
            return "value BINARY"

        def streamReader(self, schema: Any) -> Reader:  # noqa: ARG002, N802
            return Reader(int(self.options["rows"]), int(self.options["batches"]))

        def streamWriter(self, schema: Any, overwrite: bool) -> Writer:  # noqa: ARG002, N802
            return Writer()

    return Idle
