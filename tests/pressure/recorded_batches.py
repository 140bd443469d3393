"""The batches that each operation sends, in many situations, undisturbed and disturbed.

An operation runs on a server in this process whose clock is held, so that it sends the same batches each time:
its trace. It is disturbed once for each reply that it gets: the reply is an error, or another one; and once
before each batch: another client acts. ``recorded_batches.txt`` keeps the traces: undisturbed ones in full, of
the others a digest for each situation and each kind of disturbance, since there are thousands.

``python -m tests.pressure.recorded_batches`` writes that file. Given an operation, a situation, ``scripts`` or
``batches`` and a disturbance, it prints those traces in full instead. After an intended change to the protocol,
write the file again and read the difference.

To add an operation, a situation or an act: a row in a table.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import hiredis

from pressure import protocol
from pressure.execution import Execution
from pressure.protocol import Context, Deadline
from pressure.protocol.operation import Batch, Pause, Wait
from tests.tools.simulation import Simulation, StuckError
from tests.tools.simulation import operation as doing
from tests.tools.simulation.actor import Actor

from .recorded_batches_changes import CHANGES, Change, refused_on
from .recorded_batches_tables import ACTS, CHOSEN, MEANWHILE, OPERATIONS, SITUATIONS, command

__all__ = ["DISTURBANCES", "FILE", "GROUPS", "lines_of"]

FILE: Final = Path(__file__).with_name("recorded_batches.txt")

MOST_STEPS: Final = 60
"""An operation that sends more batches does not end."""


class Watched(Actor):
    """A client whose steps are written down, and whose replies are tampered with.

    Attributes:
        sent: what it sent, step by step.
        heard: what it was answered, those inside a transaction before the transaction's own.
        before: called with the number of each step before it is sent.
        when_waiting: called when it waits for the first time.
    """

    def __init__(self, simulation: Simulation, change: Change | None = None, at: int = -1) -> None:
        super().__init__(simulation, "me")
        self._change, self._at = change, at
        self.when_waiting: Callable[[], None] = lambda: None
        self.sent: list[str] = []
        self.heard: list[Any] = []
        self.before: Callable[[int], None] = lambda _: None

    def _advance(self, execution: Execution[Any]) -> None:
        self._replies = [self._tamper(reply) for reply in self._replies]
        super()._advance(execution)

    def _tamper(self, reply: Any) -> Any:
        if isinstance(reply, list):
            reply = [self._tamper(each) for each in reply]
        self.heard.append(reply)
        place = len(self.heard) - 1
        if self._change is not None and (
            place == self._at or (place > self._at and self._change is refused_on)
        ):
            return self._change(reply)
        return reply

    def _send(self, execution: Execution[Any]) -> None:
        if isinstance(execution.step, Pause):
            self.sent.append(f"pause {execution.step.seconds:g}")
        super()._send(execution)

    def _send_batch(self, execution: Execution[Any], step: Batch) -> None:
        self.before(len(self.sent))
        if isinstance(step, Wait):
            self.when_waiting()
            self.when_waiting = lambda: None
        self.sent.append("; ".join(text(command) for command in step.commands))
        super()._send_batch(execution, step)


def text(command: tuple[bytes | int, ...]) -> str:
    words = [word if isinstance(word, bytes) else b"%d" % word for word in command]
    if words[0] in (b"EVALSHA", b"EVAL"):
        words[1] = hashlib.sha256(words[1]).hexdigest()[:6].encode()
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
        self._setting = [("FLUSHALL",), *map(self._made_by, self.simulation.ask("KEYS", "*"))]

    def _made_by(self, key: bytes) -> tuple[Any, ...]:
        ask = self.simulation.ask
        if ask("TYPE", key) == b"list":
            return ("RPUSH", key, *ask("LRANGE", key, 0, -1))
        return ("SET", key, ask("GET", key))

    def play(
        self, operation: str, *, change: Change | None = None, at: int = -1, act: str = ""
    ) -> tuple[list[str], Watched]:
        """One trace: the batches, and how the operation ended."""
        self._carry_out(self._setting)
        actor = Watched(self.simulation, change, at)
        self.simulation._of[actor.session] = actor
        if act:
            actor.before = lambda number: self._carry_out(ACTS[act]) if number == at else None
        actor.when_waiting = lambda: self._carry_out(self._meanwhile)
        actor.will(OPERATIONS[operation])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("error" if operation.endswith("strict") else "always")
            end = ending(self.simulation, actor)
        actor.kill()
        return [*actor.sent, f"{end}{''.join(map(warning, told))}"], actor

    def _carry_out(self, commands: Iterable[tuple[Any, ...]]) -> None:
        self.simulation.send(self._hand, b"".join(map(hiredis.pack_command, commands)))
        self._hand.session.take_output()


def warning(told: warnings.WarningMessage) -> str:
    return ", warns of a role" if "and to free the" in str(told.message) else ", warns"


def ending(simulation: Simulation, actor: Watched) -> str:
    try:
        while not actor.is_done and len(actor.sent) < MOST_STEPS:
            if actor.can_go_on:
                actor.go_on()
            else:
                simulation._let_time_pass([actor])
    except StuckError:
        return "waits for ever"
    if not actor.is_done:
        return "does not end"
    (result,) = actor.results
    if not isinstance(result, Exception):
        return f"-> {result!r}"
    done, notes = getattr(result, "done", 0), len(getattr(result, "__notes__", ()))
    says = "names the queue" if "jobs" in str(result) else "does not name the queue"
    return f"raises {type(result).__name__}, done {done}, notes {notes}, {says}"


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


def disturbed(stage: Stage, operation: str, actor: Watched, disturbance: str) -> Iterator[list[str]]:
    """The traces with one kind of disturbance, at each place where it is possible."""
    if disturbance in ACTS:
        yield from (stage.play(operation, act=disturbance, at=at)[0] for at in range(len(actor.sent)))
    else:
        yield from changed(stage, operation, CHANGES[disturbance], actor.heard)


def changed(stage: Stage, operation: str, change: Change, heard: list[Any]) -> Iterator[list[str]]:
    for at, reply in enumerate(heard):
        if change(reply) != reply:
            yield stage.play(operation, change=change, at=at)[0]


def groups() -> Iterator[tuple[str, str, bool]]:
    for operation, situations in CHOSEN.items():
        for situation in situations.split("; "):
            for scripts in (False, True) if operation.partition(" ")[0] in SCRIPTED else (False,):
                yield operation, situation, scripts


SCRIPTED: Final = {"put", "put_many", "get", "get_many", "close", "receive", "settle"}

GROUPS: Final = tuple(groups())


DISTURBANCES: Final = (*CHANGES, *ACTS)


def lines_of(
    operation: str, situation: str, scripts: bool, disturbances: Iterable[str] = DISTURBANCES
) -> Iterator[str]:
    """What the file keeps of an operation in a situation."""
    yield f"# {operation} | {situation} | {'scripts' if scripts else 'batches'}"
    stage = Stage(situation, scripts)
    trace, actor = stage.play(operation)
    yield from (f"  {line}" for line in trace)
    for disturbance in disturbances:
        if disturbance == "refused on" and operation.partition(" ")[0] not in SCRIPTED:
            continue  # the first refusal ends it
        digest, count = hashlib.sha256(), 0
        for trace in disturbed(stage, operation, actor, disturbance):
            digest.update("\n".join(trace).encode())
            count += 1
        yield f"  {disturbance}: {count} {digest.hexdigest()[:10]}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        chosen, where, way, what = sys.argv[1:]
        stage = Stage(where, way == "scripts")
        for trace in disturbed(stage, chosen, stage.play(chosen)[1], what):
            print("\n".join(trace), end="\n\n")  # noqa: T201
    else:
        FILE.write_text("".join(f"{line}\n" for group in GROUPS for line in lines_of(*group)))
