"""What is being measured and how much is left, on standard error, if that is a terminal."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .model import Row
from .turns import Effort

__all__ = ["Progress", "shown"]

Progress = Callable[[Row, int], None]
"""Is told a row, and how many of its turns are over."""


@contextmanager
def shown(rows: Sequence[Row], effort: Effort) -> Iterator[Progress]:
    """Shows a bar while the context lasts; without rich, the name of the row; nothing without a terminal."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    begins = {row.name: number * effort.pairs for number, row in enumerate(rows)}
    if importlib.util.find_spec("rich") is None:
        yield plain_line
        sys.stderr.write("\r\033[K")
        return
    with bar(len(rows) * effort.pairs) as move:
        yield lambda row, turns: move(begins[row.name] + turns, row.what)


@contextmanager
def bar(total: int) -> Iterator[Callable[[int, str], None]]:
    """A bar of rich's."""
    from rich.console import Console  # an extra
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}")
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=total)
        yield lambda done, what: bars.update(task, completed=done, description=what)


def plain_line(row: Row, turns: int) -> None:
    sys.stderr.write(f"\r\033[K{row.what}: {turns}")
    sys.stderr.flush()
