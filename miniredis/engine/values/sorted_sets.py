"""Sorted sets: members with scores, found by member, by score and by rank.

Redis keeps a small sorted set as a listpack, with scores as text, and a larger one as a hash table and a skip
list. Clients see this in OBJECT ENCODING, in ZSCAN's steps and formatting, and in minus zero, which becomes
zero when packed. A packed sorted set is unpacked when it exceeds the limits, and never packed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..numbers.numbers import SMALLEST_NORMAL
from .key_index import KeyIndex
from .ordered import Entry, Ordered
from .packing import Packing

__all__ = ["Entry", "SortedSet"]


class SortedSet:
    """A sorted set; a key whose sorted set is empty is deleted.

    Attributes:
        scores: the score of each member; do not change it.
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
        """A sorted set with these members and scores."""
        made = cls()
        made.is_packed = (
            len(scores) <= packing.sorted_set_entries
            and max(map(len, scores), default=0) <= packing.sorted_set_value
        )
        made.scores = {member: made._kept(score, packing) for member, score in scores.items()}
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
        """Sets the score of a member, which is new or has another score."""
        old = self.scores.get(member)
        if old is not None:
            self._ordered.remove((old, member))
        elif self.is_packed:
            self.is_packed = (
                len(self) < packing.sorted_set_entries and len(member) <= packing.sorted_set_value
            )
        score = self._kept(score, packing)
        self.scores[member] = score
        self._ordered.add((score, member))
        if old is None and self._index is not None:
            self._index.add(member)

    def remove(self, member: bytes) -> bool:
        """Removes a member; returns whether it existed."""
        score = self.scores.pop(member, None)
        if score is None:
            return False
        self._ordered.remove((score, member))
        if self._index is not None:
            self._index.remove(member)
        return True

    def remove_between(self, first: int, end: int) -> list[Entry]:
        """Removes the members from rank ``first`` up to, but without, ``end``; returns their entries."""
        removed = self._ordered.remove_between(first, end)
        for _, member in removed:
            del self.scores[member]
            if self._index is not None:
                self._index.remove(member)
        return removed

    def unpack(self) -> bool:
        """Converts it to the representation with a hash table and a skip list.

        Returns:
            Whether C's conversion of the packed scores reports one as too small for full precision.
        """
        was_packed, self.is_packed = self.is_packed, False
        return was_packed and any(0 < abs(score) < SMALLEST_NORMAL for score in self.scores.values())

    def copy(self) -> SortedSet:
        """A copy with the same content and encoding."""
        twin = SortedSet.__new__(SortedSet)
        twin.scores, twin.is_packed, twin._ordered, twin._index = (
            self.scores.copy(), self.is_packed, self._ordered.copy(), None,
        )  # fmt: skip
        return twin

    def _kept(self, score: float, packing: Packing) -> float:
        return score + 0.0 if self.is_packed and not packing.keeps_minus_zero else score  # -0 becomes 0

    # Looking up

    def rank(self, member: bytes) -> int | None:
        """The number of members before one; None if it does not exist."""
        score = self.scores.get(member)
        return None if score is None else self._ordered.count_below((score, member))

    def count_first(self, holds: Callable[[Entry], bool]) -> int:
        """See ``Ordered.count_first``."""
        return self._ordered.count_first(holds)

    def at(self, rank: int) -> Entry:
        """The entry with a rank."""
        return self._ordered.between(rank, rank + 1)[0]

    def between(self, first: int, end: int) -> list[Entry]:
        """The entries from rank ``first`` up to, but not including, rank ``end``."""
        return self._ordered.between(first, end)

    def index(self) -> KeyIndex:
        """An index of the members for ZSCAN; built on the first call, then kept up to date."""
        if self._index is None:
            self._index = KeyIndex(self.scores)
        return self._index
