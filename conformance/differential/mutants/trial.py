"""How long it takes to find a fault."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from ...guilty.model import Guilty
from ...guilty.trial import changed_copy

__all__ = ["LIMIT", "seconds_to_find"]

LIMIT: Final = 60.0
"""Seconds in which each has to be found."""

RUN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from conformance.differential.__main__ import main; sys.exit(main())"
)


def seconds_to_find(mutant: Guilty, seed: int) -> float | None:
    """How long it took to find one, in a process of its own; None if it was not found in time.

    Raises:
        ValueError: the mutant is not one line of the engine any more, or the comparison did not run.
    """
    options = ["--as-found", "--minutes", str(LIMIT / 60), "--seed", str(seed)]
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        changed_copy(mutant, Path(folder))
        began = time.monotonic()
        done = subprocess.run(  # noqa: S603  (our own program)
            [sys.executable, "-c", RUN, folder, *options], capture_output=True, text=True, check=False
        )
    if done.returncode not in {0, 1}:
        raise ValueError(f"{mutant.name}: the comparison did not run\n{done.stdout}{done.stderr}")
    return time.monotonic() - began if done.returncode == 1 else None
