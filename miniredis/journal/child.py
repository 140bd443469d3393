"""A forked process that writes what the server's data were at one moment, while the server goes on."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable

__all__ = ["Child"]


class Child:
    """A process that does one thing with a copy of this one, and ends.

    Threads of this process do not exist in the child, and what they held is held there for ever. So the work
    may only use the engine, which nobody else uses at the time, and files.

    Args:
        work: what it does; an exception is a failure.
        when_over: called on a thread of its own with whether it has succeeded.

    Attributes:
        pid: its number.

    Raises:
        OSError: there can be no more processes.
    """

    def __init__(self, work: Callable[[], None], when_over: Callable[[bool], None]) -> None:
        self.pid = fork()
        if self.pid == 0:
            do_and_exit(work)
        self._when_over = when_over
        self._is_over = False
        self._thread = threading.Thread(target=self._wait, name="miniredis child", daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self._is_over = True
        self._when_over(status == 0)

    def kill(self) -> None:
        """Ends it before it is done, and waits until it is gone."""
        if not self._is_over:
            os.kill(self.pid, signal.SIGKILL)  # until the thread has waited for it, its number is its own
        self._thread.join()


def fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads; the work uses none
        return os.fork()


def do_and_exit(work: Callable[[], None]) -> None:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        work()
        status = 0
    finally:
        os._exit(status)
