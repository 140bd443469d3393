"""Calls in the middle of a command on the same thread: by a signal handler, or by a finalizer."""

from __future__ import annotations

import threading
from typing import Final

__all__ = ["RE_ENTRANT", "check_can_wait", "holds"]

RE_ENTRANT: Final = (
    "the server is in the middle of a command on this thread: a signal handler or a __del__ method cannot "
    "use server.client(); let it set a flag, and run its commands later"
)


def holds(lock: threading.RLock) -> bool:
    """Whether this thread has a lock: a signal handler may have interrupted what uses the engine."""
    try:
        threading.Condition(lock).notify(0)
    except RuntimeError:
        return False
    return True


def check_can_wait(lock: threading.RLock) -> None:
    """Raises ``RuntimeError`` where this thread would wait for another one, which waits for the lock."""
    if holds(lock):
        raise RuntimeError(RE_ENTRANT)
