"""Whether keys that expire hold up those who work.

Many keys expire, spread evenly over the time of a run, while one client sends GET and SET in turn and waits
for each reply. The slowest of its requests are compared with those of a run in which as many never expire.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from itertools import cycle
from time import perf_counter
from typing import Final

from ..wire import encode
from .servers import RunningServer
from .timing import percentile, receive_exactly, samples
from .turns import Pair
from .workbench import Measure, Workbench

__all__ = ["slowest_while_expiring"]

PIECE: Final = 500
"""Keys that are set with one write."""

HEAD_START: Final = 5e-6
"""Seconds for each key until the first expires: setting them takes a while."""


def slowest_while_expiring(count: int) -> Measure:
    """The 99th percentile of GET and SET, in microseconds, with keys that expire; and without."""

    def measure(bench: Workbench) -> Generator[Pair]:
        number = bench.effort.scaled(count)

        def side(*, expiring: bool) -> float:
            server = bench.server("miniredis")
            first = time.time() + number * HEAD_START
            set_keys(server, number, first, bench.effort.seconds if expiring else 0)
            time.sleep(max(first - time.time(), 0))
            return percentile(request_times(server, bench.effort.seconds), 99) * 1e6

        for _ in bench.turns():
            yield Pair(side(expiring=True), side(expiring=False))

    return measure


def set_keys(server: RunningServer, count: int, first: float, spread: float) -> None:
    """Sets keys that expire evenly from a moment on, for so many seconds; never if that is 0."""
    with server.connect() as connection:
        for begin in range(0, count, PIECE):
            piece = range(begin, min(begin + PIECE, count))
            connection.socket.sendall(b"".join(set_key(number, count, first, spread) for number in piece))
            for _ in piece:
                connection.reply()


def set_key(number: int, count: int, first: float, spread: float) -> bytes:
    if not spread:
        return encode("SET", f"doomed:{number}", "x")
    moment = first + spread * number / count
    return encode("SET", f"doomed:{number}", "x", "PXAT", str(int(moment * 1000)))


def request_times(server: RunningServer, seconds: float) -> list[float]:
    """Seconds of each GET and SET of one client."""
    with server.connect() as connection:
        set_it, get_it = (encode("SET", "key", "xxx"), b"+OK\r\n"), (encode("GET", "key"), b"$3\r\nxxx\r\n")
        turns = cycle((set_it, get_it))

        def once() -> float:
            request, reply = next(turns)
            begin = perf_counter()
            connection.socket.sendall(request)
            receive_exactly(connection.socket, len(reply))
            return perf_counter() - begin

        return samples(once, seconds)
