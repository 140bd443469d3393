"""The execution of an operation: what is the same for every driver.

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

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic

import hiredis

from pressure.discovery import WRONG_SERVER
from pressure.errors import ConnectionFailedError, OutcomeUnknownError, ServerReplyError
from pressure.polling import as_poll, poll_interval, replies_to_wait, too_few_connections, watches_after
from pressure.pool import BaseCheckout
from pressure.protocol.operation import Batch, NewHold, Operation, Pause, Reply, Step, T, Wait
from pressure.settings import STOP_TIMEOUT, Settings

if TYPE_CHECKING:
    from pressure.asynchronous import AsyncCheckout

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


class Execution(Generic[T]):
    """The execution of an operation, from its first step to its result.

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

    def packed(self, step: Batch) -> tuple[bytes, int]:
        """The bytes of a step that is about to be sent, and how many replies there will be."""
        if not self._changed:
            self._changed = any(command[0] not in _HARMLESS for command in step.commands)
        return b"".join(map(_pack, step.commands)), len(step.commands)

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

    def stop(self, reason: BaseException) -> None:
        """Throw an exception into the operation in place of a step that waits."""
        self._go(lambda: self._operation.throw(reason))

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


class PooledExecution(Execution[T]):
    """The execution of an operation on a member of a pool, whose connection it may share with others.

    Args:
        operation: A generator that was not started yet.
        checkout: Where it runs.
        where: The settings of the server.

    Attributes:
        connection: The connection on which it was begun.
    """

    __slots__ = ("_has_heirs", "_limit", "_reply_timeout", "_watched", "_watches", "connection", "member")

    def __init__(self, operation: Operation[T], checkout: BaseCheckout, where: Settings) -> None:
        super().__init__(operation, where, checkout.begin_hold)
        self.member = checkout.member
        self.connection: Any = None
        self._reply_timeout = where.reply_timeout
        self._limit = where.max_connections
        self._has_heirs = where.directory is not None
        self._watches = self._watched = False

    def begin(self) -> None:
        """Come to the first step, on the member's connection."""
        self.connection = self.member.connection
        super().begin()

    def timeout_of(self, step: Batch) -> float:
        """How many seconds nothing may come from the server."""
        return self._reply_timeout + (step.seconds if isinstance(step, Wait) else 0)

    @property
    def shares(self) -> bool:
        """Whether others have their turn on the connection before the next step, which waits."""
        return self.member.lock is not None and not self._watches

    def stopped_unable_to_share(self) -> bool:
        """Stop it with an error if it would wait on a shared connection, but watches keys there."""
        if self.member.lock is None or not self._watches or type(self.step) is not Wait:
            return False
        self.stop(too_few_connections(self._limit))
        return True

    def check_connection(self) -> None:
        """Raises what ``lost`` says if the connection was lost while others had their turn."""
        if self.member.connection is not self.connection:
            raise self.lost(ConnectionError("while another operation used it"))

    def packed(self, step: Batch) -> tuple[bytes, int]:
        """The bytes of a step that is about to be sent, and how many replies there will be."""
        if self.member.lock is not None or self._has_heirs:
            self._watched, self._watches = self._watches, watches_after(step.commands, self._watches)
        if self.member.lock is not None and isinstance(step, Wait):
            step = as_poll(step)
        return super().packed(step)

    @property
    def goes_on(self) -> bool:
        """Whether the step at hand may be sent again, after a server said that it ends and has not done it.

        Another process runs the server then. It does not know which keys were watched, nor do others who
        share the connection know that it was opened anew.
        """
        return self._has_heirs and not self._watched and self.member.lock is None

    def advance(self, replies: list[Reply]) -> None:
        """Hand in the replies to ``step``."""
        if self.member.lock is not None and isinstance(self.step, Wait):
            replies = replies_to_wait(self.step, replies)
        super().advance(replies)


class AsyncExecution(PooledExecution[T]):
    """One operation under way, and what cancelled it meanwhile, if anything."""

    __slots__ = ("_checkout", "_is_stopped")

    def __init__(self, operation: Operation[T], checkout: AsyncCheckout) -> None:
        super().__init__(operation, checkout, checkout.driver.connections.settings)
        self._checkout = checkout
        self._is_stopped = False

    async def run(self) -> T:
        """To its end."""
        try:
            self.begin()
            while (step := self.step) is not None:
                if self.waits and not await self._may_wait():
                    continue
                if isinstance(step, Batch):
                    self.advance(await self._sent(step))
                elif await self._pause(step.seconds):
                    self.advance([])
        except ServerReplyError as error:
            if is_wrong_server(error):
                await self._checkout.leave_server()
            raise
        finally:
            self.member.is_spoiled |= self.leaves_a_mess
        return self.result

    async def _may_wait(self) -> bool:
        """Whether the next step, which waits, is to be carried out."""
        if not self._is_stopped and (reason := await self._cancelled()) is not None:
            self._is_stopped = True
            self.stop(reason)
            return False
        if self.stopped_unable_to_share():
            return False
        if self.shares and isinstance(self.step, Wait):
            return await self._pause(poll_interval(self.step, self.member))
        return True

    @abstractmethod
    async def _cancelled(self) -> BaseException | None:
        """What to stop the operation with; None to go on."""

    @abstractmethod
    async def _pause(self, seconds: float) -> bool:
        """Sleep; False if that was cancelled. Others have the connection meanwhile, if they may."""

    @abstractmethod
    async def _sent(self, step: Batch) -> list[Reply]:
        """The replies to a step. A cancellation that comes meanwhile only ends a wait."""


def is_wrong_server(error: ServerReplyError) -> bool:
    """Whether a server says by this that it is not, or no longer, the one to ask."""
    return error.code in WRONG_SERVER


def client_unblock(number: int) -> Operation[bool]:
    """An operation that ends the wait of another connection; whether the server did so."""
    (reply,) = yield Batch(((b"CLIENT", b"UNBLOCK", number),))
    return not isinstance(reply, ServerReplyError)


def grace_period(step: Batch, unblocked: bool | None) -> float:
    """How many seconds an operation that is to be stopped may wait from now on for the reply to a wait.

    Args:
        step: The wait.
        unblocked: Whether it was ended; False where the server does not do that, so that it ends by itself;
            None if the server has not answered.
    """
    if unblocked is None:
        return 0.0
    return STOP_TIMEOUT + (0.0 if unblocked or not isinstance(step, Wait) else step.seconds)
