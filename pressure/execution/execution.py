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

import time
from collections.abc import Callable, Collection
from inspect import GEN_CLOSED, getgeneratorstate
from typing import Any, Final, Generic

import hiredis

from pressure.connections.discovery import WRONG_SERVER
from pressure.connections.pool import BaseCheckout
from pressure.connections.settings import STOP_TIMEOUT, Settings
from pressure.errors import ConnectionFailedError, OutcomeUnknownError, ServerReplyError
from pressure.execution.polling import POLL_INTERVAL, as_poll, replies_to_wait, too_few_connections
from pressure.protocol.commands import ELSEWHERE
from pressure.protocol.operation import Batch, Command, NewHold, Operation, Pause, Reply, Step, T, Wait

_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command

#: Commands that change nothing: when only these were sent, the outcome of an operation is not in doubt.
_HARMLESS: Final = frozenset(
    b"CLIENT CLUSTER COMMAND CONFIG EXEC EXISTS GET HGET HMGET INFO LLEN LPOS LRANGE MGET MQ.INSPECT "
    b"MQ.QINFO MULTI OBJECT PTTL SCAN TIME TYPE UNWATCH WATCH XINFO XLEN XPENDING XRANGE XREAD XREVRANGE "
    b"ZCARD ZMSCORE ZRANGE ZSCORE".split()
)

#: Seconds until a step is sent again whose keys are being moved.
MOVING: Final = 0.05

#: Error replies that operations expect, and that do not make a connection unusable.
_EXPECTED: Final = frozenset({"NOSCRIPT", "NOGROUP", "BUSYGROUP", "EMPTYKEY"})
_NO_KEY: Final = "no such key"

#: The commands that end a watch.
_UNWATCHING: Final = frozenset({b"EXEC", b"UNWATCH", b"DISCARD"})


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
    def has_failed(self) -> bool:
        """Whether the operation itself has ended with an exception; not if it was broken off."""
        return not hasattr(self, "result") and getgeneratorstate(self._operation) == GEN_CLOSED

    @property
    def waits(self) -> bool:
        """Whether the next step waits, so that the operation may be stopped instead."""
        return self.step is not None and type(self.step) is not Batch

    def packed(self, step: Batch) -> tuple[bytes, int]:
        """The bytes of a step that is about to be sent, and how many replies there will be."""
        self._had_changed = self._changed
        if not self._changed:
            self._changed = changes(step.commands)
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
        ended_wait: Whether the driver has ended the wait that is under way, to stop the operation.
    """

    __slots__ = (
        "_can_fail_over",
        "_end_holds",
        "_ended",
        "_executed",
        "_life",
        "_limit",
        "_poll_until",
        "_polled",
        "_refused_steps",
        "_reply_timeout",
        "_unsent",
        "_watch_is_lost",
        "_watched",
        "_watches",
        "connection",
        "ended_wait",
        "member",
    )

    def __init__(self, operation: Operation[T], checkout: BaseCheckout, where: Settings) -> None:
        super().__init__(operation, where, checkout.begin_hold)
        self.member = checkout.member
        self._end_holds = checkout.end_holds
        self.connection: Any = None
        self._life = -1
        self._reply_timeout = where.reply_timeout
        self._limit = where.max_connections
        self._can_fail_over = where.directory is not None
        self._watches = self._watched = self._watch_is_lost = self.ended_wait = False
        self._refused_steps = 0
        self._ended: Step | None = None  # the wait that the driver has ended
        self._polled, self._poll_until = Batch(()), 0.0  # the wait that is replaced by polls, and its end
        self._unsent: tuple[Command, ...] | None = None  # of the step: what no server has executed
        self._executed: list[Reply] = []  # the replies to what was before that

    def begin(self) -> None:
        """Run the operation to its first step, on the member's connection."""
        self.connection, self._life = self.member.connection, self.member.life
        super().begin()

    def note_end(self) -> None:
        """Note what the operation leaves on its connection when it has ended or was broken off.

        One that has failed has given back its roles, so nothing is held on the connection.
        """
        self.member.is_spoiled |= self.spoils_connection
        if self.has_failed:
            self._end_holds()

    def timeout_of(self, step: Batch) -> float:
        """How many seconds the server may be silent during a step."""
        return self._reply_timeout + (step.seconds if isinstance(step, Wait) else 0)

    @property
    def shares(self) -> bool:
        """Whether other operations may use the connection before the next step, which waits."""
        return self.member.lock is not None and not self._watches and self._unsent is None

    def poll_interval(self, step: Wait) -> float:
        """How many seconds other operations may use the connection before this one polls (again)."""
        now = time.monotonic()
        if self._polled is not step:
            self._polled, self._poll_until = step, now + step.seconds
        return max(min(self._poll_until - now, POLL_INTERVAL * self.member.users), 0.0)

    def stopped_unable_to_share(self) -> bool:
        """Stop an operation that would wait on a shared connection while it watches keys; whether it did."""
        if self.member.lock is None or not self._watches or type(self.step) is not Wait:
            return False
        self.stop(too_few_connections(self._limit))
        return True

    def check_connection(self) -> None:
        """Go on with the member's connection, which another operation may have opened again meanwhile.

        Raises:
            PressureError: The error of ``lost``: the connection was lost while other operations used it.
        """
        if self.member.life != self._life:
            raise self.lost(ConnectionError("while another operation used it"))
        self.connection = self.member.connection

    def packed(self, step: Batch) -> tuple[bytes, int]:
        """The bytes of a step, or of what is left of it, and how many replies there will be."""
        if self._unsent is None:
            if self.member.lock is not None and isinstance(step, Wait):
                step = as_poll(step)
            self._unsent = step.commands
        if self._watch_is_lost and (end := ends_watch(self._unsent)):
            self._watch_is_lost = False
            if self._unsent[end - 1][0] == b"EXEC":
                self._executed += [None] * end  # as if another client had changed a watched key
                self._unsent = self._unsent[end:]
        self._watched = self._watches
        self._watches = watches_after(self._unsent, self._watches)
        return super().packed(Batch(self._unsent))

    def accept_end(self) -> bool:
        """Prepare to send the step again, as its server ended without executing it; False if it is not to be.

        Another process runs the server then.
        """
        return self._can_fail_over and self._accept_refusal(0)

    def accept_move(self, step: Batch, replies: list[Reply]) -> bool:
        """Prepare to send a refused step again, to the node that has the keys; False if it is not to be."""
        return self._accept(step, replies, ("MOVED",))

    def accept_delay(self, step: Batch, replies: list[Reply]) -> bool:
        """Prepare to send a refused step again in ``MOVING`` seconds: its keys are on their way; or False."""
        return self._accept(step, replies, ELSEWHERE)

    def _accept(self, step: Batch, replies: list[Reply], why: Collection[str]) -> bool:
        if self._unsent is None:  # ``AtNodes``
            return False
        at = refused_from(self._unsent, replies)
        if at is None or _codes(replies[at:]).isdisjoint(why):
            return False
        if at == 0 and self._watched and isinstance(step, Wait) and not ends_watch(self._unsent):
            return False  # the operation itself first watches again
        self._refused_steps += 1
        if self._refused_steps * MOVING > self._reply_timeout:
            return False
        self._executed += replies[:at]
        return self._accept_refusal(at)

    def _accept_refusal(self, at: int) -> bool:
        """Prepare to send again what was sent last, from this command on.

        The server that executes it does not know which keys were watched before.
        """
        assert self._unsent is not None
        done, self._unsent = self._unsent[:at], self._unsent[at:]
        self._changed = self._had_changed or changes(done)
        self._watch_is_lost |= watches_after(done, self._watched)
        self._watches = False
        return True

    def advance(self, replies: list[Reply]) -> None:
        """Hand in the replies to ``step``, or to what was sent of it last."""
        if self._unsent is not None:
            replies = [*self._executed, *replies[len(replies) - len(self._unsent) :]]
            self._unsent, self._executed = None, []
        if isinstance(self.step, Wait):
            was_ended, self.ended_wait = self.ended_wait and self._ended is not self.step, False
            if self.member.lock is not None:
                replies = replies_to_wait(self.step, replies)
            is_polled = self._polled is self.step and time.monotonic() < self._poll_until
            if replies[0] is None and (was_ended or is_polled):
                self._ended = self.step if was_ended else None
                return  # the wait goes on, or the operation is stopped in its place
        super().advance(replies)


def changes(commands: tuple[Command, ...]) -> bool:
    """Whether one of these commands may change something."""
    return not _HARMLESS.issuperset([command[0] for command in commands])


def _codes(replies: list[Reply]) -> frozenset[str]:
    return frozenset(reply.code for reply in replies if isinstance(reply, ServerReplyError))


def refused_from(commands: tuple[Command, ...], replies: list[Reply]) -> int | None:
    """The index of the first command that a node has refused since it does not have the keys (any more).

    None if there is none, or if a command after it was executed and may have changed something. A transaction
    is refused as a whole: then the index is that of its MULTI.
    """
    if ServerReplyError not in map(type, replies):
        return None
    names = [command[0] for command in commands]
    codes = [reply.code if isinstance(reply, ServerReplyError) else "" for reply in replies]
    elsewhere = {*ELSEWHERE, "UNBLOCKED"} if "MOVED" in codes else ELSEWHERE  # its node has become a replica
    found, at = None, 0
    while at < len(names):
        end = 1 + (names.index(b"EXEC", at) if names[at] == b"MULTI" else at)
        if codes[end - 1] and not elsewhere.isdisjoint(codes[at:end]):
            found = at if found is None else found
        elif found is not None and changes(commands[at:end]):
            return None
        at = end
    return found


def watches_after(commands: tuple[Command, ...], before: bool) -> bool:
    """Whether keys are watched after these commands."""
    for name, *_ in commands:
        if name == b"WATCH":
            before = True
        elif name in _UNWATCHING:
            before = False
    return before


def ends_watch(commands: tuple[Command, ...]) -> int:
    """How many of these commands there are up to the first that ends a watch; 0 if none does."""
    return next((at for at, (name, *_) in enumerate(commands, 1) if name in _UNWATCHING), 0)


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
