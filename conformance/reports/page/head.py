"""What ran, and what came of it in a few figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from ..markup import escaped, tag
from ..model import Judgement, counted, plain_origin, suites_of, versions

__all__ = ["SIGNS", "class_of", "head"]

SIGNS: Final[Mapping[str, tuple[str, str]]] = {
    "passed": ("✓", "passed"),
    "violated": ("✗", "violated"),
    "error": ("!", "error"),
    "not asked": ("○", "not asked"),
}
"""Each verdict as a sign and as words, so that nobody needs colours to read it."""


def class_of(verdict: str) -> str:
    """A verdict as a class of the style sheet."""
    return verdict.replace(" ", "-")


def head(judgements: Sequence[Judgement]) -> str:
    """The top of the page."""
    return tag(
        "header",
        "<h1>Conformance</h1>",
        tag("p", escaped(when(judgements)), class_="when"),
        tag("div", *map(card, judgements), class_="cards"),
        by_suite(judgements),
        tag("p", escaped(with_versions()), class_="when"),
    )


def when(judgements: Sequence[Judgement]) -> str:
    started = min((judgement.started for judgement in judgements), default=None)
    if started is None:
        return "Nothing was judged."
    seconds = sum(judgement.seconds for judgement in judgements)
    clauses = {outcome.clause.id for judgement in judgements for outcome in judgement.outcomes}
    return f"{len(clauses)} clauses, {moment(started)}, {seconds:.1f} s"


def moment(started: datetime) -> str:
    return started.strftime("%Y-%m-%d %H:%M:%S UTC")


def with_versions() -> str:
    return "With " + ", ".join(f"{name} {number}" for name, number in versions().items()) + "."


def card(judgement: Judgement) -> str:
    count = counted(judgement.outcomes)
    bad = count["violated"] + count["error"]
    judged = count["passed"] + bad
    parts = [f"<h2>{escaped(judgement.name)}</h2>", tag("p", escaped(plain_origin(judgement.origin)))]
    if judgement.outcomes:
        holds = tag("strong", f"{count['passed']}") + f" of {judged} clauses hold"
        parts += [tag("p", holds, class_="holds"), bar(count), tag("p", *figures(count), class_="figures")]
    if judgement.problem:
        parts.append(tag("p", escaped(f"! {judgement.problem}"), class_="problem"))
    return tag("article", *parts, class_="card failed" if bad or judgement.problem else "card")


def bar(count: Mapping[str, int]) -> str:
    widths = "".join(
        f'<i class="{class_of(verdict)}" style="flex-grow:{number}"></i>'
        for verdict, number in count.items()
        if number
    )
    return tag("div", widths, class_="bar", aria_hidden="true")


def figures(count: Mapping[str, int]) -> Iterator[str]:
    for verdict, number in count.items():
        sign, words = SIGNS[verdict]
        yield tag("span", f'<b aria-hidden="true">{sign}</b> {number} {words}', class_=class_of(verdict))


def by_suite(judgements: Sequence[Judgement]) -> str:
    """A line for each suite, a column for each target."""
    there = [judgement for judgement in judgements if judgement.outcomes]
    if not there:
        return ""
    counts = [
        {suite: counted(mine) for suite, mine in suites_of(judgement.outcomes).items()} for judgement in there
    ]
    columns = "".join(tag("th", escaped(judgement.name), scope="col") for judgement in there)
    body = "".join(
        tag("tr", tag("th", escaped(suite), scope="row"), *(share(each.get(suite)) for each in counts))
        for suite in dict.fromkeys(suite for each in counts for suite in each)
    )
    table = f'<table><thead><tr><th scope="col">suite</th>{columns}</tr></thead><tbody>{body}</tbody></table>'
    return f"<details><summary>By suite</summary>{tag('div', table, class_='wide')}</details>"


def share(count: Mapping[str, int] | None) -> str:
    if count is None:
        return "<td>not judged</td>"
    bad = count["violated"] + count["error"]
    verdict = "violated" if bad else "passed"
    beside = f", {count['not asked']} not asked" if count["not asked"] else ""
    of = f"{count['passed']} of {count['passed'] + bad}{beside}"
    return tag("td", f'<b aria-hidden="true">{SIGNS[verdict][0]}</b> {of}', class_=verdict)
