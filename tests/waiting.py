"""Waiting for a condition: no test sleeps for a time, and none depends on how busy the machine is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from conformance.judging.limits import pauses

__all__ = ["PATIENCE", "until"]

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds after which a test fails that still waits; far more than a busy machine needs."""


def until(condition: Callable[[], T], what: str = "the condition holds", limit: float = PATIENCE) -> T:
    """Asks again and again until the condition is true; returns its value.

    Args:
        condition: called at once, then again after pauses, which grow.
        what: what is awaited, for the message.
        limit: seconds after which the test fails.
    """
    for _ in pauses(limit):
        if value := condition():
            return value
    raise AssertionError(f"waited {limit} s until {what}")
