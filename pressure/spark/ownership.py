"""Who reads a queue as a stream: one query at a time, as long as it says so again and again.

Rules:
    - When an owner has said nothing for the time of its lease, the next may have the queue.
    - At once, if the owner's process ran on this machine, is there no more, and has no connection to the
      server any more: a query that has ended, or was killed, keeps nobody waiting.
    - Whoever is robbed by mistake does no harm: every change asks first who the owner is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Final

from pressure.errors import PressureError, QueueInUseError
from pressure.identity import process_in
from pressure.lease import ThreadKeeper
from pressure.pool import HOLDS
from pressure.protocol.vitals import connected
from pressure.spark.asking import Asking
from pressure.spark.lua import RELEASE, TAKE
from pressure.text import printable

__all__ = ["LOOK", "Ownership", "in_use"]

#: Seconds between two looks whether a queue that is taken comes free.
LOOK: Final = 0.1


class Ownership:
    """The right to read a queue, to be had or not.

    Args:
        asking: The queue's server.

    Attributes:
        me: Who we are, different from every other.
    """

    def __init__(self, asking: Asking) -> None:
        self.me = HOLDS.begin(HOLDS.connection_name()).decode()
        self._asking = asking
        self._key = asking.places.beside("owner")
        self._lease = asking.options.lease
        self._keeper: ThreadKeeper | None = None

    def take(self) -> None:
        """Become the owner, and stay it; wait only for one whose lease runs out.

        Raises:
            QueueInUseError: Another query reads the queue.
        """
        left = float("inf")
        deadline = time.monotonic() + max(self._asking.options.timeout, 2 * self._lease)
        while found := self._taken_by():
            holder, now_left = found
            if now_left > left or time.monotonic() > deadline:  # it was renewed, so somebody is there
                raise in_use(self._asking, holder)
            left = now_left
            if self._has_gone(holder) and not self._taken_by(instead_of=holder):
                break
            self._asking.pause(min(LOOK, max(left, 1) / 1000))
        self._keeper = ThreadKeeper(self._lease, self._renew)
        self._keeper.begin(self.me.encode())

    def _taken_by(self, me: bytes | str = "", instead_of: bytes = b"") -> tuple[bytes, int] | None:
        """Who has the queue, and for how many milliseconds; None if we do."""
        lease = round(self._lease * 1000)
        found = self._asking.script(TAKE, (self._key,), me or self.me, lease, instead_of)
        return tuple(found) if found else None

    def _has_gone(self, holder: bytes) -> bool:
        process = process_in(holder)
        if process is None or not _ended(process):
            return False
        names = connected(self._asking.told(b"CLIENT", b"LIST"))
        return names is not None and not any(name.startswith(process + b"/") for name in names)

    def _renew(self, names: Collection[bytes]) -> None:
        for name in names:
            self._taken_by(name)

    def fall_silent(self) -> None:
        """Say nothing any more, as if this process had died."""
        if self._keeper is not None:
            self._keeper.end(self.me.encode())
            self._keeper.stop()
            self._keeper = None

    def release(self) -> None:
        """Stop being the owner."""
        self.fall_silent()
        with suppress(PressureError):
            self._asking.script(RELEASE, (self._key,), self.me)


def in_use(asking: Asking, holder: bytes) -> QueueInUseError:
    """The error for who is not the owner."""
    who = printable(holder) or "nobody"
    return QueueInUseError(f"queue {asking.places.located} is read by another query ({who})", "consumer")


def _ended(process: bytes) -> bool:
    """Whether a process is none any more, as far as one can tell here: it ran on this machine."""
    host, pid, _ = process.split(b":")
    if host != HOLDS.process.split(b":")[0]:
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False
