"""Runs the suite in a process of its own, on a changed copy of a package."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from .. import environment, runner, wire
from ..__main__ import main
from .model import Guilty

__all__ = ["changed_copy", "convicted_of"]

LIMIT: Final = 120.0
"""Seconds that a trial may take."""

PATIENCE: Final = 2.0
"""Seconds until what should come has to come, where it is not likely to."""

HUNG: Final = 5.0
"""Seconds after which a check counts as hung."""

RUN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from conformance.guilty import trial; sys.exit(getattr(trial, sys.argv.pop(1))())"
)


def convicted_of(party: Guilty, *, patient: bool = False) -> dict[str, str]:
    """The clauses, of those that the party names, by which it fails on an embedded server, and why.

    Args:
        party: who is judged.
        patient: whether it has as much time as anybody, since it may be right and the machine busy.

    Raises:
        ValueError: the change does not fit the file: its text is not there, or more than once.
        subprocess.TimeoutExpired: the trial does not end.
    """
    options = ["--target", "embedded", "--client", party.client]
    options += [word for clause in party.clauses for word in ("--clause", clause)]
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        changed_copy(party, Path(folder))
        done = subprocess.run(  # noqa: S603  (our own program)
            [sys.executable, "-c", RUN, folder, "main" if patient else "hurried", *options],
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
    if done.returncode not in {0, 1}:
        raise ValueError(f"{party.name}: the suite did not run\n{done.stdout}{done.stderr}")
    return dict(re.findall(r"^  failed (\S+): (.*)$", done.stdout, re.MULTILINE))


def hurried() -> int:
    """Runs the suite with less patience than a server deserves that may be right."""
    for module in (environment, wire):
        vars(module)["PATIENCE"] = PATIENCE
    vars(runner)["CHECK_LIMIT"] = HUNG
    vars(sys.modules["pressure.protocol.repair"])["LOOK_APART"] = 0.05
    return main()


def changed_copy(party: Guilty, folder: Path) -> None:
    """Puts a copy of the party's package into a folder, with the change in it."""
    spec = importlib.util.find_spec(party.package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0])
    shutil.copytree(source, folder / party.package)  # compiled files too, to be quick
    path = folder / party.file
    text = path.read_text()
    if text.count(party.text) != 1:
        raise ValueError(f"{party.name}: {party.text!r} is {text.count(party.text)} times in {party.file}")
    path.write_text(text.replace(party.text, party.becomes))
