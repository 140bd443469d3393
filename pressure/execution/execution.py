"""The execution of an operation: what all drivers have in common.

A driver calls ``begin``, takes ``step`` for as long as there is one, carries it out, and hands the replies to
``advance``. To stop the operation it calls ``stop`` instead of carrying out a step that ``waits``. If the
connection is lost, ``lost`` gives the error to raise. ``NewHold`` is answered here; a driver never sees it.

Rules:
    - Replies that have arrived are handed in, also when the operation is to be stopped.
    - An operation whose connection is lost is closed: it sends nothing more.
    - If the connection is lost, the outcome is known if only commands were sent that change nothing.
    - A step that a node of a cluster has refused as a whole is sent again, to the node that has the keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic

import hiredis

from pressure.connections.discovery import WRONG_SERVER
from pressure.connections.pool import BaseCheckout
from pressure.connections.settings import STOP_TIMEOUT, Settings
from pressure.errors import ConnectionFailedError, OutcomeUnknownError, ServerReplyError
from pressure.execution.polling import as_poll, replies_to_wait, too_few_connections
from pressure.protocol.commands import ELSEWHERE
from pressure.protocol.operation import Batch, Command, NewHold, Operation, Pause, Reply, Step, T, Wait

_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command

#: Commands that change nothing: when only these were sent, the outcome of an operation is not in doubt.
_HARMLESS: Final = frozenset(
    b"CLIENT COMMAND CONFIG EXEC EXISTS GET HGET HMGET INFO LLEN LPOS LRANGE MGET MQ.INSPECT MQ.QINFO MULTI "
    b"OBJECT PTTL SCAN TIME TYPE UNWATCH WATCH XINFO XLEN XPENDING XRANGE XREAD XREVRANGE "
    b"ZCARD ZMSCORE ZRANGE ZSCORE".split()
)

#: Seconds until a step is sent again whose keys are being moved.
MOVING: Final = 0.05

#: Error replies that operations expect, and that do not make a connection unusable.
_EXPECTED: Final = frozenset({"NOSCRIPT", "NOGROUP", "BUSYGROUP", "EMPTYKEY"})
_NO_KEY: Final = "no such key"


class Execution(Generic[T]):
    """The execution of an operation, from its first step to its result.

    Args:
        operation: A generator that was not started yet.
        server: The server, for error messages.
        begin_hold: Makes the id of a new hold on the connection that carries the operation.

    Attributes:
        step: The step to carry out next; None when the operation is over.
        result: What the operation returned.
        refused: Whether the server has refused a command. Then keys may still be watched, or a role be held
            on the connection, which should not be used again.

    Raises:
        PressureError: Whatever the operation raises: by ``begin``, ``advance`` and ``stop``.
    """

    __slots__ = (
        "_begin_hold",
        "_changed",
        "_had_changed",
        "_operation",
        "_server",
        "refused",
        "result",
        "step",
    )

    def __init__(self, operation: Operation[T], server: object, begin_hold: Callable[[], bytes]) -> None:
        self._operation = operation
        self._server = server
        self._begin_hold = begin_hold
        self._changed = self._had_changed = False
        self.refused = False
        self.step: Batch | Pause | None = None
        self.result: T

    def begin(self) -> None:
        """Run the operation to its first step."""
        self._go(self._operation.send, None)

    def _go(self, proceed: Callable[[Any], Step], sent: Any) -> None:
        self.step = None
        try:
            step = proceed(sent)
            while isinstance(step, NewHold):
                step = self._operation.send([self._begin_hold()])
            self.step = step
        except StopIteration as stop:
            self.result = stop.value

    @property
    def spoils_connection(self) -> bool:
        """Whether the connection should not be used again: keys may be watched, or a role be held on it.

        That is so if a command was refused, or if something ended the operation early, such as a signal
        handler that raised.
        """
        return self.refused or self.step is not None

    @property
    def waits(self) -> bool:
        """Whether the next step waits, so that the operation may be stopped instead."""
        return self.step is not None and type(self.step) is not Batch

    def packed(self, step: Batch) -> tuple[bytes, int]:
        """The bytes of a step that is about to be sent, and how many replies there will be."""
        self._had_changed = self._changed
        if not self._changed:
            self._changed = not _HARMLESS.issuperset([command[0] for command in step.commands])
        return b"".join(map(_pack, step.commands)), len(step.commands)

    def advance(self, replies: list[Reply]) -> None:
        """Hand in the replies to ``step``."""
        for reply in replies:
            if type(reply) is list:  # of EXEC or a script; an error in it can be that of giving a role back
                self._note_refusals(reply)
        self._note_refusals(replies)
        self._go(self._operation.send, replies)

    def _note_refusals(self, replies: list[Reply]) -> None:
        for reply in replies:
            if type(reply) is ServerReplyError:
                self.refused |= reply.code not in _EXPECTED and _NO_KEY not in str(reply)

    def stop(self, reason: BaseException) -> None:
        """Throw an exception into the operation in place of a step that waits."""
        self._go(self._operation.throw, reason)

    def abandon(self) -> None:
        """Close the operation: its connection is lost."""
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
            "which may or may not have been done; look at the queue before you call again. If the operation "
            "still holds a role, a client that waits for the role frees it, and so does repair",
            list(step.taken),
        )
        if step.done is not None:
            unknown.done = step.done
            unknown.add_note(f"at least {step.done} of the values were put")
        return unknown


class PooledExecution(Execution[T]):
    """The execution of an operation on a member of a pool, whose connection it may share with others.

    Args:
        operation: A generator that was not started yet.
        checkout: The member of the pool.
        where: The settings of the server.

    Attributes:
        connection: The connection on which the operation began.
    """

    __slots__ = (
        "_can_fail_over",
        "_limit",
        "_refused_steps",
        "_reply_timeout",
        "_watched",
        "_watches",
        "connection",
        "member",
    )

    def __init__(self, operation: Operation[T], checkout: BaseCheckout, where: Settings) -> None:
        super().__init__(operation, where, checkout.begin_hold)
        self.member = checkout.member
        self.connection: Any = None
        self._reply_timeout = where.reply_timeout
        self._limit = where.max_connections
        self._can_fail_over = where.directory is not None
        self._watches = self._watched = False
        self._refused_steps = 0

    def begin(self) -> None:
        """Run the operation to its first step, on the member's connection."""
        self.connection = self.member.connection
        super().begin()

    def timeout_of(self, step: Batch) -> float:
        """How many seconds the server may be silent during a step."""
        return self._reply_timeout + (step.seconds if isinstance(step, Wait) else 0)

    @property
    def shares(self) -> bool:
        """Whether other operations may use the connection before the next step, which waits."""
        return self.member.lock is not None and not self._watches

    def stopped_unable_to_share(self) -> bool:
        """Stop an operation that would wait on a shared connection while it watches keys; whether it did."""
        if self.member.lock is None or not self._watches or type(self.step) is not Wait:
            return False
        self.stop(too_few_connections(self._limit))
        return True

    def check_connection(self) -> None:
        """Raise the error of ``lost`` if the connection was lost while other operations used it."""
        if self.member.connection is not self.connection:
            raise self.lost(ConnectionError("while another operation used it"))

    def packed(self, step: Batch) -> tuple[bytes, int]:
        """The bytes of a step that is about to be sent, and how many replies there will be."""
        self._watched = self._watches and not unwatches_first(step.commands)
        self._watches = watches_after(step.commands, self._watches)
        if self.member.lock is not None and isinstance(step, Wait):
            step = as_poll(step)
        return super().packed(step)

    def accept_end(self) -> bool:
        """Prepare to send the step again, as its server ended without executing it; False if it is not to be.

        Another process runs the server then.
        """
        if not self._can_fail_over or not self._may_send_again:
            return False
        self._forget_step()
        return True

    @property
    def _may_send_again(self) -> bool:
        """Whether another server can execute the current step.

        It does not know which keys were watched, and other operations on a shared connection do not know that
        it was opened anew.
        """
        return not self._watched and self.member.lock is None

    def accept_move(self, step: Batch, replies: list[Reply]) -> bool:
        """Prepare to send the step again, to the node that has the keys now; False if it is not to be."""
        return "MOVED" in _refusals(step, replies) and self._accept_refusal()

    def accept_delay(self, step: Batch, replies: list[Reply]) -> bool:
        """Prepare to send the step again in ``MOVING`` seconds, as its keys are on their way; or False."""
        return bool(_refusals(step, replies)) and self._accept_refusal()

    def _accept_refusal(self) -> bool:
        """Prepare to send a step again that was refused; False if that happens for too long."""
        self._refused_steps += 1
        if not self._may_send_again or self._refused_steps * MOVING > self._reply_timeout:
            return False
        self._forget_step()
        return True

    def _forget_step(self) -> None:
        """Undo what ``packed`` has noted of a step that was not executed."""
        self._changed, self._watches = self._had_changed, False

    def advance(self, replies: list[Reply]) -> None:
        """Hand in the replies to ``step``."""
        if self.member.lock is not None and isinstance(self.step, Wait):
            replies = replies_to_wait(self.step, replies)
        super().advance(replies)


def _refusals(step: Batch, replies: list[Reply]) -> frozenset[str]:
    """The codes of a node's refusals, if it has executed nothing of a step but what changes nothing."""
    if ServerReplyError not in map(type, replies):
        return frozenset()
    codes = [reply.code if isinstance(reply, ServerReplyError) else "" for reply in replies]
    refused = ELSEWHERE.intersection(codes)
    nothing_done = codes[-1] == "EXECABORT" or all(
        code in ELSEWHERE or command[0] in _HARMLESS
        for code, command in zip(codes, step.commands, strict=True)
    )
    return refused if nothing_done else frozenset()


def watches_after(commands: tuple[Command, ...], before: bool) -> bool:
    """Whether keys are watched after these commands."""
    for name, *_ in commands:
        if name == b"WATCH":
            before = True
        elif name in (b"EXEC", b"UNWATCH", b"DISCARD"):
            before = False
    return before


def unwatches_first(commands: tuple[Command, ...]) -> bool:
    """Whether it makes no difference to these commands which keys were watched before them."""
    return next((name for name, *_ in commands if name in (b"EXEC", b"UNWATCH")), b"") == b"UNWATCH"


def is_wrong_server(error: ServerReplyError) -> bool:
    """Whether this error says that the server is not, or no longer, the one to ask."""
    return error.code in WRONG_SERVER


def client_unblock(number: int) -> Operation[bool]:
    """An operation that ends the wait of the connection with this CLIENT ID; whether the server did it."""
    (reply,) = yield Batch(((b"CLIENT", b"UNBLOCK", number),))
    return not isinstance(reply, ServerReplyError)


def grace_period(step: Batch, unblocked: bool | None) -> float:
    """How many seconds to wait for the reply to a wait, once its operation is to be stopped.

    Args:
        step: The wait.
        unblocked: True if the server accepted CLIENT UNBLOCK; False if it cannot, so that the wait ends by
            itself; None if the server has not answered.
    """
    if unblocked is None:
        return 0.0
    return STOP_TIMEOUT + (0.0 if unblocked or not isinstance(step, Wait) else step.seconds)
