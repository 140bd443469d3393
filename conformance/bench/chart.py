"""Ratios as a picture: a bar for each, and a mark where it would end if miniredis were as fast as the other.

Ratios that are better when smaller are turned over, so that longer is better everywhere. Letters are large,
so that they can be read on a telephone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from . import svg
from .model import Outcome

__all__ = ["Bar", "Group", "as_svg", "groups_of"]

LEFT: Final = 20
LONGEST: Final = svg.WIDTH - 2 * LEFT - 60
"""How long the longest bar of a group is: behind it there has to be space for a number."""

HEAD, GROUP, STEP = 82, 42, 58
"""How high are the title, a group's heading and a row."""

LABEL, THICK = 26, 20
"""From the top of a row down to its bar, and how thick that is."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One ratio.

    Attributes:
        label: what was measured.
        better: how many times as good as the reference miniredis is.
    """

    label: str
    better: float


@dataclass(frozen=True, slots=True)
class Group:
    """Bars that have one reference."""

    reference: str
    bars: Sequence[Bar]


def groups_of(outcomes: Sequence[Outcome]) -> list[Group]:
    """Whatever has a ratio that its target speaks of, by what it is compared with."""
    found: dict[str, list[Bar]] = {}
    for each in outcomes:
        if each.ratio and not each.row.target.unit:
            better = each.ratio if each.row.target.at_least else 1 / each.ratio
            found.setdefault(each.row.reference, []).append(Bar(each.row.what, better))
    return [Group(reference, bars) for reference, bars in found.items()]


def as_svg(groups: Sequence[Group], title: str = "How fast miniredis is") -> str:
    """The picture."""
    height = HEAD + sum(GROUP + STEP * len(group.bars) for group in groups) + 8
    said = "; ".join(
        f"{bar.label}: {number(bar.better)} times {group.reference}" for group in groups for bar in group.bars
    )
    return svg.document(title, said, height, drawn(groups, title))


def drawn(groups: Sequence[Group], title: str) -> Iterator[str]:
    yield svg.text(LEFT, 36, title, 22, "ink bold")
    yield svg.text(LEFT, 64, "Times as fast; a longer bar is better.", 17, "soft")
    y = HEAD
    for group in groups:
        one = LONGEST / max(bar.better for bar in group.bars)
        yield svg.line(LEFT + 2, y + 6, LEFT + 2, y + 26, "ink", 3)
        yield svg.text(LEFT + 12, y + 22, f"1 = {group.reference}", 18, "ink bold")
        y += GROUP
        for bar in group.bars:
            yield from row(bar, y, one)
            y += STEP


def row(bar: Bar, y: float, one: float) -> Iterator[str]:
    """A label, and below it a bar with its number behind it, and the mark of 1 across it."""
    colour, length, top = "good" if bar.better >= 1 else "poor", bar.better * one, y + LABEL
    yield svg.text(LEFT, y + 15, bar.label, 17)
    yield svg.box(LEFT, top, length, THICK, colour, radius=2)
    yield svg.line(LEFT + one, top - 4, LEFT + one, top + THICK + 4, "ink", 3)
    beyond = max(length, one if length > one - 60 else 0) + 10
    yield svg.text(LEFT + beyond, top + THICK - 4, number(bar.better), 18, f"{colour} bold")


def number(ratio: float) -> str:
    """Two digits that count, and a third where it is near 1."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"
