"""Where the server gets the time from: the machine's clocks, or one that a test holds."""

from __future__ import annotations

import time
from typing import Literal, Protocol, TypeAlias

from .engine import Instant

__all__ = ["Clock", "ClockChoice", "HeldClock", "RealClock", "chosen"]


class Clock(Protocol):
    """Tells the time; the engine itself never asks."""

    @property
    def stands_still(self) -> bool:
        """Whether time passes only by ``advance``."""

    def now(self) -> Instant:
        """This moment."""

    def advance(self, microseconds: int) -> None:
        """Makes it so much later, on the wall and on the steady clock."""


class RealClock:
    """The machine's own clocks, and what they were moved ahead."""

    stands_still = False

    def __init__(self) -> None:
        self._ahead = 0

    def now(self) -> Instant:
        """This moment."""
        wall, monotonic = time.time_ns() // 1000, time.monotonic_ns() // 1000
        return Instant(wall + self._ahead, monotonic + self._ahead)

    def advance(self, microseconds: int) -> None:
        """Goes on from so much later."""
        self._ahead += microseconds


class HeldClock:
    """A clock that stands still until it is told how much later it is.

    Args:
        start: where it stands; the real time if omitted.
    """

    stands_still = True

    def __init__(self, start: Instant | None = None) -> None:
        self._now = start or RealClock().now()

    def now(self) -> Instant:
        """The moment at which it stands."""
        return self._now

    def advance(self, microseconds: int) -> None:
        """Makes it so much later, on the wall and on the steady clock."""
        self._now = Instant(self._now.wall + microseconds, self._now.monotonic + microseconds)


ClockChoice: TypeAlias = Clock | Literal["held"] | None


def chosen(clock: ClockChoice) -> Clock:
    """The clock that ``start`` and ``serve`` were asked for; raises ``ValueError`` for another word."""
    if clock is None:
        return RealClock()
    if isinstance(clock, str):
        if clock != "held":
            raise ValueError(f"no clock {clock!r}: leave it out, or say 'held'")
        return HeldClock()
    return clock
