"""Lists in a payload, in every form that Redis writes."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final, TypeAlias

from ..values.listpack_bulk import pack_strings
from .kinds import LIST, QUICKLIST_2
from .packed import read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string
from .steps import Steps, strings

if TYPE_CHECKING:
    from ..keyspace.keyspace import ListValue

__all__ = [
    "dump_elements",
    "dump_list",
    "load_list",
    "load_nodes",
    "load_ziplist",
    "load_ziplists",
    "parts_of_list",
]

PLAIN: Final = 1
PACKED: Final = 2

NODE: Final = 8192
"""About how many bytes of elements Redis keeps in one packed node, unless told."""

BATCH: Final = 8192
"""How many elements are looked at together; no more are in a node."""

Count: TypeAlias = tuple[int, bool]
"""How many elements a node has, and whether they are known to be of one size."""


def dump_list(values: ListValue) -> bytes:
    """A list, in nodes."""
    return b"".join(parts_of_list(values))


def dump_elements(values: ListValue) -> bytes:
    """A list element by element, which every version reads."""
    return bytes([LIST]) + length(len(values)) + b"".join(map(string, values))


def parts_of_list(values: ListValue) -> Iterator[bytes]:
    """The type, the number of nodes, and the nodes, one by one: a large list as a whole takes much memory."""
    yield bytes([QUICKLIST_2])
    counts = [*counts_of(values)]
    yield length(len(counts))
    yield from nodes(values, counts)


def nodes(values: Iterable[bytes], counts: Iterable[Count]) -> Iterator[bytes]:
    """Nodes as they are written."""
    rest = iter(values)
    for count, are_even in counts:
        yield node([*islice(rest, count)], are_even=are_even)


def counts_of(values: Iterable[bytes]) -> Iterator[Count]:
    """How many elements each node has: as many as have a few KiB together, or one that is larger."""
    rest, sizes = map(len, values), list[int]()
    while batch := [*islice(rest, BATCH)]:
        sizes += batch
        at, size = 0, sizes[0]
        are_even = sizes.count(size) == len(sizes)
        most = NODE // max(size, 1) or 1
        for end in range(most, len(sizes), most) if are_even else ends_of(sizes):
            yield end - at, are_even
            at = end
        del sizes[:at]
    if sizes:
        yield len(sizes), False


def ends_of(sizes: list[int]) -> Iterator[int]:
    """Where nodes of elements of such sizes end, but for the last one, which may have room for more.

    A node has at most ``BATCH`` elements: the sizes of empty ones say nothing.
    """
    ends = [*accumulate(sizes, initial=0)]
    at = 0
    while ends[-1] - ends[at] > NODE or len(sizes) - at > BATCH:
        at = max(bisect_right(ends, ends[at] + NODE, at, min(at + BATCH + 1, len(ends))) - 1, at + 1)
        yield at


def node(run: list[bytes], *, are_even: bool) -> bytes:
    """A node of some elements; that of a large one is plain."""
    if len(run[0]) > NODE:
        return bytes([PLAIN]) + string(run[0])
    return packed(pack_strings(run, are_even=are_even))


def packed(listpack: bytes) -> bytes:
    return b"".join((bytes([PACKED]), length(len(listpack)), listpack))


def load_list(reader: Reader) -> Steps[ListValue]:
    """Element by element."""
    return filled((yield from strings(reader, reader.length())))


def load_ziplist(reader: Reader) -> ListValue:
    """From one ziplist."""
    return filled(read_ziplist(reader.string()))


def load_ziplists(reader: Reader) -> Steps[ListValue]:
    """From a list of ziplists."""
    values = deque[bytes]()
    for _ in range(reader.length()):
        values += read_ziplist(reader.string())
        yield
    return filled(values)


def load_nodes(reader: Reader) -> Steps[ListValue]:
    """From packed and plain nodes."""
    values = deque[bytes]()
    for _ in range(reader.length()):
        kind = reader.length()
        if kind == PACKED:
            values += read_listpack(reader.string())
        elif kind == PLAIN:
            values.append(reader.string())
        else:
            raise BadDataError
        yield
    return filled(values)


def filled(elements: Iterable[bytes]) -> ListValue:
    """A list of them; an empty one does not exist."""
    values = elements if isinstance(elements, deque) else deque(elements)
    if not values:
        raise BadDataError
    return values
