"""``join`` and ``task_done`` as in ``queue.Queue``, on a queue that many clients share.

The server knows which messages are in the queue, and which are unacknowledged. It does not know whether a
value that ``get`` took is finished: only the object that took it is told, by ``task_done``. So ``join`` waits
for all messages that the server knows, and for the values that its own object has taken.

A value that a ``get`` of this object has just taken is in neither count: it has left the server, and is not
counted here yet. So the server's answer is believed only when each ``get`` that was under way then has ended,
or has gone on without a value.
"""

from __future__ import annotations

import threading
from typing import Final

from pressure.connections.forks import forget_in_child
from pressure.protocol import Context, Deadline, Operation, Pause, Stats, stats
from pressure.protocol.operation import Batch, T, Wait, map_batches

#: The first and the longest pause between two questions to the server, in seconds.
PAUSES: Final = (0.005, 0.5)


class _Get:
    """A ``get`` under way, and the last step that it has sent."""

    step: Batch | None = None

    def note(self, step: Batch) -> Batch:
        """Note the step that is about to be sent."""
        self.step = step
        return step


class UnfinishedTasks:
    """The values that one queue object has taken and not finished.

    Attributes:
        count: How many values it has taken for which ``task_done`` was not called yet.
    """

    def __init__(self) -> None:
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Begin anew: a forked child has taken nothing, and its parent's threads are not there."""
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
        """Each ``get`` that may have taken a value before this answer of the server, with its last step.

        A wait takes a value before the value is counted. So if all values are counted, no wait has taken one.
        """
        uncounted = found.produced_messages != found.consumed_messages
        with self._lock:
            steps = {get: get.step for get in self._gets}
        return {
            get: step for get, step in steps.items() if step and (uncounted or not isinstance(step, Wait))
        }

    def are_in_doubt(self, gets: dict[_Get, Batch]) -> bool:
        """Whether one of these may still have taken a value that is not in ``count``."""
        with self._lock:
            return any(
                get in self._gets and get.step is not None and (get.step is step or bool(get.step.taken))
                for get, step in gets.items()
            )

    def add(self, number: int) -> None:
        """Count values that were taken."""
        with self._lock:
            self.count += number

    def done(self) -> None:
        """Count one value as finished.

        Raises:
            ValueError: No value is unfinished.
        """
        with self._lock:
            if not self.count:
                raise ValueError("task_done() called too many times")
            self.count -= 1


def join(ctx: Context, deadline: Deadline, unfinished: UnfinishedTasks) -> Operation[bool]:
    """Wait until nothing is in the queue, nothing is unacknowledged and nothing is unfinished.

    Returns:
        True once that is so, False at the deadline.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    pause, longest = PAUSES
    attempts = deadline.attempts(lambda: pause)
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
        yield Pause(left)
        pause = min(2 * pause, longest)
