"""The owner of a queue: the one query that may read it as a stream, as long as it renews its lease.

Rules:
    - If the owner has not renewed its lease in time, another query can take the queue.
    - Another query can take the queue at once if the owner's process ran on this machine, has ended, and has
      no connection to the server. So no query has to wait for a query that ended or was killed.
    - A query that is no longer the owner changes nothing: every change first compares the owner.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Final

from pressure.connections.identity import process_in
from pressure.connections.pool import HOLDS
from pressure.errors import PressureError, QueueInUseError
from pressure.execution.lease import ThreadRenewer
from pressure.protocol.liveness import connected
from pressure.spark.lua import RELEASE, TAKE
from pressure.spark.server import QueueServer
from pressure.text import printable

#: Seconds between two attempts to take a queue that another query owns.
LOOK: Final = 0.1


class Ownership:
    """The right to read a queue as a stream; one query at a time has it.

    Args:
        server: Runs scripts on the queue's server.

    Attributes:
        me: The id of this owner; no other has it.
    """

    def __init__(self, server: QueueServer) -> None:
        self.me = HOLDS.begin(HOLDS.connection_name()).decode()
        self._server = server
        self._key = server.places.beside("owner")
        self._lease = server.options.lease
        self._renewer: ThreadRenewer | None = None
        self._renewals = QueueServer(server.options.but(retry=0.0))  # the next attempt is soon enough

    def take(self) -> None:
        """Become the owner, and renew the lease in the background. Waits until an unrenewed lease expires.

        Raises:
            QueueInUseError: Another query reads the queue.
        """
        left = float("inf")
        deadline = time.monotonic() + max(self._server.options.timeout, 2 * self._lease)
        while found := self._acquire():
            holder, now_left = found
            if now_left > left or time.monotonic() > deadline:  # the lease was renewed, so the owner is alive
                raise in_use(self._server, holder)
            left = now_left
            if self._is_dead(holder) and not self._acquire(instead_of=holder):
                break
            self._server.pause(min(LOOK, max(left, 1) / 1000))
        self._renewer = ThreadRenewer(self._lease, self._renew, f"owner of {self._key!r}")
        self._renewer.begin(self.me.encode())

    def _acquire(self, instead_of: bytes = b"") -> tuple[bytes, int] | None:
        """Become the owner or renew the lease: None, or another owner and the milliseconds of its lease."""
        return self._taken(self._server, self.me, instead_of)

    def _taken(
        self, server: QueueServer, me: bytes | str, instead_of: bytes = b""
    ) -> tuple[bytes, int] | None:
        found = server.script(TAKE, (self._key,), me, round(self._lease * 1000), instead_of)
        return tuple(found) if found else None

    def take_again(self) -> None:
        """Become the owner again if nobody is, after a lease that ran out while the server was not there."""
        self._acquire()

    def _is_dead(self, holder: bytes) -> bool:
        process = process_in(holder)
        if process is None or not _ended(process):
            return False
        names = connected(self._server.reply_to(b"CLIENT", b"LIST"))
        return names is not None and not any(name.startswith(process + b"/") for name in names)

    def _renew(self, names: Collection[bytes]) -> None:
        for name in names:
            self._taken(self._renewals, name)

    def stop_renewing(self) -> None:
        """Stop renewing the lease, as if this process had died."""
        if self._renewer is not None:
            self._renewer.end(self.me.encode())
            self._renewer.stop()
            self._renewer = None

    def release(self) -> None:
        """Stop being the owner."""
        self.stop_renewing()
        self._renewals.close()
        with suppress(PressureError):
            self._server.script(RELEASE, (self._key,), self.me)


def in_use(server: QueueServer, holder: bytes) -> QueueInUseError:
    """The error for a query that is not the owner."""
    who = printable(holder) or "nobody"
    return QueueInUseError(f"queue {server.places.keys} is read by another query ({who})", "consumer")


def _ended(process: bytes) -> bool:
    """Whether a process has ended; False for a process on another machine, since it is not known."""
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
