"""The nodes of a stream: entries in a row, packed by Redis into one listpack.

An id is one integer, milliseconds in the upper 64 bits and a sequence number in the lower: ids compare and
count up as integers do. A deleted entry stays where it was as a tombstone. It is known by its place, not by
its id: after XSETID the same id, or a lower one, may come again behind it.
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
    "Node",
    "id_text",
    "wrapped",
]

SEQUENCE: Final = (1 << 64) - 1
"""The part of an id that is its sequence number."""

LAST_ID: Final = (1 << 128) - 1
ID_BYTES: Final = 16

LARGEST_NODE: Final = 1 << 30
"""Bytes; no node grows beyond it, and no entry may be larger."""

DELETED: Final = 1
SAME_FIELDS: Final = 2
"""The flags of an entry in a node."""

Entry = tuple[int, list[bytes]]
"""An id; fields and values in turn."""


def id_text(number: int) -> bytes:
    """An id as clients see it, ``1526919030474-55``."""
    return b"%d-%d" % (number >> 64, number & SEQUENCE)


def wrapped(number: int) -> int:
    """What is left of a number in 64 bits with a sign."""
    return (number + (1 << 63) & SEQUENCE) - (1 << 63)


class Limits(NamedTuple):
    """When a node is full.

    Attributes:
        size: its bytes (``stream-node-max-bytes``); 0 for as many as a node can have.
        entries: how many, tombstones included (``stream-node-max-entries``); 0 for any number.
    """

    size: int = 4096
    entries: int = 100


class Node:
    """Some entries in a row, of which the first gives the rest its id and its fields to refer to.

    Attributes:
        master: the id that the others count from.
        fields: what entries with the same fields need not repeat.
        ids: of all entries, tombstones included; those of the live ones rise.
        contents: likewise; fields and values in turn.
        dead: the places of the tombstones.
        body: bytes of all but the two counts at the beginning.
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
        """How many entries are not tombstones."""
        return len(self.ids) - len(self.dead)

    @property
    def size(self) -> int:
        """Its bytes as Redis would pack it."""
        return self.body + integer_size(self.live) + integer_size(len(self.dead))

    def is_full(self, more: int, limits: Limits) -> bool:
        """Whether the strings of one more entry, so many bytes, begin a new node."""
        most = min(limits.size or LARGEST_NODE, LARGEST_NODE)
        return self.size + more >= most or 0 < limits.entries <= len(self.ids)

    def append(self, number: int, content: list[bytes]) -> None:
        """Adds an entry behind the others."""
        self.ids.append(number)
        self.contents.append(content)
        head, tail = self.around(len(self.ids) - 1)
        repeated = content[1::2] if head[0] & SAME_FIELDS else content
        self.body += sum(map(integer_size, head)) + sum(map(element_size, repeated)) + integer_size(tail)

    def around(self, place: int) -> tuple[list[int], int]:
        """The integers before an entry's strings, and the one behind them.

        The first ones are its flags and its distance from the master in milliseconds and in sequence
        numbers; how many fields there are follows only if they are not the master's. The last one tells how
        many elements came before it.
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
        """Where the live entries are."""
        return (place for place in range(len(self.ids)) if place not in self.dead)

    def bury(self, count: int) -> int:
        """Makes tombstones of the first live entries, of which there are so many; returns their number."""
        self.dead.update([place for place, _ in zip(self.places(), range(count), strict=False)])
        return count

    def live_before(self, number: int) -> int:
        """How many live entries there are before the first entry with an id not below this one."""
        end = next((place for place, each in enumerate(self.ids) if each >= number), len(self.ids))
        return end - sum(place < end for place in self.dead)

    def copy(self) -> Node:
        """A node of its own with the same entries."""
        other = Node.__new__(Node)
        other.master, other.fields, other.body = self.master, self.fields, self.body
        other.ids, other.contents, other.dead = self.ids.copy(), self.contents.copy(), self.dead.copy()
        return other
