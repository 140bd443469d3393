"""The rules by which requests meet a fault on demand.

Rules are asked before the gate, so a fault comes before every check. In a transaction a command meets a rule
when it is queued. The commands of scripts meet none, and neither does DEBUG, by which rules are removed. A
command that was blocked meets a fault of its reply when it is served.

To most requests no rule applies. ``FaultRules.spare`` sees that from their bytes, and they take the same fast
path as without rules.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from ..clients.client_flags import BLOCKED
from ..declarations.key_positions import known_keys
from ..declarations.registry import DECLARED, declare_rest
from ..glob import compile_match
from ..protocol.replies import joined

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..conditions import Conditions
    from ..declarations.registry import Command

__all__ = ["Change", "Fault", "FaultRule", "FaultRules", "Request"]

Change: TypeAlias = "Callable[[Session, bytes], bytes]"
"""What becomes of the reply to a client."""


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


@dataclass(slots=True, eq=False)
class FaultRule:
    """Which requests meet a fault, or which new clients where the fault is of connections.

    Attributes:
        fault: what happens to them.
        command: the name of a command (``get``), with its subcommands (``client``), or of a subcommand
            (``client list``); empty for all.
        key: a pattern, as of KEYS, that one of its keys fits; None for all.
        client: the client's name (CLIENT SETNAME) or number; None for all.
        after: how many requests are spared first.
        times: how many meet the fault then; None for all.
        probability: of each of these, from 0 to 1.
        seed: decides which ones.
        met: how many have met it.

    Raises:
        ValueError: there is no such command, or a number is out of range.
    """

    fault: Fault
    command: str = ""
    key: bytes | None = None
    client: bytes | int | None = None
    after: int = 0
    times: int | None = None
    probability: float = 1.0
    seed: int = 0
    met: int = field(default=0, init=False)
    is_of_connections: bool = field(init=False)
    _name: bytes = field(init=False)
    _fits: Callable[[bytes], bool] = field(init=False)
    _luck: random.Random = field(init=False)
    _spared: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.after < 0 or (self.times is not None and self.times < 1) or not 0 <= self.probability <= 1:
            raise ValueError("after and times count requests, times from 1 on; probability is from 0 to 1")
        self.is_of_connections = hasattr(self.fault, "is_of_connections")
        if self.is_of_connections and (self.command or self.key is not None or self.client is not None):
            raise ValueError("a connection is refused before it has a command, a key or a client's name")
        self._name = name_of(self.command)
        self._fits = compile_match(b"*" if self.key is None else self.key)
        self._luck = random.Random(self.seed)  # noqa: S311  (nothing here is secret)

    def meets(self, request: Request) -> bool:
        """Whether a request meets the fault; counts it."""
        return self._concerns(request) and self.strikes()

    def strikes(self) -> bool:
        """Whether the fault happens to what it may happen to; counts it."""
        if self._spared < self.after:
            self._spared += 1
            return False
        if self.times is not None and self.met >= self.times:
            return False
        if self.probability < 1 and self._luck.random() >= self.probability:
            return False
        self.met += 1
        return True

    @property
    def refuses_all(self) -> bool:
        """Whether it is about each new client."""
        is_certain = self.probability == 1 and self.times is None and not self.after
        return self.is_of_connections and is_certain

    def _concerns(self, request: Request) -> bool:
        name = request.command.name
        return (
            self._name in {name, name.partition(b"|")[0], *([b""] if name != b"debug" else [])}
            and (self.client is None or self.client in {request.session.name, request.session.id})
            and (
                self.key is None
                or any(self._fits(key) for key, _ in known_keys(request.command, request.args))
            )
        )

    @property
    def words(self) -> tuple[bytes, ...]:
        """Words of which each request that it is about has one; none if no such words are known."""
        is_name = self.key is not None and literals(self.key) == [self.key]
        return self.names or ((self.key,) if is_name else ())  # type: ignore[return-value]

    @property
    def names(self) -> tuple[bytes, ...]:
        """Its command or the command's container, as clients write it; none if it is about all."""
        name = self._name.partition(b"|")[0]
        return (name, name.upper()) if name else ()

    @property
    def sign(self) -> bytes:
        """A pattern for what each request that it is about has in it; an empty one fits all.

        It begins with a literal, and has no flags: so Python finds quickly that it is not there.
        """
        if not self._name:
            return re.escape(max(literals(self.key or b""), key=len))
        name, *_ = self.names
        letters = [b"[%c%c]" % pair for pair in zip(name, name.upper(), strict=True)]
        return rb"\$%d\r\n%b" % (len(name), b"".join(letters))

    def __str__(self) -> str:
        named = [("key", self.key), ("client", self.client)]
        about = [f"{name} {shown(value)}" for name, value in named if value is not None]
        return ", ".join([self.command or "any command", *about, f"then {self.fault}"])


def shown(value: bytes | int) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def literals(pattern: bytes) -> list[bytes]:
    """The pieces of a pattern that a text has to have as they are."""
    return re.split(rb"\\.?|\[.*?(?:\]|$)|[*?]", pattern, flags=re.DOTALL)


def name_of(command: str) -> bytes:
    """A command's name as the engine has it; empty for an empty one."""
    declare_rest()
    words = command.replace("|", " ").lower().encode().split()
    if words[:1] == [b"sentinel"]:
        return name_of_sentinel(command, words[1:2])
    found = DECLARED.get(words[0]) if words else None
    if found is not None and found.subcommands and len(words) > 1:
        found = DECLARED.get(b"|".join(words[:2]))
    if words and found is None:
        raise ValueError(f"there is no command {command!r}")
    return found.name if found else b""


def name_of_sentinel(command: str, subcommand: list[bytes]) -> bytes:
    """The same for SENTINEL, which only sentinels have."""
    from ..sentinel_commands import SUBCOMMANDS  # few servers are sentinels

    if not {each.decode() for each in subcommand} <= SUBCOMMANDS.keys():
        raise ValueError(f"there is no command {command!r}")
    return b"|".join([b"sentinel", *subcommand])


EVERYTHING: Final = re.compile(b"").match


def searcher(patterns: set[bytes]) -> Callable[[bytes], object] | None:
    """Looks for any of some patterns; None if there is none."""
    return re.compile(b"|".join(patterns)).search if patterns else None


class FaultRules:
    """The rules of one server."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._rules: list[FaultRule] = []
        self._of_requests: tuple[FaultRule, ...] = ()
        self._of_connections: tuple[FaultRule, ...] = ()
        self._may_concern: Callable[[bytes], object] | None = None
        self._may_concern_words: Callable[[bytes], object] | None = None  # likewise, if it has no ``words``
        self._words: frozenset[bytes] = frozenset()  # of the rules that are about all clients
        self._named: frozenset[bytes | int] = frozenset()  # clients that a rule is about
        self._changes: dict[Session, Change] = {}  # of replies that are still to come
        self._passes: set[Session] = set()  # their next request was delayed already
        self._tell: Callable[[bool], object] = bool  # nobody yet

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

    def tell_of_refusal(self, tell: Callable[[bool], None]) -> None:
        """Calls a function after each change of the rules: whether one of them refuses all new clients."""
        self._tell = tell

    @property
    def refuse_all(self) -> bool:
        """Whether a rule refuses all new clients."""
        return any(rule.refuses_all for rule in self._of_connections)

    def let_pass(self, session: Session) -> None:
        """Has the next request of a client meet no rule."""
        self._passes.add(session)
        self._changed()

    def _pass_no_more(self, session: Session) -> None:
        self._passes.remove(session)
        self._changed()

    def _changed(self) -> None:
        self._of_requests = tuple(rule for rule in self._rules if not rule.is_of_connections)
        self._of_connections = tuple(rule for rule in self._rules if rule.is_of_connections)
        self._named = frozenset(rule.client for rule in self._of_requests if rule.client is not None)
        of_all = [rule for rule in self._of_requests if rule.client is None]
        self._words = frozenset(word for rule in of_all for word in rule.words)
        self._may_concern = searcher({rule.sign for rule in of_all})
        self._may_concern_words = searcher({rule.sign for rule in of_all if not rule.words})
        if self._passes:
            self._may_concern = self._may_concern_words = EVERYTHING
        self._conditions.set_has_fault_rules(bool(self._of_requests or self._passes))
        self._tell(self.refuse_all)

    def spare(self, session: Session, data: bytes) -> bool:
        """Whether it is clear from the bytes of a client's requests that none of them meets a rule."""
        may_concern, named = self._may_concern, self._named
        if may_concern is not None and may_concern(data):
            return False
        return not named or (session.name not in named and session.id not in named)

    def spare_words(self, session: Session, args: list[bytes]) -> bool:
        """The same for one request, with its name in lower or in upper case."""
        may_concern, named = self._may_concern_words, self._named
        if not self._words.isdisjoint(args) or (may_concern is not None and may_concern(b" ".join(args))):
            return False
        return not named or (session.name not in named and session.id not in named)

    def refuse_connection(self) -> bool:
        """Whether a new client is refused."""
        return any(rule.strikes() for rule in self._of_connections)

    def run(self, request: Request) -> None:
        """Runs a request, or has it meet the fault of the first rule that it fits; records it."""
        session, before = request.session, len(request.session.outgoing)
        recorders = session.engine.recorders
        if recorders.are_on and session not in self._passes:
            recorders.begin_waiting(session, request.args)
        self._run(request)
        recorders.hear(session, before)

    def _run(self, request: Request) -> None:
        if request.session in self._passes:
            self._pass_no_more(request.session)
            request.proceed()
            return
        rule = next((rule for rule in self._of_requests if rule.meets(request)), None)
        if rule is None:
            request.proceed()
        else:
            rule.fault.act(request)

    def change_reply(self, request: Request, change: Change) -> None:
        """Runs a request and changes its reply: at once, or when a client that it has blocked is served."""
        session = request.session
        before = len(session.outgoing)
        request.proceed()
        if session.flags & BLOCKED:
            self._changes[session] = change
        else:
            self._change(session, before, change)

    def served(self, session: Session) -> None:
        """A client that was blocked has got its reply: the last piece of its output."""
        if session in self._changes:
            self._change(session, max(len(session.outgoing) - 1, 0), self._changes.pop(session))

    def forget(self, session: Session) -> None:
        """A client is gone."""
        self._changes.pop(session, None)
        if session in self._passes:
            self._pass_no_more(session)

    @staticmethod
    def _change(session: Session, at: int, change: Change) -> None:
        changed = change(session, bytes(joined(session.outgoing[at:])))
        session.outgoing[at:] = [changed] if changed else []
