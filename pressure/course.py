"""One operation on its way: what every driver keeps to, whatever carries the commands.

A driver calls ``begin``, takes ``step`` for as long as there is one, carries it out, and hands the replies to
``advance``. To stop the operation it calls ``stop`` instead of carrying out a step that ``waits``. If the
connection is lost, ``lost`` gives the error to raise. Where the operation asks for a new hold, it is answered
here, and the driver sees nothing of it.

Rules:
    - Whatever has arrived is handed in, also when the operation is to be stopped.
    - An operation whose connection is lost is closed: it sends nothing more.
    - Whether its outcome is known depends on what was sent: looking changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, Generic

import hiredis

from pressure.errors import ConnectionFailedError, OutcomeUnknownError, ServerReplyError
from pressure.finding import ELSEWHERE
from pressure.lease import Keeper
from pressure.pool import HOLDS, Member
from pressure.protocol.steps import Batch, NewHold, Operation, Pause, Reply, Step, T, Wait
from pressure.settings import STOP_TIMEOUT, Settings
from pressure.turns import brief, crowded, looked, still_watches

_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command

#: Commands that change nothing: when only these were sent, the outcome of an operation is not in doubt.
_HARMLESS: Final = frozenset(
    b"CLIENT COMMAND CONFIG EXEC EXISTS GET HGET HMGET INFO LLEN LPOS LRANGE MGET MQ.INSPECT MQ.QINFO MULTI "
    b"OBJECT PTTL SCAN TIME TYPE UNWATCH WATCH XINFO XLEN XPENDING XRANGE XREAD XREVRANGE "
    b"ZCARD ZMSCORE ZRANGE ZSCORE".split()
)

#: Refusals that an operation is prepared for, and that leave a connection as it was.
_EXPECTED: Final = frozenset({"NOSCRIPT", "NOGROUP", "BUSYGROUP", "EMPTYKEY"})
_NO_KEY: Final = "no such key"


class Course(Generic[T]):
    """An operation from its first step to its result.

    Args:
        operation: A generator that was not started yet.
        server: The server, for error messages.
        begin_hold: Makes the id of a new hold on the connection that carries the operation.

    Attributes:
        step: What to carry out next; None when the operation is over.
        result: What it returned.
        refused: Whether the server has refused a command; then keys may still be watched, or worse, and the
            connection is better not used again.

    Raises:
        PressureError: Whatever the operation raises: by ``begin``, ``advance`` and ``stop``.
    """

    __slots__ = ("_begin_hold", "_changed", "_operation", "_server", "refused", "result", "step")

    def __init__(self, operation: Operation[T], server: object, begin_hold: Callable[[], bytes]) -> None:
        self._operation = operation
        self._server = server
        self._begin_hold = begin_hold
        self._changed = False
        self.refused = False
        self.step: Batch | Pause | None = None
        self.result: T

    def begin(self) -> None:
        """Come to the first step."""
        self._go(lambda: next(self._operation))

    def _go(self, proceed: Callable[[], Step]) -> None:
        self.step = None
        try:
            step = proceed()
            while isinstance(step, NewHold):
                step = self._operation.send([self._begin_hold()])
            self.step = step
        except StopIteration as stop:
            self.result = stop.value

    @property
    def leaves_a_mess(self) -> bool:
        """Whether the connection is better not used again: keys may be watched, or a role be held on it.

        A command was refused; or something broke the operation off, such as a signal handler that raised.
        """
        return self.refused or self.step is not None

    @property
    def waits(self) -> bool:
        """Whether the next step waits, so that the operation may be stopped instead."""
        return self.step is not None and type(self.step) is not Batch

    def packed(self, step: Batch) -> bytes:
        """The bytes of a step that is about to be sent."""
        if not self._changed:
            self._changed = any(command[0] not in _HARMLESS for command in step.commands)
        return b"".join(map(_pack, step.commands))

    def advance(self, replies: list[Reply]) -> None:
        """Hand in the replies to ``step``."""
        for reply in replies:
            if type(reply) is list:  # of a transaction or a script, such as a role that was not given back
                self._note_refusals(reply)
        self._note_refusals(replies)
        self._go(lambda: self._operation.send(replies))

    def _note_refusals(self, replies: list[Reply]) -> None:
        for reply in replies:
            if type(reply) is ServerReplyError:
                self.refused |= reply.code not in _EXPECTED and _NO_KEY not in str(reply)

    def stop(self, wish: BaseException) -> None:
        """Throw an exception into the operation in place of a step that waits."""
        self._go(lambda: self._operation.throw(wish))

    def abandon(self) -> None:
        """There is no connection any more."""
        self.step = None
        self._operation.close()

    def lost(self, error: BaseException) -> Exception:
        """The error to raise when the connection was lost by ``error``."""
        step = self.step if isinstance(self.step, Batch) else Batch(())
        self.abandon()
        if not self._changed:
            failed = ConnectionFailedError(
                f"lost the connection to the Redis server at {self._server} ({error}); nothing was changed"
            )
            if step.note:
                failed.add_note(step.note)
            return failed
        unknown = OutcomeUnknownError(
            f"lost the connection to the Redis server at {self._server} during an operation ({error}), "
            "which may or may not have been done; if it still holds a role of the queue, whoever waits for "
            "that frees it, and so does repair",
            list(step.taken),
        )
        if step.done is not None:
            unknown.done = step.done
            unknown.add_note(f"at least {step.done} of the values were put")
        return unknown


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
        self.course: Course[T] = Course(operation, where, checkout.begin_hold)
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

    def packed(self, step: Batch) -> tuple[bytes, int]:
        """The bytes of a step that is about to be sent, and how many replies there will be."""
        if self.member.turn is not None:
            self._watches = still_watches(step.commands, self._watches)
            if isinstance(step, Wait):
                step = brief(step)
        return self.course.packed(step), len(step.commands)

    def advance(self, step: Batch, replies: list[Reply]) -> None:
        """Hand in what was answered to a step."""
        if self.member.turn is not None and isinstance(step, Wait):
            replies = looked(step, replies)
        self.course.advance(replies)


def is_elsewhere(error: ServerReplyError) -> bool:
    """Whether a server says by this that it is not, or no longer, the one to ask."""
    return error.code in ELSEWHERE


def unblocking(number: int) -> Operation[bool]:
    """An operation that ends the wait of another connection; whether the server did so."""
    (reply,) = yield Batch(((b"CLIENT", b"UNBLOCK", number),))
    return not isinstance(reply, ServerReplyError)


def grace(step: Batch, unblocked: bool | None) -> float:
    """How many seconds an operation that is to be stopped may wait from now on for the reply to a wait.

    Args:
        step: The wait.
        unblocked: Whether it was ended; False where the server does not do that, so that it ends by itself;
            None if the server has not answered.
    """
    if unblocked is None:
        return 0.0
    return STOP_TIMEOUT + (0.0 if unblocked or not isinstance(step, Wait) else step.seconds)
