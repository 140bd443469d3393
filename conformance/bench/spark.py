"""Queues in Spark, beside one process with redis-py and hiredis on the same server.

In these rows "ours" is Spark on this machine, with the processors that the row names; its start is not
counted, that of a query is. Each run checks that all rows came to where they belong.

To measure another job, add a function that does it, and a row to ``JOBS``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import redis

import pressure
import pressure.spark
from pressure.spark.sessions import QUIET

from ..histories.parquet.session import MissingSparkError
from ..histories.parquet.session import session as a_session
from .turns import MissingError, Pair
from .workbench import Measure, Workbench, by_turns

__all__ = ["JOBS", "beside_one_core", "beside_redis_py", "json_beside_bytes", "session"]

LENGTH: Final = 100
"""Bytes of a row."""

TOGETHER: Final = 1000
"""Rows that redis-py pushes or pops at a time."""

TEXT: Final = b"x" * 35
"""The text in a message of JSON, which has 100 bytes with it."""

WARM: Final = 2000
"""Rows of a run that nobody measures, before the others."""

SOURCE, TARGET, LIST, OTHER = "bench-source", "bench-target", "bench-list", "bench-other"


@dataclass(frozen=True, slots=True)
class Job:
    """What is measured.

    Attributes:
        title: what it is, for people.
        ours: does it in Spark, given a session, a server's URL, and how many rows.
        reference: what redis-py does meanwhile, for people.
        theirs: does that, given a client and the rows.
        filled: whether the queue is filled before it, and the list of redis-py.
    """

    title: str
    ours: Callable[[Any, str, int], None]
    reference: str
    theirs: Callable[[redis.Redis, list[bytes]], None]
    filled: bool


def write(spark: Any, url: str, rows: int) -> None:
    """Puts rows that Spark makes."""
    table = spark.range(rows).selectExpr(f"lpad(cast(id AS STRING), {LENGTH}, 'x') AS value")
    table.write.format("pressure").options(queue=TARGET, url=url).mode("append").save()


def read(spark: Any, url: str, rows: int) -> None:
    """Looks at all rows of the queue."""
    parts = spark.sparkContext.defaultParallelism
    table = spark.read.format("pressure").options(queue=SOURCE, url=url, partitions=parts).load()
    (size,) = table.selectExpr("sum(length(value))").first()
    assert size == rows * LENGTH, "rows were lost or doubled"


def through(spark: Any, url: str, rows: int) -> None:  # noqa: ARG001, it drains what there is
    """Drains one queue into another, as a stream."""
    given = {"queue": SOURCE, "url": url, "partitions": spark.sparkContext.defaultParallelism}
    table = spark.readStream.format("pressure").options(**given).load().select("value")
    with tempfile.TemporaryDirectory() as checkpoint:
        writing = table.writeStream.format("pressure").options(queue=TARGET, url=url)
        query = writing.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        pressure.spark.finish(query, url)


def rpush(client: redis.Redis, values: list[bytes]) -> None:
    for some in batched_values(values):
        client.rpush(LIST, *some)


def lpop(client: redis.Redis, values: list[bytes]) -> None:
    for some in batched_values(values):
        client.lpop(LIST, len(some))


def lpop_rpush(client: redis.Redis, values: list[bytes]) -> None:
    """Both halves of the way from queue to queue: rows are taken from one list and put into another."""
    for some in batched_values(values):
        taken: Any = client.lpop(LIST, len(some))
        client.rpush(OTHER, *taken)


def batched_values(values: list[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(values), TOGETHER):
        yield values[start : start + TOGETHER]


JOBS: Final[Mapping[str, Job]] = {
    "write": Job("staged write", write, f"RPUSH of {TOGETHER:,}", rpush, filled=False),
    "read": Job("read", read, f"LPOP of {TOGETHER:,}", lpop, filled=True),
    "through": Job("queue to queue", through, f"LPOP and RPUSH of {TOGETHER:,}", lpop_rpush, filled=True),
}
"""What is measured, by its name."""


def beside_redis_py(name: str, server: str, rows: int) -> Measure:
    """Rows a second, beside redis-py."""
    job = JOBS[name]

    def measure(bench: Workbench) -> Generator[Pair]:
        count = bench.effort.scaled(rows)
        with session("local[*]") as spark:
            in_spark(job, spark, bench, server, WARM)
            for _ in bench.turns():
                ours = in_spark(job, spark, bench, server, count)
                yield Pair(ours, by_hand(job, bench, server, count))

    return measure


def json_beside_bytes(rows: int) -> Measure:
    """Messages of JSON with four fields read a second, beside the same messages read as bytes."""

    def measure(bench: Workbench) -> Generator[Pair]:
        some = [json_message(at) for at in range(bench.effort.scaled(rows))]
        with session("local[*]") as spark, filled(bench, some) as url:
            given = {"queue": SOURCE, "url": url, "partitions": spark.sparkContext.defaultParallelism}
            json = {**given, "format": "json", "schema": "user STRING, n BIGINT, x DOUBLE, text STRING"}

            def read_as(what: Mapping[str, Any], summed: str, wanted: int) -> float:
                begun = time.perf_counter()
                table = spark.read.format("pressure").options(**what).load()
                (found,) = table.selectExpr(f"sum({summed})").first()
                assert found == wanted, "rows were lost or doubled"
                return len(some) / (time.perf_counter() - begun)

            def both() -> Pair:
                ours = read_as(json, "value.n", sum(range(len(some))))
                return Pair(ours, read_as(given, "length(value)", sum(map(len, some))))

            both()
            for _ in bench.turns():
                yield both()

    return measure


def json_message(number: int) -> bytes:
    return b'{"user": "user%07d", "n": %7d, "x": %7d.5, "text": "%s"}' % (number, number, number, TEXT)


@contextmanager
def filled(bench: Workbench, values: list[bytes]) -> Iterator[str]:
    """The URL of a Redis whose queue has these values."""
    url = f"redis://127.0.0.1:{bench.server('redis-server').port}"
    with pressure.Queue(SOURCE, url=url) as source:
        source.create(0)
        for some in batched_values(values):
            source.put_many(some)
        yield url


def beside_one_core(name: str, rows: int) -> Measure:
    """Rows a second on all processors, beside those on one of them."""
    job = JOBS[name]

    def side(bench: Workbench, master: str) -> float:
        with session(master) as spark:
            in_spark(job, spark, bench, "redis-server", WARM)
            return in_spark(job, spark, bench, "redis-server", bench.effort.scaled(rows))

    return by_turns(side, ("local[*]", "local[1]"))


@contextmanager
def session(master: str, settings: Mapping[str, str] = QUIET) -> Iterator[Any]:
    """The session that there is, or a new one, which ends with the block."""
    try:
        with a_session(master, settings) as spark:
            yield spark
    except MissingSparkError as error:
        raise MissingError(str(error)) from error


def in_spark(job: Job, spark: Any, bench: Workbench, server: str, rows: int) -> float:
    """Rows a second."""
    port = bench.server(server).port
    url = f"redis://127.0.0.1:{port}"
    with pressure.Queue(SOURCE, url=url) as source, pressure.Queue(TARGET, url=url) as target:
        source.create(0)
        target.create(0)
        if job.filled:
            for some in batched_values(values_of(rows)):
                source.put_many(some)
        begun = time.perf_counter()
        job.ours(spark, url, rows)
        taken = time.perf_counter() - begun
        where = source if job.ours is read else target
        assert where.length() == rows, "rows were lost or doubled"
    return rows / taken


def by_hand(job: Job, bench: Workbench, server: str, rows: int) -> float:
    """Rows a second."""
    values = values_of(rows)
    with redis.Redis(port=bench.server(server).port) as client:
        if job.filled:
            rpush(client, values)
        begun = time.perf_counter()
        job.theirs(client, values)
        return rows / (time.perf_counter() - begun)


def values_of(rows: int) -> list[bytes]:
    return [b"%0*d" % (LENGTH, number) for number in range(rows)]
