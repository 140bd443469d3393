"""Numbered rows, some of them large and some not in the format, and who puts them."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Final

from pressure import PressureError, Queue

__all__ = ["Feed", "is_odd"]

#: The bytes of a large row; one row of so many is large, and one is not in the format.
LARGE: Final = 1_000_000
LARGE_ONES, ODD_ONES = 997, 101


def is_odd(number: int) -> bool:
    """Whether the row of this number is not in the format."""
    return number % ODD_ONES == 0


def row(number: int) -> bytes:
    if is_odd(number):
        return b"\xff%d" % number
    return b"%d" % number + (b" " * LARGE if number % LARGE_ONES == 0 else b"")


class Feed(threading.Thread):
    """Puts rows at a rate, each once: one whose fate is unknown is not put again.

    Attributes:
        put: the numbers of those that are in the queue.
        unknown: those of which nothing is known.
        quiet: held by it while it puts rows, and by who wants none to be put.
    """

    def __init__(self, url: str, name: str, rate: float) -> None:
        super().__init__(daemon=True)
        self._queue = Queue(name, url=url)
        self.put: list[int] = []
        self.unknown: set[int] = set()
        self.quiet = threading.Lock()
        self._rate, self._over = rate, threading.Event()

    def run(self) -> None:
        number, together = 0, max(1, round(self._rate / 10))
        with self._queue as queue:
            while not self._over.wait(together / self._rate):
                numbers = range(number, number + together)
                with self.quiet:
                    self._put(queue, numbers)
                number = numbers.stop

    def _put(self, queue: Queue, numbers: range) -> None:
        try:
            queue.put_many([row(each) for each in numbers])
        except PressureError:
            self.unknown |= set(numbers)
        else:
            self.put += numbers

    def forget(self, count: int, kept: Collection[int]) -> None:
        """Note that the server has gone back: of the rows after the first ``count`` it has lost all but ``kept``.

        Spark may have read the lost ones before, so they may come out nevertheless.
        """
        gone = {*self.put[count:]}.difference(kept)
        self.unknown |= gone
        self.put = [each for each in self.put if each not in gone]

    def stop(self) -> None:
        self._over.set()
        self.join()
