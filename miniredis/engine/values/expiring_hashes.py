"""Hashes whose fields may expire, as Redis has them since 7.4 and Valkey since 9.0.

A hash becomes one with the first deadline of a field, and stays one. Redis keeps a small one as a listpack in
the order of the deadlines, with the fields that never expire at its end; Valkey keeps each as a hash table.
"""

from __future__ import annotations

import heapq
import math
from typing import Final

from .hashes import HashValue
from .packing import Packing

__all__ = ["EXPIRING", "ExpiringHash", "ValkeyHash"]

STALE: Final = 64
"""How many outdated entries the queue of deadlines may hold in addition to as many as there are fields."""


class ExpiringHash(HashValue):
    """A hash some of whose fields may have deadlines.

    Attributes:
        deadlines: when fields expire, in milliseconds of wall time; other fields never do.
    """

    __slots__ = ("_queue", "deadlines")

    def __init__(self) -> None:
        super().__init__()
        self.deadlines: dict[bytes, int] = {}
        self._queue: list[tuple[int, bytes]] = []  # a heap; entries can be outdated

    @classmethod
    def over(cls, values: HashValue) -> ExpiringHash:
        """A hash with the very fields of another, which is not used any more."""
        made = cls()
        made.fields, made.is_packed, made._index = values.fields, values.is_packed, values._index
        return made

    def put(self, field: bytes, value: bytes, packing: Packing) -> bool:
        """Sets a field, which never expires then; returns whether it is new."""
        is_new = super().put(field, value, packing)
        self.persist(field)
        return is_new

    def remove(self, field: bytes) -> bool:
        """Removes a field with its deadline; returns whether it existed."""
        self.deadlines.pop(field, None)
        return super().remove(field)

    def copy(self) -> ExpiringHash:
        """A copy with the same content, encoding and deadlines."""
        copied = type(self).over(super().copy())
        copied.deadlines, copied._queue = self.deadlines.copy(), self._queue.copy()
        return copied

    @property
    def next_deadline(self) -> int | None:
        """When the next field expires; None if none does."""
        queue = self._queue
        while queue:
            when, field = queue[0]
            if self.deadlines.get(field) == when:
                return when
            heapq.heappop(queue)
        return None

    def set_deadline(self, field: bytes, when: int) -> None:
        """Makes an existing field expire at a wall time."""
        self.deadlines[field] = when
        if len(self._queue) > 2 * len(self.deadlines) + STALE:
            self._queue = [(deadline, name) for name, deadline in self.deadlines.items()]
            heapq.heapify(self._queue)
        else:
            heapq.heappush(self._queue, (when, field))
        if self.is_packed:
            self._sort_in(field, when)

    def persist(self, field: bytes) -> bool:
        """Makes a field permanent; returns whether it had a deadline."""
        if self.deadlines.pop(field, None) is None:
            return False
        if self.is_packed:
            self._sort_in(field, math.inf)
        return True

    def _sort_in(self, field: bytes, when: float) -> None:
        """Moves a field before those that expire no earlier; one that never does to the end."""
        names = [name for name in self.fields if name != field]
        later = (at for at, name in enumerate(names) if self.deadlines.get(name, math.inf) >= when)
        names.insert(len(names) if when == math.inf else next(later, len(names)), field)
        fields = [(name, self.fields[name]) for name in names]
        self.fields.clear()
        self.fields.update(fields)

    def expired(self, now: int) -> list[bytes]:
        """The fields whose deadlines are over, the earliest first."""
        when = self.next_deadline
        if when is None or when >= now:
            return []
        if self.is_packed:
            return [field for field in self.fields if self.deadlines.get(field, now) < now]
        due = [(deadline, field) for field, deadline in self.deadlines.items() if deadline < now]
        return [field for _, field in sorted(due)]

    def remove_expired(self, now: int) -> list[bytes]:
        """Removes the fields whose deadlines are over, and returns them."""
        fields = self.expired(now)
        for field in fields:
            self.remove(field)
        return fields

    def without(self, fields: list[bytes]) -> ExpiringHash:
        """A copy that lacks some fields."""
        copied = self.copy()
        for field in fields:
            copied.remove(field)
        return copied


class ValkeyHash(ExpiringHash):
    """The same as Valkey has it: a hash table, in the order in which fields were added."""

    __slots__ = ()

    @classmethod
    def over(cls, values: HashValue) -> ExpiringHash:
        """A hash with the very fields of another, which is not used any more."""
        made = super().over(values)
        made.is_packed = False
        return made


EXPIRING: Final = (ExpiringHash, ValkeyHash)
"""The types of hashes whose fields may expire."""
