"""How much there was, how it ended and how long it took: counts that add up, wherever they were made.

Times go into buckets of their nine highest bits, so that percentiles are true to 0.4 percent and the same
whoever counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from .columns import FACT

__all__ = ["COLUMNS", "COUNTS", "Figures", "added", "counts_of"]

COLUMNS: Final = ("name", "outcome", "invoked", "returned")
"""What is needed of a history."""

COUNTS: Final = pa.schema(
    [
        ("name", pa.string()), ("outcome", pa.string()), ("bucket", pa.int64()), ("count", pa.int64()),
        ("longest", pa.int64()), ("first", pa.int64()), ("last", pa.int64()),
    ]
)  # fmt: skip
"""A row for each name, outcome and bucket of times; the moments are the first and the last known one."""

_BITS: Final = 9


@dataclass(slots=True)
class Figures:
    """What was counted.

    Attributes:
        endings: how many operations of each name ended how.
        times: how many operations of each name took how many nanoseconds, to 0.4 percent.
        longest: what the longest operation of each name took, in nanoseconds.
        first: the first moment, in nanoseconds.
        last: the last one.
        facts: how many rows are facts, by name.
    """

    endings: dict[str, Counter[str]] = field(default_factory=dict)
    times: dict[str, Counter[int]] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)
    first: int = 0
    last: int = 0
    facts: Counter[str] = field(default_factory=Counter)

    @property
    def operations(self) -> int:
        """How many there are."""
        return sum(counts.total() for counts in self.endings.values())

    @property
    def seconds(self) -> float:
        """From the first moment to the last."""
        return (self.last - self.first) / 1e9

    def rate(self, name: str = "") -> float:
        """Operations of a name, or all, a second."""
        count = self.endings[name].total() if name else self.operations
        return count / self.seconds if self.seconds else 0.0

    def percentile(self, name: str, percent: float) -> int | None:
        """What so many percent of the operations of a name took at most, in ns; None if none ended."""
        times = self.times.get(name, Counter())
        left = max(math.ceil(times.total() * percent / 100), 1)
        for time in sorted(times):
            left -= times[time]
            if left <= 0:
                return time
        return None


def counts_of(table: pa.Table) -> pa.Table:
    """The counts of a part of a history, of which ``COLUMNS`` are needed."""
    took = pc.subtract(table["returned"], table["invoked"])
    bits = pc.floor(pc.log2(pc.cast(pc.max_element_wise(took, 1), pa.float64(), safe=False)))
    shift = pc.max_element_wise(pc.subtract(pc.cast(bits, pa.int64()), _BITS - 1), 0, skip_nulls=False)
    buckets = pc.if_else(pc.is_valid(took), pc.shift_left(pc.shift_right(took, shift), shift), None)
    last = pc.coalesce(table["returned"], table["invoked"])
    grouped = pa.table(
        [table["name"], table["outcome"], buckets, took, table["invoked"], last],
        names=["name", "outcome", "bucket", "took", "invoked", "last"],
    ).group_by(["name", "outcome", "bucket"])
    counted = grouped.aggregate([("took", "count", pc.CountOptions(mode="all")), *_MOMENTS])
    return counted.rename_columns(_NAMES).select(COUNTS.names).cast(COUNTS)


_MOMENTS: Final = (("took", "max"), ("invoked", "min"), ("last", "max"))
_NAMES: Final = ["name", "outcome", "bucket", "count", "longest", "first", "last"]


def added(rows: Iterable[Mapping[str, Any]]) -> Figures:
    """The figures that rows of counts add up to."""
    figures = Figures(first=2**63 - 1)
    for row in rows:
        if row["outcome"] == FACT:
            figures.facts[row["name"]] += row["count"]
        else:
            _add(figures, row)
    figures.first = min(figures.first, figures.last)
    return figures


def _add(figures: Figures, row: Mapping[str, Any]) -> None:
    name = row["name"]
    figures.endings.setdefault(name, Counter())[row["outcome"]] += row["count"]
    figures.first, figures.last = min(figures.first, row["first"]), max(figures.last, row["last"])
    if row["bucket"] is not None:
        figures.times.setdefault(name, Counter())[row["bucket"]] += row["count"]
        figures.longest[name] = max(figures.longest.get(name, 0), row["longest"])
