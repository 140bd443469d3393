"""What it takes to have the data back: files that a server reads when it starts, and writes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Final, TypeAlias

from ..targets import NoRealRedisError, find_real_redis, free_port
from ..wire import RawConnection, encode
from .model import Measure, MissingError, Pair
from .servers import durable, processor_seconds
from .workbench import Workbench

__all__ = ["ELEMENTS", "loading", "replaying", "saving"]

Element: TypeAlias = Callable[[int], str]
"""What stands in a list, by its index. Elements differ: redis-server compresses equal ones to nothing."""

ELEMENTS: Final[dict[str, Element]] = {
    "even texts": lambda number: f"job:{number:07}",
    "uneven texts": lambda number: f"job:{number:0{7 + number % 54}}",
    "integers": str,
}

PATIENCE: Final = 120.0
"""Seconds that a server may take to load."""

LOOK_AGAIN: Final = 0.005
"""Seconds between two questions whether it has."""

PIECE: Final = 1000
"""Elements that one command pushes."""

COMMANDS: Final = (("RPUSH", "list"), ("SET", "string"), ("HSET", "hash", "field"), ("SADD", "set"))
"""What an append-only file has, in turn; a number is put behind the key, and one more at the end."""

KEYS: Final = 10_000


def spawned(program: str, folder: Path, *flags: str) -> tuple[subprocess.Popen[bytes], int]:
    """A server that was started in a folder, and its port."""
    start = [sys.executable, "-m", "miniredis"] if program == "miniredis" else [str(real())]
    port = free_port()
    words = [*start, "--port", str(port), "--bind", "127.0.0.1", "--save", "", *flags]
    process = subprocess.Popen(  # noqa: S603  (ours, or found)
        words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return process, port


def real() -> Path:
    try:
        return find_real_redis()
    except NoRealRedisError as error:
        raise MissingError(str(error)) from None


@contextmanager
def loaded(program: str, folder: Path, *flags: str) -> Iterator[tuple[RawConnection, float]]:
    """A client of a server that has loaded its files, and the seconds since it was started."""
    begin = perf_counter()
    process, port = spawned(program, folder, *flags)
    try:
        with when_loaded(port, begin + PATIENCE) as connection:
            yield connection, perf_counter() - begin
    finally:
        process.kill()
        process.wait()


def when_loaded(port: int, deadline: float) -> RawConnection:
    while perf_counter() < deadline:
        with suppress(OSError):
            connection = RawConnection("127.0.0.1", port)
            if connection.command("PING") == b"+PONG\r\n":
                return connection
            connection.close()
        time.sleep(LOOK_AGAIN)
    raise OSError(f"a server has not loaded its files after {PATIENCE:g} s")


def each_side(measure: Callable[[str, Path], float]) -> Generator[Pair]:
    """A turn: of miniredis, then of redis-server, each in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-") as ours, tempfile.TemporaryDirectory() as theirs:
        yield Pair(measure("miniredis", Path(ours)), measure("redis-server", Path(theirs)))


def replaying(count: int) -> Measure:
    """Seconds until a server answers that has so many commands in its append-only file."""

    def measure(bench: Workbench) -> Generator[Pair]:
        real()
        file = b"".join(commands(bench.effort.scaled(count)))

        def once(program: str, folder: Path) -> float:
            parts = folder / "appendonlydir"
            parts.mkdir()
            (parts / "appendonly.aof.1.incr.aof").write_bytes(file)
            (parts / "appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
            with loaded(program, folder, *durable("everysec")) as (_, seconds):
                return seconds

        for _ in bench.turns():
            yield from each_side(once)

    return measure


def commands(count: int) -> Iterator[bytes]:
    yield encode("SELECT", "0")
    for number in range(count):
        name, key, *words = COMMANDS[number % len(COMMANDS)]
        yield encode(name, f"{key}:{number % KEYS}", *words, str(number))


def saving(count: int, element: Element) -> Measure:
    """Seconds that SAVE takes for a list of so many elements."""
    return of_snapshot(count, element, loads=False)


def loading(count: int, element: Element) -> Measure:
    """Seconds of processor time that loading such a list takes, beyond those of a start without data."""
    return of_snapshot(count, element, loads=True)


def of_snapshot(count: int, element: Element, *, loads: bool) -> Measure:
    def measure(bench: Workbench) -> Generator[Pair]:
        real()

        def once(program: str, folder: Path) -> float:
            flags = ("--dbfilename", "dump.rdb")
            with loaded(program, folder, *flags) as (client, _):
                without = processor_seconds(client)
                elements = map(element, range(bench.effort.scaled(count)))
                while piece := [*islice(elements, PIECE)]:
                    client.command("RPUSH", "list", *piece)
                begin = perf_counter()
                if (reply := client.command("SAVE")) != b"+OK\r\n":
                    raise OSError(f"{program} does not save: {reply!r}")
                saved = perf_counter() - begin
            if not loads:
                return saved
            with loaded(program, folder, *flags) as (client, _):
                return processor_seconds(client) - without

        for _ in bench.turns():
            yield from each_side(once)

    return measure
