"""What was found, as lines for people, and how far it is while it runs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence

from ..judging.runner import Outcome
from .model import counted, suites_of
from .text import readable

__all__ = ["Progress", "failed", "lines"]


def lines(target: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A line for each suite, ``suite target: passed/asked``, and one for each reason, with its clauses."""
    for suite, mine in suites_of(outcomes).items():
        count = counted(mine)
        beside = f" ({count['not asked']} not asked)" if count["not asked"] else ""
        yield f"{suite} {target}: {count['passed']}/{len(mine) - count['not asked']}{beside}"
        reasons: dict[tuple[str, str], list[str]] = {}
        for outcome in mine:
            if outcome.verdict != "passed":
                reasons.setdefault((headed(outcome), outcome.reason), []).append(outcome.clause.id)
        for (head, reason), ids in reasons.items():
            yield readable(f"  {head} {', '.join(ids)}: {reason}")


def headed(outcome: Outcome) -> str:
    """The verdict, with what is missing, or with the level of a clause that makes no run fail."""
    if outcome.is_bad and not outcome.fails():
        return f"{outcome.verdict} ({outcome.clause.level})"
    return f"{outcome.verdict} ({', '.join(outcome.missing)})" if outcome.missing else outcome.verdict


def failed(outcomes: Sequence[Outcome], *, strict: bool = False) -> bool:
    """Whether any clause makes the run fail."""
    return any(outcome.fails(strict=strict) for outcome in outcomes)


class Progress:
    """A line on standard error that says how far it is, if that is a terminal.

    Args:
        name: of what is judged.
        total: how many clauses there are to judge.
    """

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total = name, total
        self._done = self._bad = 0

    def __call__(self, outcome: Outcome) -> None:
        """Counts an outcome."""
        self._done += 1
        self._bad += outcome.is_bad
        suite, clause = outcome.clause.suites[0], outcome.clause.id
        self.say(f"{self._name} {self._done}/{self._total}, {self._bad} not passed: {suite} {clause}")

    def again(self, outcome: Outcome) -> None:
        """Tells that a check is run again, to record what is said."""
        self.say(f"{self._name}, once more: {outcome.clause.id}")

    def say(self, line: str) -> None:
        """Shows a line in the place of the last one."""
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\033[K{line[:width]}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Leaves nothing behind."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
