"""Loading a large value in steps of about a millisecond, between which a server answers its clients.

A loader of a form that may be large is a generator: it yields between two steps and returns the value.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, TypeAlias, TypeVar

from .reader import Reader

__all__ = ["STEP", "Steps", "at_once", "strings"]

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]

STEP: Final = 1000
"""How many strings are read in a step."""


def strings(reader: Reader, count: int) -> Steps[list[bytes]]:
    """So many strings; raises ``BadDataError``."""
    found: list[bytes] = []
    while len(found) < count:
        found += [reader.string() for _ in range(min(count - len(found), STEP))]
        if len(found) < count:
            yield
    return found


def at_once(steps: Steps[T]) -> T:
    """Takes all steps."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: T = end.value
            return value
