"""Lists in a payload, in every form that Redis writes."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final

from ..listpack import framed
from ..listpack_bulk import even_body, pack_strings
from .kinds import QUICKLIST_2
from .packed import read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string
from .steps import Steps, strings

if TYPE_CHECKING:
    from ..keyspace import ListValue

__all__ = ["dump_list", "load_list", "load_nodes", "load_ziplist", "load_ziplists", "parts_of_list"]

PLAIN: Final = 1
PACKED: Final = 2

NODE: Final = 8192
"""About how many bytes of elements Redis keeps in one packed node, unless told."""


BATCH: Final = 8192
"""How many elements are looked at together."""


def dump_list(values: ListValue) -> bytes:
    """A list, in nodes."""
    return b"".join(parts_of_list(values))


def parts_of_list(values: ListValue) -> list[bytes]:
    """The type, the number of nodes, and the nodes: a large list as a whole would be copied once more."""
    written = [*nodes(values)]
    return [bytes([QUICKLIST_2]), length(len(written)), *written]


def nodes(values: Iterable[bytes]) -> Iterator[bytes]:
    """Nodes as they are written: of as many elements as have a few KiB together, or of one that is larger."""
    rest, run = iter(values), list[bytes]()
    while batch := [*islice(rest, BATCH)]:
        run += batch
        body, at = even_body(run) if len(run[0]) <= NODE else b"", 0
        width, most, view = len(body) // len(run), NODE // max(len(run[0]), 1), memoryview(body)
        for end in range(most, len(run), most) if body else ends_of(run):
            yield packed(framed(view[at * width : end * width], most)) if body else node(run[at:end])
            at = end
        del run[:at]
    if run:
        yield node(run)


def ends_of(run: list[bytes]) -> Iterator[int]:
    """Where nodes end, but for the last one, which may have room for more.

    A node has at most ``BATCH`` elements: the sizes of empty ones say nothing.
    """
    ends = [*accumulate(map(len, run), initial=0)]
    at = 0
    while ends[-1] - ends[at] > NODE or len(run) - at > BATCH:
        at = max(bisect_right(ends, ends[at] + NODE, at, min(at + BATCH + 1, len(ends))) - 1, at + 1)
        yield at


def node(run: list[bytes]) -> bytes:
    """A node of some elements; that of a large one is plain."""
    if len(run[0]) > NODE:
        return bytes([PLAIN]) + string(run[0])
    return packed(pack_strings(run))


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
