"""Limits on bytes: how many one step takes from a queue or sends to a script, and how long a value may be.

Rules:
    - A step that takes several values takes at most ``MOST_BYTES`` in all. A single value may be longer.
    - A script measures what it popped and puts back what exceeds the limit (``lua``). The reply to a plain
      command cannot be cut short, so the client estimates how many values to ask for, by the longest value in
      the previous reply.
    - A value of more than ``MOST_BYTES`` is put by plain commands, so that no script needs memory for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: The most bytes that one step takes in several values.
MOST_BYTES: Final = 16 << 20
#: The most bytes of a value: the longest argument that Redis accepts (``proto-max-bulk-len``).
LONGEST: Final = 512 << 20


@dataclass(slots=True)
class Sizes:
    """An estimate of how long the values of a queue are.

    Attributes:
        largest: Bytes of the longest value in the last reply; a guess before the first one.
    """

    largest: int = 1 << 20

    def note(self, values: Iterable[bytes]) -> None:
        """Update the estimate from the values of a reply."""
        self.largest = max(map(len, values), default=self.largest)

    def bounded(self, most: int, taken: int = 0) -> int:
        """How many values to ask for.

        Args:
            most: How many are wanted.
            taken: How many bytes the same step has taken already.
        """
        room = max(MOST_BYTES - taken, 0) // max(self.largest, 1)
        return min(most, room if taken else max(room, 1))
