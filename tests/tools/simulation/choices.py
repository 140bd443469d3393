"""Who goes on next: by luck that is the same each time, or each in turn, so that all runs are tried."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Choose", "StuckError", "every_run", "seeded"]

Choose: TypeAlias = Callable[[int], int]
"""Picks one of so many, from 0 on."""


class StuckError(Exception):
    """Nobody can go on, and time changes nothing; or it takes longer than anything should."""


def seeded(seed: int) -> Choose:
    """Choices that look random, and are the same for the same seed."""
    return random.Random(seed).randrange  # noqa: S311  (nothing here is secret)


def every_run(run: Callable[[Choose], None], limit: int = 100_000) -> int:
    """Runs something once for each way in which its choices can go; tells how often.

    Raises:
        StuckError: there are more ways than ``limit``.
    """
    path: list[int] = []
    for count in range(1, limit + 1):
        options: list[int] = []

        def choose(among: int, path: list[int] = path, options: list[int] = options) -> int:
            at = len(options)
            options.append(among)
            if at == len(path):
                path.append(0)
            return path[at]

        run(choose)
        del path[len(options) :]
        while path and path[-1] + 1 == options[len(path) - 1]:
            path.pop()
        if not path:
            return count
        path[-1] += 1
    raise StuckError(f"more than {limit} runs")
