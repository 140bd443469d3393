"""Compares the results of a file with the table of what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .expected import Cause, Row, Table
from .output import Failure, Results

__all__ = ["UNFINISHED", "Verdict", "denied_tags", "idle_anywhere", "judged", "not_run"]


UNFINISHED: Final = "(the file did not end)"
"""The name of the failure of a file whose tests did not all run; no row covers it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a file.

    Attributes:
        file: its name.
        results: all of them.
        failed: the failures that are not in the table.
        expected: the failures that are.
        idle: the tests that the table names without need, each with what became of it.
        causes: the causes that were met.
    """

    file: str
    results: Results
    failed: list[Failure]
    expected: list[Failure]
    idle: list[str]
    causes: set[Cause]


def denied_tags(file: str, table: Table) -> list[str]:
    """The tags of the tests of a file that are not run."""
    return [tag.tag for tag in table.tags if tag.file in ("", file)]


def not_run(file: str, table: Table) -> list[str]:
    """The names of the tests of a file that are not run."""
    return [test for row in rows_of(file, table) if not row.runs for test in row.tests]


def judged(file: str, results: Results, table: Table) -> Verdict:
    """Compares the results of a file with a table."""
    named = {test for row in rows_of(file, table) for test in row.tests}
    verdict = Verdict(file, results, [], [], list(idle(results, rows_of(file, table))), set())
    for failure in results.failed:
        causes = {cause for cause in table.causes if cause.text in failure.message}
        verdict.causes.update(causes)
        (verdict.expected if causes or failure.test in named else verdict.failed).append(failure)
    if not results.complete:
        verdict.failed.append(Failure(UNFINISHED, results.ending))
    return verdict


def idle(results: Results, rows: Iterable[Row]) -> Iterator[str]:
    failed = {failure.test for failure in results.failed}
    for row in rows:
        for test in row.tests:
            if not row.runs and test not in results.skipped:
                yield f"{row.file}: {test}: there is no such test"
            elif row.runs and test not in failed:
                became = "passed" if test in results.passed else "did not run"
                yield f"{row.file}: {test}: it {became}"


def idle_anywhere(verdicts: Sequence[Verdict], table: Table) -> Iterator[str]:
    """The tags and the causes of a table that no file of the whole suite met."""
    for tag in table.tags:
        seen = {line for each in verdicts if tag.file in ("", each.file) for line in each.results.ignored}
        if not any(line.endswith(f"Tag: {tag.tag} denied") for line in seen):
            yield f"{tag.file or 'any file'}: tag {tag.tag}: no test has it"
    met = set[Cause]().union(*(verdict.causes for verdict in verdicts))
    for cause in table.causes:
        if cause not in met:
            yield f"any file: {cause.text!r}: no test failed because of it"


def rows_of(file: str, table: Table) -> list[Row]:
    return [row for row in table.rows if row.file == file]
