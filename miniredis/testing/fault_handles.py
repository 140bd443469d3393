"""The handles of ``server.faults``: its rules, which ``faults`` has the faults for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import NoneType
from typing import TYPE_CHECKING, Final, Never, Self

from ..arguments import kind
from ..engine.faults.fault_rules import Fault, FaultRule

if TYPE_CHECKING:
    from ..ticks.tick_runner import TickRunner

__all__ = ["Faults", "Rule"]


class Rule:
    """A rule of ``Faults``. As a context manager it is removed at the end of its block."""

    def __init__(self, runner: TickRunner, rule: FaultRule) -> None:
        self._runner = runner
        self._rule = rule

    @property
    def met(self) -> int:
        """How many requests have met the fault."""
        return self._rule.met

    def remove(self) -> None:
        """Ends the rule. Requests that it has delayed stay delayed. May be called more than once."""
        with self._runner.lock:
            self._runner.engine.rules.remove(self._rule)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Rule {self._rule}: met {self.met} times>"


CONDITIONS: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "command": ((str,), "a str"),
    "key": ((str, bytes, NoneType), "a str, bytes or None"),
    "client": ((str, bytes, int, NoneType), "a str, an int or None"),
    "after": ((int,), "an int"),
    "times": ((int, NoneType), "an int or None"),
    "probability": ((int, float), "a number"),
    "seed": ((int,), "an int"),
}
"""The types of the arguments of ``Faults.add``."""


def refuse_unknown(names: Iterable[str]) -> None:
    for name in names:
        import difflib  # needed only after a mistake

        known = ["then", *CONDITIONS]
        near = difflib.get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
        raise TypeError(f"faults.add() got an unexpected keyword argument {name!r}; {advice}")


class Faults:
    """The rules by which requests to a server meet a fault. ``server.faults`` has them.

    Iterating gives the rules that hold, in the order in which they were added. A request meets the first rule
    that it fits. It may come from a socket or from a client in this process.
    """

    def __init__(self, runner: TickRunner) -> None:
        self._runner = runner
        self._rules: dict[FaultRule, Rule] = {}

    def add(
        self,
        *,
        then: Fault | str,
        command: str = "",
        key: str | bytes | None = None,
        client: str | int | None = None,
        after: int = 0,
        times: int | None = None,
        probability: float = 1.0,
        seed: int = 0,
        **unknown: Never,
    ) -> Rule:
        """Adds a rule behind all others. Without conditions, each request meets it.

        In a transaction a command meets a rule when it is queued; EXEC is a command of its own. DEBUG and the
        commands of scripts meet none. One that waits, such as BLPOP, meets a fault of its reply when it is
        served.

        Args:
            then: what happens: a fault of ``miniredis.faults``, or the text of an error reply.
            command: its name, such as ``"lpush"`` or ``"client list"``.
            key: a pattern, as KEYS takes it, that one of the command's keys fits.
            client: the name (CLIENT SETNAME) or the number (CLIENT ID) of the client.
            after: how many requests are spared first.
            times: how many meet the fault then; None for all.
            probability: with which each of these meets it, from 0 to 1.
            seed: decides which ones; the same ones for the same seed.
            unknown: nothing; any other name is refused.

        Raises:
            TypeError: ``then`` is no fault, or a condition is unknown or of another type.
            ValueError: there is no such command, a number is out of range, or a rule for connections has a
                command, a key or a client.
            RuntimeError: the server has stopped.
        """
        refuse_unknown(unknown)
        if isinstance(then, str):
            from ..engine.faults.fault_kinds import ErrorReply  # few servers have faults

            then = ErrorReply(then.encode())
        given = {
            "command": command,
            "key": key,
            "client": client,
            "after": after,
            "times": times,
            "probability": probability,
            "seed": seed,
        }
        for name, (types, told) in CONDITIONS.items():
            if not isinstance(given[name], types):
                raise TypeError(f"{name} must be {told}, not {kind(given[name])}")
        if not hasattr(then, "act"):
            raise TypeError(f"then must be a fault of miniredis.faults or a str, not {kind(then)}")
        rule = FaultRule(
            then,
            command,
            key.encode() if isinstance(key, str) else key,
            client.encode() if isinstance(client, str) else client,
            after,
            times,
            probability,
            seed,
        )
        with self._runner.looked_into() as engine:
            engine.rules.add(rule)
            return self._handle(rule)

    def _handle(self, rule: FaultRule) -> Rule:
        return self._rules.setdefault(rule, Rule(self._runner, rule))

    def clear(self) -> None:
        """Ends all rules."""
        for rule in self:
            rule.remove()

    def __iter__(self) -> Iterator[Rule]:
        with self._runner.looked_into() as engine:
            self._rules = {rule: self._handle(rule) for rule in engine.rules.all}
        return iter(tuple(self._rules.values()))

    def __len__(self) -> int:
        with self._runner.looked_into() as engine:
            return len(engine.rules.all)

    def __repr__(self) -> str:
        return f"<Faults {[*self]}>"
