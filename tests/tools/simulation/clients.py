"""Every state of a client that is reached, numbered, and what it makes of the replies it gets.

A client's state is that of its operations, and those are generators, which cannot be copied. But what one
does depends on the replies that it was sent and on nothing else: from the replies it is brought to where it
was. Each step is so computed once, and two histories after which a client goes on alike (``gist``) are one
state.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from pressure.connections.pool import Holds
from pressure.errors import PressureError, PressureWarning
from pressure.execution.execution import Execution
from pressure.keys import Keys
from pressure.protocol import Batch, Command, Context, Pause, Received, Wait
from pressure.protocol import ServerFacts as Found

from .gist import gist
from .scenario import Member, Tries, process_of
from .servers import thawed

__all__ = ["DIED", "Client", "Error", "Failure", "Local", "Result"]

SLICE: Final = 1.0
LONG_AGO: Final = -1e9
NOTHING: Final = "there is nothing to settle"

Failure: TypeAlias = Literal["cut", "cut idle", "started again"]
"""What a client lives through: it loses its connection in an operation, or between two; or it dies, and is
started again under the same number of a process."""

History: TypeAlias = tuple["tuple[Any, ...] | Failure", ...]


@dataclass(frozen=True, slots=True)
class Error:
    """What an operation raised.

    Attributes:
        kind: the name of its class.
        done: how many of the values of a ``put_many`` were put.
        text: what it says.
    """

    kind: str
    done: int = 0
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.kind


Result: TypeAlias = Any
"""What an operation returned, or an ``Error``."""


@dataclass(frozen=True, slots=True)
class Local:
    """A state of a client.

    Attributes:
        results: of the operations that are over.
        commands: what it sends next; None if there is nothing more, or it lets time pass first.
        pauses: it lets time pass.
        dead: it does nothing any more.
        doomed: it is blocked, and its connection breaks when it is answered.
        delivered: the values that it has got for good.
        history: the replies that lead here; others may, too.
        connection: the name of its connection.
        idle: it is between two operations: nothing of the next one was sent.
    """

    results: tuple[Result, ...]
    commands: tuple[Command, ...] | None
    pauses: bool
    dead: bool
    doomed: bool
    delivered: tuple[bytes, ...]
    history: History
    connection: bytes = b""
    idle: bool = False

    @property
    def over(self) -> bool:
        """Whether there is nothing more that it will do."""
        return self.dead or (self.commands is None and not self.pauses)


class Client:
    """All states of a client that were reached.

    Args:
        member: who it is.
        keys: of the queue.
        scripts: whether it has the server run scripts.
        tries: after how many waits in vain it gives up; None for never.
        heal: whether it looks at those for whom it waits. What it has seen of them tells states apart, so
            there are many more.
        exact: whether to tell all histories apart.

    Attributes:
        states: by their numbers; in the first it has sent nothing yet.
    """

    def __init__(
        self, member: Member, keys: Keys, *, scripts: bool, tries: int | None, heal: bool, exact: bool = False
    ) -> None:
        self.member = member
        self.states: list[Local] = []
        self._keys = keys
        self._scripts = scripts
        self._tries = tries
        self._heal = heal
        self._exact = exact
        self._numbers: dict[Hashable, int] = {}
        self._steps: dict[tuple[int, Hashable], int] = {}
        self._arrive(())

    def hear(self, state: int, replies: tuple[Any, ...]) -> int:
        """It is answered, or the time that it let pass is over; its state after it."""
        key = (state, replies)
        if (known := self._steps.get(key)) is None:
            known = self._steps[key] = self._arrive((*self.states[state].history, replies))
        return known

    def go_on(self, state: int, failure: Failure) -> int:
        """Something fails, and it goes on."""
        key = (state, failure)
        if (known := self._steps.get(key)) is None:
            known = self._steps[key] = self._arrive((*self.states[state].history, failure))
        return known

    def lose(self, state: int) -> int:
        """Its connection breaks: it hears of it, and does no more."""
        return self._end(state, "told")

    def die(self, state: int) -> int:
        """It dies, and says nothing."""
        return self._end(state, "dead")

    def doom(self, state: int) -> int:
        """It is blocked, and its connection will break as soon as it is answered."""
        key = (state, "doomed")
        if (known := self._steps.get(key)) is None:
            now = self.states[state]
            doomed = replace(now, doomed=True, idle=False)
            known = self._steps[key] = self._number(key, doomed)
        return known

    def _end(self, state: int, how: str) -> int:
        key = (state, how)
        if (known := self._steps.get(key)) is None:
            now, results = self.states[state], self.states[state].results
            if how == "told":
                results = (*results, self._replayed(now.history).lost())
            local = Local(results, None, False, True, False, now.delivered, now.history)
            known = self._steps[key] = self._number(("dead", results, now.delivered), local)
        return known

    def _arrive(self, history: History) -> int:
        reached = self._replayed(history)
        step, results = reached.step, tuple(reached.results)
        commands = step.commands if isinstance(step, Batch) else None
        delivered = self._delivered(results)
        local = Local(
            results, commands, isinstance(step, Pause), False, False, delivered, history, reached.connection,
            reached.idle,
        )  # fmt: skip
        return self._number(history if self._exact else reached.gist(), local)

    def _number(self, key: Hashable, local: Local) -> int:
        known = self._numbers.setdefault(key, len(self.states))
        if known == len(self.states):
            self.states.append(local)
        else:
            assert self.states[known].commands == local.commands, "what is alike is to go on alike"
        return known

    def _replayed(self, history: History) -> Play:
        play = Play(self.member, self._context, self._tries)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PressureWarning)  # which tell of what laws look at, too
            for each in history:
                play.fail(each) if isinstance(each, str) else play.hear(each)
        return play

    def _context(self, starts: int) -> Context:
        """What a process of the client knows at first."""
        return Context(
            self._keys, _no_time, slice=SLICE, server=Found(scripts=self._scripts), lease=self.member.lease,
            heal=self._heal, holds=Holds(process_of(self.member.name, starts)),
        )  # fmt: skip

    def _delivered(self, results: tuple[Result, ...]) -> tuple[bytes, ...]:
        """The values that it has got for good: those it received when they are acknowledged."""
        got: list[bytes] = []
        received: bytes | None = None
        for deed, result in zip(self.member.deeds, results, strict=False):
            if deed.kind == "receive":
                received = result if isinstance(result, bytes) else None
            elif deed.kind == "acknowledge" and result is None and received is not None:
                got.append(received)
            elif deed.kind == "get" and not isinstance(result, Error):
                got += [result] if isinstance(result, bytes) else result
        return tuple(got)


class Play:
    """A client's operations, from the first on.

    Attributes:
        connection: the name of its connection.
        idle: whether nothing of the operation was sent that it has begun.
        results: of the operations that are over.
    """

    def __init__(self, member: Member, begin: Callable[[int], Context], tries: int | None) -> None:
        self._todo = list(member.deeds)
        self._begin_process, self._starts = begin, 0
        self._context = begin(0)
        self.connection = self._context.holds.connection_name()
        self.idle = True
        self._tries = tries
        self._execution: Execution[Any] | None = None
        self._operation: Any = None
        self._received: Received | None = None
        self._holds: list[bytes] = []
        self.results: list[Result] = []
        self._go_on()

    @property
    def step(self) -> Batch | Pause | None:
        """What is to be done next."""
        return self._execution.step if self._execution else None

    def hear(self, replies: tuple[Any, ...]) -> None:
        """Goes on from replies to the next step."""
        assert self._execution is not None
        self.idle = False
        if isinstance(self._execution.step, Pause) or (
            isinstance(self._execution.step, Wait) and replies[0] is None
        ):
            self._time_passes()
        answers = [thawed(each) for each in replies]
        if isinstance(self._execution.step, Batch):
            answers = [*map(_long_after, self._execution.step.commands, answers)]
        try:
            self._execution.advance(answers)
        except Exception as error:
            self._over(_told(error))
        self._go_on()

    def _time_passes(self) -> None:
        """What it has seen of holders is old. There is no other time, so that waiting comes round."""
        observations = self._context.server.observations
        for role, observation in observations.items():
            observations[role] = replace(observation, since=LONG_AGO)

    def fail(self, failure: Failure) -> None:
        """Lives through it, and goes on."""
        if failure == "cut idle":
            self.connection = self._context.holds.connection_name()
            return
        assert self._execution is not None
        if failure == "cut":
            error = _told(self._execution.lost(OSError("the connection broke")))
        else:
            error = DIED
            self._execution.abandon()
            self._starts += 1
            self._context = self._begin_process(self._starts)
        self.connection = self._context.holds.connection_name()
        self._over(error)
        self._go_on()

    def _go_on(self) -> None:
        """Begins operations until there is something to be done."""
        while True:
            if self._execution is not None and self._execution.step is None:
                self._over(self._result(self._execution.result))
            if self._execution is not None or not self._todo:
                break
            self._begin()
        if self._execution is not None and isinstance(self._execution.step, Batch):
            self._execution.packed(self._execution.step)  # from here on its outcome may be in doubt

    def _begin(self) -> None:
        deed = self._todo.pop(0)
        if deed.settles and isinstance(self.results[-1], Error):
            self.results.append(NOTHING)
            return
        last = self._received
        self._operation = deed.begin(
            self._context, last.hold_id if deed.settles and last else Tries(SLICE, self._tries)
        )
        self.idle = True
        try:
            self._execution = Execution(self._operation, "simulation", self._begin_hold)
            self._execution.begin()
        except Exception as error:
            self._over(_told(error))

    def _begin_hold(self) -> bytes:
        holds = self._context.holds
        self._holds.append(holds.begin(self.connection))
        return self._holds[-1]

    def _result(self, result: Any) -> Result:
        """What an operation returned; a hold that was received goes on."""
        self._received = result if isinstance(result, Received) else None
        return result.value if isinstance(result, Received) else gist(result)

    def _over(self, result: Result) -> None:
        self._execution = None
        self.results.append(result)
        if isinstance(result, Error):
            self._received = None
        kept = self._received.hold_id if self._received else None
        for hold_id in self._holds:
            if hold_id != kept:
                self._context.holds.end(hold_id)

    def lost(self) -> Error:
        """What the operation that is lost says."""
        assert self._execution is not None
        return _told(self._execution.lost(OSError("the connection broke")))

    def gist(self) -> Hashable:
        """What it will do."""
        execution = self._execution
        results = tuple(self.results)
        if execution is None:  # it will do nothing any more, whatever it remembers
            return results
        mine = (
            gist(self._context.holds), gist(self._context.server.observations), gist(self._received),
            self.connection, self.idle,
        )  # fmt: skip
        return results, mine, execution._changed, gist(self._operation)


DIED: Final = Error("Died", text="its process died")
"""What comes of an operation in which a process dies."""


def _long_after(command: Command, reply: Any) -> Any:
    """What another client has noted in a key that expires was noted long ago: the key is about to expire."""
    return 0 if command[0] == b"PTTL" and reply > 0 else reply


def _told(error: Exception) -> Error:
    done = error.done if isinstance(error, PressureError) else 0
    return Error(type(error).__name__, done, str(error))


def _no_time() -> float:
    """Nothing here takes time."""
    return 0.0
