"""How a check divides its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["LIMITS", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How work is divided among workers.

    Attributes:
        part: operations in a task, about.
        piece: operations in a piece of a large queue, about; a queue of twice as many is large.
        most: operations of one queue, or of one piece, that a worker takes at most.
    """

    part: int = 250_000
    piece: int = 250_000
    most: int = 4_000_000


LIMITS: Final = Limits()
