"""What the server's process takes for one more element, connection or blocked client.

A new server is started for each; the number is how much its resident memory grew, divided by how many there
are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from miniredis.testing.real_servers import NotInstalledError

from .crowds import allow_files, answered, blocked, idle
from .lists import fill
from .servers import RunningServer
from .turns import Pair
from .workbench import Measure, Workbench

__all__ = ["blocked_clients", "elements", "fill_with_strings", "idle_connections", "memory_per", "strings"]

PIECE: Final = 1000
"""Keys that one command sets."""

Load = Callable[[RunningServer, int], AbstractContextManager[object]]


def memory_per(load: Load, count: int, *, connections: bool = False) -> Measure:
    """Bytes of resident memory for each of what ``load`` has there while its context lasts."""

    def side(bench: Workbench, name: str) -> float:
        number = bench.effort.scaled(count)
        if connections:
            allow_files(number)
        with bench.fresh(name) as server:
            answered(server).close()
            before = server.resident_bytes()
            with load(server, number):
                return (server.resident_bytes() - before) / number

    def measure(bench: Workbench) -> Generator[Pair]:
        for _ in bench.turns():
            ours = side(bench, "miniredis")
            try:
                theirs = side(bench, "redis-server")
            except NotInstalledError:
                yield Pair(ours)
            else:
                yield Pair(ours, theirs)

    return measure


@contextmanager
def elements(server: RunningServer, count: int) -> Generator[None]:
    """A list of elements of 10 bytes, all different."""
    fill(server, "list", count)
    yield


@contextmanager
def strings(server: RunningServer, count: int) -> Generator[None]:
    """Keys with strings of 10 bytes, all different."""
    fill_with_strings(server, count)
    yield


def fill_with_strings(server: RunningServer, count: int) -> None:
    """Sets so many keys."""
    with server.connect() as client:
        for first in range(0, count, PIECE):
            numbers = range(first, min(first + PIECE, count))
            client.command("MSET", *(word for at in numbers for word in (f"key:{at}", f"{at:010}")))


idle_connections: Load = idle
"""Connections that were used once."""


def blocked_clients(server: RunningServer, count: int) -> AbstractContextManager[object]:
    """Clients blocked in BLPOP, each on a key of its own."""
    return blocked(server, count, "key:{}".format)
