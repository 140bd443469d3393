"""The progress line with the package ``rich``, which this module needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pressure.cli.progress import Frame


class RichScreen:
    """A spinner, the numbers, and a bar of how full the queue is."""

    def __init__(self) -> None:
        self._spinner = Spinner("dots")
        self._live = Live(
            console=Console(stderr=True), auto_refresh=False, transient=True, redirect_stdout=False
        )
        self._live.start()

    def draw(self, frame: Frame) -> None:
        """Draw a frame in place of the previous one."""
        grid = Table.grid(padding=(0, 1))
        cells: list[RenderableType] = [self._spinner, Text(str(frame))]
        if frame.fill:
            length, bound = frame.fill
            cells.append(Text(f"queue {length}/{bound}" if bound else f"queue {length}"))
            if bound:
                cells.append(ProgressBar(total=bound, completed=min(length, bound), width=20))
        grid.add_row(*cells)
        self._live.update(grid, refresh=True)

    def clear(self) -> None:
        """Remove the line from the terminal."""
        self._live.stop()
