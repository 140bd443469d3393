"""Judges all queues in a table, whoever asks: this process, or one of Spark's.

Keys that one operation concerns are judged together, as one queue: ``together`` says which.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from .. import judged
from ..model import Answer, Facts, History, Operation, Verdict, worst
from ..scope import EVERYWHERE, QUEUE_OPERATIONS, is_known, keys_of
from .columns import facts_in, operations_in
from .figures import Figures
from .findings import Finding, as_record, finding, from_record

__all__ = [
    "ONE_QUEUE", "Judged", "check_queue", "check_table", "pairs_in", "summed", "together",
    "unknown_everywhere",
]  # fmt: skip

ONE_QUEUE: Final = sorted(QUEUE_OPERATIONS)
"""The operations that concern one queue, whatever their arguments."""

Record: TypeAlias = tuple[str, int, str, list[dict[str, Any]]]


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

    def as_record(self) -> Record:
        """As plain data, for JSON."""
        return self.queue, self.operations, self.answer, [*map(as_record, self.findings)]

    def as_text(self) -> str:
        """As JSON, to travel in a table."""
        return json.dumps(self.as_record())

    @classmethod
    def from_record(cls, record: Sequence[Any]) -> Judged:
        """What plain data stands for."""
        queue, operations, answer, findings = record
        return cls(queue, operations, answer, tuple(map(from_record, findings)))

    @classmethod
    def from_text(cls, text: str) -> Judged:
        """What such a text stands for."""
        return cls.from_record(json.loads(text))


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


def together(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Which keys belong together, if an operation concerned one and the other.

    Returns:
        The first of the keys that belong together, by each of them but that.
    """
    first: dict[str, str] = {}

    def root(key: str) -> str:
        while key in first:
            key = first[key]
        return key

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        if low != high:
            first[high] = low
    return {key: root(key) for key in first}
