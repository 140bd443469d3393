"""A client in a simulation, and how it fails: it dies, or its connection does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import hiredis

from pressure.connections.pool import Holds
from pressure.errors import ServerReplyError
from pressure.execution.execution import Execution
from pressure.protocol import Batch, Context, Operation, Pause, Received, ServerFacts

from .scenario import connection_of, process_of

if TYPE_CHECKING:
    from .world import Simulation

__all__ = ["FAULTS", "Actor", "Fault"]

_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command

Fault: TypeAlias = Literal["dies before", "dies waiting", "command lost", "reply lost", "cut short"]
"""What goes wrong at a step.

``dies before``: the client dies instead of sending it. ``dies waiting``: it dies as soon as the server has
it, blocked in it, maybe. ``command lost``: its connection breaks instead, and the client is told. ``reply
lost``: the same when the server has answered, after a wait if there was one. ``cut short``: the connection
breaks in the middle of what it sends.
"""

FAULTS: Final[tuple[Fault, ...]] = ("dies before", "dies waiting", "command lost", "reply lost", "cut short")


class Actor:
    """A client: operations of its own, one after the other, over a connection of its own.

    Attributes:
        name: as its identifier and its connection have it.
        results: what its operations returned, or the errors that they raised, in order.
        received: what it has received, and not settled.
        sizes: of how many commands each of its steps was.
    """

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation = simulation
        self._todo: list[Callable[[Context], Operation[Any]]] = []
        self._execution: Execution[Any] | None = None
        self._awaited = 0  # replies that are to come
        self._until: float | None = None  # when a pause is over
        self._reader = hiredis.Reader(replyError=ServerReplyError, notEnoughData=self)
        self._replies: list[Any] = []
        self._holds: list[bytes] = []
        self._fault: tuple[int, Fault] | None = None
        self._cut = 0
        self.name = name
        self.results: list[Any] = []
        self.received: Received | None = None
        self.sizes: list[int] = []
        self.alive = True
        self.session = simulation.connect(name)
        self.context = Context(
            simulation.keys, simulation.seconds, slice=1.0, server=ServerFacts(scripts=simulation.scripts),
            lease=simulation.lease, holds=Holds(process_of(name)),
        )  # fmt: skip

    def will(self, *operations: Callable[[Context], Operation[Any]]) -> Actor:
        """Gives it more to do."""
        self._todo += operations
        return self

    def fails(self, at: int, fault: Fault, cut: int = 0) -> Actor:
        """Has something go wrong at one of its steps, the first being 1; cut short after so many commands."""
        self._fault, self._cut = (at, fault), cut
        return self

    @property
    def steps(self) -> int:
        """How many steps it has sent, or tried to send."""
        return len(self.sizes)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more that it will do."""
        return not self.alive or (self._execution is None and not self._todo)

    @property
    def can_go_on(self) -> bool:
        """Whether it waits for nothing."""
        if self.is_done:
            return False
        if self._until is not None:
            return self._simulation.seconds() >= self._until
        return len(self._replies) == self._awaited

    def go_on(self) -> None:
        """Takes the replies that it has, and sends its next step."""
        if self._execution is not None and self._fails_with("reply lost"):
            self._lose(self._execution)
            return
        try:
            if self._execution is None:
                self._execution = Execution(self._todo.pop(0)(self.context), "simulation", self._begin_hold)
                self._execution.begin()
            else:
                self._advance(self._execution)
            self._send(self._execution)
        except Exception as error:
            self._over(error)

    def _advance(self, execution: Execution[Any]) -> None:
        replies, self._replies, self._awaited, self._until = self._replies, [], 0, None
        execution.advance(replies)

    def _send(self, execution: Execution[Any]) -> None:
        step = execution.step
        if step is None:
            self._over(execution.result)
        elif isinstance(step, Pause):
            self._until = self._simulation.seconds() + step.seconds
        else:
            self.sizes.append(len(step.commands))
            self._send_batch(execution, step)

    def _send_batch(self, execution: Execution[Any], step: Batch) -> None:
        data, _ = execution.packed(step)
        if self._fails_with("dies before"):
            self.kill()
        elif self._fails_with("command lost"):
            self._lose(execution)
        elif self._fails_with("cut short"):
            self._simulation.send(self, b"".join(map(_pack, step.commands[: self._cut])))
            self._lose(execution)
        else:
            self._awaited = len(step.commands)
            self._simulation.send(self, data)
            if self._fails_with("dies waiting"):
                self.kill()

    def _fails_with(self, fault: Fault) -> bool:
        return self._fault == (self.steps, fault)

    def _lose(self, execution: Execution[Any]) -> None:
        """Its connection breaks: the operation is over, and nothing more is done."""
        self.kill()
        self._over(execution.lost(OSError("the connection broke")))

    def _begin_hold(self) -> bytes:
        holds = self.context.holds
        self._holds.append(holds.begin(connection_of(holds.process)))
        return self._holds[-1]

    def _over(self, result: Any) -> None:
        self._execution = None
        self.received = result if isinstance(result, Received) else None
        for hold_id in self._holds:
            if self.received is None or hold_id != self.received.hold_id:
                self.context.holds.end(hold_id)
        self.results.append(result.value if isinstance(result, Received) else result)

    def stop(self, wish: BaseException) -> None:
        """Throws an exception into its operation in place of a step that waits, which is broken off."""
        execution = self._execution
        assert execution is not None
        assert execution.waits
        if self._until is None:
            self._simulation.unblock(self)
        self._replies, self._awaited, self._until = [], 0, None
        try:
            execution.stop(wish)
            self._send(execution)
        except BaseException as error:
            self._over(error)

    def kill(self) -> None:
        """It dies: its connection is gone, and it does nothing any more."""
        self.alive = False
        self._simulation.disconnect(self)

    def hear(self, data: bytes) -> None:
        """Bytes of the server."""
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not self:
            self._replies.append(reply)
