"""``join`` and ``task_done`` as those of ``queue.Queue``, on a queue that many clients share.

The server knows what is in the queue, and what was received and is not acknowledged yet. It does not know
what becomes of a value that ``get`` took. Only the object that took it is told, by ``task_done``. So ``join``
waits for what the server knows of all clients, and for what its own object knows.

A value that a ``get`` of this object has just taken is known to neither: it has left the server, and is not
counted here yet. So a look at the server is believed when each ``get`` that was under way then has ended, or
has gone on without a value.
"""

from __future__ import annotations

import threading
from typing import Final

from pressure.protocol import Context, Deadline, Operation, Pause, Stats, stats
from pressure.protocol.operation import Batch, T, Wait, map_batches

#: The first and the longest pause between two looks, in seconds.
PAUSES: Final = (0.005, 0.5)


class _Get:
    """A ``get`` under way, and what it has sent last."""

    step: Batch | None = None

    def note(self, step: Batch) -> Batch:
        """It is about to send this."""
        self.step = step
        return step


class UnfinishedTasks:
    """What one queue object has taken and not finished.

    Attributes:
        count: How many values it has taken for which ``task_done`` was not called yet.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gets: set[_Get] = set()
        self.count = 0

    def during(self, body: Operation[T]) -> Operation[T]:
        """Run an operation that takes values and adds them to ``count``."""
        get = _Get()
        with self._lock:
            self._gets.add(get)
        try:
            return (yield from map_batches(body, get.note))
        finally:
            with self._lock:
                self._gets.discard(get)

    def in_doubt(self, found: Stats) -> dict[_Get, Batch]:
        """What may have taken a value before this look at the server, with what it has sent last.

        A wait takes a value before the value is counted. So where all is counted, no wait has taken one.
        """
        uncounted = found.produced_messages != found.consumed_messages
        with self._lock:
            steps = {get: get.step for get in self._gets}
        return {
            get: step for get, step in steps.items() if step and (uncounted or not isinstance(step, Wait))
        }

    def are_in_doubt(self, gets: dict[_Get, Batch]) -> bool:
        """Whether one of them may have taken a value still that is not in ``count``."""
        with self._lock:
            return any(
                get in self._gets and get.step is not None and (get.step is step or bool(get.step.taken))
                for get, step in gets.items()
            )

    def add(self, number: int) -> None:
        """Some more were taken."""
        with self._lock:
            self.count += number

    def done(self) -> None:
        """One is finished.

        Raises:
            ValueError: None is unfinished.
        """
        with self._lock:
            if not self.count:
                raise ValueError("task_done() called too many times")
            self.count -= 1


def join(ctx: Context, deadline: Deadline, unfinished: UnfinishedTasks) -> Operation[bool]:
    """Wait until nothing is in the queue, nothing is unacknowledged and nothing is unfinished.

    Returns:
        False if that was not so in the time allowed.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    pause, longest = PAUSES
    attempts = deadline.attempts()
    gets: dict[_Get, Batch] | None = None
    while True:
        if gets is None:
            found = yield from stats(ctx)
            gets = None if found.length or found.unacknowledged else unfinished.in_doubt(found)
        if gets is not None and not unfinished.are_in_doubt(gets):
            if not unfinished.count:
                return True
            gets = None
        if not (left := next(attempts, 0.0)):
            return False
        yield Pause(min(pause, left))
        pause = min(2 * pause, longest)
