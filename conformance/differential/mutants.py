"""Small faults of the engine, one line each, that a comparison with a real Redis must find."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from ..guilty.model import Guilty
from ..guilty.trial import changed_copy

__all__ = ["MUTANTS", "seconds_to_find"]

LIMIT: Final = 60.0
"""Seconds in which each has to be found."""

RUN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from conformance.differential.__main__ import main; sys.exit(main())"
)

MUTANTS: Final[tuple[Guilty, ...]] = ()


def seconds_to_find(mutant: Guilty, seed: int) -> float | None:
    """How long it took to find one, in a process of its own; None if it was not found in time."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        changed_copy(mutant, Path(folder))
        began = time.monotonic()
        try:
            done = subprocess.run(  # noqa: S603  (our own program)
                [sys.executable, "-c", RUN, folder, "--minutes", str(LIMIT / 60), "--seed", str(seed)],
                capture_output=True, text=True, timeout=2 * LIMIT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    return time.monotonic() - began if done.returncode == 1 else None
