"""Entries of a sorted set in order: by score, then by the bytes of the member.

They are a list of blocks, each a sorted list of bounded size, with an index of the last entry of each block.
Inserting, removing and finding a rank take time proportional to the square root of the number of entries.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, TypeAlias

__all__ = ["Entry", "Ordered"]

Entry: TypeAlias = tuple[float, bytes]
"""A score and its member. Tuples compare as Redis compares entries; minus zero equals zero."""

FULL: Final = 1024
"""A block with more entries is split in two."""

SPARSE: Final = 128
"""A block with fewer entries is merged with a neighbour."""


class Ordered:
    """Distinct entries in order.

    Args:
        entries: in order.
    """

    __slots__ = ("_blocks", "_lasts", "_size")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        whole = list(entries)
        half = FULL // 2
        self._blocks = [whole[start : start + half] for start in range(0, len(whole), half)]
        self._lasts = [block[-1] for block in self._blocks]
        self._size = len(whole)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(self._blocks)

    def __reversed__(self) -> Iterator[Entry]:
        return chain.from_iterable(map(reversed, reversed(self._blocks)))

    def add(self, entry: Entry) -> None:
        """Inserts a new entry."""
        self._size += 1
        if not self._blocks:
            self._blocks, self._lasts = [[entry]], [entry]
            return
        at = min(bisect_left(self._lasts, entry), len(self._blocks) - 1)
        block = self._blocks[at]
        block.insert(bisect_left(block, entry), entry)
        self._lasts[at] = block[-1]
        if len(block) > FULL:
            self._cut(at)

    def remove(self, entry: Entry) -> None:
        """Removes an existing entry."""
        self._size -= 1
        at = bisect_left(self._lasts, entry)
        block = self._blocks[at]
        del block[bisect_left(block, entry)]
        self._tidy(at)

    def count_below(self, entry: Entry) -> int:
        """The number of entries before one, which need not exist: its rank if it does."""
        at = bisect_left(self._lasts, entry)
        if at == len(self._blocks):
            return self._size
        return sum(map(len, self._blocks[:at])) + bisect_left(self._blocks[at], entry)

    def count_first(self, holds: Callable[[Entry], bool]) -> int:
        """The number of entries before the first for which ``holds`` is False; no later one may give True."""
        at = bisect_left(self._lasts, True, key=lambda entry: not holds(entry))
        if at == len(self._blocks):
            return self._size
        inside = bisect_left(self._blocks[at], True, key=lambda entry: not holds(entry))
        return sum(map(len, self._blocks[:at])) + inside

    def between(self, first: int, end: int) -> list[Entry]:
        """The entries from rank ``first`` up to, but not including, rank ``end``."""
        if first >= end:
            return []
        (head, start), (tail, stop) = self._place(first), self._place(end - 1)
        if head == tail:
            return self._blocks[head][start : stop + 1]
        whole = chain.from_iterable(self._blocks[head + 1 : tail])
        return [*self._blocks[head][start:], *whole, *self._blocks[tail][: stop + 1]]

    def remove_between(self, first: int, end: int) -> list[Entry]:
        """Removes and returns the entries from rank ``first`` up to, but not including, rank ``end``."""
        removed = self.between(first, end)
        if not removed:
            return removed
        (head, start), (tail, stop) = self._place(first), self._place(end - 1)
        if head < tail:
            self._blocks[head][start:] = self._blocks[tail][stop + 1 :]
            del self._blocks[head + 1 : tail + 1], self._lasts[head:tail]
        else:
            del self._blocks[head][start : stop + 1]
        self._size -= len(removed)
        self._tidy(head)
        return removed

    def copy(self) -> Ordered:
        """A copy."""
        return Ordered(self)

    def _place(self, rank: int) -> tuple[int, int]:
        """The block of the entry with a rank and its position there, searched from the nearer end."""
        if rank < self._size // 2:
            at = 0
            while rank >= len(self._blocks[at]):
                rank -= len(self._blocks[at])
                at += 1
            return at, rank
        rank -= self._size
        at = len(self._blocks) - 1
        while rank < -len(self._blocks[at]):
            rank += len(self._blocks[at])
            at -= 1
        return at, rank + len(self._blocks[at])

    def _cut(self, at: int) -> None:
        block = self._blocks[at]
        half = len(block) // 2
        self._blocks[at : at + 1] = [block[:half], block[half:]]
        self._lasts.insert(at, block[half - 1])

    def _tidy(self, at: int) -> None:
        """Restores the limits of a changed block: deletes an empty one, merges a sparse, splits a full."""
        block = self._blocks[at]
        if not block:
            del self._blocks[at], self._lasts[at]
            return
        self._lasts[at] = block[-1]
        if len(block) < SPARSE and len(self._blocks) > 1:
            self._join(max(at - 1, 0))
        elif len(block) > FULL:
            self._cut(at)

    def _join(self, at: int) -> None:
        """Merges two neighbouring blocks."""
        self._blocks[at] += self._blocks.pop(at + 1)
        del self._lasts[at]
        if len(self._blocks[at]) > FULL:
            self._cut(at)
