"""How a long put, get or pipe is getting on: one line on a terminal, drawn anew a few times a second.

Rules:
    - Only where standard error is a terminal, and the messages themselves do not go to one.
    - Drawing never fails and never delays what it tells of: it has a thread of its own.
    - With ``rich`` it has colours and a bar, without it is plain text.
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

from pressure.cli import shown
from pressure.errors import PressureError
from pressure.queue import Queue

#: Seconds between two drawings, and for how many of the last ones the rate is told.
_EVERY: Final = 0.25
_SPAN: Final = 5.0

Fill = tuple[int, int]
"""A queue's length and bound."""


class Meter:
    """Counts what is safely where it belongs."""

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0

    def add(self, message: bytes) -> None:
        """One more."""
        self.messages += 1
        self.bytes += len(message)


@dataclass(frozen=True, slots=True)
class Frame:
    """What is shown at one moment."""

    verb: str
    messages: int
    bytes: int
    rate: float
    fill: Fill | None

    def __str__(self) -> str:
        """The line, without the queue."""
        return f"{self.verb}: {self.messages:,} messages, {shown.size(self.bytes)}, {self.rate:,.0f}/s"


class Screen(Protocol):
    """Where frames are drawn."""

    def draw(self, frame: Frame) -> None:
        """Draw this one in place of the last."""

    def clear(self) -> None:
        """Leave nothing behind."""


class PlainScreen:
    """A line that is written over and over."""

    def draw(self, frame: Frame) -> None:
        """Draw this one in place of the last."""
        queue = f", queue {shown.bar(*frame.fill).strip()}" if frame.fill else ""
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{f'{frame}{queue}'[:width]}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave nothing behind."""
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def screen() -> Screen:
    """The best there is."""
    try:
        from pressure.cli.rich_progress import RichScreen
    except ImportError:
        return PlainScreen()
    return RichScreen()


class Progress:
    """Makes the frames.

    Args:
        verb: What is going on.
        meter: Counts it.
        fill: Asks for the queue's length and bound.
        clock: Seconds.
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
        """What is to be shown now."""
        now, messages = self._clock(), self._meter.messages
        self._seen.append((now, messages))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _SPAN:
            self._seen.popleft()
        since, before = self._seen[0]
        rate = (messages - before) / (now - since) if now > since else 0.0
        fill = None
        with suppress(PressureError):  # the one who moves messages will say what is wrong
            fill = self._fill()
        return Frame(self._verb, messages, self._meter.bytes, rate, fill)


@contextmanager
def shown_while(verb: str, meter: Meter, queue: Queue | None) -> Iterator[None]:
    """Show how it is getting on while the block runs, with how full the queue is if it can be."""

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
    """Whether to show anything while messages go through the file ``data``."""
    return sys.stderr.isatty() and (data is None or not os.isatty(data))
