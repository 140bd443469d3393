"""Keeping leases: who is at work on a queue, and has to be renewed.

Rules:
    - An identifier is kept from the beginning of an operation that takes a role to its end; of a message that
      was received, to the end of its block.
    - Renewing goes on in the background, over a connection of its own, three times in the time of a lease,
      and only while anybody is at work. When nobody was for a while it ends by itself; ``stop`` ends it.
    - A failure to renew is not reported: the next attempt may succeed, and if none does the holder is told at
      its next write.
    - A forked child renews nothing that its parent began.

A flavour says how something goes on in the background: a subclass of ``Keeper``.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final, TypeAlias
from weakref import WeakSet

from pressure.checks import milliseconds
from pressure.errors import PressureError
from pressure.identity import HOLDS
from pressure.protocol.reliable import Received

__all__ = ["Begun", "Keeper", "ThreadKeeper", "end_hold", "lease_of"]

Renew: TypeAlias = Callable[[Collection[bytes]], None]

#: How often a lease is renewed in its time: two attempts may fail.
ATTEMPTS: Final = 3


def lease_of(seconds: float | None) -> float | None:
    """Raises TypeError or ValueError for what is no length of a lease."""
    return None if seconds is None else milliseconds(seconds, "lease", 1) / 1000


class Keeper(ABC):
    """Those who are at work on one queue object.

    Args:
        seconds: How long a lease lasts.
    """

    def __init__(self, seconds: float) -> None:
        self.pause = seconds / ATTEMPTS
        self._at_work: Counter[bytes] = Counter()

    def begin(self, name: bytes) -> None:
        """Somebody begins to work."""
        self._at_work[name] += 1
        self._go_on()

    def end(self, name: bytes) -> None:
        """Somebody is done with it."""
        self._at_work[name] -= 1
        if self._at_work[name] <= 0:
            del self._at_work[name]

    @abstractmethod
    def _go_on(self) -> None:
        """Have renewing go on in the background, if it does not."""


class ThreadKeeper(Keeper):
    """Renews on a thread.

    Args:
        seconds: How long a lease lasts.
        renew: Renews the leases of some clients.
    """

    def __init__(self, seconds: float, renew: Renew) -> None:
        super().__init__(seconds)
        self._renew = renew
        self._forget()
        _all.add(self)

    def _forget(self) -> None:
        self._at_work = Counter()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_over = False

    def begin(self, name: bytes) -> None:
        """Somebody begins to work."""
        with self._changed:
            self._is_over = False
            super().begin(name)

    def end(self, name: bytes) -> None:
        """Somebody is done with it."""
        with self._changed:
            super().end(name)
            if self._is_over:
                self._changed.notify_all()

    def stop(self) -> None:
        """End the thread; while others are still at work it goes on for them, and ends with them."""
        with self._changed:
            self._is_over, thread = True, self._thread
            self._changed.notify_all()
            if self._at_work or thread is None:
                return
        thread.join()

    def _go_on(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="pressure-lease", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while names := self._names_after_a_while():
            with suppress(PressureError):
                self._renew(names)

    def _names_after_a_while(self) -> Collection[bytes]:
        """Whom to renew; nobody if the thread is to end, which it then has as far as others can see."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over and not self._at_work, self.pause)
            names = frozenset(self._at_work)
            if not names:
                self._thread = None
            return names


#: The keepers of this process that have threads.
_all: Final[WeakSet[ThreadKeeper]] = WeakSet()


def _after_fork() -> None:
    """A child has no thread of its parent's, and holds no role either."""
    for keeper in list(_all):
        keeper._forget()


os.register_at_fork(after_in_child=_after_fork)


class Begun:
    """The holds that one operation has begun on its connection.

    Args:
        connection_name: The name of the connection.
        keeper: What renews their leases, if they have any.
    """

    def __init__(self, connection_name: str, keeper: Keeper | None) -> None:
        self._name = connection_name.encode()
        self._keeper = keeper
        self._ids: list[bytes] = []

    def begin(self) -> bytes:
        """One more."""
        hold_id = HOLDS.begin(self._name)
        self._ids.append(hold_id)
        if self._keeper is not None:
            self._keeper.begin(hold_id)
        return hold_id

    def end(self, result: object) -> None:
        """The operation is over; the hold of what it has received lasts until that is settled."""
        for hold_id in self._ids:
            if not isinstance(result, Received) or result.hold_id != hold_id:
                end_hold(hold_id, self._keeper)


def end_hold(hold_id: bytes, keeper: Keeper | None) -> None:
    """A hold is over."""
    HOLDS.end(hold_id)
    if keeper is not None:
        keeper.end(hold_id)
