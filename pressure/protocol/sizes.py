"""How many bytes are taken, or sent to a script, at once; and how long a value may be.

Rules:
    - Whoever takes several values in one step takes no more than ``MOST_BYTES`` of them together. A single
      value is taken whatever its size.
    - A script looks at what it popped, and puts back what is too much (``lua``). A reply to a plain command
      cannot be stopped: how many values to ask for is told by the largest one in the reply before.
    - A value of more than ``MOST_BYTES`` is put by plain commands, so that no script needs memory for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["LONGEST", "MOST_BYTES", "Sizes"]

#: Most bytes that several values taken in one step have together.
MOST_BYTES: Final = 16 << 20
#: Longest value: Redis takes no longer argument (``proto-max-bulk-len``).
LONGEST: Final = 512 << 20


@dataclass(slots=True)
class Sizes:
    """How long the values of a queue are, as far as they were seen.

    Attributes:
        largest: The longest value of the last reply; a guess at first.
    """

    largest: int = 1 << 20

    def note(self, values: Iterable[bytes]) -> None:
        """Remember how long these values are."""
        self.largest = max(map(len, values), default=self.largest)

    def bounded(self, most: int, taken: int = 0) -> int:
        """How many values to ask for, when so many are wanted and so many bytes were taken already."""
        room = max(MOST_BYTES - taken, 0) // max(self.largest, 1)
        return min(most, room if taken else max(room, 1))
