"""What is mutated: files of code, and the tests that are run for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["ROOT", "SUBJECTS", "Subject"]

ROOT: Final = Path(__file__).parents[4]
"""The folder of the project."""

_PROTOCOL: Final = ("put", "get", "waits", "roles", "lifecycle", "operation", "scripts", "receiving", "repair",
                    "liveness", "leases", "queries", "doctor", "diagnosis", "counters", "scanning")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """Some files of code.

    Attributes:
        files: from the project's folder on, the most important first.
        tests: folders and files of tests that come by them.
        nearest: those that are asked first; and alone of a change that all has to be imported again for.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    nearest: tuple[str, ...]


_NEAREST: Final = (
    "tests/pressure/test_unknown_outcome.py",
    "tests/pressure/test_diagnoses.py",
    "tests/pressure/test_recorded_batches.py",
    "tests/pressure/protocol",
    "tests/conformance/test_simulation.py",
)

SUBJECTS: Final = {
    "waiting": Subject(
        ("miniredis/engine/waiting.py",),
        ("tests/miniredis", "tests/conformance/test_clauses.py"),
        ("tests/miniredis/test_waiting.py", "tests/miniredis/test_engine.py"),
    ),
    "protocol": Subject(
        tuple(f"pressure/protocol/{name}.py" for name in _PROTOCOL),
        ("tests/conformance/test_simulation.py", "tests/conformance/test_clauses.py", "tests/pressure"),
        _NEAREST,
    ),
    "execution": Subject(
        ("pressure/execution.py",),
        (
            "tests/conformance/test_simulation.py",
            "tests/conformance/test_failures_and_repair.py",
            "tests/pressure",
        ),
        _NEAREST,
    ),
}
