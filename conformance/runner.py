"""Runs suites on a target, and says of each clause whether it holds, as data.

Whatever the server or the client does, the run goes on, and ends. A check that hangs fails its clauses. After
each failure both are asked something simple; when one of them does not answer any more, or failures have
taken ``FAILING_LIMIT`` seconds, the rest fails at once and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from .capabilities import capabilities_of
from .checks import CHECKS, Check
from .clauses import CLAUSES, SUITES, Clause
from .environment import Client, Environment, Failure, Unsupported
from .evidence import Evidence
from .flavours import FLAVOURS
from .limits import Hung, ended_by
from .targets import Address
from .wire import Hangup, RawConnection

__all__ = ["Judging", "Outcome", "Verdict", "judge", "run"]

Verdict: TypeAlias = Literal["passed", "failed", "skipped"]

CHECK_LIMIT: Final = 30.0
"""Seconds after which a check counts as hung, unless its clause says otherwise."""

ANSWER_LIMIT: Final = 10.0
"""Seconds in which a server or a client that lives answers something simple."""

FAILING_LIMIT: Final = 300.0
"""Seconds that all clauses that fail may take together."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one clause.

    Attributes:
        clause: the clause.
        verdict: whether it holds.
        reason: why it does not, or which capability is missing.
        evidence: what a failure has to show.
        seconds: how long it took to find out.
    """

    clause: Clause
    verdict: Verdict
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    seconds: float = 0.0


def run(
    address: Address, client: Client | None = None, suites: Sequence[str] = SUITES,
    *, progress: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:  # fmt: skip
    """Judges a server and a client by all clauses of some suites.

    Args:
        address: the server.
        client: makes the clients under test; ``pressure.Queue`` if omitted.
        suites: the names of the suites.
        progress: told of each outcome as it is known.
    """
    chosen = [clause for clause in CLAUSES.values() if set(clause.suites) & set(suites)]
    return judge(address, chosen, client, progress=progress)


def judge(
    address: Address, clauses: Iterable[Clause], client: Client | None = None,
    *, progress: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:  # fmt: skip
    """Judges a server and a client by some clauses."""
    judging = Judging(address, client)
    outcomes = []
    for clause in clauses:
        outcome = judging.judge(clause)
        progress(outcome)
        outcomes.append(outcome)
    return outcomes


class Judging:
    """One run: a server, a client, what the server can do, and whether both still answer.

    Args:
        address: the server.
        client: makes the clients under test; ``pressure.Queue`` if omitted.
    """

    def __init__(self, address: Address, client: Client | None = None) -> None:
        self._address = address
        self._client = client or FLAVOURS["sync"]
        self._failing = 0.0
        self._given_up = "" if self._server_answers() else "the server does not answer"
        self.able = frozenset[str]() if self._given_up else capabilities_of(self.environment)

    def environment(self) -> Environment:
        """A corner of the server for one check."""
        return Environment(self._address, self._client)

    def judge(self, clause: Clause) -> Outcome:
        """Whether one clause holds."""
        if self._given_up:
            return Outcome(clause, "failed", self._given_up)
        outcome = judge_clause(clause, self.able, self.environment)
        if outcome.verdict == "failed":
            self._failing += outcome.seconds
            self._given_up = self._why_give_up()
        return outcome

    def _why_give_up(self) -> str:
        if not self._server_answers():
            return "the server no longer answers"
        if self._failing > FAILING_LIMIT:
            return f"not asked: what failed before took {self._failing:.0f} s"
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
    missing = [name for name in clause.needs if name not in able]
    if missing:
        return Outcome(clause, "skipped", f"needs {', '.join(missing)}")
    begin = time.monotonic()
    for check in CHECKS[clause.id]:
        problem = run_check(check, environment, clause.limit)
        if isinstance(problem, Unsupported):
            return Outcome(clause, "skipped", str(problem))
        if problem is not None:
            shown = problem.evidence if isinstance(problem, Failure) else ()
            return Outcome(clause, "failed", describe(problem), shown, time.monotonic() - begin)
    return Outcome(clause, "passed", seconds=time.monotonic() - begin)


def run_check(
    check: Check, environment: Callable[[], Environment], limit: float | None = None
) -> BaseException | None:
    """What the check ended by, if not well. It runs on a thread, which is left behind if it hangs."""

    def work() -> None:
        with environment() as env:
            check(env)

    limit = CHECK_LIMIT if limit is None else limit
    problem = ended_by(work, limit)
    return Failure(f"hung for {limit:.0f} s") if isinstance(problem, Hung) else problem


def describe(problem: BaseException) -> str:
    return str(problem) if isinstance(problem, Failure) else f"{type(problem).__name__}: {problem}"
