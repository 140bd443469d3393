"""Waiting on a poller without going to sleep between requests that come quickly one after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .pollers import Poller

__all__ = ["SpinningPoller"]

AWAKE: Final = 0.0001
"""Seconds for which it polls before it sleeps: a wake-up takes as long as many requests."""

SOON: Final = 2 * AWAKE
"""Seconds within which an event must have come for it to spin the next time."""


class SpinningPoller:
    """Waits for what a poller holds.

    It spins only while the process has one thread, as any other thread would have to wait for it.

    Args:
        poller: what it polls.
        clock: tells seconds since some fixed point.
        is_alone: whether the process has no other thread.
    """

    def __init__(
        self,
        poller: Poller,
        clock: Callable[[], float] = time.perf_counter,
        is_alone: Callable[[], bool] = lambda: threading.active_count() == 1,
    ) -> None:
        self._poller = poller
        self._clock = clock
        self._is_alone = is_alone
        self._comes_soon = False

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """Returns what is ready, as the poller does; waits about ``seconds`` for the first event."""
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
