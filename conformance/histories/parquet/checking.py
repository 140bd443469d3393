"""Judges all queues in a table, whoever asks: this process, or one of Spark's.

Keys that one operation concerns are judged together, as one queue: ``scope.together`` says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from .. import judged
from ..model import Answer, Facts, History, Operation, Verdict, worst
from ..scope import EVERYWHERE, QUEUE_OPERATIONS, is_known, keys_of
from .columns import facts_in, operations_in
from .figures import Figures
from .findings import Finding, finding

__all__ = [
    "ONE_QUEUE", "Judged", "check_queue", "check_table", "pairs_in", "summed", "unknown_everywhere",
]  # fmt: skip

ONE_QUEUE: Final = sorted(QUEUE_OPERATIONS)
"""The operations that concern one queue, whatever their arguments."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A queue, or a piece of its history, that was judged.

    Attributes:
        queue: its name, or the name of the first of some that belong together.
        operations: how many.
        answer: the worst of all rules.
        findings: what is not ok.
    """

    queue: str
    operations: int
    answer: Answer
    findings: tuple[Finding, ...] = ()


def check_table(table: pa.Table, run: Facts, groups: Mapping[str, str]) -> Iterator[Judged]:
    """Judges each queue in a table, in which all that is done to a queue has to be.

    Args:
        table: rows in whatever order.
        run: what is known of the run; what is known of the queues is in the table.
        groups: the first of the keys that belong together, by each of them but that.
    """
    facts = facts_in(table)
    known = replace(run, bounds=facts.bounds, final=facts.final)
    apart: dict[str, list[Operation]] = {}
    for operation in operations_in(table):
        apart.setdefault(groups.get(operation.queue, operation.queue), []).append(operation)
    for queue, operations in apart.items():
        yield check_queue(queue, operations, known)


def check_queue(queue: str, operations: list[Operation], facts: Facts) -> Judged:
    """Judges what was done to one queue, or to keys that belong together."""
    operations.sort(key=attrgetter("invoked"))
    return summed(queue, operations, judged(History(operations, facts)))


def summed(
    queue: str, operations: Sequence[Operation], verdicts: Mapping[str, Verdict], piece: int = 0
) -> Judged:
    """What verdicts say of a queue."""
    bad = ((rule, verdict) for rule, verdict in verdicts.items() if verdict.answer != "ok")
    findings = tuple(finding(queue, rule, verdict, operations, piece) for rule, verdict in bad)
    return Judged(queue, len(operations), worst(verdicts.values()).answer, findings)


def unknown_everywhere(figures: Figures) -> Judged | None:
    """The verdict on a history with a command that may change any key; None for one without."""
    if not (names := EVERYWHERE & figures.endings.keys()):
        return None
    verdict = Verdict("unknown", reason=f"no model knows {min(names)}, which may change any key")
    return Judged("", figures.operations, "unknown", (Finding("", "known", verdict),))


def pairs_in(table: pa.Table) -> Iterator[tuple[str, str, bool]]:
    """The key of each operation, another one that it concerns, and whether that is a key for certain.

    Of an operation that nobody knows, any word may be a key.
    """
    for operation in operations_in(table.filter(pc.invert(pc.is_in(table["name"], pa.array(ONE_QUEUE))))):
        own, *others = keys_of(operation, ())
        yield from ((own, other, True) for other in others)
        if not is_known(operation.name):
            yield from ((own, word, False) for word in operation.keys_in()[1:])
