"""Judges all queues in a table, whoever asks: this process, or one of Spark's.

Keys between which values are moved are judged together, as one queue: ``together`` says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa

from ..histories import judged
from ..histories.model import Answer, Facts, History, Operation, Verdict, worst
from .columns import facts_in, operations_in
from .findings import Finding, finding, from_text, to_text

__all__ = ["JUDGED", "MOVES", "Judged", "as_table", "check_queue", "check_table", "from_row", "together"]

MOVES: Final = ("LMOVE", "BLMOVE")
"""Commands from key to key."""

JUDGED: Final = pa.schema(
    [
        ("queue", pa.string()), ("operations", pa.int64()), ("answer", pa.string()),
        ("findings", pa.list_(pa.string())),
    ]
)  # fmt: skip
"""A row for each queue: the texts of findings."""


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
    try:
        verdicts = judged(History(operations, facts))
    except (ValueError, KeyError, IndexError, TypeError) as error:  # a number that is none, a word too few
        verdicts = {"readable": Verdict("unknown", reason=f"an operation cannot be read: {error!r}")}
    return summed(queue, operations, verdicts)


def summed(
    queue: str, operations: Sequence[Operation], verdicts: Mapping[str, Verdict], piece: int = 0
) -> Judged:
    """What verdicts say of a queue."""
    bad = ((rule, verdict) for rule, verdict in verdicts.items() if verdict.answer != "ok")
    findings = tuple(finding(queue, rule, verdict, operations, piece) for rule, verdict in bad)
    return Judged(queue, len(operations), worst(verdicts.values()).answer, findings)


def as_table(found: Iterable[Judged]) -> pa.Table:
    """What was judged as a table."""
    rows = [(each.queue, each.operations, each.answer, [*map(to_text, each.findings)]) for each in found]
    columns = zip(*rows, strict=True) if rows else ((),) * len(JUDGED)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, JUDGED, strict=True)], schema=JUDGED)


def from_row(row: Mapping[str, Any]) -> Judged:
    """What a row of such a table says."""
    findings = tuple(map(from_text, row["findings"] or ()))
    return Judged(row["queue"], row["operations"], row["answer"], findings)


def together(moves: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Which keys belong together, if values were moved from one to the other.

    Returns:
        The first of the keys that belong together, by each of them but that.
    """
    first: dict[str, str] = {}

    def root(key: str) -> str:
        while key in first:
            key = first[key]
        return key

    for one, other in moves:
        low, high = sorted((root(one), root(other)))
        if low != high:
            first[high] = low
    return {key: root(key) for key in first}
