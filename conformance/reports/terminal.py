"""What was found, as lines for people, and how far it is while it runs."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ..documents import Clause
from ..failure import STANDARD_ERROR, Evidence
from ..judging.runner import Outcome
from .model import Judgement, counted, suites_of
from .text import readable

__all__ = ["Progress", "cause", "failed", "lines", "show", "told", "total", "wrote"]

USUAL: Final = {"wire": 1.2, "histories": 1.4, "decisions": 0.4, "redismq": 0.2, "recorded": 0.1}
"""Seconds that a clause of these suites takes, as a rule."""

BRIEF: Final = 0.03
"""Seconds that any other clause takes."""

FIRST: Final = 0.5
"""Seconds until it is first told how far it is, where there is no terminal."""

MOST: Final = 5
"""How many clauses that were not asked for one reason are named; reports name them all."""

LAST: Final = 5
"""How many lines are shown of what a client wrote to its standard error; reports have them all."""

STEADY: Final = 5.0
"""Seconds that count as passed as usual, so that the first clauses do not make the time left jump."""

AGAIN: Final = 5.0
"""Seconds until it is told again."""

UNKNOWN: Final = re.compile(r"unknown command [`'\"\\]*([^`'\"\\,\s]+)", re.IGNORECASE)
"""An error of a server that does not know a command."""


def unknown_commands(outcome: Outcome) -> list[str]:
    """The commands that a clause was not passed without; none if it needs a server that has all of them."""
    if not outcome.is_bad or "redis-7.0" in outcome.clause.needs:
        return []
    _, _, seen = outcome.reason.rpartition(", got ")  # what was wanted may be such an error
    return sorted({name.upper() for name in UNKNOWN.findall(seen)})


def cause(outcome: Outcome) -> str:
    """What is told once for all clauses that have it: the commands that are missing, or else the reason."""
    return " ".join(unknown_commands(outcome)) or outcome.reason


def told(outcome: Outcome) -> str:
    """The line for a clause that was not passed; below it what the client wrote, and what is violated."""
    line = readable(f"  {headed(outcome)} {outcome.clause.id}: {outcome.reason}")
    text = [] if outcome.verdict == "error" else [f"    {readable(outcome.clause.text)}"]
    return "\n".join([line, *wrote(outcome.evidence), *text])


def wrote(evidence: Iterable[Evidence]) -> Iterator[str]:
    """The last lines that a client wrote to its standard error."""
    for each in evidence:
        if each.title == STANDARD_ERROR:
            yield from (readable(f"    | {line}") for line in each.text.rstrip().splitlines()[-LAST:])


def lines(target: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A line for each suite, ``suite target: passed/asked``, and what ``told`` has not told yet.

    These are clauses that were not asked, and those with the cause of another, one line for each cause. The
    last line names the commands that the server does not know.
    """
    for suite, mine in suites_of(outcomes).items():
        count = counted(mine)
        beside = f" ({count['not asked']} not asked)" if count["not asked"] else ""
        yield f"{suite} {target}: {count['passed']}/{len(mine) - count['not asked']}{beside}"
    first: dict[str, str] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        if outcome.is_bad and cause(outcome) not in first:
            first[cause(outcome)] = outcome.clause.id
        elif outcome.verdict != "passed":
            reasons.setdefault((headed(outcome), cause(outcome)), []).append(outcome.clause.id)
    for (head, reason), ids in reasons.items():
        if reason in first:
            yield readable(f"  {head} {', '.join(ids)}: as {first[reason]}")
        else:
            more = f" and {len(ids) - MOST} more" if len(ids) > MOST else ""
            yield readable(f"  {head} {', '.join(ids[:MOST])}{more}: {reason}")
    if names := sorted({name for outcome in outcomes for name in unknown_commands(outcome)}):
        yield readable(f"  the server does not know {', '.join(names)}")


def total(judgements: Sequence[Judgement]) -> str:
    """The last line of a run: how many clauses were passed of those that were asked; where the others are."""
    outcomes = [outcome for each in judgements for outcome in each.outcomes]
    bad = Counter(
        f"{outcome.clause.suites[0]} {each.name}"
        for each in judgements
        for outcome in each.outcomes
        if outcome.is_bad
    )
    count = counted(outcomes)
    parts = [
        f"{count['passed']} of {len(outcomes) - count['not asked']} clauses passed",
        *([f"not passed: {', '.join(f'{where} {number}' for where, number in bad.items())}"] if bad else []),
        *(f"not judged: {each.name}" for each in judgements if each.problem),
    ]
    return readable("; ".join(parts))


def headed(outcome: Outcome) -> str:
    """The verdict, with what is missing, or with the level of a clause that makes no run fail."""
    if outcome.is_bad and not outcome.fails():
        return f"{outcome.verdict} ({outcome.clause.level})"
    return f"{outcome.verdict} ({', '.join(outcome.missing)})" if outcome.missing else outcome.verdict


def failed(outcomes: Sequence[Outcome], *, strict: bool = False) -> bool:
    """Whether any clause makes the run fail."""
    return any(outcome.fails(strict=strict) for outcome in outcomes)


def show(line: str) -> None:
    """Shows how far it is, on a terminal in the place of the last line; an empty line leaves nothing."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\033[K{line[:width]}")
        sys.stderr.flush()
    elif line:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class Progress:
    """Says how far it is: always on a terminal, and else from time to time.

    Args:
        name: of what is judged.
        clauses: all that are to be judged.
        show: is given each line.
    """

    def __init__(self, name: str, clauses: Sequence[Clause], show: Callable[[str], None] = show) -> None:
        self._name, self._total, self._show = name, len(clauses), show
        self._done = self._bad = 0
        self._ahead = Counter[str]()
        for clause in clauses:
            self._ahead[clause.suites[0]] += 1
        self._usual, self._took = defaultdict[str, float](float), defaultdict[str, float](float)  # so far
        self._last = time.monotonic()
        self._next = self._last + FIRST

    def __call__(self, outcome: Outcome) -> None:
        """Counts an outcome."""
        self._done += 1
        self._bad += outcome.is_bad
        suite, now = outcome.clause.suites[0], time.monotonic()
        self._ahead[suite] -= 1
        self._usual[suite] += usual(suite)
        self._took[suite] += now - self._last
        self._last = now
        self.say(
            f"{self._name} {self._done}/{self._total}, {self._bad} not passed, "
            f"about {self._left():.0f} s left: {outcome.verdict} {outcome.clause.id}"
        )

    def _left(self) -> float:
        """Seconds, from what clauses take as a rule, and how many times longer these took."""
        whole = slowness(sum(self._took.values()), sum(self._usual.values()))
        return sum(
            count * usual(suite) * max(whole, slowness(self._took[suite], self._usual[suite]))
            for suite, count in self._ahead.items()
        )

    def again(self, outcome: Outcome) -> None:
        """Tells that a check is run again, to record what is said."""
        self.say(f"{self._name}, once more: {outcome.clause.id}")

    def say(self, line: str) -> None:
        """Shows a line, unless there is no terminal, and it is too soon after the last one."""
        now = time.monotonic()
        if sys.stderr.isatty() or now >= self._next:
            self._next = now + AGAIN
            self._show(line)

    def clear(self) -> None:
        """Leaves nothing behind on a terminal."""
        self._show("")


def slowness(took: float, as_usual: float) -> float:
    """How many times longer than usual something took."""
    return (took + STEADY) / (as_usual + STEADY)


def usual(suite: str) -> float:
    """How many seconds a clause of a suite takes, as a rule."""
    return USUAL.get(suite, BRIEF)
