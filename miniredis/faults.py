"""Faults on demand: what a test has go wrong between a server and its clients.

``server.faults`` holds the rules of a server. The functions of this module say what happens to a request that
meets one::

    from miniredis import faults

    with server.faults.add(command="LPUSH", times=1, then=faults.lose_reply()) as rule:
        ...
    assert rule.met == 1

To add a fault: a class in ``engine/fault_rules.py``, and a function here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Self

from .arguments import kind
from .engine.fault_rules import Cut, Delay, ErrorReply, Fault, FaultRule, LostReply, Restart
from .engine.gate import look_up

if TYPE_CHECKING:
    from .tick_runner import TickRunner

__all__ = ["Fault", "Faults", "Rule", "cut", "delay", "error", "lose_reply", "restart"]

MOMENTS = ("before", "middle", "after")


def error(text: str) -> Fault:
    """An error reply; the command does not run, and a transaction that it belongs to is aborted.

    Args:
        text: the error's code and message, such as ``"LOADING Redis is loading the dataset in memory"``.

    Raises:
        ValueError: it is empty, or has more than one line.
    """
    if not text or "\r" in text or "\n" in text:
        raise ValueError(f"an error reply is one line, not {text!r}")
    return ErrorReply(text.encode())


def delay(seconds: float) -> Fault:
    """The command runs later, by the server's clock: with a held one, after ``server.fast_forward``.

    Args:
        seconds: more than 0; fractions count, down to a millisecond.

    Raises:
        ValueError: it is not more than 0.
    """
    if not seconds > 0:
        raise ValueError(f"a delay takes more than 0 seconds, not {seconds!r}")
    return Delay(max(round(seconds * 1000), 1))


def cut(when: Literal["before", "middle", "after"] = "before") -> Fault:
    """The connection ends.

    Args:
        when: ``"before"`` the command runs; in the ``"middle"`` of its reply, of which half is sent; or
            ``"after"`` the reply.

    Raises:
        ValueError: it is none of these.
    """
    if when not in MOMENTS:
        raise ValueError(f"a connection can be cut 'before', in the 'middle' or 'after', not {when!r}")
    return Cut(when)


def lose_reply(*, closes: bool = True) -> Fault:
    """The command runs, and its client is not told.

    Args:
        closes: whether the connection ends then. Otherwise it stays, and the client waits for a reply that
            does not come.
    """
    return LostReply(closes)


def restart(*, keeps_data: bool = True) -> Fault:
    """All connections end, as if the server had been started again; the command does not run.

    Args:
        keeps_data: whether the keys are still there then. Scripts and functions are in either case.
    """
    return Restart(keeps_data)


class Rule:
    """A rule of ``Faults``. As a context manager it is removed at the end of its block."""

    def __init__(self, runner: TickRunner, rule: FaultRule, text: str) -> None:
        self._runner = runner
        self._rule = rule
        self._text = text

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
        return f"<Rule {self._text}: met {self.met} times>"


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
    ) -> Rule:
        """Adds a rule behind all others. Without conditions, each request meets it.

        In a transaction a command meets a rule when it is queued; EXEC is a command of its own. The commands
        of scripts meet none. One that waits, such as BLPOP, meets a fault of its reply when it is served.

        Args:
            then: what happens: a fault of this module, or the text of an error reply.
            command: its name, such as ``"lpush"`` or ``"client list"``.
            key: a pattern, as KEYS takes it, that one of the command's keys fits.
            client: the name (CLIENT SETNAME) or the number (CLIENT ID) of the client.
            after: how many requests are spared first.
            times: how many meet the fault then; None for all.
            probability: with which each of these meets it, from 0 to 1.
            seed: decides which ones; the same ones for the same seed.

        Raises:
            TypeError: ``then`` is no fault.
            ValueError: there is no such command, or a number is out of range.
        """
        fault = error(then) if isinstance(then, str) else then
        if not isinstance(fault, ErrorReply | Delay | Cut | LostReply | Restart):
            raise TypeError(f"then must be a fault of miniredis.faults or a str, not {kind(then)}")
        if after < 0 or (times is not None and times < 0) or not 0 <= probability <= 1:
            raise ValueError("after and times count requests, and probability is from 0 to 1")
        rule = FaultRule(
            fault,
            name_of(command),
            key.encode() if isinstance(key, str) else key,
            client.encode() if isinstance(client, str) else client,
            after,
            times,
            probability,
            seed,
        )
        with self._runner.lock:
            self._runner.engine.rules.add(rule)
            self._rules[rule] = made = Rule(self._runner, rule, f"{command or 'any command'}, then {fault}")
        return made

    def clear(self) -> None:
        """Ends all rules."""
        for rule in self:
            rule.remove()

    def __iter__(self) -> Iterator[Rule]:
        with self._runner.lock:
            self._rules = {rule: self._rules[rule] for rule in self._runner.engine.rules.all}
        return iter(tuple(self._rules.values()))

    def __len__(self) -> int:
        return len(self._runner.engine.rules.all)


def name_of(command: str) -> bytes:
    """A command's name as the engine has it; empty for an empty one."""
    words = command.replace("|", " ").split()
    found = look_up([word.encode() for word in words]) if words else None
    if words and found is None:
        raise ValueError(f"there is no command {command!r}")
    return found.name if found else b""
