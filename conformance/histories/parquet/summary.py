"""What a check found, added up: what reports are functions of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from ..model import Answer, Verdict
from .checking import Judged
from .figures import Figures
from .findings import Finding

__all__ = ["SHOWN", "Summary", "Total", "complete", "totalled"]

SHOWN: Final = 50
"""Queues that are not ok whose findings are kept; all are counted."""

_WORST: Final[tuple[Answer, ...]] = ("illegal", "unknown", "ok")


@dataclass(slots=True)
class Total:
    """What was judged, added up queue by queue.

    Attributes:
        answers: how many queues got which answer.
        violations: how many findings there are of each violation, or of each rule of which nothing is known.
        operations: how many were judged.
        bad: queues that are not ok, the worst first; no more than ``SHOWN``.
    """

    answers: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    operations: int = 0
    bad: list[Judged] = field(default_factory=list)

    def add(self, judged: Judged) -> None:
        """Adds a queue."""
        self.answers[judged.answer] += 1
        self.operations += judged.operations
        for found in judged.findings:
            self.violations[found.verdict.violation or f"{found.rule}: unknown"] += 1
        if judged.findings:
            self.bad.append(judged)
            if len(self.bad) >= 2 * SHOWN:
                self.settle()

    def merge(self, other: Total) -> None:
        """Adds what somebody else added up."""
        self.answers += other.answers
        self.violations += other.violations
        self.operations += other.operations
        self.bad += other.bad
        self.settle()

    def settle(self) -> None:
        """Sorts what is not ok, and drops what is too much."""
        self.bad.sort(key=lambda each: (_WORST.index(each.answer), each.queue))
        del self.bad[SHOWN:]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a check found.

    Attributes:
        figures: what was counted.
        total: what was judged.
        way: by whom.
        seconds: how long it took, without the start of Spark.
    """

    figures: Figures
    total: Total
    way: str
    seconds: float

    @property
    def answer(self) -> Answer:
        """The worst answer; a history of which not everything was judged is unknown."""
        return next((answer for answer in _WORST if self.total.answers[answer]), "ok")

    @property
    def findings(self) -> list[Finding]:
        """Those that were kept, illegal ones first."""
        found = [each for judged in self.total.bad for each in judged.findings]
        return sorted(found, key=lambda each: _WORST.index(each.verdict.answer))


def complete(summary: Summary) -> Summary:
    """The summary, if as many operations were judged as there are; otherwise one that is not ok."""
    missing = summary.figures.operations - summary.total.operations
    if not missing:
        return summary
    reason = f"{missing} of {summary.figures.operations} operations were not judged"
    finding = Finding("", "complete", Verdict("unknown", reason=reason))
    total = Total()
    total.merge(summary.total)
    total.add(Judged("", missing, "unknown", (finding,)))
    return replace(summary, total=total)


def totalled(found: Iterable[Judged]) -> Total:
    """All added up."""
    total = Total()
    for judged in found:
        total.add(judged)
    total.settle()
    return total
