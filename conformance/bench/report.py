"""The outcomes as a table for people, in plain text or Markdown, and as JSON for programs.

The JSON is an object: ``version`` (of this package), ``machine`` (an object of strings: ``system``,
``processor``, ``python``), ``effort`` (an object of numbers: ``pairs``, ``seconds``, ``size``) and ``rows``,
a list of objects with

* ``name``, ``group``, ``what``, ``unit``, ``reference`` (empty if there is none): strings;
* ``target``: an object of ``bound`` (a number), ``at_least`` (false: at most), and ``unit`` (empty if the
  bound is one for the ratio, else for ours);
* ``ours``, ``theirs``, ``ratio``: the medians and their quotient, or null;
* ``ratios``: the quotients of the turns; ``pairs``: the turns, lists of ours and theirs (or null);
* ``verdict``: ``met``, ``missed``, ``not available`` or ``failed``; ``reason``: why, or empty.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from statistics import median
from typing import Any, Final

from .model import Outcome
from .turns import Effort

__all__ = ["as_json", "compared", "markdown", "table"]

HEADINGS: Final = ("row", "what", "ours", "reference", "ratio", "spread", "target", "")


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines of a table; a missed target is marked."""
    return aligned([HEADINGS, *(cells(outcome) for outcome in outcomes)])


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a table of the rows that two documents of ``as_json`` have: what became better or worse.

    Rows with a reference are compared by their ratios, since two runs differ by more than the program. A
    change is marked if no turn of one document is as good as any turn of the other.
    """
    old = {row["name"]: row for row in before["rows"]}
    head = ("row", "what", before.get("version", "before"), after.get("version", "after"), "change", "")
    return aligned([head, *(change(old[row["name"]], row) for row in after["rows"] if row["name"] in old)])


def change(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    first, second = (row["ratios"] or [ours for ours, _ in row["pairs"]] for row in (before, after))
    if not (first and second):
        return after["name"], after["what"], "", "", "", "not measured in both"
    old, new, told = median(first), median(second), ""
    if min(first) > max(second) or max(first) < min(second):
        told = "better" if (new > old) == after["target"]["at_least"] else "WORSE"
    times = f"{new / old:.2f}" if old else ""
    return after["name"], after["what"], number(old), number(new), times, told


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def markdown(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The same in Markdown, but for what could not be measured here."""
    yield "| what | ours | reference | ratio | target |"
    yield "|---|---|---|---|---|"
    for outcome in outcomes:
        if outcome.verdict in {"met", "missed"}:
            _, what, ours, theirs, ratio, turns, target, missed = cells(outcome)
            judged = f"{ratio} ({turns})" if ratio else f"({turns})"
            yield f"| {what} | {ours} | {theirs} | {judged} | {target}{' missed' if missed else ''} |"


def cells(outcome: Outcome) -> tuple[str, ...]:
    row = outcome.row
    if outcome.verdict in {"not available", "failed"}:
        reason = outcome.missing or outcome.fault or "nothing was measured"
        return row.name, row.what, "", row.reference, "", "", str(row.target), f"{outcome.verdict}: {reason}"
    ratio = "" if outcome.ratio is None else f"{outcome.ratio:.2f}"
    reference = "" if outcome.theirs is None else f"{quantity(outcome.theirs, row.unit)} {row.reference}"
    return (
        row.name, row.what, quantity(outcome.ours, row.unit), reference, ratio, spread(outcome),
        str(row.target), "" if outcome.verdict == "met" else "MISSED",
    )  # fmt: skip


def spread(outcome: Outcome) -> str:
    """From the least to the greatest of what is judged, turn by turn."""
    judged = [pair.ours for pair in outcome.pairs] if outcome.row.target.unit else outcome.ratios
    return f"{number(min(judged))}..{number(max(judged))}" if judged else ""


def quantity(amount: float | None, unit: str) -> str:
    return "" if amount is None else f"{number(amount)} {unit}"


def number(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:.1f}" if amount >= 100 else f"{amount:.2f}"


def as_json(outcomes: Sequence[Outcome], effort: Effort) -> dict[str, Any]:
    """The document that the module describes."""
    return {
        "version": version("pressure-queues"),
        "machine": {
            "system": platform.platform(),
            "processor": f"{platform.machine()}, {os.cpu_count()} processors",
            "python": platform.python_version(),
        },
        "effort": asdict(effort),
        "rows": [row_as_json(outcome) for outcome in outcomes],
    }


def row_as_json(outcome: Outcome) -> dict[str, Any]:
    row = outcome.row
    return {
        "name": row.name,
        "group": row.group,
        "what": row.what,
        "unit": row.unit,
        "reference": row.reference,
        "target": asdict(row.target),
        "ours": outcome.ours,
        "theirs": outcome.theirs,
        "ratio": outcome.ratio,
        "ratios": outcome.ratios,
        "pairs": [[pair.ours, pair.theirs] for pair in outcome.pairs],
        "verdict": outcome.verdict,
        "reason": outcome.missing or outcome.fault,
    }
