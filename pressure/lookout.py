"""Looks for a reply for a moment before it sleeps, where replies come quickly one after the other.

To be woken up takes a processor about as long as a server needs for a step: 50 to 100 us.
The flavours with coroutines sleep at once, since their loops have other tasks to run meanwhile.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final

#: Seconds in which to look before sleeping.
AWAKE: Final = 0.0001
#: It looks for the next reply if the last one came within so many seconds.
SOON: Final = 2 * AWAKE


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


PROCESSORS: Final = _processors()


def nobody_waits() -> bool:
    """Whether looking holds up neither another thread nor, on the same processor, the server."""
    return threading.active_count() == 1 < PROCESSORS


class Lookout:
    """Reads the beginning of each reply that comes through a socket.

    Args:
        receive: Sleeps until there is something to read, and reads it into a buffer.
        look: Whether there is something to read now; called with 0.
        clock: Seconds since some fixed point.
        may_look: Whether it may look for a moment.
    """

    __slots__ = ("_clock", "_comes_soon", "_look", "_may_look", "_receive")

    def __init__(
        self,
        receive: Callable[[bytearray], int],
        look: Callable[[int], object],
        clock: Callable[[], float] = time.perf_counter,
        may_look: Callable[[], bool] = nobody_waits,
    ) -> None:
        self._receive, self._look, self._clock, self._may_look = receive, look, clock, may_look
        self._comes_soon = False

    def recv_into(self, buffer: bytearray) -> int:
        """Read as ``receive`` does; what that raises is raised, and the next read sleeps at once."""
        look, clock = self._look, self._clock
        begin = clock()
        if self._comes_soon and self._may_look():
            while not look(0) and clock() < begin + AWAKE:
                pass
        self._comes_soon = False
        size = self._receive(buffer)
        self._comes_soon = clock() < begin + SOON
        return size


def first_read(sock: Any) -> Callable[[bytearray], int]:
    """How to read the beginning of a reply from a socket: by a ``Lookout``, if a poll can tell that it came.

    It cannot where TLS has deciphered something already, or within one process without real sockets.
    """
    if type(sock) is not socket.socket:
        return sock.recv_into  # type: ignore[no-any-return]
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return Lookout(sock.recv_into, poll.poll).recv_into
