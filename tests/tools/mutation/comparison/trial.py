"""How much it takes to find a fault."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from ..clauses.model import Guilty
from ..clauses.trial import changed_copy

__all__ = ["LIMIT", "Effort", "effort_to_find"]

LIMIT: Final = 180_000
"""Requests in which each has to be found: as many as a minute has room for, however busy the machine is."""

RUN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from conformance.differential.__main__ import main; sys.exit(main())"
)


class Effort(NamedTuple):
    """What it took."""

    requests: int
    seconds: float


def effort_to_find(mutant: Guilty, seed: int) -> Effort | None:
    """What it took to find one, in a process of its own; None if it was not found within the limit.

    Raises:
        ValueError: the mutant is not one line of the engine any more, or the comparison did not run.
    """
    options = ["--as-found", "--commands", str(LIMIT), "--seed", str(seed)]
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        changed_copy(mutant, Path(folder))
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", RUN, folder, *options], capture_output=True, text=True, check=False
        )
    sent = re.search(r"^([\d,]+) requests", done.stdout, re.MULTILINE)
    if done.returncode not in {0, 1} or sent is None:
        raise ValueError(f"{mutant.name}: the comparison did not run\n{done.stdout}{done.stderr}")
    effort = Effort(int(sent[1].replace(",", "")), time.monotonic() - began)
    return effort if done.returncode == 1 else None
