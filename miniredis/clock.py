"""The server's sources of time: the machine's clocks, or a clock that only a test moves."""

from __future__ import annotations

import time
from typing import Final, Literal, Protocol, TypeAlias

from .arguments import kind
from .engine import Instant

__all__ = ["Clock", "ClockChoice", "HeldClock", "RealClock", "chosen"]


HOW_TO_BEGIN: Final = (
    "; to begin at a time of your choice: HeldClock(Instant(wall=microseconds_since_1970, monotonic=0))"
)


class Clock(Protocol):
    """A server's source of time: any object with these methods."""

    @property
    def stands_still(self) -> bool:
        """Whether time passes only through ``advance``."""

    def now(self) -> Instant:
        """The current time."""

    def advance(self, microseconds: int) -> None:
        """Moves both the wall clock and the monotonic clock forward."""


class RealClock:
    """The machine's clocks, plus the time that ``advance`` added."""

    stands_still = False

    def __init__(self) -> None:
        self._ahead = 0

    def now(self) -> Instant:
        """The current time."""
        wall, monotonic = time.time_ns() // 1000, time.monotonic_ns() // 1000
        return Instant(wall + self._ahead, monotonic + self._ahead)

    def advance(self, microseconds: int) -> None:
        """Moves the clock forward; it runs on from there."""
        self._ahead += microseconds


class HeldClock:
    """A clock that stands still until it is told to move: for a server, by ``server.fast_forward``.

    ``miniredis.start(clock="held")`` makes one that begins at the real time. To begin at another time::

        moment = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
        clock = HeldClock(Instant(wall=int(moment.timestamp()) * 1_000_000, monotonic=0))

    Args:
        start: the time at which it begins, in microseconds; the real time if omitted.

    Raises:
        TypeError: ``start`` is not an ``Instant``.
    """

    stands_still = True

    def __init__(self, start: Instant | None = None) -> None:
        if start is not None and not isinstance(start, Instant):
            raise TypeError(f"HeldClock() takes a miniredis.Instant, not {kind(start)}{HOW_TO_BEGIN}")
        self._now = start or RealClock().now()

    def now(self) -> Instant:
        """The time at which it stands."""
        return self._now

    def advance(self, microseconds: int) -> None:
        """Moves both the wall clock and the monotonic clock forward."""
        self._now = Instant(self._now.wall + microseconds, self._now.monotonic + microseconds)


ClockChoice: TypeAlias = Clock | Literal["held"] | None


def chosen(clock: ClockChoice) -> Clock:
    """The clock that the argument ``clock`` of ``start`` and ``serve`` means.

    Raises:
        TypeError: it is not a clock.
        ValueError: it is a str other than ``"held"``.
    """
    if clock is None:
        return RealClock()
    if clock == "held":
        return HeldClock()
    if isinstance(clock, str):
        raise ValueError(  # noqa: TRY004  (a str may be right)
            f"clock must be 'held', a miniredis.HeldClock or None, not {clock!r}"
        )
    if not all(hasattr(clock, name) for name in ("now", "advance", "stands_still")):
        raise TypeError(
            f"clock must be 'held', a miniredis.HeldClock or None, not {kind(clock)}{HOW_TO_BEGIN}"
        )
    return clock
