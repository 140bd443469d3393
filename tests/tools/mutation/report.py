"""The result for each mutant: the survivors, and the kill rate by package and by clause."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .judges import Outcome
from .model import Mutant

__all__ = ["lines", "rate"]


def lines(outcomes: Mapping[Mutant, Outcome]) -> Iterator[str]:
    """The report, a line at a time."""
    for mutant, outcome in outcomes.items():
        if not outcome.convicted:
            yield f"survivor: {mutant.place}; judged by {len(outcome.asked)}"
            yield from (f"    {sign} {line}" for sign, line in zip("-+", mutant.changed(), strict=True))
    packages: dict[str, list[Outcome]] = {}
    for mutant, outcome in outcomes.items():
        packages.setdefault(mutant.package, []).append(outcome)
    yield "convicted, of those that it judged, by each clause or test; all others convicted none:"
    yield from textwrap.wrap(
        ", ".join(by_name(outcomes)),
        110,
        initial_indent="    ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    for package, some in sorted(packages.items()):
        yield f"{package}: {told(some)}"
    yield f"all: {told(list(outcomes.values()))}"


def by_name(outcomes: Mapping[Mutant, Outcome]) -> Iterator[str]:
    asked = Counter(name for outcome in outcomes.values() for name in dict.fromkeys(outcome.asked))
    convicted = Counter(name for outcome in outcomes.values() for name in outcome.convicted)
    return (f"{name} {number}/{asked[name]}" for name, number in convicted.most_common())


def told(some: Sequence[Outcome]) -> str:
    unreached = sum(not outcome.asked for outcome in some)
    return f"{rate(some):.1%} of {len(some)} convicted" + (f", {unreached} not reached" if unreached else "")


def rate(some: Sequence[Outcome]) -> float:
    """The share that was convicted."""
    return sum(bool(outcome.convicted) for outcome in some) / len(some) if some else 1.0
