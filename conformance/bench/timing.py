"""Times of something small that is done again and again."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final

__all__ = ["percentile", "receive_exactly", "samples"]

WARM_UP: Final = 20
FEWEST: Final = 20
"""Samples that are taken however long they take."""


def samples(once: Callable[[], float], seconds: float) -> list[float]:
    """What something tells each time it is done, for so many seconds, once it is warm."""
    for _ in range(WARM_UP):
        once()
    found: list[float] = []
    end = perf_counter() + seconds
    while len(found) < FEWEST or perf_counter() < end:
        found.append(once())
    return found


def percentile(values: Sequence[float], percent: float) -> float:
    """The least value that so many percent of all do not exceed."""
    return sorted(values)[max(math.ceil(len(values) * percent / 100) - 1, 0)]


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    """The next bytes of a reply whose length is known.

    Raises:
        ConnectionError: the server hung up.
    """
    data = connection.recv(size)
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("the server hung up")
        data += more
    return data
