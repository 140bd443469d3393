"""Runs an operation again and again, disturbs it once in each run, and judges what it did and left behind.

An operation runs on a server in this process whose clock is held. It is disturbed once for each reply that it
gets: the reply is an error, or another one; and once before each batch: another client acts. The server itself
does what it was sent, so a client that is told of an error may have been obeyed all the same.

``disturbing_laws`` says what has to hold. ``python -m tests.pressure.disturbing put full scripts robbed`` prints what
the operation sends in a situation, undisturbed, and with one kind of disturbance at each place.

To add an operation, a situation or an act: a row in a table of ``disturbing_tables``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import hiredis

from pressure import protocol
from pressure.execution.execution import Execution
from pressure.protocol import Context, Deadline
from pressure.protocol.operation import Batch, Pause, Wait
from tests.tools.simulation import Simulation, StuckError
from tests.tools.simulation import operation as doing
from tests.tools.simulation.actor import Actor

from .disturbing_changes import CHANGES, Change, refused_on
from .disturbing_tables import ACTS, CHOSEN, MEANWHILE, OPERATIONS, SITUATIONS, command

__all__ = ["DISTURBANCES", "GROUPS", "Keys", "Run", "Stage", "disturbed"]

MOST_STEPS: Final = 60
"""An operation that sends more batches does not end."""

Keys = dict[bytes, Any]
"""All that a server holds: lists, and strings."""


@dataclass
class Run:
    """What an operation did once.

    Attributes:
        operation: its name in ``OPERATIONS``.
        sent: its batches, as text.
        result: what it returned or raised; None if it did not end.
        end: how it ended, in words.
        warned: the warnings it gave.
        before: what the server held when it began.
        acted: for each time that another client acted, what the server held just before and just after.
        after: what the server holds at the end.
        heard: the names of its commands, each with its reply, those in a transaction before the transaction's own.
    """

    operation: str
    sent: list[str]
    before: Keys
    acted: list[tuple[Keys, Keys]] = field(default_factory=list)
    after: Keys = field(default_factory=dict)
    result: Any = None
    end: str = ""
    warned: list[warnings.WarningMessage] = field(default_factory=list)
    heard: list[tuple[bytes, Any]] = field(default_factory=list)

    @property
    def error(self) -> Exception | None:
        """What it raised."""
        return self.result if isinstance(self.result, Exception) else None

    def __str__(self) -> str:
        return "\n".join([*self.sent, self.end])


class Watched(Actor):
    """A client whose steps are written down, and whose replies are tampered with.

    Attributes:
        run: where they are written down.
        before: called with the number of each step before it is sent.
        when_waiting: called when it waits for the first time.
    """

    def __init__(self, simulation: Simulation, run: Run, change: Change | None = None, at: int = -1) -> None:
        super().__init__(simulation, "me")
        self.run, self._change, self._at = run, change, at
        self._watches = False
        self.when_waiting: Callable[[], None] = lambda: None
        self.before: Callable[[int], None] = lambda _: None

    def _advance(self, execution: Execution[Any]) -> None:
        commands = execution.step.commands if isinstance(execution.step, Batch) else ()
        in_transaction: list[bytes] = []
        for at, ((name, *_), reply) in enumerate(zip(commands, self._replies, strict=True)):
            assert isinstance(name, bytes)
            if name == b"EXEC":
                reply = [*map(self._tamper, in_transaction, reply)] if isinstance(reply, list) else reply
                name = b"EXEC" if self._watches else b"EXEC without WATCH"
            in_transaction = [] if name == b"MULTI" else [*in_transaction, name]
            self._watches = name == b"WATCH" or (self._watches and name not in (b"EXEC", b"UNWATCH"))
            self._replies[at] = self._tamper(name, reply)
        super()._advance(execution)

    def _tamper(self, name: bytes, reply: Any) -> Any:
        self.run.heard.append((name, reply))
        place = len(self.run.heard) - 1
        if self._change is not None and (
            place == self._at or (place > self._at and self._change is refused_on)
        ):
            return self._change(name, reply)
        return reply

    def _send(self, execution: Execution[Any]) -> None:
        if isinstance(execution.step, Pause):
            self.run.sent.append(f"pause {execution.step.seconds:g}")
        super()._send(execution)

    def _send_batch(self, execution: Execution[Any], step: Batch) -> None:
        self.before(len(self.run.sent))
        if isinstance(step, Wait):
            self.when_waiting()
            self.when_waiting = lambda: None
        self.run.sent.append("; ".join(text(command) for command in step.commands))
        super()._send_batch(execution, step)


def text(command: tuple[bytes | int, ...]) -> str:
    words = [word if isinstance(word, bytes) else b"%d" % word for word in command]
    if words[0] in (b"EVALSHA", b"EVAL"):
        words[1] = b"(script)"
    return b" ".join(words).replace(b"__pressure__:jobs", b"").decode("latin-1")


class Stage:
    """A server on which operations run one after the other, each from the same situation."""

    def __init__(self, situation: str, scripts: bool) -> None:
        lease = 2.5 if situation.startswith("leased") else None
        self.simulation = Simulation(lambda _: 0, scripts=scripts, lease=lease)
        self.simulation.actor("watcher")  # who is connected is asked
        for words in SITUATIONS[situation]:
            carry_out(self.simulation, words)
        self._meanwhile = MEANWHILE.get(situation, ())
        self._hand = Actor(self.simulation, "stagehand")
        self._setting = [("FLUSHALL",), *(made_by(*item) for item in self.keys().items())]

    def keys(self) -> Keys:
        """What the server holds."""
        ask = self.simulation.ask
        return {
            key: ask("LRANGE", key, 0, -1) if ask("TYPE", key) == b"list" else ask("GET", key)
            for key in sorted(ask("KEYS", "*"))
        }

    def play(self, operation: str, *, change: Change | None = None, at: int = -1, act: str = "") -> Run:
        """Runs an operation once."""
        self._carry_out(self._setting)
        run = Run(operation, [], self.keys())
        actor = Watched(self.simulation, run, change, at)
        self.simulation._of[actor.session] = actor
        if act:
            actor.before = lambda number: self._act(run, ACTS[act]) if number == at else None
        actor.when_waiting = lambda: self._act(run, self._meanwhile)
        actor.will(OPERATIONS[operation])
        with warnings.catch_warnings(record=True) as run.warned:
            warnings.simplefilter("error" if operation.endswith("strict") else "always")
            come_to_an_end(self.simulation, actor)
        actor.kill()
        run.after = self.keys()
        return run

    def _act(self, run: Run, commands: Iterable[tuple[Any, ...]]) -> None:
        before = self.keys()
        self._carry_out(commands)
        run.acted.append((before, self.keys()))

    def _carry_out(self, commands: Iterable[tuple[Any, ...]]) -> None:
        self.simulation.send(self._hand, b"".join(map(hiredis.pack_command, commands)))
        self._hand.session.take_output()


def made_by(key: bytes, value: Any) -> tuple[Any, ...]:
    return ("RPUSH", key, *value) if isinstance(value, list) else ("SET", key, value)


def come_to_an_end(simulation: Simulation, actor: Watched) -> None:
    run = actor.run
    try:
        while not actor.is_done and len(run.sent) < MOST_STEPS:
            if actor.can_go_on:
                actor.go_on()
            else:
                simulation._let_time_pass([actor])
    except StuckError:
        run.end = "waits for ever"
        return
    if not actor.is_done:
        run.end = "does not end"
        return
    (run.result,) = actor.results
    run.end = f"raises {run.result!r}" if run.error else f"-> {run.result!r}"


def carry_out(simulation: Simulation, words: str) -> None:
    name, *rest = words.split()
    if name == "create":
        simulation.do(doing(protocol.create, int(rest[0])))
    elif name == "put":
        for each in rest:
            simulation.do(doing(protocol.put, each.encode(), at_once, overfill=True))
    elif name == "close":
        simulation.do(doing(protocol.close, at_once))
    else:
        simulation.ask(*command(words))


def at_once(ctx: Context) -> Deadline:
    return Deadline.of(ctx, block=False)


def disturbed(stage: Stage, undisturbed: Run, disturbance: str) -> Iterator[Run]:
    """The runs with one kind of disturbance, at each place where it is possible."""
    operation = undisturbed.operation
    if disturbance in ACTS:
        yield from (stage.play(operation, act=disturbance, at=at) for at in range(len(undisturbed.sent)))
        return
    change = CHANGES[disturbance]
    for at, (name, reply) in enumerate(undisturbed.heard):
        if change(name, reply) != reply:
            yield stage.play(operation, change=change, at=at)


def groups() -> Iterator[tuple[str, str, bool]]:
    for operation, situations in CHOSEN.items():
        for situation in situations.split("; "):
            for scripts in (False, True) if operation.partition(" ")[0] in SCRIPTED else (False,):
                yield operation, situation, scripts


SCRIPTED: Final = {"put", "put_many", "get", "get_many", "close", "receive", "settle"}

GROUPS: Final = tuple(groups())

DISTURBANCES: Final = (*CHANGES, *ACTS)


if __name__ == "__main__":
    chosen, where, way, what = sys.argv[1:]
    there = Stage(where, way == "scripts")
    first = there.play(chosen)
    print(first, end="\n\n")  # noqa: T201
    for each in disturbed(there, first, what):
        print(each, end="\n\n")  # noqa: T201
