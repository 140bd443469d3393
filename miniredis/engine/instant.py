"""Time as the engine sees it: an argument, in whole microseconds, never a clock."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Instant"]


class Instant(NamedTuple):
    """A moment, as a wall clock and a monotonic clock show it, in microseconds.

    Attributes:
        wall: microseconds since the Unix epoch. Keys expire by it, and the command TIME tells it.
        monotonic: microseconds since any fixed point. The timeouts of blocked clients count by it.
    """

    wall: int
    monotonic: int

    @property
    def milliseconds(self) -> int:
        """The wall clock in milliseconds, the unit of Redis's expiry times."""
        return self.wall // 1000
