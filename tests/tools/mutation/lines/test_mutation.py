"""The mutation tool itself: which mutants it makes and leaves out, and how it reads the tests' results."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from . import mutants, subjects, trial
from .equivalent import EQUIVALENT
from .forking import put_in
from .marks import marked
from .mutants import Mutant, mutants_of, statement_at

SMALL = '''"""A small file."""

from __future__ import annotations

ANSWER = 42


def double(number: int | None) -> int:
    if number is None:
        return 0
    return number * 2
'''


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the file in a project of its own."""
    for module in (mutants, trial):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "small.py").write_text(SMALL)
    return "small.py"


@pytest.mark.parametrize("row", EQUIVALENT, ids=[f"{row.file}: {row.line}" for row in EQUIVALENT])
def test_each_equivalent_mutant_fits_exactly_one_line(row: Any) -> None:
    lines = [line.strip() for line in (subjects.ROOT / row.file).read_text().splitlines()]
    assert lines.count(row.line) == 1
    assert row.reason
    assert row.line not in row.becomes


def test_the_files_and_tests_of_each_subject_exist() -> None:
    for subject in subjects.SUBJECTS.values():
        assert all(
            (subjects.ROOT / name).exists() for name in (*subject.files, *subject.tests, *subject.nearest)
        )


def test_each_mutant_changes_one_line_of_the_file(small: str) -> None:
    pytest.importorskip("cosmic_ray", reason="the extra 'mutation' is not installed")
    made = {each.becomes: each for each in mutants_of(small)}
    assert {"return number + 2", "return number * 3", "if not number is None:", "ANSWER = 43"} <= made.keys()
    each = made["return number + 2"]
    assert (each.line, each.line_text, each.alone) == (11, "return number * 2", True)
    assert each.diff() == ["@@ -11 +11 @@", "-    return number * 2", "+    return number + 2"]
    assert not made["ANSWER = 43"].alone


def test_mutants_of_annotations_are_recognised_as_harmless(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cosmic_ray", reason="the extra 'mutation' is not installed")
    from . import harmless

    monkeypatch.setattr(harmless, "ROOT", tmp_path)
    kinds = {each.becomes: harmless.kind_of(each) for each in mutants_of(small)}
    assert "annotations" in str(kinds["def double(number: int & None) -> int:"])
    assert kinds["if number is not None:"] is None


def test_changed_code_replaces_that_of_the_function_in_place(small: str, tmp_path: Path) -> None:
    path = str(tmp_path / small)
    names: dict[str, Any] = {}
    exec(compile(SMALL, path, "exec"), names)  # noqa: S102  (our own text)
    double: FunctionType = names["double"]
    assert put_in(path, SMALL) == 0
    assert put_in(path, SMALL.replace("* 2", "* 3")) == 1
    assert double(2) == 6


def test_a_marked_file_records_which_lines_ran(small: str, tmp_path: Path) -> None:
    from .marks import seen

    names: dict[str, Any] = {}
    exec(compile(marked(small, SMALL), small, "exec"), names)  # noqa: S102
    seen.clear()
    assert names["double"](4) == 8
    assert seen == {(small, 9), (small, 11)}
    assert statement_at(tmp_path / small, 10) == 10


def test_a_mutant_is_killed_or_survives(small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a project of two files, by a process that has collected its test."""
    here = Path(__file__).parent
    project = tmp_path / "project"

    def copy_of_project(folder: Path) -> None:
        (folder / "small.py").write_text(SMALL)
        (folder / "test_small.py").write_text(
            "import small\n\ndef test_small():\n    assert small.double(2) == 4\n"
        )
        (folder / "tests/tools/mutation").mkdir(parents=True)
        for package in ("tests", "tests/tools", "tests/tools/mutation"):
            (folder / package / "__init__.py").touch()
        (folder / "tests/tools/mutation/lines").symlink_to(here)

    project.mkdir()
    monkeypatch.setattr(trial, "copy_of_project", copy_of_project)
    monkeypatch.setattr(trial, "GRACE", 0.3)
    subject = subjects.Subject((small,), ("test_small.py",), ("test_small.py",))
    reached: trial.Reached = {"test_small.py::test_small": (0.01, {small: [9, 11]})}
    with trial.Bench(subject, reached, 1.0) as bench:
        verdicts = [bench.try_out(change(*each)).verdict for each in CHANGES]
    assert verdicts == ["killed", "survived", "timed out", "not reached"]


CHANGES = (
    ("return number * 2", "return number * 3", 11),
    ("return number * 2", "return number + 2", 11),
    ("return number * 2", "import signal; signal.pause()", 11),
    ("return 0", "return 1", 10),
)


def change(old: str, new: str, line: int) -> Mutant:
    return Mutant("small.py", "Any", 0, line, 4, old, new, SMALL.replace(old, new), alone=True)
