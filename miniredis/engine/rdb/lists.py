"""Lists in a payload, in every form that Redis writes."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final

from ..listpack import pack_strings
from .kinds import QUICKLIST_2
from .packed import read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string
from .steps import Steps, strings

if TYPE_CHECKING:
    from ..keyspace import ListValue

__all__ = ["dump_list", "load_list", "load_nodes", "load_ziplist", "load_ziplists"]

PLAIN: Final = 1
PACKED: Final = 2

NODE: Final = 8192
"""About how many bytes of elements Redis keeps in one packed node, unless told."""


BATCH: Final = 8192
"""How many elements are looked at together."""


def dump_list(values: ListValue) -> bytes:
    """A list, in nodes."""
    nodes = [*map(node, runs(values))]
    return b"".join([bytes([QUICKLIST_2]), length(len(nodes)), *nodes])


def runs(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The elements of each node: as many as have a few KiB together, or one that is larger."""
    rest, run, ends = iter(values), list[bytes](), [0]
    while batch := [*islice(rest, BATCH)]:
        run += batch
        ends += islice(accumulate(map(len, batch), initial=ends[-1]), 1, None)
        at = 0
        while ends[-1] - ends[at] > NODE:
            end = max(bisect_right(ends, ends[at] + NODE, at) - 1, at + 1)
            yield run[at:end]
            at = end
        del run[:at], ends[:at]
    if run:
        yield run


def node(run: list[bytes]) -> bytes:
    """A node as it is written; that of a large element is a plain one."""
    if len(run[0]) > NODE:
        return bytes([PLAIN]) + string(run[0])
    return bytes([PACKED]) + string(pack_strings(run))


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
