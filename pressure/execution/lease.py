"""Renew leases in the background: those of the holds of one queue object.

Rules:
    - A hold's lease is renewed from its begin to its end; in a ``receive`` block, to the end of the block.
    - While there are holds, three attempts to renew begin in the time of a lease. Each has a connection of
      its own, made for it, and a third of the lease to finish: an attempt that hangs is given up, and the
      next begins at once. So one connection that hangs does not end a lease.
    - When there has been no hold for a while, renewing ends by itself; ``stop`` ends it, too.
    - A failure to renew is logged (``background``): the next attempt may succeed. If none does, the holder's
      next write fails.
    - A forked child renews nothing that its parent began.

A flavour subclasses ``LeaseRenewer`` to run this in its own background.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from pressure.background import Attempts
from pressure.checks import milliseconds
from pressure.connections.forks import forget_in_child

Renew: TypeAlias = Callable[[Collection[bytes]], None]

#: How many attempts begin in the time of a lease. The last comes too late if both before it failed.
ATTEMPTS: Final = 3


def lease_of(seconds: float | None) -> float | None:
    """The lease, rounded to milliseconds; raises TypeError or ValueError if it is not a length of time."""
    return None if seconds is None else milliseconds(seconds, "lease", 1) / 1000


class LeaseRenewer(ABC):
    """Renews the leases of the holds of one queue object.

    Args:
        seconds: How long a lease lasts.
        owner: Whose leases they are, for people: "queue jobs".

    Attributes:
        pause: Seconds from the begin of one attempt to the begin of the next, and the longest time for each.
        attempts: Entered for each attempt.
    """

    def __init__(self, seconds: float, owner: str) -> None:
        self.pause = seconds / ATTEMPTS
        self.attempts = Attempts("pressure.execution.lease", f"{owner}: renewing its lease")
        self._holds: set[bytes] = set()

    def begin(self, hold_id: bytes) -> None:
        """Renew the lease of a hold from now on."""
        self._holds.add(hold_id)
        self._go_on()

    def end(self, hold_id: bytes) -> None:
        """Stop renewing the lease of a hold."""
        self._holds.discard(hold_id)

    def pause_after(self, began: float) -> float:
        """Seconds to the next attempt, after one that began at this monotonic time."""
        return max(self.pause - (time.monotonic() - began), 0)

    @abstractmethod
    def _go_on(self) -> None:
        """Start renewing in the background, unless it is running."""


class ThreadRenewer(LeaseRenewer):
    """Renews on a thread.

    Args:
        seconds: How long a lease lasts.
        renew: Renews the leases of some holds, within ``pause`` seconds.
        owner: As in the base.
    """

    def __init__(self, seconds: float, renew: Renew, owner: str) -> None:
        super().__init__(seconds, owner)
        self._renew = renew
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Renew nothing any more: a forked child has neither its parent's threads nor its holds."""
        self._holds = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_over = False

    def begin(self, hold_id: bytes) -> None:
        """Renew the lease of a hold from now on."""
        with self._changed:
            self._is_over = False
            super().begin(hold_id)

    def end(self, hold_id: bytes) -> None:
        """Stop renewing the lease of a hold."""
        with self._changed:
            super().end(hold_id)
            if self._is_over:
                self._changed.notify_all()

    def stop(self) -> None:
        """End the thread; if there are holds, after the last of them has ended."""
        with self._changed:
            self._is_over, thread = True, self._thread
            self._changed.notify_all()
            if self._holds or thread is None:
                return
        thread.join()

    def _go_on(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="pressure-lease", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        pause = self.pause
        while holds := self._holds_after(pause):
            began = time.monotonic()
            with self.attempts:
                self._renew(holds)
            pause = self.pause_after(began)

    def _holds_after(self, pause: float) -> Collection[bytes]:
        """The holds to renew after a pause; none if the thread is to end, and then it counts as ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over and not self._holds, pause)
            holds = frozenset(self._holds)
            if not holds:
                self._thread = None
            return holds
