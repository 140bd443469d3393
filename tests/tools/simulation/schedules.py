"""A schedule in writing: its moves with spaces between them, and ``*3`` where one comes three times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .moves import Move

__all__ = ["read", "written"]


def written(schedule: Sequence[Move]) -> str:
    """A schedule for people, and for ``read``."""
    runs = ((move, len(list(run))) for move, run in groupby(schedule))
    return " ".join(move if count == 1 else f"{move}*{count}" for move, count in runs)


def read(text: str) -> tuple[Move, ...]:
    """The moves of a schedule that was written.

    Raises:
        ValueError: what follows an asterisk is no number.
    """
    parts = (word.partition("*") for word in text.split())
    return tuple(move for move, _, count in parts for _ in range(int(count or 1)))
