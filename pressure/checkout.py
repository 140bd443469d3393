"""What a checkout of every flavour keeps: its member of the pool, and the holds that live on the connection.

Rules:
    - A hold lives on one connection. It is over when the checkout is closed, and when the connection is lost
      while an operation runs.
    - If the connection was lost between two operations (of a ``receive`` block), the holds go on: the next
      operation runs on a fresh connection, and finds out whether they still have their role.
    - In a forked child a checkout of the parent does nothing at all.
"""

from __future__ import annotations

import os
from typing import Any, Generic

from pressure.course import Course
from pressure.errors import ConnectionFailedError, ServerReplyError
from pressure.finding import ELSEWHERE
from pressure.identity import HOLDS
from pressure.lease import Keeper
from pressure.pool import Member, brief, crowded, still_watches
from pressure.protocol.steps import Batch, Operation, T, Wait
from pressure.settings import Settings

__all__ = ["AnyCheckout", "Ride", "is_elsewhere", "unblocking"]


class AnyCheckout:
    """A member of a pool, and the holds of the operations that run on it.

    Args:
        member: The member.
        keeper: What renews leases, if there are any.
    """

    def __init__(self, member: Member, keeper: Keeper | None) -> None:
        self.member = member
        self._keeper = keeper
        self._pid = os.getpid()
        self._holds: list[bytes] = []
        self._is_closed = False

    @property
    def is_forked(self) -> bool:
        """Whether this is a copy in a child process: it has no connection, and holds nothing."""
        return self._pid != os.getpid()

    def _check(self) -> None:
        if self.is_forked:
            raise ConnectionFailedError(
                "this connection, and what is held on it, belong to the parent process; nothing was changed"
            )

    def begin_hold(self) -> bytes:
        """A new hold on the connection; its id."""
        hold_id = HOLDS.begin(self.member.name)
        self._holds.append(hold_id)
        if self._keeper is not None:
            self._keeper.begin(hold_id)
        return hold_id

    def end_holds(self) -> None:
        """All holds are over."""
        while self._holds:
            hold_id = self._holds.pop()
            HOLDS.end(hold_id)
            if self._keeper is not None:
                self._keeper.end(hold_id)

    def _close_once(self) -> bool:
        """End the holds; whether there is a member to give back."""
        if self._is_closed or self.is_forked:
            return False
        self._is_closed = True
        self.end_holds()
        return True


class Ride(Generic[T]):
    """An operation under way on a member, and how it shares the connection with others.

    Args:
        operation: A generator that was not started yet.
        checkout: Where it runs.
        where: The settings of the server.

    Attributes:
        course: The operation on its way.
        connection: The connection on which it was begun.
        reply_timeout: How many seconds the server may be silent, beyond a wait.
    """

    __slots__ = ("_limit", "_watches", "connection", "course", "member", "reply_timeout")

    def __init__(self, operation: Operation[T], checkout: AnyCheckout, where: Settings) -> None:
        self.course: Course[T] = Course(operation, where.address, checkout.begin_hold)
        self.member = checkout.member
        self.connection: Any = None
        self.reply_timeout = where.reply_timeout
        self._limit = where.max_connections
        self._watches = False

    def begin(self) -> None:
        """Come to the first step, on the member's connection."""
        self.connection = self.member.connection
        self.course.begin()

    @property
    def gives_way(self) -> bool:
        """Whether others have their turn on the connection before the next step, which waits."""
        return self.member.turn is not None and not self._watches

    @property
    def is_crowded_out(self) -> bool:
        """Whether the next step would wait on a connection that others use, but cannot give way."""
        return self.member.turn is not None and self._watches and type(self.course.step) is Wait

    def crowd_out(self) -> None:
        """Stop it with an error."""
        self.course.stop(crowded(self._limit))

    @property
    def was_lost(self) -> bool:
        """Whether the connection was lost while others had their turn."""
        return self.member.connection is not self.connection

    def data(self, step: Batch) -> bytes:
        """The bytes of a step that is about to be sent."""
        if self.member.turn is not None:
            self._watches = still_watches(step.commands, self._watches)
            if type(step) is Wait:
                step = brief(step)
        return self.course.packed(step)


def is_elsewhere(error: ServerReplyError) -> bool:
    """Whether a server says by this that it is not, or no longer, the one to ask."""
    return error.code in ELSEWHERE


def unblocking(number: int) -> Operation[None]:
    """An operation that ends the wait of another connection."""
    yield Batch(((b"CLIENT", b"UNBLOCK", number),))
