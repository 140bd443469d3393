"""Queues: ``pressure`` against the documents' pseudocode, one command at a time, on one redis-server.

The other side is ``conformance.clients.textbook`` on redis-py. In these rows "ours" is ``pressure``.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from time import perf_counter
from typing import Any, Final

import redis

import pressure

from ..clients.textbook import Textbook
from .timing import samples
from .turns import Pair
from .workbench import Measure, Workbench

__all__ = [
    "VALUE",
    "beside_bare",
    "beside_multiprocessing",
    "between_processes",
    "between_processes_beside_multiprocessing",
    "in_the_shell",
    "many",
    "pairs",
    "queue_at",
    "rate",
]

VALUE: Final = b"x" * 10
KEY: Final = "__pressure__:bench"


@contextmanager
def queue_at(bench: Workbench, bound: int = 1000, **options: Any) -> Iterator[tuple[pressure.Queue, str]]:
    """A queue of ours on an empty server, and the server's URL."""
    url = f"redis://127.0.0.1:{bench.server('redis-server').port}/0"
    with pressure.Queue("bench", url=url, **options) as queue:
        queue.create(bound)
        yield queue, url


def pairs(*, scripts: bool) -> Measure:
    """Pairs of a put and a get, by one client."""

    def measure(bench: Workbench) -> Generator[Pair]:
        with queue_at(bench, scripts=scripts) as (queue, url), Textbook(url, KEY) as other:
            for _ in bench.turns():
                yield Pair(rate(bench, in_and_out(queue)), rate(bench, in_and_out(other)))

    return measure


def in_and_out(client: Any) -> Callable[[], None]:
    """One value through the queue."""

    def once() -> None:
        client.put(VALUE)
        client.get()

    return once


def rate(bench: Workbench, once: Callable[[], object], count: int = 1) -> float:
    """How often a second something is done that is done ``count`` times each time."""

    def timed() -> float:
        begin = perf_counter()
        once()
        return perf_counter() - begin

    times = samples(timed, bench.effort.seconds)
    return count * len(times) / sum(times)


def many(count: int, *, scripts: bool) -> Measure:
    """So many values at once, in and out."""

    def measure(bench: Workbench) -> Generator[Pair]:
        values = [VALUE] * count

        with queue_at(bench, scripts=scripts) as (queue, url), Textbook(url, KEY) as other:

            def once() -> None:
                queue.put_many(values)
                queue.get_many(count)

            for _ in bench.turns():
                yield Pair(rate(bench, once, count), rate(bench, in_and_out(other)))

    return measure


def beside_bare(put: bool) -> Measure:
    """Puts or gets of 100 bytes, beside redis-py's LPUSH or RPOP on the same server."""

    def measure(bench: Workbench) -> Generator[Pair]:
        value = b"x" * 100
        with queue_at(bench, 0) as (queue, url), redis.Redis.from_url(url) as other:
            ours: Callable[[], object] = partial(queue.put, value)
            theirs: Callable[[], object] = partial(other.lpush, "list", value)
            if not put:
                values = [value] * (1000 + int(40_000 * bench.effort.seconds * bench.effort.pairs))  # enough
                queue.put_many(values)
                other.lpush("list", *values)
                ours, theirs = queue.get, partial(other.rpop, "list")
            for _ in bench.turns():
                yield Pair(rate(bench, ours), rate(bench, theirs))

    return measure


def in_the_shell(bench: Workbench) -> Generator[Pair]:
    """Lines a second through ``pressure put`` and ``pressure get``, and through ``get --run 1``."""
    count = 1000 + bench.effort.scaled(int(19_000 * bench.effort.seconds))
    lines = b"".join(b"%d\n" % number for number in range(count))
    for _ in bench.turns():
        rates = []
        for options in ((), ("--run", "1")):
            with queue_at(bench, 0) as (_, url):
                begin = perf_counter()
                command = [sys.executable, "-m", "pressure", "--url", url]
                with subprocess.Popen(  # noqa: S603  (our own program)
                    [*command, "put", "bench", "--quiet", "--close"], stdin=subprocess.PIPE
                ) as source:
                    source.communicate(lines)
                get = [*command, "get", "bench", "--quiet", *options]
                out = subprocess.run(get, stdout=subprocess.PIPE, check=True).stdout  # noqa: S603
                rates.append(count / (perf_counter() - begin))
                assert out == lines
        yield Pair(*rates)


def beside_multiprocessing(bench: Workbench) -> Generator[Pair]:
    """Pairs beside those of ``multiprocessing.Queue``, which is for one machine and needs no server."""
    shared: Any = multiprocessing.Queue(1000)
    with queue_at(bench) as (queue, _), closing(shared) as other:
        for _ in bench.turns():
            yield Pair(rate(bench, in_and_out(queue)), rate(bench, in_and_out(other)))


#: What a process of its own does: puts so many values, once it is told to.
PRODUCE: Final = """
import sys
from conformance.clients.textbook import Textbook
import pressure

kind, url, count = sys.argv[1:]
client = Textbook(url, "__pressure__:bench") if kind == "textbook" else pressure.Queue("bench", url=url)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(count)):
    client.put(b"x" * 10)
"""


def between_processes(bound: int) -> Measure:
    """Values a second from one process to another."""

    def measure(bench: Workbench) -> Generator[Pair]:
        for _ in bench.turns():
            rates = []
            for kind in ("pressure", "textbook"):
                with queue_at(bench, bound) as (queue, url), Textbook(url, KEY) as other:
                    get = queue.get if kind == "pressure" else other.get
                    rates.append(through(kind, url, messages(bench), get))
            yield Pair(*rates)

    return measure


def messages(bench: Workbench) -> int:
    """How many go from process to process in a turn."""
    return 100 + bench.effort.scaled(int(2000 * bench.effort.seconds))


def between_processes_beside_multiprocessing(bench: Workbench) -> Generator[Pair]:
    """The same beside ``multiprocessing.Queue``."""
    for _ in bench.turns():
        count = messages(bench)
        with queue_at(bench, 1000) as (queue, url):
            ours = through("pressure", url, count, queue.get)
        yield Pair(ours, through_multiprocessing(count))


def through_multiprocessing(count: int) -> float:
    """Values a second that come out of a ``multiprocessing.Queue`` while another process puts them."""
    context = multiprocessing.get_context("spawn")
    shared, go = context.Queue(1000), context.Event()
    process = context.Process(target=produce, args=(shared, go, count), daemon=True)
    process.start()
    try:
        assert shared.get() == b"ready"
        begin = perf_counter()
        go.set()
        for _ in range(count):
            shared.get()
        return count / (perf_counter() - begin)
    finally:
        process.kill()
        process.join()
        shared.close()


def produce(shared: Any, go: Any, count: int) -> None:
    """What the other process does."""
    shared.put(b"ready")
    go.wait()
    for _ in range(count):
        shared.put(VALUE)


def through(kind: str, url: str, count: int, get: Callable[[], Any]) -> float:
    """Values a second that come out here while another process puts them."""
    command = [sys.executable, "-c", PRODUCE, kind, url, str(count)]
    with subprocess.Popen(  # noqa: S603  (our own program)
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            begin = perf_counter()
            process.stdin.write(b"go\n")
            process.stdin.flush()
            for _ in range(count):
                get()
            return count / (perf_counter() - begin)
        finally:
            process.kill()
