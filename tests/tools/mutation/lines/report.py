"""The result for each mutant: the rate by file and by operator, and the mutants that survived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .equivalent import reason_of
from .mutants import Mutant
from .trial import Outcome

__all__ = ["lines", "noticed"]


def noticed(outcome: Outcome) -> bool:
    return outcome.verdict in {"killed", "timed out"}


def lines(
    mutants: Sequence[Mutant], left_out: Counter[str], outcomes: Mapping[str, Outcome]
) -> Iterator[str]:
    """The report, a line at a time."""
    tried = [each for each in mutants if each.name in outcomes]
    judged = [each for each in tried if noticed(outcomes[each.name]) or reason_of(each) is None]
    for kind, count in left_out.items():
        yield f"left out, {count}: {kind}"
    yield from survivors(tried, outcomes)
    for title, key in (("operator", "operator"), ("file", "file")):
        for name, some in grouped(judged, key).items():
            yield f"{title} {name}: {rate(some, outcomes)}"
    if len(tried) < len(mutants):
        yield f"not tried: {len(mutants) - len(tried)}"
    yield f"equivalent, by line: {len(tried) - len(judged)}"
    yield f"all: {rate(judged, outcomes)}"


def survivors(tried: Sequence[Mutant], outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    for each in tried:
        outcome = outcomes[each.name]
        if noticed(outcome):
            continue
        reason = reason_of(each)
        verdict = f"equivalent ({reason})" if reason else outcome.verdict
        yield f"{each.file}:{each.line} {each.operator}: {verdict}, {outcome.asked} tests asked"
        yield from (f"    {line}" for line in each.diff() if not line.startswith("@@"))


def grouped(mutants: Sequence[Mutant], key: str) -> dict[str, list[Mutant]]:
    groups: dict[str, list[Mutant]] = {}
    for each in mutants:
        groups.setdefault(getattr(each, key), []).append(each)
    return groups


def rate(mutants: Sequence[Mutant], outcomes: Mapping[str, Outcome]) -> str:
    counts = Counter(outcomes[each.name].verdict for each in mutants)
    killed = sum(noticed(outcomes[each.name]) for each in mutants)
    share = killed / len(mutants) if mutants else 1.0
    return f"{share:.1%} of {len(mutants)} noticed ({', '.join(f'{n} {what}' for what, n in sorted(counts.items()))})"
