"""Histograms of how long the calls of a command took, for LATENCY HISTOGRAM and INFO.

They have the precision of Redis's: times are whole microseconds, kept with two significant digits, and a
second at most.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

__all__ = ["SHORT", "Histogram"]

SHORT: Final = 64
"""Calls that took fewer microseconds are counted in a list, which takes the least time."""

LONGEST: Final = 1_000_000_000
"""Nanoseconds; longer calls count as this long."""

FIRST_BOUND: Final = 1024
"""The first bound of LATENCY HISTOGRAM, in nanoseconds; each further one is twice as high."""

LAST_BOUND: Final = (1 << 30) - 1
"""The last one: Redis's histograms end there."""


def step(nanoseconds: int) -> int:
    """How many times in succession count as the same, around this one."""
    return 1 << max(nanoseconds.bit_length() - 8, 0)


def lowest(nanoseconds: int) -> int:
    """The lowest time that counts as this one."""
    return nanoseconds & -step(nanoseconds)


def highest(nanoseconds: int) -> int:
    """The highest time that counts as this one."""
    return lowest(nanoseconds) + step(nanoseconds) - 1


@dataclass(slots=True)
class Histogram:
    """The calls of one command, by how long they took.

    Attributes:
        quick: how many took less than a microsecond; the executor counts these and the next itself, because
            that takes less time than to find their place in ``short``.
        brief: how many took one microsecond, but less than two.
        short: how many took so many microseconds, the others among those included.
        long: how many took longer, by the lowest time in nanoseconds that counts as theirs.
    """

    quick: int = 0
    brief: int = 0
    short: list[int] = field(default_factory=lambda: [0] * SHORT)
    long: Counter[int] = field(default_factory=Counter)

    def add(self, seconds: float) -> None:
        """Counts a call."""
        microseconds = max(int(seconds * 1e6), 0)
        if microseconds < SHORT:
            self.short[microseconds] += 1
        else:
            self.long[lowest(min(microseconds * 1000, LONGEST))] += 1

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Times in nanoseconds and how many calls took that long, the shortest first."""
        none, one, *more = self.short
        short = (none + self.quick, one + self.brief, *more)
        yield from ((at * 1000 or 1, count) for at, count in enumerate(short) if count)
        yield from sorted(self.long.items())

    def timed(self) -> int:
        """How many calls were counted."""
        return self.quick + self.brief + sum(self.short) + sum(self.long.values())

    def cumulative(self) -> Iterator[tuple[int, int]]:
        """Upper bounds in microseconds, and how many calls took at most that long.

        Bounds below which no call is added to those of the bound before are left out.
        """
        level, count = FIRST_BOUND, 0
        for time, calls in self:
            if time > highest(level):
                if count:
                    yield highest(level) // 1000, count
                while time > highest(level):
                    level *= 2
            count += calls
        yield min(highest(level), LAST_BOUND) // 1000, count

    def percentile(self, percent: float) -> int:
        """The nanoseconds that so many percent of the calls took at most; there must be a call."""
        rank = max(int(percent / 100 * self.timed() + 0.5), 1)
        times, counts = zip(*self, strict=True)
        time = times[bisect_left(tuple(accumulate(counts)), rank)]
        return highest(time) if percent else lowest(time)
