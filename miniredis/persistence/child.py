"""A forked process that writes what the server's data were at one moment, while the server goes on."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Final

from ..clock import Machine
from ..environment import private_memory
from ..windows import refusal

__all__ = ["Child", "check_server_lives", "note_keys"]

DONE: Final = b"."
"""What the child says when it has succeeded. Its exit status is lost where a program ignores SIGCHLD."""

LONGEST: Final = 512
"""Bytes of what it says of an error."""

KILLED: Final = "its process was killed"

EVERY: Final = 1.0
"""Seconds between two times that the child tells how far it is."""


class ChildProgress:
    """How far a child is, in memory that both processes share."""

    def __init__(self) -> None:
        self._numbers = memoryview(mmap.mmap(-1, 24)).cast("d")

    @property
    def copied(self) -> int:
        """Bytes of memory that are the child's own, since one of the two has changed them after the fork."""
        return int(self._numbers[0])

    @property
    def keys(self) -> int:
        """How many keys it has written."""
        return int(self._numbers[1])

    @property
    def age(self) -> int:
        """Seconds since it told that; 0 if it has told nothing."""
        told_at = self._numbers[2]
        return int(Machine.monotonic() - told_at) if told_at else 0

    def note_keys(self, keys: int) -> None:
        """Tells that so many keys are written, at times."""
        if Machine.monotonic() >= self._numbers[2] + EVERY:
            self._numbers[1] = keys
            self.note_memory()

    def note_memory(self) -> None:
        """Tells how much memory is the child's own."""
        self._numbers[0], self._numbers[2] = private_memory(), Machine.monotonic()


OWN: Final[list[ChildProgress]] = []
"""In a child: its own progress."""


def note_keys(keys: int) -> None:
    """In a child: tells its server that so many keys are written. In the server itself: nothing."""
    for progress in OWN:
        progress.note_keys(keys)


class Child:
    """A process that does one thing with a copy of this one, and ends.

    Threads of this process do not exist in the child, and what they held is held there for ever. So the work
    may only use the engine, which nobody else uses at the time, and files.

    Args:
        work: what it does; an exception is a failure.
        when_over: called on a thread of its own with why it has failed; an empty text if it has not.

    Attributes:
        pid: its number.
        fork_microseconds: how long this process stood still for it.
        progress: how far it is.

    Raises:
        OSError: there can be no more processes or threads.
    """

    fork_microseconds = 0

    def __init__(self, work: Callable[[], None], when_over: Callable[[str], None]) -> None:
        self.progress = ChildProgress()
        self._outcome, tell = os.pipe()
        began = Machine.perf_counter_ns()
        try:
            self.pid = fork()
        except OSError:
            os.close(self._outcome)
            raise
        else:
            if self.pid == 0:
                do_and_exit(work, tell, self.progress)
        finally:
            os.close(tell)
        self.fork_microseconds = (Machine.perf_counter_ns() - began) // 1000
        self._when_over = when_over
        self._is_over = False
        self._thread = threading.Thread(target=self._wait, name="miniredis child", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            end_process(self.pid)
            self._outcome_at_end()
            raise OSError(errno.EAGAIN, str(error)) from None

    def _wait(self) -> None:
        told = self._outcome_at_end()
        self._when_over("" if told == DONE else told.decode(errors="replace") or KILLED)

    def _outcome_at_end(self) -> bytes:
        """Waits until the child is gone; returns what it has told, which is nothing if it was killed."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self._is_over = True
        if sys.platform != "win32":
            os.set_blocking(self._outcome, False)  # another process may have a copy of the other end
        try:
            return os.read(self._outcome, LONGEST)
        except BlockingIOError:
            return b""
        finally:
            os.close(self._outcome)

    def kill(self) -> None:
        """Ends it before it is done, and waits until it is gone."""
        if not self._is_over:
            with contextlib.suppress(ProcessLookupError):
                end_process(self.pid)  # until the thread has waited for it, its number is its own
        self._thread.join()


def check_server_lives(server: int) -> None:
    """In a child: raises ``OSError`` where its server is gone, and another may use the files by now."""
    if os.getppid() != server:
        raise ProcessLookupError(errno.ESRCH, "the server is gone")


def end_process(number: int) -> None:
    if sys.platform != "win32":  # where none begins
        os.kill(number, signal.SIGKILL)


def fork() -> int:
    if sys.platform == "win32":
        raise refusal("a snapshot beside the server")
    # Python warns that threads may hold locks; the work uses none. The filter stays: to take it away again
    # could take away that of another thread.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning, __name__)
    return os.fork()


def do_and_exit(work: Callable[[], None], tell: int, progress: ChildProgress) -> None:
    try:
        signal.set_wakeup_fd(-1)
        OWN[:] = [progress]
        work()
        progress.note_memory()
        os.write(tell, DONE)
    except BaseException as error:
        os.write(tell, (str(error) or repr(error)).encode()[:LONGEST])
    finally:
        os._exit(0)
