"""The live view of ``top`` with ``rich``; whoever imports this needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.live import Live
from rich.table import Table
from rich.text import Text

from pressure.cli.rates import Row
from pressure.cli.top import HEAD, Show, cells

_RIGHT: Final = {"PUT/s", "GET/s"}
_STYLES: Final = {"gone": "red", "waiting": "yellow", "working": "green", "free": "dim"}


@contextmanager
def shower() -> Iterator[Show]:
    """Shows rows in place of the last ones; what stood on the terminal comes back at the end."""
    with Live(screen=True, auto_refresh=False) as live:
        yield lambda rows: live.update(view(rows), refresh=True)


def view(rows: Sequence[Row]) -> Table:
    """The rows as a table with colours."""
    table = Table(box=None, expand=True, caption="press q to leave")
    for at, title in enumerate(HEAD):
        least = max((len(cells(row)[at]) for row in rows), default=0) if title == "LENGTH" else None
        table.add_column(title, justify="right" if title in _RIGHT else "left", no_wrap=True, min_width=least)
    for row in rows:
        *words, producer, consumer = cells(row)
        fill = "red" if row.look.bound and row.look.length >= row.look.bound else ""
        styles = ["bold", "red" if row.look.problems else "", fill, "", ""]
        roles = ((producer, row.producer), (consumer, row.consumer))
        table.add_row(
            *map(Text, words, styles),
            *(Text(words, _STYLES[activity.doing]) for words, activity in roles),
        )
    return table
