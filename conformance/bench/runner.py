"""Runs rows one after the other; what is missing or goes wrong in one does not keep the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing

from miniredis.testing.real_servers import NotInstalledError

from ..wire import Hangup
from .model import Outcome, Row
from .turns import Effort, Pair
from .workbench import Workbench

__all__ = ["run"]


def run(
    rows: Iterable[Row], effort: Effort, progress: Callable[[Row, int], None] = lambda *_: None
) -> list[Outcome]:
    """Measures rows.

    Args:
        rows: which.
        effort: how much.
        progress: told the row and how many of its turns are over, at its beginning and after each turn.
    """
    with Workbench(effort) as bench:
        return [measured(row, bench, progress) for row in rows]


def measured(row: Row, bench: Workbench, progress: Callable[[Row, int], None]) -> Outcome:
    """One row."""
    pairs: list[Pair] = []
    progress(row, 0)
    try:
        with closing(row.measure(bench)) as turns:
            for pair in turns:
                pairs.append(pair)
                progress(row, len(pairs))
    except NotInstalledError as missing:
        return Outcome(row, pairs, missing=str(missing))
    except (OSError, Hangup) as error:
        return Outcome(row, pairs, fault=str(error) or type(error).__name__)
    return Outcome(row, pairs)
