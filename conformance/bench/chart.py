"""The ratios as a picture: a dot for each row, a line for its spread, a tick for what was wanted.

Ratios that are better when smaller are turned over, so that right is better everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .model import MissingError, Outcome

__all__ = ["Line", "draw", "lines_of"]

COLOURS: Final = {True: "#2a7f62", False: "#c8553d"}
"""Of what meets its target, and of what does not."""

HEIGHT: Final = 0.24
"""Inches for each line."""


@dataclass(frozen=True, slots=True)
class Line:
    """What is drawn of a row.

    Attributes:
        label: what was measured, and against what.
        better: how many times as good as the reference.
        least: in the worst turn.
        greatest: in the best one.
        wanted: what would be enough.
        met: whether it is.
    """

    label: str
    better: float
    least: float
    greatest: float
    wanted: float
    met: bool


def lines_of(outcomes: Sequence[Outcome]) -> list[Line]:
    """Whatever has a ratio that its target speaks of."""
    return [line_of(each) for each in outcomes if each.ratio and not each.row.target.unit]


def line_of(outcome: Outcome) -> Line:
    row = outcome.row
    numbers = [outcome.ratio or 0.0, *outcome.ratios, row.target.bound]
    ratio, *turns, wanted = numbers if row.target.at_least else [1 / number for number in numbers]
    label = f"{row.what} ({row.reference})"
    return Line(label, ratio, min(turns), max(turns), wanted, met=outcome.verdict == "met")


def draw(outcomes: Sequence[Outcome], file: Path) -> None:
    """Writes a picture, PNG or SVG by the file's name.

    Raises:
        MissingError: matplotlib is not installed.
        ValueError: it knows no such kind of file.
    """
    try:
        import matplotlib as mpl  # an extra
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingError("no matplotlib: install the extra 'bench'") from None
    lines = lines_of(outcomes)
    figure = Figure(figsize=(10, 1.2 + HEIGHT * len(lines)), layout="constrained")
    axes = figure.subplots()
    for height, line in enumerate(lines):
        colour = COLOURS[line.met]
        axes.plot([line.least, line.greatest], [height, height], color=colour, linewidth=2)
        axes.plot([line.better], [height], "o", color=colour, markersize=5)
        axes.plot([line.wanted], [height], "|", color="black", markersize=9)
    axes.set_yticks(range(len(lines)), [line.label for line in lines], fontsize=8)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("miniredis: times as good as its reference (right is better; | is the target)")
    with mpl.rc_context({"svg.hashsalt": "bench", "svg.fonttype": "none"}):
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
