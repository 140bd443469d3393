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

from collections.abc import Callable
from typing import Any, Final, Generic

import hiredis

from pressure.errors import ConnectionFailedError, OutcomeUnknownError, ServerReplyError
from pressure.protocol.steps import Batch, NewHold, Operation, Pause, Reply, Step, T

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
        address: The server, for error messages.
        begin_hold: Makes the id of a new hold on the connection that carries the operation.

    Attributes:
        step: What to carry out next; None when the operation is over.
        result: What it returned.
        refused: Whether the server has refused a command; then keys may still be watched, or worse, and the
            connection is better not used again.

    Raises:
        PressureError: Whatever the operation raises: by ``begin``, ``advance`` and ``stop``.
    """

    __slots__ = ("_address", "_begin_hold", "_changed", "_operation", "refused", "result", "step")

    def __init__(self, operation: Operation[T], address: str, begin_hold: Callable[[], bytes]) -> None:
        self._operation = operation
        self._address = address
        self._begin_hold = begin_hold
        self._changed = False
        self.refused = False
        self.step: Batch | Pause | None = None
        self.result: T

    def begin(self) -> None:
        """Come to the first step."""
        self._go(lambda: next(self._operation))

    def _go(self, proceed: Callable[[], Step]) -> None:
        try:
            step = proceed()
            while isinstance(step, NewHold):
                step = self._operation.send([self._begin_hold()])
            self.step = step
        except StopIteration as stop:
            self.step = None
            self.result = stop.value

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
            return ConnectionFailedError(
                f"lost the connection to the Redis server at {self._address} ({error}); nothing was changed"
            )
        unknown = OutcomeUnknownError(
            f"lost the connection to the Redis server at {self._address} during an operation ({error}), "
            "which may or may not have been done; if it still holds a role of the queue, whoever waits for "
            "that frees it, and so does repair",
            list(step.taken),
        )
        if step.done is not None:
            unknown.done = step.done
            unknown.add_note(f"at least {step.done} of the values were put")
        return unknown
