"""Stop cleanly: react to signals and closed pipes only where no message can be lost.

Rules:
    - The first SIGINT or SIGTERM is recorded, and ends a wait for input or output. The second one kills the
      process. A signal that was ignored at the start (as under nohup) stays ignored.
    - An operation on a queue is stopped before its next wait, by ``Queue.interrupt``.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Final

from pressure.errors import PressureError

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_GONE: Final = select.POLLERR | select.POLLHUP


class Stop(PressureError):  # noqa: N818, it is a request and not an error
    """Ends the command with the exit status ``status``.

    A ``put_many`` that it interrupts sets ``done``, as in any other ``PressureError``.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Signals:
    """A context in which SIGINT and SIGTERM are recorded instead of ending the process."""

    def __init__(self) -> None:
        self._came: int | None = None
        self._before: dict[int, object] = {}
        self._woken, self._wake = os.pipe()

    def __enter__(self) -> Signals:
        for fd in (self._woken, self._wake):
            os.set_blocking(fd, False)
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def install(self) -> None:
        """Install the handlers again, after a library has replaced them."""
        for number in self._before:
            signal.signal(number, self._note if self._came is None else signal.SIG_DFL)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._before:
            signal.signal(number, signal.SIG_DFL if self._came else self._before[number])  # type: ignore[arg-type]
        os.close(self._woken)
        os.close(self._wake)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._came = number
        os.write(self._wake, b"!")
        for each in self._before:
            signal.signal(each, signal.SIG_DFL)

    def requested_stop(self) -> Stop | None:
        """The exception to stop with if a signal has arrived; else None."""
        if self._came is None:
            return None
        return Stop(f"stopped by {signal.Signals(self._came).name}", 128 + self._came)

    def check(self) -> None:
        """Raises Stop if a signal has arrived."""
        if stop := self.requested_stop():
            raise stop

    def wait_for(self, fd: int, events: int) -> int:
        """Wait until ``fd`` has one of the poll events; returns them. Raises Stop if a signal arrives."""
        return self.wait_any({fd: events})[fd]

    def wait_any(self, wanted: Mapping[int, int], seconds: float | None = None) -> dict[int, int]:
        """Wait until a file descriptor has one of its poll events; returns none after ``seconds``.

        Raises:
            Stop: A signal has arrived.
        """
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        for fd, events in wanted.items():
            poll.register(fd, events)
        self.check()
        ready = dict(poll.poll(None if seconds is None else seconds * 1000))
        self.check()
        return ready


def is_closed(fd: int) -> bool:
    """Whether the reader of ``fd`` has gone."""
    poll = select.poll()
    poll.register(fd, 0)
    return any(events & _GONE for _, events in poll.poll(0))


OUTPUT_CLOSED: Final = "the reader of the output has gone"


def output_closed() -> Stop:
    """The exception for a reader that has gone. Shell pipelines end like that, so the status is 0."""
    return Stop(OUTPUT_CLOSED, 0)
