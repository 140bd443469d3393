"""Waits on a poller, and spins instead of sleeping while requests come quickly one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..clock import Machine

if TYPE_CHECKING:
    from .pollers import Poller

__all__ = ["SpinningPoller"]

AWAKE: Final = 0.0001
"""Seconds for which it spins before it sleeps: a wake-up takes as long as many requests."""

SOON: Final = 2 * AWAKE
"""It spins the next time if an event came within so many seconds."""


class SpinningPoller:
    """Waits for the sockets of a poller, and spins for a moment before it sleeps.

    It spins only while the process has one thread, because spinning would hold up other threads.

    Args:
        poller: watches the sockets.
        clock: returns seconds since some fixed point.
        is_alone: whether the process has no other thread.
    """

    def __init__(
        self,
        poller: Poller,
        clock: Callable[[], float] = Machine.perf_counter,
        is_alone: Callable[[], bool] = lambda: threading.active_count() == 1,
    ) -> None:
        self._poller = poller
        self._clock = clock
        self._is_alone = is_alone
        self._comes_soon = False

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """Returns the poller's events; waits about ``seconds`` for the first one."""
        look, clock = self._poller.wait, self._clock
        if not seconds:
            return look(0)
        begin = clock()
        if self._comes_soon and self._is_alone():
            while clock() < begin + AWAKE:
                if events := look(0):
                    return events
        events = look(seconds)
        self._comes_soon = clock() < begin + SOON
        return events
