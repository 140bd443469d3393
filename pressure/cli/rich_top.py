"""The live view of ``top`` with the package ``rich``, which this module needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.live import Live
from rich.table import Table
from rich.text import Text

from pressure.cli.rates import HEAD, Row, Show, cells

_RIGHT: Final = {"PUT/s", "GET/s"}
#: What a narrow terminal cuts off first.
_CUT_OFF_FIRST: Final = {"PRODUCER", "CONSUMER"}
#: How many characters of another column it leaves at least, if there are so many.
_LEFT: Final = 32
_STYLES: Final = {"gone": "red", "waiting": "yellow", "working": "green", "free": "dim"}


@contextmanager
def live_view() -> Iterator[Show]:
    """A function that shows rows in place of the previous ones. Restores the terminal at the end."""
    with Live(screen=True, auto_refresh=False) as live:
        yield lambda rows: live.update(view(rows), refresh=True)


def view(rows: Sequence[Row]) -> Table:
    """The rows as a coloured table."""
    table = Table(box=None, expand=True, caption="press q to leave")
    for at, title in enumerate(HEAD):
        widest = max([len(title), *(len(cells(row)[at]) for row in rows)])
        least = None if title in _CUT_OFF_FIRST else min(widest, _LEFT)
        table.add_column(title, justify="right" if title in _RIGHT else "left", no_wrap=True, min_width=least)
    for row in rows:
        *words, producer, consumer = cells(row)
        fill = "red" if row.report.bound and row.report.length >= row.report.bound else ""
        styles = ["bold", "red" if row.report.problems else "", fill, "", ""]
        roles = ((producer, row.producer), (consumer, row.consumer))
        table.add_row(
            *map(Text, words, styles),
            *(Text(words, _STYLES[activity.doing]) for words, activity in roles),
        )
    return table
