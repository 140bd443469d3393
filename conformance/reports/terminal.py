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
    """A line for each suite, ``suite target: passed/total``, and one for each clause that was not passed."""
    for suite, mine in suites_of(outcomes).items():
        count = counted(mine)
        judged, skipped = len(mine) - count["skipped"], count["skipped"]
        yield f"{suite} {target}: {count['passed']}/{judged}" + (f" ({skipped} skipped)" if skipped else "")
        for outcome in mine:
            if outcome.verdict != "passed":
                yield readable(f"  {outcome.verdict} {outcome.clause.id}: {outcome.reason}")


def failed(outcomes: Sequence[Outcome]) -> bool:
    """Whether any clause does not hold."""
    return any(outcome.verdict == "failed" for outcome in outcomes)


class Progress:
    """A line on standard error that says how far it is, if that is a terminal.

    Args:
        name: of what is judged.
        total: how many clauses there are to judge.
    """

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total = name, total
        self._done = self._failed = 0

    def __call__(self, outcome: Outcome) -> None:
        """Counts an outcome."""
        self._done += 1
        self._failed += outcome.verdict == "failed"
        suite, clause = outcome.clause.suites[0], outcome.clause.id
        self.say(f"{self._name} {self._done}/{self._total}, {self._failed} failed: {suite} {clause}")

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
