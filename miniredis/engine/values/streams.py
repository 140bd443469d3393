"""Streams: entries in the order of their ids, in nodes like Redis's.

Approximate trimming removes only whole nodes, so clients can see where nodes begin. They begin here where
they begin in Redis, which depends on their entries, tombstones and bytes. XDEL of a node's last live entry
removes the node.

The ids of live entries rise, and mostly all ids do, so that binary search works. If XSETID sets a stream back
to before its tombstones, lower ids follow higher ones; the stream is then no longer ``ordered`` and is
scanned.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from .stream_nodes import ID_BYTES, LAST_ID, Entry, Limits, StreamNode

if TYPE_CHECKING:
    from .groups import ConsumerGroup

__all__ = ["Stream", "is_ordered"]

make: Final = object.__new__
master_of: Final[Callable[[StreamNode], int]] = attrgetter("master")


class Stream:
    """A stream and its consumer groups. Unlike other values, a stream may be empty.

    Attributes:
        nodes: all entries, in order.
        length: the number of live entries.
        last: the id of the last entry added, even if it is gone.
        added: the number of entries ever added, as far as known.
        max_deleted: the highest id deleted by XDEL.
        ordered: whether all ids rise, including those of tombstones.
        groups: by name.
    """

    __slots__ = ("added", "groups", "last", "length", "max_deleted", "nodes", "ordered")

    def __init__(self) -> None:
        self.nodes: list[StreamNode] = []
        self.length = 0
        self.last = 0
        self.added = 0
        self.max_deleted = 0
        self.ordered = True
        self.groups: dict[bytes, ConsumerGroup] = {}

    def __len__(self) -> int:
        return self.length

    def copy(self) -> Stream:
        """A copy with the same content."""
        twin: Stream = make(Stream)
        twin.nodes = [node.copy() for node in self.nodes]
        twin.groups = {name: group.copy() for name, group in self.groups.items()}
        twin.length, twin.last, twin.ordered = self.length, self.last, self.ordered
        twin.added, twin.max_deleted = self.added, self.max_deleted
        return twin

    # Reading

    @property
    def first(self) -> int:
        """The lowest id; 0 if the stream is empty."""
        return next(self.walk(), (0, []))[0]

    @property
    def top(self) -> int:
        """The highest id; 0 if the stream is empty."""
        return next(self.walk_back(), (0, []))[0]

    def walk(self, start: int = 0, end: int = LAST_ID) -> Iterator[Entry]:
        """Yields the entries from one id to another, both included, in order."""
        nodes = self.nodes
        for index in range(max(self._node_at(start), 0), len(nodes)):
            node = nodes[index]
            ids, contents, dead = node.ids, node.contents, node.dead
            for place in range(bisect_left(ids, start) if self.ordered else 0, len(ids)):
                number = ids[place]
                if number < start or (dead and place in dead):
                    continue
                if number > end:
                    return
                yield number, contents[place]

    def walk_back(self, start: int = 0, end: int = LAST_ID) -> Iterator[Entry]:
        """Yields the same entries in reverse order."""
        nodes = self.nodes
        last = self._node_at(end)
        if last < 0 and not self.ordered:
            last = len(nodes) - 1
        for index in range(last, -1, -1):
            node = nodes[index]
            ids, contents, dead = node.ids, node.contents, node.dead
            for place in range((bisect_right(ids, end) if self.ordered else len(ids)) - 1, -1, -1):
                number = ids[place]
                if number > end or (dead and place in dead):
                    continue
                if number < start:
                    return
                yield number, contents[place]

    def _node_at(self, number: int) -> int:
        """The index of the node in which an id would be; -1 if it is lower than all ids."""
        return bisect_right(self.nodes, number, key=master_of) - 1

    def find(self, number: int) -> list[bytes] | None:
        """The content of the entry with this id; None if there is none."""
        found = self._locate(number)
        return None if found is None else self.nodes[found[0]].contents[found[1]]

    def _locate(self, number: int) -> tuple[int, int] | None:
        """The index of the node of the entry with this id and its place there; None if there is none."""
        first = max(self._node_at(number), 0)
        for index in range(first, min(first + 1, len(self.nodes)) if self.ordered else len(self.nodes)):
            node = self.nodes[index]
            for place in range(bisect_left(node.ids, number) if self.ordered else 0, len(node.ids)):
                if node.ids[place] == number and place not in node.dead:
                    return index, place
                if self.ordered:
                    break
        return None

    def tree_size(self) -> int:
        """The number of nodes of the radix tree in which Redis indexes this stream's nodes by first id.

        A run of bytes without a fork is one tree node, and so are each fork and the end of each id.
        """
        keys = [node.master.to_bytes(ID_BYTES) for node in self.nodes]
        if not keys:
            return 1
        open_forks = [-1]
        edges: list[tuple[int, int]] = []  # from the depth of a fork to that of the next, or to an end
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
        """Adds an entry, whose id must be higher than those of all live ones."""
        node = self.nodes[-1] if self.nodes else None
        if node is None or node.is_full(sum(map(len, content)), limits):
            node = self._add_node(StreamNode(number, content[::2]))
        elif number <= node.ids[-1]:
            self.ordered = False
        node.append(number, content)
        self.length += 1
        self.added += 1
        self.last = number

    def _add_node(self, node: StreamNode) -> StreamNode:
        """Inserts a node by its id; replaces a node of tombstones with the same id."""
        self.ordered = not self.nodes or (self.ordered and node.master > self.nodes[-1].ids[-1])
        index = bisect_left(self.nodes, node.master, key=master_of)
        same = index < len(self.nodes) and self.nodes[index].master == node.master
        self.nodes[index : index + same] = [node]
        return node

    def remove(self, number: int) -> bool:
        """Deletes the entry with this id; returns whether it existed."""
        found = self._locate(number)
        if found is None:
            return False
        index, place = found
        node = self.nodes[index]
        node.dead.add(place)
        if not node.live:
            del self.nodes[index]
        self.length -= 1
        self.max_deleted = max(self.max_deleted, number)
        return True

    def trim_to_length(self, length: int, limit: int | None, *, exactly: bool) -> int:
        """Removes the oldest entries until ``length`` are left; returns how many it removed.

        Args:
            length: the number of entries to keep.
            limit: the most entries to remove; None for any number.
            exactly: whether to remove single entries of a node; otherwise removes only whole nodes.
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
            taken += self.nodes[0].bury(self.length - taken - length)
        self.length -= taken
        return taken

    def trim_to_id(self, number: int, limit: int | None, *, exactly: bool) -> int:
        """Removes the entries with a lower id; returns their number. See ``trim_to_length``."""
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
            taken += self.nodes[0].bury(self.nodes[0].live_before(number))
        self.length -= taken
        return taken


def is_ordered(nodes: list[StreamNode]) -> bool:
    """Whether all ids in some nodes rise, including those of tombstones."""
    ids = [number for node in nodes for number in node.ids]
    return all(node.master <= node.ids[0] for node in nodes) and all(a < b for a, b in pairwise(ids))


def common(one: bytes, other: bytes) -> int:
    """The number of bytes of the common prefix of two ids."""
    return next(at for at in range(ID_BYTES) if one[at] != other[at])


def exceeds(number: int, limit: int | None) -> bool:
    return limit is not None and number > limit
