"""What Spark itself takes to read rows: a source in Python that makes its rows up, beside redis-py.

No queue in Spark can be read faster. Its rows have the columns of a queue, and need no server.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Any, Final

from .spark import JOBS, LENGTH, WARM, by_hand, session
from .turns import Pair
from .workbench import Measure, Workbench

__all__ = ["made_up"]

TOGETHER: Final = 10_000
"""Rows of an Arrow record batch."""

COLUMNS: Final = "position BIGINT, id STRING, value BINARY, enqueued TIMESTAMP, deliveries INT"


def made_up(rows: int) -> Measure:
    """Rows that are made up read a second, beside redis-py."""

    def measure(bench: Workbench) -> Generator[Pair]:
        count = bench.effort.scaled(rows)
        with session("local[*]") as spark:
            spark.dataSource.register(source())
            read(spark, WARM)
            for _ in bench.turns():
                yield Pair(read(spark, count), by_hand(JOBS["read"], bench, "redis-server", count))

    return measure


def read(spark: Any, rows: int) -> float:
    """Rows a second."""
    begun = time.perf_counter()
    parts = spark.sparkContext.defaultParallelism
    table = spark.read.format("made-up").options(rows=rows, partitions=parts).load()
    (size,) = table.selectExpr("sum(length(value))").first()
    assert size == rows * LENGTH, "rows were lost or doubled"
    return rows / (time.perf_counter() - begun)


def source() -> Any:
    """The data source."""
    import pyarrow as pa
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    class Reader(DataSourceReader):  # type: ignore[misc,unused-ignore]
        def __init__(self, rows: int, parts: int) -> None:
            self.edges = [rows * at // parts for at in range(parts + 1)]

        def partitions(self) -> list[InputPartition]:
            return [InputPartition(after - start) for start, after in pairwise(self.edges)]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            left = partition.value
            batch = record_batch(min(left, TOGETHER))
            while left:
                yield batch.slice(0, min(left, TOGETHER))
                left -= min(left, TOGETHER)

    def record_batch(rows: int) -> Any:
        columns = {
            "position": pa.array(range(rows), pa.int64()),
            "id": pa.nulls(rows, pa.string()),
            "value": pa.array([b"x" * LENGTH] * rows, pa.binary()),
            "enqueued": pa.nulls(rows, pa.timestamp("us", "UTC")),
            "deliveries": pa.repeat(pa.scalar(0, pa.int32()), rows),
        }
        return pa.RecordBatch.from_arrays([*columns.values()], [*columns])

    class MadeUp(DataSource):  # type: ignore[misc,unused-ignore]
        @classmethod
        def name(cls) -> str:
            return "made-up"

        def schema(self) -> str:
            return COLUMNS

        def reader(self, schema: Any) -> Reader:  # noqa: ARG002
            return Reader(int(self.options["rows"]), int(self.options["partitions"]))

    return MadeUp
