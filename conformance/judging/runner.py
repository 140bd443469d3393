"""Runs suites on a target, and says of each clause whether it holds, as data.

Whatever the server or the client does, the run goes on, and ends. A check that hangs is an error. After each
clause that was not passed both are asked something simple; when one of them does not answer any more, or such
clauses have taken ``FAILING_LIMIT`` seconds, the rest are errors at once and say so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import redis

from pressure import PressureError

from ..arguments import unknown
from ..clients.flavours import FLAVOURS
from ..clients.judged import Client
from ..documents import CHECKS, CLAUSES, SUITES, Check, Clause
from ..failure import Evidence
from ..targets import Address
from ..wire import Hangup, RawConnection
from .capabilities import REASONS, capabilities_of
from .environment import Broken, Environment, Failure, Unsupported
from .limits import Hung, ended_by

__all__ = ["VERDICTS", "Judging", "Outcome", "Verdict", "judge", "run"]

Verdict: TypeAlias = Literal["passed", "violated", "error", "not asked"]
"""``error``: the server, the client or the suite broke, so that nothing can be said of the clause."""

VERDICTS: Final[tuple[Verdict, ...]] = ("passed", "violated", "error", "not asked")

CHECK_LIMIT: Final = 30.0
"""Seconds after which a check counts as hung, unless its clause says otherwise."""

ANSWER_LIMIT: Final = 10.0
"""Seconds in which a server or a client that lives answers something simple."""

FAILING_LIMIT: Final = 300.0
"""Seconds that all clauses that do not pass may take together."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on one clause.

    Attributes:
        clause: the clause.
        verdict: ``passed``: it holds; ``violated``: it does not; ``error``: server, client or suite broke;
            ``not asked``: the server or the client lacks what it needs.
        reason: what was seen, what broke, or what is missing; empty if it passed.
        evidence: texts and pictures that show it.
        seconds: how long the check took.
        missing: the capabilities that the server lacks, if it was not asked.
    """

    clause: Clause
    verdict: Verdict
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    seconds: float = 0.0
    missing: tuple[str, ...] = ()

    @property
    def is_bad(self) -> bool:
        """Whether it was asked, and was not passed."""
        return self.verdict in ("violated", "error")

    def fails(self, *, strict: bool = False) -> bool:
        """Whether it makes a run fail; one of the levels should and may does if ``strict``."""
        return self.is_bad and (strict or self.clause.level in ("must", "decided"))


def run(
    address: Address, client: Client | None = None, suites: Sequence[str] = SUITES,
    *, progress: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:  # fmt: skip
    """Judges a server and a client by all clauses of some suites; returns an outcome for each clause.

    ::

        with conformance.target_named("redis://127.0.0.1:6379/0").up() as address:
            for outcome in conformance.run(address, suites=["list-notes"]):
                print(outcome.clause.id, outcome.verdict, outcome.reason)

    Args:
        address: the server, as a target gives it.
        client: makes the clients to judge; ``pressure.Queue`` if omitted.
        suites: the names of the suites; all of ``conformance.SUITES`` if omitted.
        progress: called with each outcome as soon as it is known.

    Raises:
        TypeError: ``address`` is not an ``Address``, or ``suites`` is a single name.
        ValueError: there is no such suite.
    """
    if isinstance(suites, str):
        raise TypeError(f"suites must be a list of names, such as [{suites!r}]")
    for suite in suites:
        if suite not in SUITES:
            raise ValueError(unknown("suite", suite, SUITES, f"give some of {', '.join(SUITES)}"))
    chosen = [clause for clause in CLAUSES.values() if set(clause.suites) & set(suites)]
    return judge(address, chosen, client, progress=progress)


def judge(
    address: Address, clauses: Iterable[Clause], client: Client | None = None,
    *, progress: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:  # fmt: skip
    """Judges a server and a client by some clauses; returns an outcome for each.

    Args:
        address: the server, as a target gives it.
        clauses: values of ``conformance.CLAUSES``.
        client: makes the clients to judge; ``pressure.Queue`` if omitted.
        progress: called with each outcome as soon as it is known.

    Raises:
        TypeError: ``address`` is not an ``Address``, or an item of ``clauses`` is not a ``Clause``.
    """
    clauses = list(clauses)
    for clause in clauses:
        if not isinstance(clause, Clause):
            raise TypeError(f"clauses must be values of conformance.CLAUSES, not {clause!r}")
    judging = Judging(address, client)
    outcomes = []
    for clause in clauses:
        outcome = judging.judge(clause)
        progress(outcome)
        outcomes.append(outcome)
    return outcomes


class Judging:
    """Judges one clause after another on a server, for as long as the server and the client answer.

    Args:
        address: the server, as a target gives it.
        client: makes the clients to judge; ``pressure.Queue`` if omitted.

    Raises:
        TypeError: ``address`` is not an ``Address``.
    """

    def __init__(self, address: Address, client: Client | None = None) -> None:
        if not isinstance(address, Address):
            raise TypeError(
                f"address must be a conformance.Address, as target_named(...).up() gives, not {address!r}"
            )
        self._address = address
        self._client = client or FLAVOURS["sync"]
        self._failing = 0.0
        self._given_up = "" if self._server_answers() else "the server does not answer"
        self.able = frozenset[str]() if self._given_up else capabilities_of(self.environment)

    def environment(self) -> Environment:
        """What one check works with: its own keys on the server, and clients."""
        return Environment(self._address, self._client)

    def judge(self, clause: Clause) -> Outcome:
        """The outcome of one clause; it never raises because of the server or the client."""
        if self._given_up:
            return Outcome(clause, "error", self._given_up)
        outcome = judge_clause(clause, self.able, self.environment)
        if outcome.is_bad:
            self._failing += outcome.seconds
            self._given_up = self._why_give_up()
        return outcome

    def _why_give_up(self) -> str:
        if not self._server_answers():
            return "the server no longer answers"
        if self._failing > FAILING_LIMIT:
            return f"not judged: clauses that were not passed took {self._failing:.0f} s"
        return "" if self._client_answers() else "the client no longer answers"

    def _server_answers(self) -> bool:
        """Whether it answers a PING, with whatever."""
        return not isinstance(ended_by(self._ping, ANSWER_LIMIT), Hung | Hangup | OSError)

    def _ping(self) -> None:
        to = self._address
        with RawConnection(to.host, to.port, to.db, to.password, to.user) as connection:
            connection.command("PING")

    def _client_answers(self) -> bool:
        """Whether a client says whether there is a queue, or that it cannot."""
        return not isinstance(ended_by(self._look, ANSWER_LIMIT), Hung)

    def _look(self) -> None:
        with self.environment() as env:
            env.queue().exists()


def judge_clause(clause: Clause, able: frozenset[str], environment: Callable[[], Environment]) -> Outcome:
    missing = tuple(name for name in clause.needs if name not in able)
    if missing:
        return Outcome(clause, "not asked", "; ".join(REASONS[name] for name in missing), missing=missing)
    begin = time.monotonic()
    for check in CHECKS[clause.id]:
        problem = run_check(check, environment, clause.limit)
        if isinstance(problem, Unsupported):
            return Outcome(clause, "not asked", str(problem))
        if problem is not None:
            shown = problem.evidence if isinstance(problem, Failure) else ()
            return Outcome(clause, verdict_of(problem), describe(problem), shown, time.monotonic() - begin)
    return Outcome(clause, "passed", seconds=time.monotonic() - begin)


def verdict_of(problem: BaseException) -> Verdict:
    """The verdict on a check that raised this: ``error`` if the clause does not forbid it."""
    if isinstance(problem, Unsupported):
        return "not asked"
    seen = isinstance(
        problem, (Failure, PressureError, redis.ResponseError, redis.TimeoutError, TimeoutError)
    )
    return "violated" if seen and not isinstance(problem, (Broken, ConnectionError)) else "error"


def run_check(
    check: Check, environment: Callable[[], Environment], limit: float | None = None
) -> BaseException | None:
    """What the check ended by, if not well. It runs on a thread, which is left behind if it hangs."""

    def work() -> None:
        with environment() as env:
            check(env)

    limit = CHECK_LIMIT if limit is None else limit
    problem = ended_by(work, limit)
    return Broken(f"hung for {limit:.0f} s") if isinstance(problem, Hung) else problem


def describe(problem: BaseException) -> str:
    return str(problem) if isinstance(problem, Failure) else f"{type(problem).__name__}: {problem}"
