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
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple, TypeAlias

from ..targets import NoRealRedisError, find_real_redis, free_port
from ..wire import RawConnection, encode
from .servers import durable, processor_seconds
from .turns import MissingError, Pair
from .workbench import Measure, Workbench

__all__ = ["ELEMENTS", "Cost", "loading", "replaying", "saving"]

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

STARTS: Final = 3
"""How often a start without data is measured: its time varies by more than that of some files."""


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
def loaded(program: str, folder: Path, *flags: str) -> Iterator[RawConnection]:
    """A client of a server that has loaded its files."""
    process, port = spawned(program, folder, *flags)
    try:
        with when_loaded(port, perf_counter() + PATIENCE) as connection:
            yield connection
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


class Cost(NamedTuple):
    """What a server has spent on its data.

    Attributes:
        seconds: of processor time: other work on the machine, and the disk that both use, do not count.
        memory: the most that was resident meanwhile, in proportion to what the same data took before.
    """

    seconds: float
    memory: float


class Before(NamedTuple):
    """What a server has used before something is measured."""

    seconds: float
    resident: int


def before(client: RawConnection) -> Before:
    """What it has used until now; the most that is resident counts from now on."""
    status(client).with_name("clear_refs").write_text("5")
    return Before(processor_seconds(client), resident(client))


def cost(client: RawConnection, since: Before) -> Cost:
    """What it has spent since then."""
    return Cost(processor_seconds(client) - since.seconds, resident(client, "VmHWM") / since.resident)


def resident(client: RawConnection, which: str = "VmRSS") -> int:
    """How much memory a server has, or has had at most."""
    return int(status(client).read_text().partition(f"{which}:")[2].split()[0])


def status(client: RawConnection) -> Path:
    """What the system tells of a server's process."""
    process = client.command("INFO", "server").partition(b"process_id:")[2].split()[0]
    path = Path("/proc", process.decode(), "status")
    if not path.exists():
        raise MissingError("no /proc on this system to read memory from")
    return path


def replaying(count: int, of: Callable[[Cost], float]) -> Measure:
    """What a server spends until it answers that has so many commands in its append-only file."""

    def measure(bench: Workbench) -> Generator[Pair]:
        real()
        file = b"".join(commands(bench.effort.scaled(count)))

        def once(program: str, folder: Path) -> float:
            parts = folder / "appendonlydir"
            parts.mkdir()
            (parts / "appendonly.aof.1.incr.aof").write_bytes(file)
            (parts / "appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
            with loaded(program, folder, *durable("everysec")) as client:
                return of(cost(client, Before(0.0, resident(client))))

        for _ in bench.turns():
            yield from each_side(once)

    return measure


def commands(count: int) -> Iterator[bytes]:
    yield encode("SELECT", "0")
    for number in range(count):
        name, key, *words = COMMANDS[number % len(COMMANDS)]
        yield encode(name, f"{key}:{number % KEYS}", *words, str(number))


def saving(count: int, element: Element, of: Callable[[Cost], float]) -> Measure:
    """What SAVE costs for a list of so many elements."""
    return of_snapshot(count, element, of, loads=False)


def loading(count: int, element: Element, of: Callable[[Cost], float]) -> Measure:
    """What it costs to load such a list, beyond a start without data."""
    return of_snapshot(count, element, of, loads=True)


def of_snapshot(count: int, element: Element, of: Callable[[Cost], float], *, loads: bool) -> Measure:
    def measure(bench: Workbench) -> Generator[Pair]:
        real()

        def once(program: str, folder: Path) -> float:
            flags = ("--dbfilename", "dump.rdb")
            with loaded(program, folder, *flags) as client:
                elements = map(element, range(bench.effort.scaled(count)))
                while piece := [*islice(elements, PIECE)]:
                    client.command("RPUSH", "list", *piece)
                full = before(client)
                if (reply := client.command("SAVE")) != b"+OK\r\n":
                    raise OSError(f"{program} does not save: {reply!r}")
                saved = cost(client, full)
            if not loads:
                return of(saved)
            start = median(start_without_data(program, folder) for _ in range(STARTS))
            with loaded(program, folder, *flags) as client:
                return of(cost(client, Before(start, full.resident)))

        for _ in bench.turns():
            yield from each_side(once)

    return measure


def start_without_data(program: str, folder: Path) -> float:
    """Seconds of processor time."""
    with loaded(program, folder, "--dbfilename", "none.rdb") as client:
        return processor_seconds(client)
