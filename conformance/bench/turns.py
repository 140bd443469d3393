"""How often and how long to measure, and what each turn gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from miniredis.testing.real_servers import NotInstalledError

__all__ = ["QUICK", "Effort", "MissingError", "Pair"]


class MissingError(NotInstalledError):
    """What a row needs is not on this machine; the text says what."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Attributes:
        pairs: turns of each row, a turn being one run on either side.
        seconds: about how long a run takes.
        size: what crowds and long lists are scaled by; 1 is what the rows say.
    """

    pairs: int = 5
    seconds: float = 1.0
    size: float = 1.0

    def scaled(self, count: int) -> int:
        """A size that a row names, in this run."""
        return max(1, int(count * self.size))


QUICK: Final = Effort(pairs=2, seconds=0.1, size=0.2)
"""Some minutes for all rows."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One turn: miniredis, and right before or after it the reference, if the row has one."""

    ours: float
    theirs: float | None = None
