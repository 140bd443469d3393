"""What was found, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .clauses import SUITES
from .runner import Outcome

__all__ = ["failed", "lines"]


def lines(target: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A line for each suite, ``suite target: passed/total``, and one for each clause that was not passed."""
    for suite in SUITES:
        mine = [outcome for outcome in outcomes if suite in outcome.clause.suites]
        if not mine:
            continue
        judged = [outcome for outcome in mine if outcome.verdict != "skipped"]
        passed = sum(outcome.verdict == "passed" for outcome in judged)
        skipped = len(mine) - len(judged)
        yield f"{suite} {target}: {passed}/{len(judged)}" + (f" ({skipped} skipped)" if skipped else "")
        for outcome in mine:
            if outcome.verdict != "passed":
                yield f"  {outcome.verdict} {outcome.clause.id}: {outcome.reason}"


def failed(outcomes: Sequence[Outcome]) -> bool:
    """Whether any clause does not hold."""
    return any(outcome.verdict == "failed" for outcome in outcomes)
