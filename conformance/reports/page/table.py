"""The coverage: a line for each clause, a column for each target, and what filters the lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from ...documents import Clause
from ...judging.runner import Outcome
from ..markup import escaped, tag
from ..model import Judgement
from .failures import anchor
from .head import SIGNS, class_of

__all__ = ["coverage"]

Column: TypeAlias = Mapping[str, Outcome]

BUTTONS: Final = (
    ("", "All"),
    ("violated", "✗ Violated"),
    ("error", "! Error"),
    ("not-asked", "○ Not asked"),
    ("passed", "✓ Passed"),
)

FILTERS: Final = (
    '<form class="filters" id="filters" hidden aria-label="Filter the clauses">'
    '<label>Text <input type="search" id="text" autocomplete="off"></label>'
    '<label>Suite <select id="suite"><option value="">all</option>{options}</select></label>'
    '<div role="group" aria-label="Verdict">{buttons}</div>'
    '<output id="count" aria-live="polite" for="text suite"></output></form>'
)


def coverage(judgements: Sequence[Judgement]) -> str:
    """The section."""
    clauses = {outcome.clause.id: outcome.clause for each in judgements for outcome in each.outcomes}
    columns = [{outcome.clause.id: outcome for outcome in each.outcomes} for each in judgements]
    rows = "".join(row(clause, judgements, columns) for clause in clauses.values())
    return (
        '<section aria-labelledby="coverage"><h2 id="coverage">Every clause</h2>'
        f"{filters(clauses.values())}"
        f'<table class="coverage" role="table">{header(judgements)}'
        f'<tbody id="clauses" role="rowgroup">{rows}</tbody></table>'
        '<p id="none" hidden>No clause matches these filters.</p></section>'
    )


def filters(clauses: Iterable[Clause]) -> str:
    suites = dict.fromkeys(suite for clause in clauses for suite in clause.suites)
    buttons = "".join(
        tag(
            "button",
            escaped(words),
            type="button",
            data_verdict=verdict,
            aria_pressed=str(not verdict).lower(),
        )
        for verdict, words in BUTTONS
    )
    options = "".join(tag("option", escaped(suite)) for suite in suites)
    return FILTERS.format(options=options, buttons=buttons)


def header(judgements: Sequence[Judgement]) -> str:
    names = ("clause", "place", "level", "rule", *(judgement.name for judgement in judgements))
    cells = "".join(tag("th", escaped(name), scope="col", role="columnheader") for name in names)
    return f'<thead role="rowgroup"><tr role="row">{cells}</tr></thead>'


def row(clause: Clause, judgements: Sequence[Judgement], columns: Sequence[Column]) -> str:
    outcomes = [column.get(clause.id) for column in columns]
    cells = "".join(
        cell(outcome, judgement.name, number)
        for number, (judgement, outcome) in enumerate(zip(judgements, outcomes, strict=True), 1)
    )
    where = f"{escaped(clause.place)}<small>{escaped(', '.join(clause.suites))}</small>"
    verdicts = " ".join(dict.fromkeys(class_of(outcome.verdict) for outcome in outcomes if outcome))
    return tag(
        "tr",
        tag("th", tag("code", escaped(clause.id)), scope="row", role="rowheader"),
        tag("td", where, role="cell"),
        tag("td", escaped(clause.level), role="cell"),
        tag("td", escaped(clause.text), role="cell"),
        cells,
        role="row", data_suites=" ".join(clause.suites), data_verdicts=verdicts,
    )  # fmt: skip


def cell(outcome: Outcome | None, name: str, number: int) -> str:
    if outcome is None:
        return tag("td", "not judged", role="cell", data_of=name)
    sign, words = SIGNS[outcome.verdict]
    text = f'<b aria-hidden="true">{sign}</b> {words}'
    if outcome.is_bad:
        text = tag("a", text, href=f"#{anchor(number, outcome)}")
    elif outcome.reason:
        text += tag("small", escaped(outcome.reason))
    return tag("td", text, role="cell", data_of=name, class_=class_of(outcome.verdict))
