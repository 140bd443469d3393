"""Time as the engine sees it: an argument, in whole microseconds, never a clock."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Instant"]


class Instant(NamedTuple):
    """One moment on two clocks.

    Attributes:
        wall: microseconds since the Unix epoch. Keys expire by it, and TIME tells it.
        monotonic: microseconds since some fixed point. Blocked clients time out by it.
    """

    wall: int
    monotonic: int

    @property
    def milliseconds(self) -> int:
        """Wall time in the unit of Redis's expiry times."""
        return self.wall // 1000
