"""Lists in a payload, in every form that Redis writes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from ..listpack import pack_strings
from .kinds import QUICKLIST_2
from .packed import read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string

if TYPE_CHECKING:
    from ..keyspace import ListValue

__all__ = ["dump_list", "load_list", "load_nodes", "load_ziplist", "load_ziplists"]

PLAIN: Final = 1
PACKED: Final = 2

NODE: Final = 8192
"""About how many bytes of elements Redis keeps in one packed node, unless told."""


def dump_list(values: ListValue) -> bytes:
    """A list, in nodes."""
    nodes = list(list_nodes(values))
    return bytes([QUICKLIST_2]) + length(len(nodes)) + b"".join(nodes)


def list_nodes(values: ListValue) -> Iterator[bytes]:
    """The elements in packed nodes of a few KiB; one that is larger has a plain node of its own."""
    gathered: list[bytes] = []
    size = 0
    for element in values:
        if gathered and size + len(element) > NODE:
            yield bytes([PACKED]) + string(pack_strings(gathered))
            gathered, size = [], 0
        if len(element) > NODE:
            yield bytes([PLAIN]) + string(element)
        else:
            gathered.append(element)
            size += len(element)
    if gathered:
        yield bytes([PACKED]) + string(pack_strings(gathered))


def load_list(reader: Reader) -> ListValue:
    """Element by element."""
    return filled(strings(reader))


def load_ziplist(reader: Reader) -> ListValue:
    """From one ziplist."""
    return filled(read_ziplist(reader.string()))


def load_ziplists(reader: Reader) -> ListValue:
    """From a list of ziplists."""
    return filled(element for node in strings(reader) for element in read_ziplist(node))


def load_nodes(reader: Reader) -> ListValue:
    """From packed and plain nodes."""
    return filled(nodes(reader))


def filled(elements: Iterable[bytes]) -> ListValue:
    """A list of them; an empty one does not exist."""
    values = deque(elements)
    if not values:
        raise BadDataError
    return values


def strings(reader: Reader) -> Iterator[bytes]:
    for _ in range(reader.length()):
        yield reader.string()


def nodes(reader: Reader) -> Iterator[bytes]:
    for _ in range(reader.length()):
        kind = reader.length()
        if kind == PLAIN:
            yield reader.string()
        elif kind == PACKED:
            yield from read_listpack(reader.string())
        else:
            raise BadDataError
