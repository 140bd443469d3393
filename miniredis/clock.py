"""Where the server gets the time from."""

from __future__ import annotations

import time
from typing import Protocol

from .engine import Instant

__all__ = ["Clock", "RealClock"]


class Clock(Protocol):
    """Tells the time; the engine itself never asks."""

    def now(self) -> Instant:
        """This moment."""


class RealClock:
    """The machine's own clocks."""

    def now(self) -> Instant:
        """This moment."""
        return Instant(wall=time.time_ns() // 1000, monotonic=time.monotonic_ns() // 1000)
