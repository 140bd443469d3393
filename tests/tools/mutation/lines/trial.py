"""Tries a mutant: which tests are run, for how long, and what their result means."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

from .forking import FELL_OVER
from .mutants import Mutant, statement_at
from .subjects import ROOT, Subject

__all__ = ["Bench", "Outcome", "Reached", "Verdict", "copy_of_project"]

Verdict: TypeAlias = Literal["killed", "timed out", "survived", "not reached"]

Reached: TypeAlias = dict[str, tuple[float, dict[str, list[int]]]]
"""What ``reach`` wrote."""

TIMES: Final = 3.0
"""How many times longer than it did a test may take..."""

OVERHEAD: Final = 0.003
"""Seconds that a test takes beside its own."""

GRACE: Final = 3.0
"""...and so many seconds more; after that it is given another chance..."""

MORE: Final = 4.0
"""...with so many times more; after that it counts as failed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change.

    Attributes:
        verdict: whether the tests noticed.
        test: which did first.
        asked: how many were asked.
        seconds: how long it took.
    """

    verdict: Verdict
    test: str
    asked: int
    seconds: float


class Bench:
    """A copy of the project to try changes in, and a fork server there."""

    def __init__(self, subject: Subject, reached: Reached, seconds: float) -> None:
        self._subject, self._reached, self._seconds = subject, reached, seconds
        self._folder = tempfile.TemporaryDirectory(prefix="mutation-")
        self.copy = Path(self._folder.name)
        copy_of_project(self.copy)
        self._warm: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._warm is not None:
            close(self._warm)
        self._folder.cleanup()

    def try_out(self, mutant: Mutant) -> Outcome:
        """Asks the tests that come by what is changed, the nearest and quickest first."""
        tests = self.tests_of(mutant)
        if not tests:
            return Outcome("not reached", "", 0, 0.0)
        path = self.copy / mutant.file
        text, times = path.read_text(), path.stat()
        try:
            path.write_text(mutant.source)  # for processes that tests start, and for a new fork server
            answer = self._ask(mutant, tests, text)
            if verdict_of(answer["ended"]) == "timed out":  # or the machine was busy
                late = next(at for at, (name, _) in enumerate(tests) if name == answer["test"])
                answer = self._ask(mutant, [(name, limit * MORE) for name, limit in tests[late:]], text)
        finally:
            path.write_text(text)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return Outcome(verdict_of(answer["ended"]), answer["test"], len(tests), answer["seconds"])

    def tests_of(self, mutant: Mutant) -> list[tuple[str, float]]:
        """The tests that come by, with what each may take."""
        nearest = self._subject.nearest
        by = sorted((not name.startswith(nearest), reach[0], name) for name, reach in self._coming_by(mutant))
        left = self._seconds
        chosen: list[tuple[str, float]] = []
        for _, seconds, name in by:
            left -= seconds + OVERHEAD
            if left < 0 and chosen:
                break
            chosen.append((name, seconds * TIMES + GRACE))
        return chosen

    def _coming_by(self, mutant: Mutant) -> Iterator[tuple[str, tuple[float, dict[str, list[int]]]]]:
        line = statement_at(ROOT / mutant.file, mutant.line) if mutant.alone else 0
        for name, reach in self._reached.items():
            there = reach[1].get(mutant.file, ())
            if line in there if mutant.alone else there and name.startswith(self._subject.nearest):
                yield name, reach

    def _ask(self, mutant: Mutant, tests: list[tuple[str, float]], text: str) -> dict[str, Any]:
        if mutant.alone and (answer := self._ask_warm(mutant, tests, text))["ended"] != FELL_OVER:
            return answer
        near = [each for each in tests if each[0].startswith(self._subject.nearest)]
        return self._ask_cold(mutant, near or tests)

    def _ask_warm(self, mutant: Mutant, tests: list[tuple[str, float]], text: str) -> dict[str, Any]:
        if self._warm is None:
            (self.copy / mutant.file).write_text(text)
            self._warm = fork_server(self.copy, self._subject.tests)
            assert self._warm is not None, (self.copy / "log").read_text()
            (self.copy / mutant.file).write_text(mutant.source)
        return ask(self._warm, {"file": mutant.file, "source": mutant.source, "tests": tests})

    def _ask_cold(self, mutant: Mutant, tests: list[tuple[str, float]]) -> dict[str, Any]:
        files = tuple(dict.fromkeys(name.partition("::")[0] for name, _ in tests))
        cold = fork_server(self.copy, files)
        if cold is None:
            return {"ended": 1, "test": "(importing)", "seconds": 0.0}
        try:
            return ask(cold, {"file": mutant.file, "source": None, "tests": tests})
        finally:
            close(cold)


def copy_of_project(folder: Path) -> None:
    for name in ("miniredis", "pressure", "conformance", "tests"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy2(ROOT / name, folder)


def fork_server(folder: Path, tests: tuple[str, ...]) -> subprocess.Popen[str] | None:
    """Starts a fork server and waits until it has collected the tests; None if it cannot."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tools.mutation.lines.forking", *tests],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    if not process.stdout.readline():
        process.wait()
        close(process)
        return None
    return process


def ask(process: subprocess.Popen[str], order: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def close(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    process.wait()


def verdict_of(ended: int) -> Verdict:
    assert ended != FELL_OVER, "the tests could not be run"
    return "survived" if ended == 0 else "killed" if ended > 0 else "timed out"
