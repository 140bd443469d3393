"""``join`` and ``task_done`` as those of ``queue.Queue``, on a queue that many clients share.

The server knows what is in the queue, and what was received and is not acknowledged yet. It does not know
what becomes of a value that ``get`` took. Only the object that took it is told, by ``task_done``. So ``join``
waits for what the server knows of all clients, and for what its own object knows.
"""

from __future__ import annotations

import threading
from typing import Final

from pressure.protocol import Context, Operation, Patience, Pause, stats

#: The first and the longest pause between two looks, in seconds.
PAUSES: Final = (0.005, 0.5)


class Unfinished:
    """How many values one queue object has taken for which ``task_done`` was not called yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

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


def join(ctx: Context, patience: Patience, unfinished: Unfinished) -> Operation[bool]:
    """Wait until nothing is in the queue, nothing is unacknowledged and nothing is unfinished.

    Returns:
        False if that was not so in the time allowed.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    pause, longest = PAUSES
    attempts = patience.attempts()
    while True:
        found = yield from stats(ctx)
        if not (found.length or found.unacknowledged or unfinished.count):
            return True
        if not (left := next(attempts, 0.0)):
            return False
        yield Pause(min(pause, left))
        pause = min(2 * pause, longest)
