"""Runs the tests of a subject once to learn which of them execute which lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .forking import DEFAULT_RUN
from .marks import marked
from .subjects import Subject
from .trial import Reached, copy_of_project

__all__ = ["map_reach"]


def map_reach(subject: Subject, path: Path, processes: int) -> Reached:
    """Which tests come by which lines, as a file has it; it is written if it is not there."""
    if not path.exists():
        with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
            path.write_text(json.dumps(measured(subject, Path(folder), processes)))
    reached: Reached = json.loads(path.read_text())
    return reached


def measured(subject: Subject, folder: Path, processes: int) -> Reached:
    """Runs the tests on copies of the files that mark their statements."""
    project = folder / "project"
    project.mkdir()
    copy_of_project(project)
    for file in subject.files:
        (project / file).write_text(marked(file, (project / file).read_text()))
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.tools.mutation.lines.reach", "-n", str(processes), "-q",
         "-p", "no:cacheprovider", "-o", "addopts=", "-m", DEFAULT_RUN, *subject.tests],
        cwd=project, stdout=subprocess.DEVNULL, check=False,  # those that fail on a copy are not asked
        env={**os.environ, "PYTHONPATH": str(project), "REACH_OUT": str(folder / "reach")},
    )  # fmt: skip
    reached: Reached = {}
    for part in folder.glob("reach*"):
        reached |= json.loads(part.read_text())
    return reached
