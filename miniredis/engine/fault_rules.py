"""Faults on demand, and recordings: what a test does to requests on their way, and notes of them.

Rules are asked before the gate, so a fault comes before every check. In a transaction a command meets a rule
when it is queued. The commands of scripts meet none. A command that was blocked meets a fault of its reply
when it is served.

To add a fault, write a class with the method ``act``, and a function for users in ``miniredis/faults.py``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from .client_flags import BLOCKED
from .gate import refuse
from .glob import compile_match
from .key_positions import keys_of
from .replies import joined

if TYPE_CHECKING:
    from .conditions import Conditions
    from .registry import Command
    from .session import Session

__all__ = [
    "Cut",
    "Delay",
    "ErrorReply",
    "Fault",
    "FaultRule",
    "FaultRules",
    "LostReply",
    "Request",
    "Restart",
]

Change: TypeAlias = Callable[[bytes], bytes]

Hear: TypeAlias = Callable[[bytes], None]
"""Called with the bytes that a client gets in reply; none if it gets none."""


class Request(NamedTuple):
    """A request that meets a rule; ``proceed`` has it pass the gate and run."""

    session: Session
    command: Command
    args: list[bytes]
    proceed: Callable[[], None]


class Fault(Protocol):
    """What happens to a request that meets a rule."""

    def act(self, request: Request) -> None:
        """Does it; calls ``request.proceed`` if the request runs all the same."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error in place of the command's own reply; the command does not run."""

    text: bytes

    def act(self, request: Request) -> None:
        """Refuses the request."""
        refuse(request.session, request.command, self.text)


@dataclass(frozen=True, slots=True)
class Delay:
    """The command runs so much later, by the server's clock, and what its client sent after it, too."""

    milliseconds: int

    def act(self, request: Request) -> None:
        """Holds the request up."""
        request.session.hold(request.args, self.milliseconds)
        request.session.engine.rules.let_pass(request.session)


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends: before the command runs, in the middle of its reply, or after the reply."""

    when: Literal["before", "middle", "after"]

    def act(self, request: Request) -> None:
        """Ends the connection."""
        engine = request.session.engine
        if self.when == "before":
            engine.hang_up(request.session)
        else:
            engine.rules.change_reply(request, SENT[self.when], closes=True)


SENT: Final[dict[str, Change]] = {
    "middle": lambda reply: reply[: len(reply) // 2],
    "after": lambda reply: reply,
}


@dataclass(frozen=True, slots=True)
class LostReply:
    """The command runs, and its client does not hear of it; ``closes``: its connection ends."""

    closes: bool

    def act(self, request: Request) -> None:
        """Drops the reply."""
        request.session.engine.rules.change_reply(request, lambda _: b"", closes=self.closes)


@dataclass(frozen=True, slots=True)
class Restart:
    """All connections end, as when the server is started again; with its keys, or without."""

    keeps_data: bool

    def act(self, request: Request) -> None:
        """Hangs up on everybody."""
        engine = request.session.engine
        for each in tuple(engine.sessions.values()):
            engine.hang_up(each)
        if not self.keeps_data:
            engine.reset(engine.now)


@dataclass(slots=True, eq=False)
class FaultRule:
    """Which requests meet a fault.

    Attributes:
        fault: what happens to them.
        command: the name in lower case of a command (``get``), with its subcommands (``client``), or of a
            subcommand (``client|list``); empty for all.
        key: a pattern, as of KEYS, that one of its keys fits; None for all.
        client: the client's name (CLIENT SETNAME) or number; None for all.
        after: how many requests are spared first.
        times: how many meet the fault then; None for all.
        probability: of each of these, from 0 to 1.
        seed: decides which ones.
        met: how many have met it.
    """

    fault: Fault
    command: bytes = b""
    key: bytes | None = None
    client: bytes | int | None = None
    after: int = 0
    times: int | None = None
    probability: float = 1.0
    seed: int = 0
    met: int = field(default=0, init=False)
    _fits: Callable[[bytes], bool] = field(init=False)
    _luck: random.Random = field(init=False)
    _spared: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._fits = compile_match(b"*" if self.key is None else self.key)
        self._luck = random.Random(self.seed)  # noqa: S311  (nothing here is secret)

    def meets(self, request: Request) -> bool:
        """Whether a request meets the fault; counts it."""
        if not self._concerns(request):
            return False
        if self._spared < self.after:
            self._spared += 1
            return False
        if self.times is not None and self.met >= self.times:
            return False
        if self.probability < 1 and self._luck.random() >= self.probability:
            return False
        self.met += 1
        return True

    def _concerns(self, request: Request) -> bool:
        session, command = request.session, request.command
        return (
            (not self.command or self.command in {command.name, command.name.partition(b"|")[0]})
            and (self.client is None or self.client in {session.name, session.id})
            and (self.key is None or any(self._fits(key) for key, _ in keys_of(command, request.args)))
        )


class FaultRules:
    """The rules of one server, and who records its requests."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._rules: list[FaultRule] = []
        self._recorders: list[Callable[[Request], Hear]] = []
        self._heard: dict[Session, list[Hear]] = {}  # who records a request that is under way
        self._changes: dict[Session, tuple[Change, bool]] = {}  # of replies that are still to come
        self._passes: set[Session] = set()  # their next request was delayed already

    @property
    def all(self) -> tuple[FaultRule, ...]:
        """The rules, in the order in which they were added."""
        return tuple(self._rules)

    def add(self, rule: FaultRule) -> None:
        """Adds a rule behind all others."""
        self._rules.append(rule)
        self._changed()

    def remove(self, rule: FaultRule) -> None:
        """Removes a rule, if it is there."""
        if rule in self._rules:
            self._rules.remove(rule)
        self._changed()

    def add_recorder(self, begin: Callable[[Request], Hear]) -> None:
        """Calls a function with each request, and what that returns with the reply."""
        self._recorders.append(begin)
        self._changed()

    def remove_recorder(self, begin: Callable[[Request], Hear]) -> None:
        """Ends that; replies to requests under way are still heard."""
        self._recorders.remove(begin)
        self._changed()

    def let_pass(self, session: Session) -> None:
        """Has the next request of a client meet no rule."""
        self._passes.add(session)

    def _pass_no_more(self, session: Session) -> None:
        self._passes.remove(session)
        self._changed()

    def _changed(self) -> None:
        self._conditions.have_fault_rules(bool(self._rules or self._recorders or self._passes))

    def run(self, request: Request) -> None:
        """Runs a request, or has it meet the fault of the first rule that it fits; records it."""
        session, before = request.session, len(request.session.outgoing)
        if self._recorders and session not in self._passes:
            self._heard[session] = [begin(request) for begin in self._recorders]
        self._run(request)
        if session in self._heard and not session.flags & BLOCKED:
            self._hear(session, before)

    def _run(self, request: Request) -> None:
        if request.session in self._passes:
            self._pass_no_more(request.session)
            request.proceed()
            return
        rule = next((rule for rule in self._rules if rule.meets(request)), None)
        if rule is None:
            request.proceed()
        else:
            rule.fault.act(request)

    def change_reply(self, request: Request, change: Change, *, closes: bool) -> None:
        """Runs a request and changes its reply: at once, or when a client that it has blocked is served."""
        session = request.session
        before = len(session.outgoing)
        request.proceed()
        if session.flags & BLOCKED:
            self._changes[session] = change, closes
        else:
            self._change(session, before, change, closes=closes)

    def served(self, session: Session) -> None:
        """A client that was blocked has got its reply: the last piece of its output."""
        last = max(len(session.outgoing) - 1, 0)
        if session in self._changes:
            change, closes = self._changes.pop(session)
            self._change(session, last, change, closes=closes)
        if session in self._heard and session.postponed is None:
            self._hear(session, last)

    def _hear(self, session: Session, at: int) -> None:
        reply = bytes(joined(session.outgoing[at:]))
        for hear in self._heard.pop(session):
            hear(reply)

    def forget(self, session: Session) -> None:
        """A client is gone."""
        self._changes.pop(session, None)
        self._heard.pop(session, None)
        if session in self._passes:
            self._pass_no_more(session)

    @staticmethod
    def _change(session: Session, at: int, change: Change, *, closes: bool) -> None:
        changed = change(bytes(joined(session.outgoing[at:])))
        session.outgoing[at:] = [changed] if changed else []
        if closes:
            session.close()
