"""Names that can be walked in steps (SCAN) and drawn at random, at a cost independent of their number."""

from __future__ import annotations

import random
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

__all__ = ["KeyIndex"]

SPARE: Final = 16
"""How many places may be empty in addition to the number of names."""


class KeyIndex:
    """Names with numbers; a number never belongs to two names.

    A walk goes from the highest number down to the lowest; its cursor is the lowest number it has passed.
    Names added meanwhile get higher numbers, and removing a name changes no other number. So each name that
    exists during the whole walk is returned exactly once.

    Names are kept in the order of their numbers. Removing a name leaves its place empty; if it is added
    again, as when RENAME replaces a key, it gets its number back. Once more places are empty than taken, they
    are dropped with their numbers.
    """

    def __init__(self, names: Iterable[bytes]) -> None:
        self._number_of = {name: number for number, name in enumerate(names, 1)}
        self._gone: dict[bytes, int] = {}  # the numbers of the empty places
        self._last = len(self._number_of)
        self._names: list[bytes | None] = list(self._number_of)
        self._numbers = array("Q", self._number_of.values())

    def add(self, name: bytes) -> None:
        """Adds a new name."""
        number = self._gone.pop(name, 0)
        if number:
            self._names[bisect_left(self._numbers, number)] = name
        else:
            self._tidy()
            number = self._last = self._last + 1
            self._names.append(name)
            self._numbers.append(number)
        self._number_of[name] = number

    def remove(self, name: bytes) -> None:
        """Removes an existing name."""
        number = self._gone[name] = self._number_of.pop(name)
        self._names[bisect_left(self._numbers, number)] = None

    def _tidy(self) -> None:
        """Drops the empty places if there are many. A replaced name has been added again by now."""
        if len(self._gone) > len(self._number_of) + SPARE:
            self._gone.clear()
            names = [name for name in self._names if name is not None]
            self._numbers = array("Q", map(self._number_of.__getitem__, names))
            self._names = [*names]

    def walk(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """The next cursor of a walk, and the next names.

        Args:
            cursor: 0 to begin, then the cursor of the previous step; the walk ends when that is 0 again.
            count: how many names to return.
        """
        self._tidy()
        found: list[bytes] = []
        place = bisect_left(self._numbers, cursor) if cursor else len(self._names)
        while place and (len(found) < count or self._names[place - 1] is None):
            end, place = place, max(place - max(count - len(found), 1), 0)
            found += [name for name in self._names[place:end] if name is not None]
        return (self._numbers[place] if place else 0), found

    def several(self, count: int, luck: random.Random) -> list[bytes]:
        """``count`` distinct random names; there must be at least as many."""
        if 2 * count > len(self._number_of):
            return luck.sample(list(self._number_of), count)
        drawn: dict[bytes, None] = {}
        while len(drawn) < count:
            drawn.update(dict.fromkeys(self.repeated(count - len(drawn), luck)))
        return list(drawn)

    def repeated(self, count: int, luck: random.Random) -> list[bytes]:
        """``count`` random names with repetition; there must be at least one name."""
        self._tidy()
        drawn: list[bytes] = []
        while len(drawn) < count:
            tried = luck.choices(self._names, k=count - len(drawn))
            drawn += [name for name in tried if name is not None]
        return drawn

    def any(self, luck: random.Random) -> bytes | None:
        """A random name; None if there is none."""
        self._tidy()
        name = None
        while name is None and self._number_of:
            name = self._names[luck.randrange(len(self._names))]
        return name
