"""Names that can be walked in steps and drawn by lot, at the same cost whatever their number."""

from __future__ import annotations

import random
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

__all__ = ["KeyIndex"]

SPARE: Final = 16
"""How many places may be empty in any case; beyond it, as many as there are names."""


class KeyIndex:
    """Some names, each with a number that no other name ever has.

    A walk goes from the highest number down to the lowest, and its cursor is the lowest number that it has
    passed. Names that come meanwhile have higher numbers, and those that go change no number of others: each
    name that is there all the time is met exactly once.

    The names stand in the order of their numbers. One that goes leaves its place empty, and has its number
    again if it comes back, as a key does that RENAME replaces. Once more places are empty than taken, they
    and their numbers are dropped.
    """

    def __init__(self, names: Iterable[bytes]) -> None:
        self._number_of = {name: number for number, name in enumerate(names, 1)}
        self._gone: dict[bytes, int] = {}  # the numbers of the empty places
        self._last = len(self._number_of)
        self._names: list[bytes | None] = list(self._number_of)
        self._numbers = array("Q", self._number_of.values())

    def add(self, name: bytes) -> None:
        """Takes in a name that is not there."""
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
        """Drops a name that is there."""
        number = self._gone[name] = self._number_of.pop(name)
        self._names[bisect_left(self._numbers, number)] = None

    def _tidy(self) -> None:
        """Drops the empty places if they are many. What replaces a name has put it back by now."""
        if len(self._gone) > len(self._number_of) + SPARE:
            self._gone.clear()
            names = [name for name in self._names if name is not None]
            self._numbers = array("Q", map(self._number_of.__getitem__, names))
            self._names = [*names]

    def walk(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """The next names of a walk, and where it goes on.

        Args:
            cursor: 0 to begin, else what the step before returned; the walk is over when that is 0 again.
            count: how many names.
        """
        self._tidy()
        found: list[bytes] = []
        place = bisect_left(self._numbers, cursor) if cursor else len(self._names)
        while place and (len(found) < count or self._names[place - 1] is None):
            end, place = place, max(place - max(count - len(found), 1), 0)
            found += [name for name in self._names[place:end] if name is not None]
        return (self._numbers[place] if place else 0), found

    def several(self, count: int, luck: random.Random) -> list[bytes]:
        """So many distinct names by lot, of which there are as many at least."""
        if 2 * count > len(self._number_of):
            return luck.sample(list(self._number_of), count)
        drawn: dict[bytes, None] = {}
        while len(drawn) < count:
            drawn.update(dict.fromkeys(self.repeated(count - len(drawn), luck)))
        return list(drawn)

    def repeated(self, count: int, luck: random.Random) -> list[bytes]:
        """So many names by lot, each of them any of all; there is one at least."""
        self._tidy()
        drawn: list[bytes] = []
        while len(drawn) < count:
            tried = luck.choices(self._names, k=count - len(drawn))
            drawn += [name for name in tried if name is not None]
        return drawn

    def any(self, luck: random.Random) -> bytes | None:
        """One of the names by lot; None if there is none."""
        self._tidy()
        name = None
        while name is None and self._number_of:
            name = self._names[luck.randrange(len(self._names))]
        return name
