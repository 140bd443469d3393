"""What a check found, as lines for a terminal and as data for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .. import as_text
from .findings import as_record
from .summary import Summary

__all__ = ["HEADS", "as_json", "lines", "rows"]

PERCENTS: Final = (50, 95, 99)

HEADS: Final = (
    "operation", "count", "not ok", "per second", *(f"p{percent}" for percent in PERCENTS), "longest",
)  # fmt: skip
"""Of the columns of ``rows``."""

_DRAWN: Final = 5
"""Findings that are drawn on a terminal; all that were kept are named."""


def lines(summary: Summary) -> Iterator[str]:
    """For a terminal."""
    figures, total = summary.figures, summary.total
    queues = sum(total.answers.values())
    yield f"{figures.operations:,} operations on {queues:,} queues in {figures.seconds:,.3f} s"
    yield f"judged by {summary.way} in {summary.seconds:,.1f} s, {speed(summary):,.0f} operations/s"
    yield from _table(summary)
    yield ", ".join(f"{count:,} {answer}" for answer, count in sorted(total.answers.items())) or "no queues"
    for violation, count in sorted(total.violations.items()):
        yield f"  {violation}: {count:,}"
    for number, finding in enumerate(summary.findings):
        yield str(finding)
        if number < _DRAWN and finding.around:
            yield from (f"    {line}" for line in as_text(finding.history, finding.verdict).splitlines())
    yield summary.answer


def _table(summary: Summary) -> Iterator[str]:
    for name, *cells in (HEADS, *rows(summary)):
        yield name.ljust(12) + "".join(cell.rjust(14) for cell in cells)


def rows(summary: Summary) -> Iterator[tuple[str, ...]]:
    """A row for each name of operations, for people."""
    figures = summary.figures
    for name in sorted(figures.endings):
        endings = figures.endings[name]
        times = [figures.percentile(name, percent) for percent in PERCENTS] + [figures.longest.get(name)]
        yield (
            name, f"{endings.total():,}", f"{endings.total() - endings['ok']:,}",
            f"{figures.rate(name):,.0f}", *map(shown_time, times),
        )  # fmt: skip


def shown_time(nanoseconds: int | None) -> str:
    """A time for people."""
    if nanoseconds is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds} ns"


def speed(summary: Summary) -> float:
    """Operations judged a second."""
    return summary.figures.operations / summary.seconds if summary.seconds else 0.0


def as_json(summary: Summary) -> dict[str, Any]:
    """For JSON; times in nanoseconds, true to 0.4 percent but for the longest."""
    figures, total = summary.figures, summary.total
    return {
        "answer": summary.answer,
        "operations": figures.operations,
        "seconds": figures.seconds,
        "rate": figures.rate(),
        "queues": dict(total.answers),
        "violations": dict(total.violations),
        "latencies": {name: _latencies(summary, name) for name in sorted(figures.endings)},
        "findings": [as_record(finding) for finding in summary.findings],
        "judged": {"by": summary.way, "seconds": summary.seconds, "rate": speed(summary)},
    }


def _latencies(summary: Summary, name: str) -> dict[str, Any]:
    figures = summary.figures
    percentiles = {f"p{percent}": figures.percentile(name, percent) for percent in PERCENTS}
    endings, longest = dict(figures.endings[name]), figures.longest.get(name)
    return {"endings": endings, "rate": figures.rate(name), **percentiles, "max": longest}
