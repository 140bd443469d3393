"""Runs suites on a target, and says of each clause whether it holds, as data.

A check that hangs fails its clauses, and does not stop the run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from .capabilities import capabilities_of
from .checks import CHECKS, Check
from .clauses import CLAUSES, SUITES, Clause
from .environment import Client, Environment, Failure
from .evidence import Evidence
from .flavours import FLAVOURS
from .targets import Address

__all__ = ["Outcome", "Verdict", "judge", "run"]

Verdict: TypeAlias = Literal["passed", "failed", "skipped"]

CHECK_LIMIT: Final = 30.0
"""Seconds after which a check counts as hung, unless its clause says otherwise."""


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
    make = client or FLAVOURS["sync"]

    def environment() -> Environment:
        return Environment(address, make)

    able = capabilities_of(environment)
    outcomes = []
    for clause in clauses:
        outcome = judge_clause(clause, able, environment)
        progress(outcome)
        outcomes.append(outcome)
    return outcomes


def judge_clause(clause: Clause, able: frozenset[str], environment: Callable[[], Environment]) -> Outcome:
    missing = [name for name in clause.needs if name not in able]
    if missing:
        return Outcome(clause, "skipped", f"needs {', '.join(missing)}")
    begin = time.monotonic()
    for check in CHECKS[clause.id]:
        problem = run_check(check, environment, clause.limit)
        if problem is not None:
            shown = problem.evidence if isinstance(problem, Failure) else ()
            return Outcome(clause, "failed", describe(problem), shown, time.monotonic() - begin)
    return Outcome(clause, "passed", seconds=time.monotonic() - begin)


def run_check(
    check: Check, environment: Callable[[], Environment], limit: float | None = None
) -> BaseException | None:
    """What the check ended by, if not well. It runs on a thread, which is left behind if it hangs."""
    ended: list[BaseException | None] = []

    def work() -> None:
        try:
            with environment() as env:
                check(env)
        except BaseException as error:
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=work, name=f"check {check.__name__}", daemon=True)
    thread.start()
    limit = CHECK_LIMIT if limit is None else limit
    thread.join(limit)
    return ended[0] if ended else Failure(f"hung for {limit:.0f} s")


def describe(problem: BaseException) -> str:
    return str(problem) if isinstance(problem, Failure) else f"{type(problem).__name__}: {problem}"
