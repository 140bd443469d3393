"""Time: the alarm that settles the engine at its next deadline, and moving the clock from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from ..clock import Clock
    from .tick_runner import TickRunner

__all__ = ["Alarm", "advance_together"]


class Alarm:
    """Goes off on the server's own thread when the next deadline of the engine comes.

    Args:
        clock: where the time comes from.
        call_soon: calls a function on the server's own thread.
    """

    def __init__(self, clock: Clock, call_soon: Callable[[Callable[[], object]], None]) -> None:
        self._clock, self._call_soon = clock, call_soon
        self._due: int | None = None  # it goes off then at the latest: monotonic microseconds
        self._scope = trio.CancelScope()

    def set(self, due: int) -> None:
        """Lets it go off at a deadline, unless an earlier one is known; on any thread with the lock."""
        if self._due is None or due < self._due:
            self._due = due
            self._call_soon(self._set_scope)

    def forget(self) -> None:
        """All deadlines that it knows are over; with the lock held."""
        self._due = None

    async def keep(self, settle: Callable[[], None]) -> None:
        """Settles each time that it goes off; ``settle`` forgets that deadline."""
        while True:
            with trio.CancelScope() as self._scope:
                self._set_scope()
                await trio.sleep_forever()
            settle()

    def _set_scope(self) -> None:
        due = self._due
        if due is None or self._clock.stands_still:
            self._scope.deadline = float("inf")
        else:
            self._scope.deadline = trio.current_time() + (due - self._clock.now().monotonic) / 1_000_000


def advance_together(clock: Clock, runners: Sequence[TickRunner], microseconds: int) -> None:
    """Moves the clock of some servers forward, which have one lock, and holds that.

    What falls due on the way happens in order. The last moment is settled by the caller. A server that stops
    on the way, because its disk fails, settles nothing more.
    """
    end = clock.now().monotonic + microseconds
    while True:
        for runner in runners:
            runner.settle(clock.now())
        running = [each.engine for each in runners if each.is_open]
        due = min((due for each in running if (due := each.next_deadline()) is not None), default=None)
        if due is None or due > end:
            break
        clock.advance(max(due - clock.now().monotonic, 0))
    clock.advance(max(end - clock.now().monotonic, 0))
