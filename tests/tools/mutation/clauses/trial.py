"""Runs the suite in a process of its own, on a changed copy of a package.

Most of such a run would be spent on imports; so a court has a process that has imported what nobody
changes, and forks the others (``forking``).
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, Self

from conformance.command import main
from conformance.documents import wire
from conformance.judging import environment, runner
from conformance.wire import connections

from ...forking import Forked, ForkServer
from .model import Guilty

__all__ = ["Court", "changed_copy"]

LIMIT: Final = 120.0
"""Seconds that a trial may take."""

PATIENCE: Final = 2.0
"""Seconds until what should come has to come, where it is not likely to."""

HUNG: Final = 5.0
"""Seconds after which a check counts as hung."""

SHARED: Final = ("trio", "hiredis", "redis.asyncio", "lupa.lua51")
"""What is imported before the packages that may be changed."""


class Court:
    """Holds trials, as many at a time as threads ask for; leaving its ``with`` block ends its processes."""

    def __init__(self) -> None:
        self._server = ForkServer(*SHARED)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def convicted_of(self, party: Guilty, *, patient: bool = False) -> dict[str, str]:
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
            code = f"import {__name__} as trial; raise SystemExit(trial.{'main' if patient else 'hurried'}())"
            with Path(folder, "output").open("w+") as output:
                trial = Forked(
                    self._server, [sys.executable, "-c", code, *options], cwd=folder,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                )  # fmt: skip
                status = trial.wait(LIMIT)
                output.seek(0)
                said = output.read()
        if status not in {0, 1}:
            raise ValueError(f"{party.name}: the suite did not run\n{said}")
        told = re.findall(
            r"^  (?:violated|error)(?: \(\w+\))? ((?:[\w.-]+, )*[\w.-]+): (.*)$", said, re.MULTILINE
        )
        return {clause: reason for clauses, reason in told for clause in clauses.split(", ")}


def hurried() -> int:
    """Runs the suite with less patience than a server deserves that may be right."""
    for module in (environment, connections):
        vars(module)["PATIENCE"] = PATIENCE
    vars(runner)["CHECK_LIMIT"] = HUNG
    vars(wire)["SHORTEN"] = 0.5
    vars(importlib.import_module("pressure.protocol.liveness"))["PROBE_INTERVAL"] = 0.05
    return main()


def changed_copy(party: Guilty, folder: Path) -> None:
    """Puts a package like the party's into a folder, with the change in it; what is as it was are links."""
    spec = importlib.util.find_spec(party.package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0]).parent
    text = (source / party.file).read_text()
    if text.count(party.text) != 1:
        raise ValueError(f"{party.name}: {party.text!r} is {text.count(party.text)} times in {party.file}")
    for above in [*Path(party.file).parents][-2::-1]:
        like(source / above, folder / above)
    path = folder / party.file
    path.unlink()
    path.write_text(text.replace(party.text, party.becomes))


def like(source: Path, folder: Path) -> None:
    """Makes a folder of links; compiled files are copied, since there will be others."""
    folder.unlink(missing_ok=True)
    folder.mkdir()
    for each in source.iterdir():
        if each.name == "__pycache__":
            shutil.copytree(each, folder / each.name)
        else:
            (folder / each.name).symlink_to(each)
