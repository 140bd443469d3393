"""A cache that forgets what was unused for longest."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["LruCache"]

T = TypeVar("T")


class LruCache(Generic[T]):
    """Values by name, as many as weigh ``most`` together; the newest stays whatever it weighs.

    Args:
        most: what all of them may weigh.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
        self._values: OrderedDict[bytes, tuple[T, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: bytes) -> bool:
        return name in self._values

    def get(self, name: bytes) -> T | None:
        """The value of that name, which counts as used now; None if there is none."""
        found = self._values.get(name)
        if found is None:
            return None
        self._values.move_to_end(name)
        return found[0]

    def add(self, name: bytes, value: T, weight: int) -> None:
        """Keeps a value, and forgets others where together they weigh too much."""
        self._weight += weight - self._values.pop(name, (None, 0))[1]
        self._values[name] = (value, weight)
        while self._weight > self._most and len(self._values) > 1:
            self._weight -= self._values.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Forgets all."""
        self._values.clear()
        self._weight = 0
