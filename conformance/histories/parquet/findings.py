"""What is wrong with a queue, or not known of it, with its surroundings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..model import History, Operation, Verdict
from ..records import record_of

__all__ = ["AROUND", "Finding", "as_record", "finding"]

AROUND: Final = 4
"""Operations before and behind each one concerned that are kept with it."""

_CONCERNED: Final = 12
"""Operations concerned that are kept."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a queue breaks, or of which it cannot be told.

    Attributes:
        queue: it.
        rule: the name of the rule.
        verdict: what the checker said, with at most a dozen of the operations concerned.
        around: these, and their neighbours in time, as they began.
        piece: the part of the queue's history that was judged; 0 for the whole.
    """

    queue: str
    rule: str
    verdict: Verdict
    around: tuple[Operation, ...] = ()
    piece: int = 0

    @property
    def history(self) -> History:
        """What can be drawn of it."""
        return History(self.around)

    def __str__(self) -> str:
        where = f"{self.queue}, piece {self.piece}" if self.piece else self.queue
        verdict = self.verdict
        return ": ".join(
            word for word in (where, verdict.answer, verdict.violation or self.rule, verdict.reason) if word
        )


def finding(
    queue: str, rule: str, verdict: Verdict, operations: Sequence[Operation], piece: int = 0
) -> Finding:
    """What a verdict says, cut down to what can be looked at.

    Args:
        queue: which one.
        rule: which one.
        verdict: of it.
        operations: of the queue, as they began.
        piece: the part of the history.
    """
    concerned = verdict.operations[:_CONCERNED]
    ids, near = {(each.client, each.invoked) for each in concerned}, set[int]()
    for place, operation in enumerate(operations):
        if (operation.client, operation.invoked) in ids:
            near.update(range(max(place - AROUND, 0), min(place + AROUND + 1, len(operations))))
    around = tuple(operations[place] for place in sorted(near))
    short = Verdict(verdict.answer, verdict.violation, verdict.reason, concerned)
    return Finding(queue, rule, short, around, piece)


def as_record(found: Finding) -> dict[str, Any]:
    """A finding as plain data, for JSON."""
    verdict = found.verdict
    return {
        "queue": found.queue, "rule": found.rule, "piece": found.piece, "answer": verdict.answer,
        "violation": verdict.violation, "reason": verdict.reason,
        "operations": [record_of(each) for each in verdict.operations],
        "around": [record_of(each) for each in found.around],
    }  # fmt: skip
