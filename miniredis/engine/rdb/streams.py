"""Streams in a payload: nodes as listpacks, then what the stream knows of itself, then its groups.

Redis up to 6.2 knew less of a stream; what is missing is made up as Redis 7.0 does. Redis 7.2 and newer also
write when a consumer was last given something, which Redis 7.0 does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from ..numbers.numbers import parse_integer
from ..values.groups import Consumer, ConsumerGroup
from ..values.listpack import pack, pack_element, pack_integer
from ..values.stream_nodes import DELETED, SAME_FIELDS, SEQUENCE, StreamNode, wrapped
from ..values.stream_progress import entries_up_to
from ..values.streams import Stream, is_ordered
from .kinds import STREAM, STREAM_2
from .packed import read_listpack
from .reader import BadDataError, Reader, length, string
from .steps import Steps

__all__ = ["dump_old_stream", "dump_stream", "load_newer_stream", "load_old_stream", "load_stream"]

ID_BYTES: Final = 16
UNKNOWN: Final = SEQUENCE
"""For how many entries a group has read, where that is not known."""

FEWEST: Final = 3
"""The elements of a node before its fields: live entries, tombstones, fields."""


# Writing


def dump_stream(stream: Stream) -> bytes:
    """A stream as Redis 7.0 writes it."""
    newer = two(stream.first) + two(stream.max_deleted) + length(stream.added & SEQUENCE)
    return bytes([STREAM_2]) + content(stream, newer, entries_read)


def dump_old_stream(stream: Stream) -> bytes:
    """A stream as Redis 6.x writes it, which counts neither what was added nor what groups have read."""
    return bytes([STREAM]) + content(stream, b"", lambda _: b"")


def content(stream: Stream, newer: bytes, count: Callable[[ConsumerGroup], bytes]) -> bytes:
    """The nodes, what the stream knows of itself, and its groups, each with its count."""
    nodes = [
        string(node.master.to_bytes(ID_BYTES)) + string(pack(node_elements(node))) for node in stream.nodes
    ]
    groups = [
        string(name) + two(group.last) + count(group) + dump_group(group)
        for name, group in sorted(stream.groups.items())
    ]
    parts = [length(len(nodes)), *nodes, length(len(stream)), two(stream.last), newer]
    return b"".join([*parts, length(len(groups)), *groups])


def entries_read(group: ConsumerGroup) -> bytes:
    return length(UNKNOWN if group.entries_read is None else group.entries_read & SEQUENCE)


def two(number: int) -> bytes:
    """An id as two lengths."""
    return length(number >> 64) + length(number & SEQUENCE)


def node_elements(node: StreamNode) -> list[bytes]:
    elements = [pack_integer(number) for number in (node.live, len(node.dead), len(node.fields))]
    elements += [*map(pack_element, node.fields), pack_integer(0)]
    for place, content in enumerate(node.contents):
        head, tail = node.around(place)
        repeated = content[1::2] if head[0] & SAME_FIELDS else content
        elements += [*map(pack_integer, head), *map(pack_element, repeated), pack_integer(tail)]
    return elements


def dump_group(group: ConsumerGroup) -> bytes:
    """What is pending in a group, and its consumers."""
    parts = [length(len(group.pending))]
    for number, delivery in group.pending.walk():
        parts += [number.to_bytes(ID_BYTES), milliseconds(delivery.time), length(delivery.count & SEQUENCE)]
    parts.append(length(len(group.consumers)))
    for _, consumer in sorted(group.consumers.items()):
        parts += [string(consumer.name), milliseconds(consumer.seen)]
        parts.append(length(len(consumer.pending)))
        parts += [number.to_bytes(ID_BYTES) for number, _ in consumer.pending.walk()]
    return b"".join(parts)


def milliseconds(time: int) -> bytes:
    return time.to_bytes(8, "little", signed=True)


# Reading


def load_stream(reader: Reader, *, has_active_times: bool = False) -> Steps[Stream]:
    """A stream as Redis 7.0 writes it; raises ``BadDataError``."""
    stream = yield from read_entries(reader)
    read_two(reader)  # the first id, which the entries tell
    stream.max_deleted = read_two(reader)
    stream.added = reader.length()
    read_groups(reader, stream, counts=True, has_active_times=has_active_times)
    return stream


def load_newer_stream(reader: Reader) -> Steps[Stream]:
    """A stream as Redis 7.2 and newer write it; raises ``BadDataError``."""
    return load_stream(reader, has_active_times=True)


def load_old_stream(reader: Reader) -> Steps[Stream]:
    """A stream as Redis up to 6.2 wrote it; raises ``BadDataError``."""
    stream = yield from read_entries(reader)
    stream.added = len(stream)
    read_groups(reader, stream, counts=False)
    return stream


def read_entries(reader: Reader) -> Steps[Stream]:
    stream = Stream()
    for _ in range(reader.length()):
        key = reader.string()
        if len(key) != ID_BYTES:
            raise BadDataError
        stream.nodes.append(read_node(int.from_bytes(key), read_listpack(reader.string())))
        yield
    stream.ordered = is_ordered(stream.nodes)
    live = [node.ids[place] for node in stream.nodes for place in node.places()]
    masters = [node.master for node in stream.nodes]
    if any(one >= other for ids in (live, masters) for one, other in pairwise(ids)):
        raise BadDataError
    stream.length = reader.length()
    stream.last = read_two(reader)
    if stream.length != len(live) or (live and stream.last < live[-1]):
        raise BadDataError
    return stream


def read_two(reader: Reader) -> int:
    return reader.length() << 64 | reader.length()


def read_node(master: int, elements: list[bytes]) -> StreamNode:
    """A node of what its listpack holds."""
    rest = Elements(elements)
    live, dead, count = (rest.integer() for _ in range(FEWEST))
    node = StreamNode(master, rest.take(count))
    if rest.integer() != 0:
        raise BadDataError
    while rest.left:
        read_entry(node, rest)
    if not node.ids or (node.live, len(node.dead)) != (live, dead):
        raise BadDataError
    return node


def read_entry(node: StreamNode, rest: Elements) -> None:
    before = rest.left
    flags, milliseconds, sequence = rest.integer(), rest.integer(), rest.integer()
    high = (node.master >> 64) + milliseconds & SEQUENCE
    number = high << 64 | (node.master + sequence & SEQUENCE)
    if flags & SAME_FIELDS:
        values = rest.take(len(node.fields))
        content = [part for pair in zip(node.fields, values, strict=True) for part in pair]
    else:
        content = rest.take(2 * rest.integer())
    if rest.integer() != before - rest.left - 1:
        raise BadDataError
    node.append(number, content)
    if flags & DELETED:
        node.dead.add(len(node.ids) - 1)


class Elements:
    """The elements of a listpack, read from the beginning on."""

    def __init__(self, elements: list[bytes]) -> None:
        self._elements = elements
        self._at = 0

    @property
    def left(self) -> int:
        """How many have not been read."""
        return len(self._elements) - self._at

    def take(self, count: int) -> list[bytes]:
        """The next ones; raises ``BadDataError`` if there are not so many."""
        if not 0 <= count <= self.left:
            raise BadDataError
        self._at += count
        return self._elements[self._at - count : self._at]

    def integer(self) -> int:
        """The next one, which must be an integer."""
        number = parse_integer(self.take(1)[0])
        if number is None:
            raise BadDataError
        return number


def read_groups(reader: Reader, stream: Stream, *, counts: bool, has_active_times: bool = False) -> None:
    for _ in range(reader.length()):
        name, group = reader.string(), ConsumerGroup(read_two(reader))
        if name in stream.groups:
            raise BadDataError
        if counts:
            read = reader.length()
            group.entries_read = None if read == UNKNOWN else wrapped(read)
        else:
            group.entries_read = entries_up_to(stream, group.last)
        read_pending(reader, group, has_active_times=has_active_times)
        stream.groups[name] = group


def read_pending(reader: Reader, group: ConsumerGroup, *, has_active_times: bool) -> None:
    """What is pending in a group, and with which of its consumers: with each exactly one."""
    deliveries: dict[int, tuple[int, int]] = {}
    for _ in range(reader.length()):
        number = int.from_bytes(reader.take(ID_BYTES))
        if number in deliveries:
            raise BadDataError
        deliveries[number] = read_time(reader), reader.length()
    for _ in range(reader.length()):
        name, seen = reader.string(), read_time(reader)
        if name in group.consumers:
            raise BadDataError
        if has_active_times:
            read_time(reader)
        read_holdings(reader, group, group.create_consumer(name, seen), deliveries)
    if deliveries:
        raise BadDataError


def read_holdings(
    reader: Reader, group: ConsumerGroup, consumer: Consumer, deliveries: dict[int, tuple[int, int]]
) -> None:
    for _ in range(reader.length()):
        number = int.from_bytes(reader.take(ID_BYTES))
        if number not in deliveries:
            raise BadDataError
        group.assign(number, consumer, *deliveries.pop(number))


def read_time(reader: Reader) -> int:
    return int.from_bytes(reader.take(8), "little", signed=True)
