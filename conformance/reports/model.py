"""What a run found, as data: every report is a function of a list of judgements."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from ..documents import SUITES
from ..judging.runner import VERDICTS, Outcome

__all__ = ["Judgement", "counted", "plain_origin", "suites_of", "versions"]

PACKAGES: Final = ("pressure-queues", "redis", "hiredis", "trio")


@dataclass(frozen=True, slots=True)
class Judgement:
    """One target, judged with one client.

    Attributes:
        target: its name, as on the command line, without a password.
        origin: what it is and where it came from; empty if it was not there.
        client: the name of the client under test.
        outcomes: what became of each clause; fewer than ``chosen`` if the run broke off.
        started: when, in UTC.
        seconds: how long it took.
        chosen: how many clauses the run was to judge, with those that are not asked.
        problem: why it was not judged, or not to the end; empty if it was.
        excused: whether nobody had asked for the target, so that its absence is no fault.
    """

    target: str
    origin: str
    client: str
    outcomes: tuple[Outcome, ...]
    started: datetime
    seconds: float
    chosen: int
    problem: str = ""
    excused: bool = False

    @property
    def name(self) -> str:
        """What it goes by: the target, and the client unless it is the usual one."""
        return self.target if self.client in {"", "sync"} else f"{self.target} {self.client}"


def counted(outcomes: Sequence[Outcome]) -> Mapping[str, int]:
    """How many outcomes there are of each verdict."""
    counts = Counter[str](outcome.verdict for outcome in outcomes)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def suites_of(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes by suite, in the order of the catalogue; a clause of two documents is in both."""
    here = {suite for outcome in outcomes for suite in outcome.clause.suites}
    order = [*SUITES, *sorted(here - set(SUITES))]
    return {
        suite: [outcome for outcome in outcomes if suite in outcome.clause.suites]
        for suite in order
        if suite in here
    }


def plain_origin(origin: str) -> str:
    """An origin without folders of the machine: a program goes by its name."""
    return re.sub(r"(?<!\S)/(?:[^\s/,]+/)+(?=[^\s/,])", "", origin)


def versions() -> dict[str, str]:
    """Of Python and of the packages that took part."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue  # not installed, only importable
    return found
