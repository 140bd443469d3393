"""Streams: entries in the order of their ids, in nodes as Redis keeps them.

An id is one integer, milliseconds in the upper 64 bits and a sequence number in the lower: the ids of a
stream compare and count up as integers do. Approximate trimming takes whole nodes and nothing else, so a
client can see where nodes begin; they begin here where they begin in Redis, which depends on their entries,
tombstones and bytes. A deleted entry stays in its node as a tombstone until the last live one goes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from .listpack import EMPTY, element_size, integer_size

if TYPE_CHECKING:
    from .groups import Group

__all__ = [
    "DELETED",
    "LAST_ID",
    "SAME_FIELDS",
    "SEQUENCE",
    "Entry",
    "Limits",
    "Node",
    "Stream",
    "id_text",
    "wrapped",
]

SEQUENCE: Final = (1 << 64) - 1
"""The part of an id that is its sequence number."""

LAST_ID: Final = (1 << 128) - 1

ID_BYTES: Final = 16

LARGEST_NODE: Final = 1 << 30
"""Bytes; no node grows beyond it, and no entry may be larger."""

Entry = tuple[int, list[bytes]]
"""An id; fields and values in turn."""


def id_text(number: int) -> bytes:
    """An id as clients see it, ``1526919030474-55``."""
    return b"%d-%d" % (number >> 64, number & SEQUENCE)


def wrapped(number: int) -> int:
    """What is left of a number in 64 bits with a sign."""
    return (number + (1 << 63) & SEQUENCE) - (1 << 63)


@dataclass(frozen=True, slots=True)
class Limits:
    """When a node is full.

    Attributes:
        size: its bytes; 0 for as many as a node can have.
        entries: how many, tombstones included; 0 for any number.
    """

    size: int
    entries: int


class Node:
    """Some entries in a row, of which the first gives the rest its id and its fields to refer to.

    Attributes:
        master: the id that the others count from.
        fields: what entries with the same fields need not repeat.
        ids: of all entries, tombstones included.
        contents: likewise; fields and values in turn.
        dead: the ids of the tombstones.
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

    def append(self, number: int, content: list[bytes]) -> None:
        """Adds an entry behind the others."""
        self.ids.append(number)
        self.contents.append(content)
        head, tail = self.around(number, content)
        repeated = content if len(head) > 3 else content[1::2]
        self.body += sum(map(integer_size, head)) + sum(map(element_size, repeated)) + integer_size(tail)

    def around(self, number: int, content: list[bytes]) -> tuple[list[int], int]:
        """The integers before an entry's strings, and the one behind them.

        The first ones are its flags and its distance from the master in milliseconds and in sequence
        numbers; how many fields there are follows only if they are not the master's. The last one tells how
        many elements came before it.
        """
        milliseconds = wrapped((number >> 64) - (self.master >> 64))
        sequence = wrapped((number & SEQUENCE) - (self.master & SEQUENCE))
        count = len(content) // 2
        flags = DELETED if number in self.dead else 0
        if content[::2] == self.fields:
            return [flags | SAME_FIELDS, milliseconds, sequence], count + 3
        return [flags, milliseconds, sequence, count], 2 * count + 4

    def copy(self) -> Node:
        """A node of its own with the same entries."""
        other = Node.__new__(Node)
        other.master, other.fields, other.body = self.master, self.fields, self.body
        other.ids, other.contents, other.dead = self.ids.copy(), self.contents.copy(), self.dead.copy()
        return other


DELETED: Final = 1
SAME_FIELDS: Final = 2
"""The flags of an entry in a node."""


class Stream:
    """A stream and its consumer groups; unlike other values it may be empty.

    Attributes:
        nodes: all entries, in order.
        length: how many live ones there are.
        last: the id of the entry that was added last, even if it is gone.
        added: how many entries were ever added, as far as is known.
        max_deleted: the highest id that XDEL took.
        groups: by name.
    """

    __slots__ = ("added", "groups", "last", "length", "max_deleted", "nodes")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.length = 0
        self.last = 0
        self.added = 0
        self.max_deleted = 0
        self.groups: dict[bytes, Group] = {}

    def __len__(self) -> int:
        return self.length

    def copy(self) -> Stream:
        """A stream of its own with the same content."""
        other = Stream()
        other.nodes = [node.copy() for node in self.nodes]
        other.length, other.last = self.length, self.last
        other.added, other.max_deleted = self.added, self.max_deleted
        other.groups = {name: group.copy() for name, group in self.groups.items()}
        return other

    # Reading

    @property
    def first(self) -> int:
        """The lowest id there is; 0 if there is none."""
        return next(self.walk(), (0, []))[0]

    @property
    def top(self) -> int:
        """The highest id there is; 0 if there is none."""
        return next(self.walk_back(), (0, []))[0]

    def walk(self, start: int = 0, end: int = LAST_ID) -> Iterator[Entry]:
        """The entries from one id to another, both included, in order."""
        nodes = self.nodes
        for place in range(self._node_at(start), len(nodes)):
            node = nodes[place]
            ids, contents, dead = node.ids, node.contents, node.dead
            for at in range(bisect_left(ids, start), len(ids)):
                number = ids[at]
                if number > end:
                    return
                if not (dead and number in dead):
                    yield number, contents[at]

    def walk_back(self, start: int = 0, end: int = LAST_ID) -> Iterator[Entry]:
        """The same, in reverse."""
        nodes = self.nodes
        for place in range(self._node_at(end), -1, -1):
            if place >= len(nodes):
                return
            node = nodes[place]
            ids, contents, dead = node.ids, node.contents, node.dead
            for at in range(bisect_right(ids, end) - 1, -1, -1):
                number = ids[at]
                if number < start:
                    return
                if not (dead and number in dead):
                    yield number, contents[at]

    def _node_at(self, number: int) -> int:
        """The index of the node in which an id would be, 0 if it is before all of them."""
        return max(bisect_right(self.nodes, number, key=master_of) - 1, 0)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.find(number) is not None

    def find(self, number: int) -> list[bytes] | None:
        """What stands in the entry with this id, None if there is none."""
        return next((content for _, content in self.walk(number, number)), None)

    def tree_size(self) -> int:
        """How many nodes the radix tree has in which Redis finds the nodes here by their first ids.

        A run of bytes without a fork is one node, a fork is another, and so is the end of each id.
        """
        keys = [node.master.to_bytes(ID_BYTES) for node in self.nodes]
        if not keys:
            return 1
        open_forks = [-1]
        edges: list[tuple[int, int]] = []  # from the depth of one fork to that of the next, or to an end
        for depth in [*(common(a, b) for a, b in pairwise(keys)), -1]:
            below = ID_BYTES
            while open_forks[-1] > depth:
                edges.append((open_forks[-1], below))
                below = open_forks.pop()
            edges.append((depth, below))
            if open_forks[-1] != depth:
                open_forks.append(depth)
        return sum(1 + (end > start + 1) for start, end in edges)

    # Changing

    def append(self, number: int, content: list[bytes], limits: Limits) -> None:
        """Adds an entry, whose id is above all others."""
        node = self.nodes[-1] if self.nodes else None
        if node is None or is_full(node, sum(map(len, content)), limits):
            node = Node(number, content[::2])
            self.nodes.append(node)
        node.append(number, content)
        self.length += 1
        self.added += 1
        self.last = number

    def remove(self, number: int) -> bool:
        """Deletes the entry with this id; tells whether there was one."""
        if number not in self:
            return False
        place = self._node_at(number)
        node = self.nodes[place]
        node.dead.add(number)
        if not node.live:
            del self.nodes[place]
        self.length -= 1
        self.max_deleted = max(self.max_deleted, number)
        return True

    def trim_to_length(self, length: int, limit: int | None, *, exactly: bool) -> int:
        """Takes the oldest entries until so many are left; returns how many it took.

        Args:
            length: how many may stay.
            limit: how many may go at most; None for any number.
            exactly: takes single entries out of a node, too; else only whole nodes.
        """
        taken = 0
        whole = 0
        for node in self.nodes:
            more = taken + node.live
            if self.length - taken <= length or self.length - more < length or exceeds(more, limit):
                break
            taken = more
            whole += 1
        del self.nodes[:whole]
        if exactly and self.length - taken > length:
            taken += bury(self.nodes[0], self.length - taken - length)
        self.length -= taken
        return taken

    def trim_to_id(self, number: int, limit: int | None, *, exactly: bool) -> int:
        """Takes the entries with a lower id; returns how many. The rest as for ``trim_to_length``."""
        taken = 0
        whole = 0
        for node in self.nodes:
            more = taken + node.live
            if node.ids[-1] >= number or exceeds(more, limit):
                break
            taken = more
            whole += 1
        del self.nodes[:whole]
        if exactly and self.nodes:
            node = self.nodes[0]
            taken += bury(node, sum(each < number and each not in node.dead for each in node.ids))
        self.length -= taken
        return taken


def common(one: bytes, other: bytes) -> int:
    """How many bytes two ids begin with alike."""
    return next(at for at in range(ID_BYTES) if one[at] != other[at])


def master_of(node: Node) -> int:
    return node.master


def is_full(node: Node, more: int, limits: Limits) -> bool:
    """Whether the strings of one more entry, so many bytes, begin a new node."""
    most = min(limits.size or LARGEST_NODE, LARGEST_NODE)
    return node.size + more >= most or 0 < limits.entries <= len(node.ids)


def exceeds(number: int, limit: int | None) -> bool:
    return limit is not None and number > limit


def bury(node: Node, count: int) -> int:
    """Makes tombstones of a node's first live entries; returns their number."""
    left = count
    for number in node.ids:
        if not left:
            break
        if number not in node.dead:
            node.dead.add(number)
            left -= 1
    return count
