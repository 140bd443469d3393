"""Holds the engine to what it costs: a request may not come to need many more bytecode instructions.

The accepted numbers stand in ``accepted.json`` by Python's minor version, since each compiles differently.
After a change that is worth its cost, or that saves some: ``python -m tests.tools.instructions --accept``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .counting import SCENARIOS, instructions

__all__ = ["ACCEPTED", "accept", "accepted_for", "complaints", "counted", "this_python"]

ACCEPTED: Final = Path(__file__).with_name("accepted.json")

SLACK: Final = 1.25
"""How many times its accepted cost a request may cost."""

HOW: Final = "to accept the new numbers, run: python -m tests.tools.instructions --accept"


def this_python() -> str:
    """The version of Python that the numbers depend on, such as 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def accepted_for(python: str) -> dict[str, float] | None:
    """The instructions per command that are accepted for a version of Python; None if it is unknown."""
    numbers: dict[str, dict[str, float]] = json.loads(ACCEPTED.read_text())
    return numbers.get(python)


def counted() -> dict[str, float]:
    """The instructions per command of every scenario, now."""
    return {name: instructions(scenario) for name, scenario in SCENARIOS.items()}


def complaints(accepted: Mapping[str, float], found: Mapping[str, float]) -> list[str]:
    """What costs too much, or has no accepted number; each says what to do."""
    return [
        f"{name}: {count:g} instructions per command, {accepted.get(name, 0):g} are accepted; {HOW}"
        for name, count in found.items()
        if count > SLACK * accepted.get(name, 0)
    ]


def accept() -> dict[str, float]:
    """Counts, writes the numbers down for this version of Python, and returns them."""
    numbers = json.loads(ACCEPTED.read_text()) if ACCEPTED.exists() else {}
    numbers[this_python()] = found = counted()
    ACCEPTED.write_text(json.dumps(numbers, indent=2, sort_keys=True) + "\n")
    return found
