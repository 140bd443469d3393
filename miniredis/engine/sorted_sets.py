"""Sorted sets: members with scores, found by member, by score and by rank.

Redis keeps a small one packed, each score as a text, and another one as a table beside a skip list. It
shows in OBJECT ENCODING, in which steps ZSCAN walks and how it writes scores, and in minus zero, which is
zero where packed. What was packed once becomes unpacked when it outgrows the limits, never the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .key_index import KeyIndex
from .numbers import SMALLEST_NORMAL
from .ordered import Entry, Ordered
from .packing import Packing

__all__ = ["Entry", "SortedSet"]


class SortedSet:
    """The value of a key; an empty one does not exist for long.

    Attributes:
        scores: the score of each member; only to be read.
        is_packed: whether Redis would keep it as a listpack.
    """

    __slots__ = ("_index", "_ordered", "is_packed", "scores")

    def __init__(self) -> None:
        self.scores: dict[bytes, float] = {}
        self.is_packed = True
        self._ordered = Ordered()
        self._index: KeyIndex | None = None

    @classmethod
    def of(cls, scores: Mapping[bytes, float], packing: Packing) -> SortedSet:
        """A sorted set of members whose scores are known."""
        made = cls()
        made.is_packed = (
            len(scores) <= packing.sorted_set_entries
            and max(map(len, scores), default=0) <= packing.sorted_set_value
        )
        made.scores = {member: made._kept(score) for member, score in scores.items()}
        made._ordered = Ordered(sorted((score, member) for member, score in made.scores.items()))
        return made

    def __len__(self) -> int:
        return len(self.scores)

    def __iter__(self) -> Iterator[Entry]:
        """All entries, lowest first."""
        return iter(self._ordered)

    def __reversed__(self) -> Iterator[Entry]:
        return reversed(self._ordered)

    # Changing

    def put(self, member: bytes, score: float, packing: Packing) -> None:
        """Gives a score to a member, which is new or had another one."""
        old = self.scores.get(member)
        if old is not None:
            self._ordered.remove((old, member))
        elif self.is_packed:
            self.is_packed = (
                len(self) < packing.sorted_set_entries and len(member) <= packing.sorted_set_value
            )
        score = self._kept(score)
        self.scores[member] = score
        self._ordered.add((score, member))
        if old is None and self._index is not None:
            self._index.add(member)

    def remove(self, member: bytes) -> bool:
        """Drops a member; tells whether it was there."""
        score = self.scores.pop(member, None)
        if score is None:
            return False
        self._ordered.remove((score, member))
        if self._index is not None:
            self._index.remove(member)
        return True

    def remove_between(self, first: int, end: int) -> list[Entry]:
        """Drops the members from one rank up to another, that one excluded; returns their entries."""
        removed = self._ordered.remove_between(first, end)
        for _, member in removed:
            del self.scores[member]
            if self._index is not None:
                self._index.remove(member)
        return removed

    def unpack(self) -> bool:
        """Keeps it as a table and a skip list from now on.

        Returns:
            Whether C, which reads the packed scores for it, takes note that one is too small for all digits.
        """
        was_packed, self.is_packed = self.is_packed, False
        return was_packed and any(0 < abs(score) < SMALLEST_NORMAL for score in self.scores.values())

    def copy(self) -> SortedSet:
        """A sorted set of its own with the same content, kept in the same way."""
        copied = SortedSet()
        copied.scores = self.scores.copy()
        copied.is_packed = self.is_packed
        copied._ordered = self._ordered.copy()
        return copied

    def _kept(self, score: float) -> float:
        return score + 0.0 if self.is_packed else score  # which makes zero of minus zero

    # Looking

    def rank(self, member: bytes) -> int | None:
        """How many members come before one; None if it is not there."""
        score = self.scores.get(member)
        return None if score is None else self._ordered.count_below((score, member))

    def count_first(self, holds: Callable[[Entry], bool]) -> int:
        """How many entries come first of which something holds that holds of no entry behind them."""
        return self._ordered.count_first(holds)

    def at(self, rank: int) -> Entry:
        """The entry of a rank."""
        return self._ordered.between(rank, rank + 1)[0]

    def between(self, first: int, end: int) -> list[Entry]:
        """The entries from one rank up to another, that one excluded."""
        return self._ordered.between(first, end)

    def index(self) -> KeyIndex:
        """The members as they can be walked; made when first asked for, and kept from then on."""
        if self._index is None:
            self._index = KeyIndex(self.scores)
        return self._index
