"""A cache that drops the least recently used values."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["LruCache"]

T = TypeVar("T")


class LruCache(Generic[T]):
    """Values by name, up to a total weight of ``most``; the newest value stays whatever its weight.

    Args:
        most: the largest total weight.
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
        """The value with that name, which becomes the most recently used; None if there is none."""
        found = self._values.get(name)
        if found is None:
            return None
        self._values.move_to_end(name)
        return found[0]

    def add(self, name: bytes, value: T, weight: int) -> None:
        """Adds a value, and drops others while the total weight is too large."""
        self._weight += weight - self._values.pop(name, (None, 0))[1]
        self._values[name] = (value, weight)
        while self._weight > self._most and len(self._values) > 1:
            self._weight -= self._values.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Drops all values."""
        self._values.clear()
        self._weight = 0
