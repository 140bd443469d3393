"""Faults on demand: what a test has go wrong between a server and its clients.

``server.faults`` holds the rules of a server. The functions of this module say what happens to a request that
meets one::

    from miniredis import faults

    with server.faults.add(command="LPUSH", times=1, then=faults.lose_reply()) as rule:
        ...
    assert rule.met == 1

Other processes add rules by the command DEBUG FAULT, if ``enable-debug-command`` allows it.

To add a fault: a class in ``engine/fault_kinds.py``, and a function here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Self

from .arguments import kind
from .engine.fault_kinds import (
    Cut,
    Delay,
    ErrorReply,
    Fault,
    LostReply,
    RefusedConnection,
    Restart,
    Trickle,
)
from .engine.fault_rules import FaultRule

if TYPE_CHECKING:
    from .tick_runner import TickRunner

__all__ = [
    "Fault",
    "Faults",
    "Rule",
    "cut",
    "delay",
    "error",
    "lose_reply",
    "read_slowly",
    "refuse_connection",
    "restart",
    "send_in_pieces",
]


def error(text: str) -> Fault:
    """An error reply; the command does not run, and a transaction that it belongs to is aborted.

    Args:
        text: the error's code and message, such as ``"LOADING Redis is loading the dataset in memory"``.

    Raises:
        ValueError: it is empty, or has more than one line.
    """
    return ErrorReply(text.encode())


def delay(seconds: float) -> Fault:
    """The command runs later, by the server's clock: with a held one, after ``server.fast_forward``.

    Args:
        seconds: more than 0; fractions count, down to a millisecond.

    Raises:
        ValueError: it is not more than 0.
    """
    return Delay(seconds)


def cut(when: Literal["before", "middle", "after"] = "before") -> Fault:
    """The connection ends.

    Args:
        when: ``"before"`` the command runs; in the ``"middle"`` of its reply, of which half is sent; or
            ``"after"`` the reply.

    Raises:
        ValueError: it is none of these.
    """
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


def send_in_pieces(size: int = 1, seconds: float = 0.001) -> Fault:
    """The reply goes out in pieces, by the server's clock: with a held one, after ``server.fast_forward``.

    Replies that come behind it wait, and go out in pieces, too, until all is sent.

    Args:
        size: the bytes of a piece.
        seconds: between two pieces; more than 0.

    Raises:
        ValueError: one of them is too small.
    """
    return Trickle(size, seconds, lasts=False)


def read_slowly(size: int = 1024, seconds: float = 0.1) -> Fault:
    """As if the client read slowly from this request on: it gets so many bytes in so many seconds.

    What waits for it grows, and ``client-output-buffer-limit`` may end its connection.

    Args:
        size: bytes.
        seconds: of the server's clock; more than 0.

    Raises:
        ValueError: one of them is too small.
    """
    return Trickle(size, seconds, lasts=True)


def refuse_connection() -> Fault:
    """New clients are turned away; ``after``, ``times`` and ``probability`` count them.

    A client without a socket gets redis-py's ``ConnectionError`` at once. The connection of one with a socket
    is accepted and closed: only a server that has stopped refuses it before.
    """
    return RefusedConnection()


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

        In a transaction a command meets a rule when it is queued; EXEC is a command of its own. DEBUG and the
        commands of scripts meet none. One that waits, such as BLPOP, meets a fault of its reply when it is
        served.

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
            ValueError: there is no such command, a number is out of range, or a rule for connections has a
                command, a key or a client.
        """
        fault = error(then) if isinstance(then, str) else then
        if not hasattr(fault, "act"):
            raise TypeError(f"then must be a fault of miniredis.faults or a str, not {kind(then)}")
        rule = FaultRule(
            fault,
            command,
            key.encode() if isinstance(key, str) else key,
            client.encode() if isinstance(client, str) else client,
            after,
            times,
            probability,
            seed,
        )
        with self._runner.lock:
            self._runner.engine.rules.add(rule)
            return self._handle(rule)

    def _handle(self, rule: FaultRule) -> Rule:
        return self._rules.setdefault(rule, Rule(self._runner, rule))

    def clear(self) -> None:
        """Ends all rules."""
        for rule in self:
            rule.remove()

    def __iter__(self) -> Iterator[Rule]:
        with self._runner.lock:
            self._rules = {rule: self._handle(rule) for rule in self._runner.engine.rules.all}
        return iter(tuple(self._rules.values()))

    def __len__(self) -> int:
        return len(self._runner.engine.rules.all)
