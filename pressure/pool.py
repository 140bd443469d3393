"""The connections of a process, who uses which, and the holds on them: for all flavours, without I/O.

A ``Member`` is the place of one connection; a flavour opens the connection and closes it. A queue object has
``Settings.max_connections`` members at most, in its ``Pool``. ``HOLDS`` are the holds that live on them.

Rules:
    - The nonce in a name is random for each process, so that neither a process that got the same pid nor a
      forked child vouches for somebody else. After a fork the child begins anew, without holds.
    - Connections and holds are counted, and no number is used twice.
    - An operation has a member to itself. When the last one that there may be is taken, it becomes the common
      one: all further operations share it, in turns. There nobody waits on the server, where a wait would
      keep the others out: a wait is done as short looks (``turns``), and others have their turn between two
      looks. So each operation comes to its end, whatever the others wait for.
    - What does not go through a pool is not counted: the one connection at a time that ends waits, and the
      one that renews leases. So neither ever waits for an operation.
    - A connection that was idle for ``IDLE_TIMEOUT`` is closed when another is given back.
    - A forked child closes its copies of all connections of its parent, without a word to the server: its
      parent goes on using them, and they must not outlive it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any, Final
from weakref import WeakSet

from pressure.identity import process_in
from pressure.settings import IDLE_TIMEOUT

__all__ = ["HOLDS", "Holds", "Member", "Pool"]


_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")


def _this_process() -> bytes:
    host = _NOT_PLAIN.sub("-", socket.gethostname()) or "localhost"
    return f"{host}:{os.getpid()}:{secrets.token_hex(4)}".encode()


class Holds:
    """The holds of one process that live; ``HOLDS`` are this process's.

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
        """A new hold on a connection; its id. It lives from now on."""
        hold_id = b"%b/%d" % (connection_name, next(self._numbers))
        self._live.add(hold_id)
        return hold_id

    def end(self, hold_id: bytes) -> None:
        """The hold is over: nothing will be written for it any more."""
        self._live.discard(hold_id)

    def is_dead(self, hold_id: bytes | None) -> bool:
        """Whether this is the id of a hold of this process that is over, and that was never marked."""
        return hold_id is not None and process_in(hold_id) == self.process and hold_id not in self._live


#: The holds of this process.
HOLDS: Final = Holds()

os.register_at_fork(after_in_child=HOLDS._begin_anew)


class Member:
    """The place of one connection, and who uses it.

    Attributes:
        connection: The flavour's connection; None if there is none (any more).
        name: Its name on the server (CLIENT SETNAME).
        number: Its number there (CLIENT ID), by which another connection can end its wait; None if the server
            does not tell.
        turn: The flavour's lock, if operations share this member; else None.
        users: How many operations and blocks use it.
        is_spoiled: Whether it is not to be kept: it may still watch keys, or vouch for a hold that is over.
    """

    __slots__ = (
        "__weakref__",
        "_generation",
        "_since",
        "_socket",
        "connection",
        "is_spoiled",
        "name",
        "number",
        "turn",
        "users",
    )

    def __init__(self) -> None:
        self.connection: Any = None
        self.name = b""
        self.number: int | None = None
        self.turn: Any = None
        self.users = 1
        self.is_spoiled = False
        self._generation = 0
        self._since = 0.0
        self._socket: Any = None
        _members.add(self)

    def open_as(self, socket: Any) -> None:
        """There is a connection, over this socket, which a forked child has to close."""
        self._socket = socket

    def set(self, connection: Any, name: bytes, number: int | None, generation: int) -> None:
        """The connection is there, and may be used."""
        self.connection, self.name, self.number = connection, name, number
        self._generation, self.is_spoiled = generation, False

    def take_out(self) -> Any:
        """The connection, which is not to be used any more; None if there is none."""
        connection, self.connection, self._socket = self.connection, None, None
        return connection

    def forget(self, nothing: int) -> None:
        """In a forked child: close our copy of the parent's connection.

        The descriptor is replaced by ``nothing``, which can be closed in every way, as often as one likes.
        """
        with contextlib.suppress(OSError, AttributeError, ValueError):
            os.dup2(nothing, self._socket.fileno(), inheritable=False)


class Pool:
    """The members of one queue object; safe to share between threads.

    Args:
        limit: How many there are at most.
        new_turn: Makes a lock of the flavour's, which is fair.

    Attributes:
        generation: How often all connections were given up; those that are older are not kept.
    """

    def __init__(self, limit: int, new_turn: Callable[[], Any]) -> None:
        self._limit = limit
        self._new_turn = new_turn
        self.generation = 0
        self.forget()
        _pools.add(self)

    def forget(self) -> None:
        """Have no connections: those there are belong to another loop, or to our parent process."""
        self._lock = threading.Lock()
        self._members: set[Member] = set()
        self._idle: deque[Member] = deque()
        self._common: Member | None = None
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
                assert self._common is not None
                member = self._common
                member.users += 1
                return member
            if self._common is None and not self._idle and len(self._members) == self._limit:
                member.turn = self._new_turn()
                self._common = member
            return member

    def give_back(self, member: Member) -> list[Any]:
        """End one use of a member; the connections that are to be closed now."""
        with self._lock:
            member.users -= 1
            if member.users:
                return []
            if member is self._common:
                self._common = member.turn = None
            old = member._generation != self.generation
            if member.connection is None or member.is_spoiled or old or member not in self._members:
                self._members.discard(member)
                return _taken_out(member)
            member._since = now = time.monotonic()
            self._idle.append(member)
            return self._idle_since(now - IDLE_TIMEOUT)

    def drain(self) -> list[Any]:
        """The idle connections, which are to be closed now; those in use are when they are given back."""
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


def _taken_out(member: Member) -> list[Any]:
    connection = member.take_out()
    return [] if connection is None else [connection]


#: The members and pools of this process.
_members: Final[WeakSet[Member]] = WeakSet()
_pools: Final[WeakSet[Pool]] = WeakSet()


def _after_fork() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for member in list(_members):
        member.forget(nothing)
    os.close(nothing)
    for pool in list(_pools):
        pool.forget()


os.register_at_fork(after_in_child=_after_fork)
