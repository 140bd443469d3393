"""Names that can be walked in steps and drawn by lot, at the same cost whatever their number."""

from __future__ import annotations

import random
from collections.abc import Iterable

__all__ = ["KeyIndex"]


class KeyIndex:
    """Some names, each with a place.

    A name that goes leaves its place to the last one. So a walk goes from the last place down to the first:
    what moves was passed already and is met once more at most, and what is there all the time is met.
    """

    def __init__(self, names: Iterable[bytes]) -> None:
        self._names = list(names)
        self._places = {name: place for place, name in enumerate(self._names)}

    def add(self, name: bytes) -> None:
        """Takes in a name that is not there."""
        self._places[name] = len(self._names)
        self._names.append(name)

    def remove(self, name: bytes) -> None:
        """Drops a name that is there."""
        place = self._places.pop(name)
        last = self._names.pop()
        if last != name:
            self._names[place] = last
            self._places[last] = place

    def walk(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """The next names of a walk, and where it goes on.

        Args:
            cursor: 0 to begin, else what the step before returned; the walk is over when that is 0 again.
            count: how many names.
        """
        end = min(cursor or len(self._names), len(self._names))
        begin = max(end - count, 0)
        return begin, self._names[begin:end]

    def several(self, count: int, luck: random.Random) -> list[bytes]:
        """So many distinct names by lot, of which there are as many at least."""
        return luck.sample(self._names, count)

    def repeated(self, count: int, luck: random.Random) -> list[bytes]:
        """So many names by lot, each of them any of all; there is one at least."""
        return luck.choices(self._names, k=count)

    def any(self, luck: random.Random) -> bytes | None:
        """One of the names by lot; None if there is none."""
        return self._names[luck.randrange(len(self._names))] if self._names else None
