"""Holding back Ctrl-C while an operation runs.

A KeyboardInterrupt raised while a reply is being read would lose the reply: a value that was popped, or a
role. So, where Python's own handler of SIGINT is in place and we run on the main thread, the signal is
noted instead. The driver, which looks every ``TICK``, ends a wait that is under way, and stops the operation
before its next. Programs with their own handler, and other threads, are left alone.

Rules:
    - An operation that was stopped, or failed, raises KeyboardInterrupt. Its cause is the failure: an
      OutcomeUnknownError says what may be lost.
    - An operation that succeeded returns its result all the same; KeyboardInterrupt is raised a moment
      later, when the caller has had time to keep it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # not in every typeshed
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Final

#: ``signal``'s own functions turn numbers into enum members, and fail at it for handlers: 3 us a call, three
#: calls an operation.
_get: Final[Callable[[int], object]] = _signal.getsignal
_set: Final[Callable[[int, object], object]] = _signal.signal
_SIGINT: Final = int(signal.SIGINT)

#: Seconds between the return of an operation and the KeyboardInterrupt that was held back during it.
GRACE: Final = 0.02


class HeldInterrupt:
    """A context in which SIGINT is noted; ``pending`` says whether one was."""

    __slots__ = ("_installed", "_noted")

    def __init__(self) -> None:
        self._noted = False
        self._installed = False

    def pending(self) -> BaseException | None:
        """What to stop the operation with, if a signal came."""
        return KeyboardInterrupt() if self._noted else None

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        self._noted = True

    def __enter__(self) -> HeldInterrupt:
        if (
            threading.current_thread() is threading.main_thread()
            and _get(_SIGINT) is signal.default_int_handler
        ):
            _set(_SIGINT, self._note)
            self._installed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            _set(_SIGINT, signal.default_int_handler)
        if not self._noted or isinstance(error, KeyboardInterrupt):
            return
        if error is not None:
            raise KeyboardInterrupt from error
        main = threading.main_thread().ident or 0
        timer = threading.Timer(GRACE, signal.pthread_kill, (main, signal.SIGINT))
        timer.daemon = True
        timer.start()
