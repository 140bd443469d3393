"""The clauses that fail, each with its reason and all that it has to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...failure import Evidence
from ...judging.runner import Outcome
from ..markup import escaped, tag
from ..model import Judgement

__all__ = ["anchor", "failures"]

ALL = (
    '<p class="all" hidden><button type="button" data-open="true">Open all</button> '
    '<button type="button" data-open="">Close all</button></p>'
)


def failures(judgements: Sequence[Judgement]) -> str:
    """The section."""
    found = list(failing(judgements))
    body = "".join(found) or f"<p>{nothing(judgements)}</p>"
    title = f"Failing clauses{tag('small', str(len(found))) if found else ''}"
    return (
        f'<section aria-labelledby="failing"><h2 id="failing" tabindex="-1">{title}</h2>'
        f"{ALL if len(found) > 1 else ''}{body}</section>"
    )


def nothing(judgements: Sequence[Judgement]) -> str:
    if not any(judgement.outcomes for judgement in judgements):
        return "Nothing was judged."
    return "No clause fails" + (
        " of those that were judged." if any(each.problem for each in judgements) else "."
    )


def failing(judgements: Sequence[Judgement]) -> Iterator[str]:
    for number, judgement in enumerate(judgements, 1):
        for outcome in judgement.outcomes:
            if outcome.is_bad:
                yield failure(number, judgement, outcome)


def anchor(number: int, outcome: Outcome) -> str:
    """The name of the place where a failure is; ``number`` is that of its judgement."""
    return f"failure-{number}-{outcome.clause.id}"


def failure(number: int, judgement: Judgement, outcome: Outcome) -> str:
    clause = outcome.clause
    first, _, _ = outcome.reason.strip().partition("\n")
    short = first if len(first) <= 160 else f"{first[:160]}…"
    summary = (
        f'<b class="failed" aria-hidden="true">✗</b> <code>{escaped(clause.id)}</code> '
        f"<span>{escaped(judgement.name)}</span><small>{escaped(short)}</small>"
    )
    suites = ", ".join(clause.suites)
    return tag(
        "details",
        f"<summary>{summary}</summary>",
        f"<blockquote><p>{escaped(clause.text)}</p>",
        f"<footer>{escaped(f'{suites}; {clause.place} ({clause.level})')}</footer></blockquote>",
        tag("h3", "Why it fails"),
        tag("pre", escaped(outcome.reason), tabindex="0"),
        *map(shown, outcome.evidence),
        id=anchor(number, outcome), class_="failure",
    )  # fmt: skip


def shown(evidence: Evidence) -> str:
    """A picture as it is, or text."""
    what = (
        f'<div class="picture">{evidence.markup}</div>'
        if evidence.markup
        else tag("pre", escaped(evidence.text), tabindex="0")
    )
    return f"<h3>{escaped(evidence.title)}</h3>{what}"
