"""A run as a table in Markdown, for a guide: a row for each suite, a column for each target.

A cell tells how many clauses were passed of those that were asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..judging.runner import Outcome
from .model import Judgement, counted, plain_origin, suites_of

__all__ = ["as_table"]

NONE_ASKED = "not asked"


def as_table(judgements: Sequence[Judgement]) -> str:
    """The table, and below it what each target is, and the day."""
    there = [judgement for judgement in judgements if judgement.outcomes]
    suites = [suites_of(judgement.outcomes) for judgement in there]
    names = list(dict.fromkeys(name for each in suites for name in each))
    rows = [
        ["suite", *(judgement.name for judgement in there)],
        ["---"] * (len(there) + 1),
        *([f"`{name}`", *(cell(each.get(name, ())) for each in suites)] for name in names),
    ]
    return "".join(f"{line}\n" for line in (*map(row, rows), "", *notes(judgements)))


def row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def cell(outcomes: Sequence[Outcome]) -> str:
    count = counted(outcomes)
    asked = len(outcomes) - count["not asked"]
    return f"{count['passed']} of {asked}" if asked else NONE_ASKED


def notes(judgements: Sequence[Judgement]) -> Iterable[str]:
    """What each target is, and why one has no column or not all of its clauses."""
    for judgement in judgements:
        problem = f"; {judgement.problem}" if judgement.problem else ""
        yield f"* {judgement.name}: {plain_origin(judgement.origin) or 'not there'}{problem}"
    yield f"* judged on {min(judgement.started for judgement in judgements):%Y-%m-%d}"
