"""Time as the engine gets it: an argument in whole microseconds; the engine reads no clock."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Instant"]


class Instant(NamedTuple):
    """A moment, as a wall clock and a monotonic clock show it, in microseconds.

    Attributes:
        wall: microseconds since the Unix epoch. Keys expire by it, and TIME returns it.
        monotonic: microseconds since any fixed point. Clients time out by it.
    """

    wall: int
    monotonic: int

    @property
    def milliseconds(self) -> int:
        """The wall clock in milliseconds, the unit of Redis's expiry times."""
        return self.wall // 1000
