"""The judges of mutants: the suite, the project's tests, and the comparison with a real Redis.

Each says of a mutant by what it was convicted, and why. A clause convicts by the verdicts ``violated`` and ``error``,
a test by failing, the comparison by a reply that differs; and a run that breaks or does not end is a conviction, too.
To have another judge, add a class and a row to ``JUDGES``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from conformance.command import OF_CLIENTS
from conformance.documents import CLAUSES

from .bench import Bench, Benches
from .model import Mutant
from .reach import Reach, reaching

__all__ = ["JUDGES", "Comparison", "Judge", "Outcome", "ProjectTests", "Suite"]

FLAVOURS: Final = ("sync", "plain")
"""The flavours of our client by which the suite judges: with scripts, and without."""

OURS: Final = {*OF_CLIENTS, "distributed-queues", "redismq"}
"""The suites whose clauses our clients take part in, so that both flavours are judged by them."""

TRIAL: Final = 120.0
"""Seconds that the suite may take to judge a mutant, beside three times what its clauses took before."""

RECORD: Final = 1200.0
"""Seconds that it may take to record what a part of the clauses execute."""

REQUESTS: Final = 180_000
"""Requests in which the comparison has to find a mutant: a minute has room for them, however busy the machine is."""

TESTED: Final = 20.0
"""Seconds of tests that a mutant gets, the quickest first."""

DEFAULT_RUN: Final = "not exhaustive and not slow and not frameworks and not faults and not spark"


class Outcome(NamedTuple):
    """What became of a mutant: by what it was convicted and why, and what judged it."""

    convicted: Mapping[str, str]
    asked: Sequence[str]


class Judge(Protocol):
    """Judges mutants."""

    def record(self, benches: Benches, files: Collection[str]) -> None:
        """Finds out what judges mutants of these files; once, before the first."""

    def judge(self, bench: Bench, mutant: Mutant) -> Outcome:
        """Judges a mutant on a bench."""


class Suite:
    """The suite, on miniredis with our clients, by the clauses that execute what the mutant changes.

    Args:
        hurried: whether a check gets less time than a server deserves that may be right.
    """

    def __init__(self, *, hurried: bool = True) -> None:
        self._hurried = hurried
        self.reach: Reach = {}

    def record(self, benches: Benches, files: Collection[str]) -> None:
        """Has the suite judge what nobody changed."""
        names = [
            f"{flavour} {clause.id}"
            for flavour in FLAVOURS
            for clause in CLAUSES.values()
            if flavour == FLAVOURS[0] or OURS.intersection(clause.suites)
        ]
        number = 8  # a few for each bench, which end at different times
        parts = benches.pool.map(
            lambda part: benches.with_bench(
                lambda bench: self._ask(bench, names[part::number], stops=False, records=True)[0]
            ),
            range(number),
        )
        self.reach = {
            name: (seconds, {file: lines for file, lines in found.items() if in_reach(file, files)})
            for part in parts
            for name, _, seconds, found in part
        }

    def judge(self, bench: Bench, mutant: Mutant) -> Outcome:
        """By the clauses that the mutant names, each of them; or by those that reach it, until the first conviction."""
        clauses = [f"{mutant.client} {clause}" for clause in mutant.clauses] or self._reaching(mutant)
        if not clauses:
            return Outcome({}, ())
        with bench.changed(mutant):
            rows, printed = self._ask(bench, clauses, stops=not mutant.clauses, records=False)
        convicted = {name.split()[1]: why for name, why, *_ in rows if why}
        asked = [name.split()[1] for name, *_ in rows]
        if len(rows) < len(clauses) and not convicted:
            convicted = {clauses[len(rows)].split()[1]: f"error: the suite did not end\n{printed}"}
        return Outcome(convicted, asked)

    def _reaching(self, mutant: Mutant) -> list[str]:
        """The clauses that reach it; a server or a script is judged by a clause with one flavour of our client."""
        found = reaching(mutant, self.reach)
        if mutant.file.startswith("miniredis/"):
            return list({name.split()[1]: name for name in reversed(found)}.values())[::-1]
        return (
            [name for name in found if name.startswith(FLAVOURS[0])]
            if mutant.name.startswith("Lua")
            else found
        )

    def _ask(
        self, bench: Bench, clauses: Sequence[str], *, stops: bool, records: bool
    ) -> tuple[list[list], str]:  # type: ignore[type-arg]
        took = {each: self.reach[each][0] if each in self.reach else 0.0 for each in clauses}
        order = {"clauses": took, "stops": stops, "hurried": self._hurried, "records": records}
        limit = (RECORD if records else TRIAL) + 3 * sum(took.values())
        _, printed = bench.run(["-m", "tests.tools.mutation.by_clauses", json.dumps(order)], limit)
        rows = [json.loads(line) for line in printed.splitlines() if line.startswith('["')]
        if records and len(rows) < len(clauses):
            raise RuntimeError(f"only {len(rows)} of {len(clauses)} clauses were recorded\n{printed[-2000:]}")
        return rows, printed


def in_reach(file: str, files: Collection[str]) -> bool:
    """Whether a file has to be known: one of these, or of the folder of one."""
    return file.rpartition("/")[0] in {each.rpartition("/")[0] for each in files}


class ProjectTests:
    """The project's tests: those that execute what the mutant changes, until the first that fails."""

    OF: Final = {
        "miniredis": ("tests/miniredis", "tests/conformance/test_clauses.py"),
        "pressure": (
            "tests/pressure",
            "tests/conformance/test_clauses.py",
            "tests/conformance/test_simulation.py",
        ),
    }

    def __init__(self) -> None:
        self.reach: Reach = {}

    def record(self, benches: Benches, files: Collection[str]) -> None:
        """Runs the tests of the files' packages."""
        folders = dict.fromkeys(test for each in files for test in self.OF[each.partition("/")[0]])
        self.reach = benches.with_bench(lambda bench: self._recorded(bench, list(folders)))

    def _recorded(self, bench: Bench, folders: list[str]) -> Reach:
        words = ["-m", "pytest", *OPTIONS, "-n", "2", "-p", "tests.tools.mutation.reach", *folders]
        bench.run(words, 4 * 3600, REACH=str(bench.folder / "reach"))
        return {
            name: found
            for part in bench.folder.glob("reach*")
            for name, found in json.loads(part.read_text()).items()
        }

    def judge(self, bench: Bench, mutant: Mutant) -> Outcome:
        """By as many tests as there is time for."""
        tests: list[str] = []
        left = TESTED
        for name in reaching(mutant, self.reach):
            left -= self.reach[name][0]
            if tests and left < 0:
                break
            tests.append(name)
        if not tests:
            return Outcome({}, ())
        with bench.changed(mutant):
            status, printed = bench.run(["-m", "pytest", *OPTIONS, "-n", "0", "-x", *tests], 3 * TESTED + 30)
        if status == 0:
            return Outcome({}, tests)
        why = "the tests did not end" if status is None else printed[-500:]
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
        return Outcome({failed[1] if failed else tests[0]: why}, tests)


OPTIONS: Final = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=",
    "-m",
    DEFAULT_RUN,
    "--tb=line",
    "-rfE",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)


class Comparison:
    """The comparison of random requests with a real Redis.

    Args:
        seed: which requests are made up first.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def record(self, benches: Benches, files: Collection[str]) -> None:
        """Nothing: all of the engine is compared."""

    def judge(self, bench: Bench, mutant: Mutant) -> Outcome:
        """By so many requests."""
        words = [
            "-m",
            "conformance.differential",
            "--as-found",
            "--commands",
            str(REQUESTS),
            "--seed",
            str(self._seed),
        ]
        with bench.changed(mutant):
            status, printed = bench.run(words, 3 * TRIAL)
        sent = re.search(r"^([\d,]+) requests", printed, re.MULTILINE)
        if status == 0 and sent:
            return Outcome({}, ("comparison",))
        why = f"after {sent[1]} requests" if sent else f"the comparison did not run\n{printed[-500:]}"
        return Outcome({"comparison": why}, ("comparison",))


JUDGES: Final[Mapping[str, type[Suite] | type[ProjectTests] | type[Comparison]]] = {
    "suite": Suite,
    "tests": ProjectTests,
    "comparison": Comparison,
}
