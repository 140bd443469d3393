"""Whether work at the ends of a list takes longer, the longer the list is.

The number of each side is a quotient: the time of the same commands on a long list to that on a short one. 1
is flat. A batch of commands, which leaves the list as it was, is sent at once by one client, and timed until
its last reply; batches on the long list and on the short one alternate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Final

from ..wire import RawConnection, encode
from .servers import RunningServer
from .timing import samples
from .workbench import Measure, Workbench, by_turns

__all__ = ["NEAR_ENDS", "growth"]

SHORT: Final = 100
BATCH: Final = 50
"""How often the commands are repeated in a batch."""

PIECE: Final = 1000

Words = tuple[str, ...]

NEAR_ENDS: Final[Mapping[str, tuple[Words, ...]]] = {
    "lpush-rpop": (("LPUSH", "x"), ("RPOP",)),
    "lrem": (("LPUSH", "y"), ("LREM", "1", "y"), ("RPUSH", "y"), ("LREM", "-1", "y")),
    "lindex": (("LINDEX", "3"), ("LINDEX", "-3")),
    "ltrim": (("LPUSH", "y"), ("LTRIM", "1", "-1"), ("RPUSH", "y"), ("LTRIM", "0", "-2")),
    "linsert": (("LPUSH", "y"), ("LINSERT", "BEFORE", "y", "z"), ("LPOP",), ("LPOP",)),
}
"""Commands without their key; played in order they leave a list as it was."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Commands to be sent at once, and how many replies there will be."""

    data: bytes
    replies: int

    @classmethod
    def on(cls, key: str, commands: tuple[Words, ...]) -> Batch:
        """The commands on a key, many times."""
        once = b"".join(encode(name, key, *rest) for name, *rest in commands)
        return cls(once * BATCH, len(commands) * BATCH)

    def play(self, connection: RawConnection) -> float:
        """How many seconds it takes."""
        begin = perf_counter()
        connection.socket.sendall(self.data)
        for _ in range(self.replies):
            connection.reply()
        return perf_counter() - begin


def growth(commands: tuple[Words, ...], length: int) -> Measure:
    """How many times as long the commands take on a list of a length as on a short one."""

    def side(bench: Workbench, name: str) -> float:
        server = bench.server(name)
        fill(server, "long", bench.effort.scaled(length))
        fill(server, "short", SHORT)
        with server.connect() as connection:
            once = times_as_long(connection, Batch.on("long", commands), Batch.on("short", commands))
            return median(samples(once, bench.effort.seconds))

    return by_turns(side)


def times_as_long(connection: RawConnection, long: Batch, short: Batch) -> Callable[[], float]:
    return lambda: long.play(connection) / short.play(connection)


def fill(server: RunningServer, key: str, length: int) -> None:
    """Has a list of so many different elements there."""
    with server.connect() as connection:
        for begin in range(0, length, PIECE):
            numbers = range(begin, min(begin + PIECE, length))
            connection.command("RPUSH", key, *(f"{number:010d}" for number in numbers))
