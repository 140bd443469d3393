"""The nodes of a stream: consecutive entries, which Redis packs into one listpack.

An id is one integer, milliseconds in the upper 64 bits and the sequence number in the lower, so that ids
compare and increment as integers. A deleted entry stays in its place as a tombstone. It is identified by its
place, not by its id: after XSETID the same id, or a lower one, can follow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from .listpack import EMPTY, element_size, integer_size

__all__ = [
    "DELETED",
    "ID_BYTES",
    "LARGEST_NODE",
    "LAST_ID",
    "SAME_FIELDS",
    "SEQUENCE",
    "Entry",
    "Limits",
    "StreamNode",
    "id_text",
    "wrapped",
]

SEQUENCE: Final = (1 << 64) - 1
"""The mask of an id's sequence number."""

LAST_ID: Final = (1 << 128) - 1
ID_BYTES: Final = 16

LARGEST_NODE: Final = 1 << 30
"""Bytes; the largest size of a node, and of an entry."""

DELETED: Final = 1
SAME_FIELDS: Final = 2
"""Flags of an entry in a node."""

Entry = tuple[int, list[bytes]]
"""An id; fields and values alternating."""


def id_text(number: int) -> bytes:
    """An id in its text form, ``1526919030474-55``."""
    return b"%d-%d" % (number >> 64, number & SEQUENCE)


def wrapped(number: int) -> int:
    """A number wrapped to a signed 64-bit integer."""
    return (number + (1 << 63) & SEQUENCE) - (1 << 63)


class Limits(NamedTuple):
    """When a node is full.

    Attributes:
        size: bytes (``stream-node-max-bytes``); 0 for ``LARGEST_NODE``.
        entries: the number, including tombstones (``stream-node-max-entries``); 0 for any number.
    """

    size: int = 4096
    entries: int = 100


class StreamNode:
    """Consecutive entries. The first one gives the id and the fields relative to which Redis packs all.

    Attributes:
        master: the id from which the others count.
        fields: the fields that entries with the same ones need not repeat.
        ids: of all entries, including tombstones; those of live entries rise.
        contents: of all entries; fields and values alternating.
        dead: the places of the tombstones.
        body: the bytes of all but the two counts at the beginning.
    """

    __slots__ = ("body", "contents", "dead", "fields", "ids", "master")

    def __init__(self, master: int, fields: list[bytes]) -> None:
        self.master = master
        self.fields = fields
        self.ids: list[int] = []
        self.contents: list[list[bytes]] = []
        self.dead: set[int] = set()
        self.body = EMPTY + integer_size(len(fields)) + sum(map(element_size, fields)) + integer_size(0)

    @property
    def live(self) -> int:
        """The number of entries that are not tombstones."""
        return len(self.ids) - len(self.dead)

    @property
    def size(self) -> int:
        """Its size in bytes as Redis would pack it."""
        return self.body + integer_size(self.live) + integer_size(len(self.dead))

    def is_full(self, more: int, limits: Limits) -> bool:
        """Whether one more entry, whose strings have ``more`` bytes, must begin a new node."""
        most = min(limits.size or LARGEST_NODE, LARGEST_NODE)
        return self.size + more >= most or 0 < limits.entries <= len(self.ids)

    def append(self, number: int, content: list[bytes]) -> None:
        """Adds an entry after the others."""
        self.ids.append(number)
        self.contents.append(content)
        head, tail = self.around(len(self.ids) - 1)
        repeated = content[1::2] if head[0] & SAME_FIELDS else content
        self.body += sum(map(integer_size, head)) + sum(map(element_size, repeated)) + integer_size(tail)

    def around(self, place: int) -> tuple[list[int], int]:
        """The integers before an entry's strings, and the one after them.

        The first ones are its flags and its distance from the master in milliseconds and in sequence numbers;
        the number of fields follows only if they are not the master's. The last integer is the number of
        elements before it.
        """
        number, content = self.ids[place], self.contents[place]
        milliseconds = wrapped((number >> 64) - (self.master >> 64))
        sequence = wrapped((number & SEQUENCE) - (self.master & SEQUENCE))
        count = len(content) // 2
        flags = DELETED if place in self.dead else 0
        if content[::2] == self.fields:
            return [flags | SAME_FIELDS, milliseconds, sequence], count + 3
        return [flags, milliseconds, sequence, count], 2 * count + 4

    def places(self) -> Iterator[int]:
        """The places of the live entries."""
        return (place for place in range(len(self.ids)) if place not in self.dead)

    def bury(self, count: int) -> int:
        """Turns the first ``count`` live entries, which must exist, into tombstones; returns ``count``."""
        self.dead.update([place for place, _ in zip(self.places(), range(count), strict=False)])
        return count

    def live_before(self, number: int) -> int:
        """The number of live entries before the first entry whose id is not lower than ``number``."""
        end = next((place for place, each in enumerate(self.ids) if each >= number), len(self.ids))
        return end - sum(place < end for place in self.dead)

    def copy(self) -> StreamNode:
        """A copy with the same entries."""
        other = StreamNode.__new__(StreamNode)
        other.master, other.fields, other.body = self.master, self.fields, self.body
        other.ids, other.contents, other.dead = self.ids.copy(), self.contents.copy(), self.dead.copy()
        return other
