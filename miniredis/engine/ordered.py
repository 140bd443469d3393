"""Scored members in order: by score, and by their bytes where scores are equal.

A list of blocks, each a sorted list of a bounded size, and the last entry of each block to find one by. To
insert, to remove and to tell a rank take time in proportion to the square root of the number of members.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, TypeAlias

__all__ = ["Entry", "Ordered"]

Entry: TypeAlias = tuple[float, bytes]
"""A score and its member, which compare as Redis compares them; so minus zero equals zero."""

FULL: Final = 1024
"""A block of more entries is cut into two."""

SPARSE: Final = 128
"""A block of fewer joins its neighbour."""


class Ordered:
    """Entries in order, none of them twice.

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
        """Puts an entry that is not there in its place."""
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
        """Takes out an entry that is there."""
        self._size -= 1
        at = bisect_left(self._lasts, entry)
        block = self._blocks[at]
        del block[bisect_left(block, entry)]
        self._shrunk(at)

    def count_below(self, entry: Entry) -> int:
        """How many entries come before one, which need not be there: the rank it has if it is."""
        at = bisect_left(self._lasts, entry)
        if at == len(self._blocks):
            return self._size
        return sum(map(len, self._blocks[:at])) + bisect_left(self._blocks[at], entry)

    def between(self, first: int, end: int) -> list[Entry]:
        """The entries from one rank up to another, that one excluded."""
        entries: list[Entry] = []
        for at, start, stop in self._parts(first, end):
            entries += self._blocks[at][start:stop]
        return entries

    def remove_between(self, first: int, end: int) -> list[Entry]:
        """Takes out the entries from one rank up to another, that one excluded, and returns them."""
        removed = self.between(first, end)
        for at, start, stop in reversed(list(self._parts(first, end))):
            del self._blocks[at][start:stop]
            self._shrunk(at)
        self._size -= len(removed)
        return removed

    def copy(self) -> Ordered:
        """The same entries."""
        return Ordered(self)

    def _parts(self, first: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Each block that has some of the entries between two ranks, and from where to where in it."""
        passed = 0
        for at, block in enumerate(self._blocks):
            if passed >= end:
                return
            if passed + len(block) > first:
                yield at, max(first - passed, 0), min(end - passed, len(block))
            passed += len(block)

    def _cut(self, at: int) -> None:
        block = self._blocks[at]
        half = len(block) // 2
        self._blocks[at : at + 1] = [block[:half], block[half:]]
        self._lasts.insert(at, block[half - 1])

    def _shrunk(self, at: int) -> None:
        """Something was taken from a block, which goes away when it is empty, or joins another when sparse."""
        block = self._blocks[at]
        if block:
            self._lasts[at] = block[-1]
        if len(block) >= SPARSE:
            return
        if not block:
            del self._blocks[at], self._lasts[at]
        elif len(self._blocks) > 1:
            self._join(max(at - 1, 0))

    def _join(self, at: int) -> None:
        """Makes one block of two neighbours."""
        self._blocks[at] += self._blocks.pop(at + 1)
        del self._lasts[at]
        if len(self._blocks[at]) > FULL:
            self._cut(at)
