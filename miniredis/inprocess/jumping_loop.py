"""An event loop of asyncio that lives in the time of a server, which jumps while all tasks wait.

It is to asyncio what ``trio.testing.MockClock(autojump_threshold=...)`` is to Trio. Only programs that ask
for such a loop import this module.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import math
import selectors
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..server import Server
    from ..ticks.tick_runner import TickRunner

__all__ = ["JumpingLoop"]


class JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting, it moves the time to the next moment at which the loop or the server has work.

    Args:
        server: whose time it is.
        runner: the server's.
        threshold: seconds of real time for which it waits for input first.
    """

    def __init__(self, server: Server, runner: TickRunner, threshold: float) -> None:
        super().__init__()
        self._server, self._runner, self._threshold = server, runner, threshold

    def select(self, timeout: float | None = None) -> list[Any]:
        """What is ready: now, after the threshold, or at the moment to which it has moved the time."""
        if timeout is not None and timeout <= 0:
            return super().select(0)
        if ready := super().select(self._threshold):
            return ready
        waits = [] if timeout is None else [math.ceil(round(timeout * 1_000_000, 3))]  # floats are inexact
        with self._runner.lock:
            due = self._runner.engine.next_deadline() if self._runner.is_open else None
            if due is not None:
                waits.append(due - self._runner.clock.now().monotonic)
        if not waits:
            return super().select(None)
        self._jump(max(min(waits), 1))
        return super().select(0)

    def _jump(self, microseconds: int) -> None:
        if self._runner.is_open:
            self._server.fast_forward(dt.timedelta(microseconds=microseconds))
        else:
            self._runner.clock.advance(microseconds)


class JumpingLoop(asyncio.SelectorEventLoop):
    """See ``Server.new_event_loop``."""

    def __init__(self, server: Server, runner: TickRunner, threshold: float) -> None:
        self._clock, self._begin = runner.clock, runner.clock.now().monotonic
        super().__init__(JumpingSelector(server, runner, threshold))

    def time(self) -> float:
        """The seconds that have passed by the server's clock; floats have the fractions of small numbers."""
        return (self._clock.now().monotonic - self._begin) / 1_000_000
