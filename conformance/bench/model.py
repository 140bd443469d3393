"""The lines of the table: what is measured, what came out of it, and whether that is what was wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from .turns import Pair
from .workbench import Measure

__all__ = ["Outcome", "Row", "Target", "Verdict"]

Verdict = Literal["met", "missed", "not available", "failed"]


@dataclass(frozen=True, slots=True)
class Target:
    """What is wanted of a row.

    Attributes:
        bound: the last number that is good enough; with 0, any is, and the row has no target.
        at_least: larger is better; otherwise smaller is.
        unit: of the bound, if it is one for miniredis's own value; empty if it is one for the ratio.
    """

    bound: float
    at_least: bool = True
    unit: str = ""

    def met_by(self, number: float) -> bool:
        """Whether a number is good enough."""
        return number >= self.bound if self.at_least else number <= self.bound

    def __str__(self) -> str:
        if not self.bound:
            return "none"
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{self.unit and f' {self.unit}'}"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table.

    Attributes:
        name: how it is selected and found in the JSON; unique.
        group: rows of one kind; it selects them all.
        what: what is measured, for people.
        unit: of both sides, such as ``requests/s``.
        reference: what it is compared with; empty if with nothing.
        target: what is wanted.
        measure: how it is done.
    """

    name: str
    group: str
    what: str
    unit: str
    reference: str
    target: Target
    measure: Measure


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of a row.

    Attributes:
        row: it.
        pairs: the turns, in order.
        missing: why it could not be measured here; empty if it could.
        fault: what went wrong; empty if nothing did.
    """

    row: Row
    pairs: Sequence[Pair] = ()
    missing: str = ""
    fault: str = ""

    @property
    def ours(self) -> float | None:
        """The median of miniredis's runs."""
        return median(pair.ours for pair in self.pairs) if self.pairs else None

    @property
    def theirs(self) -> float | None:
        """The median of the reference's runs."""
        runs = [pair.theirs for pair in self.pairs if pair.theirs is not None]
        return median(runs) if runs else None

    @property
    def ratios(self) -> list[float]:
        """Ours to theirs, turn by turn."""
        return [pair.ours / pair.theirs for pair in self.pairs if pair.theirs]

    @property
    def ratio(self) -> float | None:
        """The ratio of the medians."""
        ours, theirs = self.ours, self.theirs
        return ours / theirs if ours is not None and theirs else None

    @property
    def judged(self) -> float | None:
        """The number that the target speaks of."""
        return self.ours if self.row.target.unit else self.ratio

    @property
    def verdict(self) -> Verdict:
        """How it went."""
        if self.fault:
            return "failed"
        if self.missing:
            return "not available"
        if self.judged is None:
            return "failed"
        return "met" if self.row.target.met_by(self.judged) else "missed"
