"""The progress of a put, get or pipe: one line on the terminal, updated four times a second.

Rules:
    - Progress is shown if standard error is a terminal and the messages do not come from or go to one.
    - It is drawn in a thread of its own, so that it cannot delay or break the transfer.
    - With ``rich`` it has colours and a bar. Without, it is plain text.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol

from pressure.cli import formatting
from pressure.cli.call import tell
from pressure.errors import PressureError
from pressure.queue import Queue

#: Seconds between two updates, and over how many seconds the rate is averaged.
_EVERY: Final = 0.25
_SPAN: Final = 5.0

Fill = tuple[int, int]
"""A queue's length and bound."""


class Meter:
    """Counts acknowledged messages."""

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0

    def add(self, message: bytes) -> None:
        """Count one message."""
        self.messages += 1
        self.bytes += len(message)


@dataclass(frozen=True, slots=True)
class Frame:
    """The content of one update: message and byte counts, messages per second, how full the queue is."""

    verb: str
    messages: int
    bytes: int
    rate: float
    fill: Fill | None

    def __str__(self) -> str:
        """The line, without how full the queue is."""
        return f"{self.verb}: {self.messages:,} messages, {formatting.size(self.bytes)}, {self.rate:,.0f}/s"


class Screen(Protocol):
    """Draws frames on the terminal."""

    def draw(self, frame: Frame) -> None:
        """Draw a frame in place of the previous one."""

    def clear(self) -> None:
        """Remove what was drawn."""


class PlainScreen:
    """One line of plain text that is overwritten."""

    def draw(self, frame: Frame) -> None:
        """Draw a frame in place of the previous one."""
        queue = f", queue {formatting.bar(*frame.fill).strip()}" if frame.fill else ""
        width = shutil.get_terminal_size().columns - 1
        tell(f"\r\x1b[K{f'{frame}{queue}'[:width]}")

    def clear(self) -> None:
        """Remove what was drawn."""
        tell("\r\x1b[K")


def screen() -> Screen:
    """A screen: with ``rich`` if it is installed."""
    try:
        from pressure.cli.rich_progress import RichScreen
    except ImportError:
        return PlainScreen()
    return RichScreen()


class Progress:
    """Makes the frames.

    Args:
        verb: The name of the subcommand.
        meter: The counts.
        fill: Asks the server for the queue's length and bound.
        clock: The time in seconds.
    """

    def __init__(
        self,
        verb: str,
        meter: Meter,
        fill: Callable[[], Fill | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._verb = verb
        self._meter = meter
        self._fill = fill
        self._clock = clock
        self._seen = deque([(clock(), 0)])

    def frame(self) -> Frame:
        """The frame for now."""
        now, messages = self._clock(), self._meter.messages
        self._seen.append((now, messages))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _SPAN:
            self._seen.popleft()
        since, before = self._seen[0]
        rate = (messages - before) / (now - since) if now > since else 0.0
        fill = None
        with suppress(PressureError):  # the transfer reports such errors
            fill = self._fill()
        return Frame(self._verb, messages, self._meter.bytes, rate, fill)


@contextmanager
def shown_while(verb: str, meter: Meter, queue: Queue | None) -> Iterator[None]:
    """Show the progress while the block runs; also how full ``queue`` is, unless it is None."""

    def fill() -> Fill | None:
        if queue is None:
            return None
        found = queue.stats()
        return found.length, found.bound

    progress, target, over = Progress(verb, meter, fill), screen(), threading.Event()

    def draw() -> None:
        while not over.wait(_EVERY):
            target.draw(progress.frame())

    thread = threading.Thread(target=draw, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_EVERY)  # it may be waiting for a server that does not answer
        target.clear()


def wanted(data: int | None) -> bool:
    """Whether to show progress while messages go through the file descriptor ``data``."""
    return sys.stderr.isatty() and (data is None or not os.isatty(data))
