"""The connections of a process, which operation uses which, and the holds on them: without I/O.

A ``Member`` is the place of one connection; a flavour opens the connection and closes it. A queue object has
at most ``Settings.max_connections`` members, in its ``Pool``. ``HOLDS`` are the holds that live on them.

Rules:
    - The nonce in a name is random for each process. So neither a process that got the same pid nor a forked
      child makes another's holds look alive. After a fork the child has a new nonce, and no holds.
    - Connections and holds are counted, and no number is used twice.
    - An operation has a member to itself. When the last member of a pool is taken, it becomes the shared one:
      all further operations use it in turns. They do not block there, since that would keep the others out:
      they wait by polling (``polling``), and others have their turn between two polls. So each operation
      comes to its end, whatever the others wait for.
    - Two connections are not counted, and so never wait for an operation: the one that ends waits (one at a
      time), and the one that renews leases.
    - A connection that was idle for ``IDLE_TIMEOUT`` is closed when another is given back.
    - A forked child closes its copies of all connections of its parent, and sends nothing on them: the parent
      goes on using them, and the copies must not keep them open after that.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NOTSENT_LOWAT
from typing import TYPE_CHECKING, Any, Final

from pressure.connections.forks import forget_in_child
from pressure.connections.identity import process_in
from pressure.connections.settings import IDLE_TIMEOUT
from pressure.errors import ConnectionFailedError

if TYPE_CHECKING:
    from pressure.execution.lease import LeaseRenewer


#: How many bytes a socket takes that the system cannot send yet; the same as Trio's own.
_NOT_SENT: Final = 1 << 14
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")


def _this_process() -> bytes:
    host = _NOT_PLAIN.sub("-", socket.gethostname()) or "localhost"
    return f"{host}:{os.getpid()}:{os.urandom(4).hex()}".encode()


class Holds:
    """The live holds of one process; ``HOLDS`` are those of this process.

    Args:
        process: ``<host>:<pid>:<nonce>``; that of this process unless it is given.
    """

    def __init__(self, process: bytes | None = None) -> None:
        self._begin_anew(process)

    def _begin_anew(self, process: bytes | None = None) -> None:
        self.process = process or _this_process()
        self._connections = count(1)
        self._numbers = count(1)
        self._live: set[bytes] = set()

    def connection_name(self) -> bytes:
        """A new name for a connection; a different one for each call."""
        return b"%b/%d" % (self.process, next(self._connections))

    def begin(self, connection_name: bytes) -> bytes:
        """Begin a hold on a connection; its id. It is alive from now on."""
        hold_id = b"%b/%d" % (connection_name, next(self._numbers))
        self._live.add(hold_id)
        return hold_id

    def end(self, hold_id: bytes) -> None:
        """End a hold: nothing will be written for it any more."""
        self._live.discard(hold_id)

    def is_dead(self, hold_id: bytes | None) -> bool:
        """Whether this is the id, not marked as released, of a hold of this process that is over."""
        return hold_id is not None and process_in(hold_id) == self.process and hold_id not in self._live


#: The holds of this process.
HOLDS: Final = Holds()

os.register_at_fork(after_in_child=HOLDS._begin_anew)


class Member:
    """The place of one connection.

    Attributes:
        connection: The flavour's connection; None if it is not open.
        name: Its name on the server (CLIENT SETNAME).
        number: Its CLIENT ID, by which another connection can end its wait; None if the server does not tell.
        lock: The flavour's lock, if operations share this member; else None.
        users: How many operations and blocks use it.
        is_spoiled: Whether the connection is not to be kept: it may watch keys, or a role be held on it.
        life: How many connections were here before; one that was opened again under its name is the same.
    """

    def __init__(self) -> None:
        self.connection: Any = None
        self.name = b""
        self.number: int | None = None
        self.lock: Any = None
        self.users = 1
        self.is_spoiled = False
        self.life = 0
        self._generation = 0
        self._since = 0.0
        self._socket: Any = None
        forget_in_child(self)

    def open_as(self, socket: Any) -> None:
        """Note the socket of the connection, which a forked child has to close, and prepare it.

        The system then takes bytes only when it can send them soon. Otherwise it would take megabytes at
        once, and a server to which they take long to get would seem silent.
        """
        self._socket = socket
        with contextlib.suppress(OSError, AttributeError):  # a Unix socket has no such option
            socket.setsockopt(IPPROTO_TCP, TCP_NOTSENT_LOWAT, _NOT_SENT)

    def set(self, connection: Any, name: bytes, number: int | None, generation: int) -> None:
        """Set a connection that is ready for use."""
        self.connection, self.name, self.number = connection, name, number
        self._generation, self.is_spoiled = generation, False

    def take_out(self) -> Any:
        """Remove and return the connection; None if there is none."""
        connection, self.connection, self._socket, self.number = self.connection, None, None, None
        self.life += 1
        return connection

    def forget(self) -> None:
        """In a forked child: close our copy of the parent's connection.

        Its descriptor becomes one of the null device, which may be closed in any way.
        """
        with (
            contextlib.suppress(OSError, AttributeError, ValueError),
            Path(os.devnull).open("r+b") as nothing,
        ):
            os.dup2(nothing.fileno(), self._socket.fileno(), inheritable=False)


class Pool:
    """The members of one queue object; safe to share between threads.

    Args:
        limit: How many there are at most.
        new_lock: Makes a lock of the flavour's, which is fair.

    Attributes:
        generation: How often all connections were given up; older connections are not kept.
    """

    def __init__(self, limit: int, new_lock: Callable[[], Any]) -> None:
        self._limit = limit
        self._new_lock = new_lock
        self.generation = 0
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Drop all members: their connections belong to another event loop, or to the parent process."""
        self._lock = threading.Lock()
        self._members: set[Member] = set()
        self._idle: deque[Member] = deque()
        self._shared: Member | None = None
        self.generation += 1

    def take(self) -> Member:
        """A member; its connection is None if it is still to be opened. ``give_back`` ends its use."""
        with self._lock:
            if self._idle:
                member = self._idle.pop()
                member.users = 1
            elif len(self._members) < self._limit:
                member = Member()
                self._members.add(member)
            else:
                assert self._shared is not None
                member = self._shared
                member.users += 1
                return member
            if self._shared is None and not self._idle and len(self._members) == self._limit:
                member.lock = self._new_lock()
                self._shared = member
            return member

    def give_back(self, member: Member) -> list[Any]:
        """End one use of a member; the connections to close now."""
        with self._lock:
            member.users -= 1
            if member.users:
                return []
            if member is self._shared:
                self._shared = member.lock = None
            old = member._generation != self.generation
            if member.connection is None or member.is_spoiled or old or member not in self._members:
                self._members.discard(member)
                return _taken_out(member)
            member._since = now = time.monotonic()
            self._idle.append(member)
            return self._idle_since(now - IDLE_TIMEOUT)

    def drain(self) -> list[Any]:
        """The idle connections, to close now. Those in use are closed when they are given back."""
        self.generation += 1
        with self._lock:
            return self._idle_since(float("inf"))

    def _idle_since(self, time: float) -> list[Any]:
        found = []
        while self._idle and self._idle[0]._since < time:
            member = self._idle.popleft()
            self._members.discard(member)
            found += _taken_out(member)
        return found


class BaseCheckout:
    """A member of a pool, and the holds of the operations that run on it.

    Args:
        member: The member.
        renewer: Renews the leases; None without leases.
    """

    def __init__(self, member: Member, renewer: LeaseRenewer | None) -> None:
        self.member = member
        self._renewer = renewer
        self._pid = os.getpid()
        self._holds: list[bytes] = []
        self._is_closed = False

    @property
    def is_forked(self) -> bool:
        """Whether this is a copy in a child process: it has no connection, and holds nothing."""
        return self._pid != os.getpid()

    @property
    def has_holds(self) -> bool:
        """Whether the next operation ends what an earlier one has begun: it has to run, even if cancelled."""
        return bool(self._holds)

    def _check(self) -> None:
        if self.is_forked:
            raise ConnectionFailedError(
                "this connection, and what is held on it, belong to the parent process; nothing was changed"
            )

    def begin_hold(self) -> bytes:
        """Begin a hold on the connection; its id."""
        hold_id = HOLDS.begin(self.member.name)
        self._holds.append(hold_id)
        if self._renewer is not None:
            self._renewer.begin(hold_id)
        return hold_id

    def end_holds(self) -> None:
        """End all holds."""
        while self._holds:
            hold_id = self._holds.pop()
            HOLDS.end(hold_id)
            if self._renewer is not None:
                self._renewer.end(hold_id)

    def _close_once(self) -> bool:
        """End the holds; whether there is a member to give back.

        Holds are left if something broke off what was to end them, such as a signal handler that raised
        between the two operations of a block. Then the connection is not kept: while it is open, these holds
        look alive to other processes.
        """
        if self._is_closed or self.is_forked:
            return False
        self._is_closed = True
        self.member.is_spoiled |= self.has_holds
        self.end_holds()
        return True


def _taken_out(member: Member) -> list[Any]:
    connection = member.take_out()
    return [] if connection is None else [connection]
