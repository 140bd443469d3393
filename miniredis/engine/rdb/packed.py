"""Reading the two packed forms of short lists: the ziplist of Redis up to 6.2, and the listpack of 7.0."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from ..values.listpack import HEADER, UNCOUNTED, back_length_size
from ..values.listpack_bulk import bulk_elements
from .reader import BadDataError, Reader

__all__ = ["END", "read_listpack", "read_ziplist"]

END: Final = 0xFF

ZIPLIST_INTEGERS: Final = {0xC0: 2, 0xD0: 4, 0xE0: 8, 0xF0: 3, 0xFE: 1}
LISTPACK_INTEGERS: Final = {
    0xF1: (struct.Struct("<h").unpack_from, 1, 0, 4),
    0xF2: (struct.Struct("<i").unpack_from, 0, 8, 5),  # of three bytes, read together with the first one
    0xF3: (struct.Struct("<i").unpack_from, 1, 0, 6),
    0xF4: (struct.Struct("<q").unpack_from, 1, 0, 10),
}
"""By the first byte: what reads the integer and from where, by how much it is shifted, and its width."""

SMALL_INTEGERS: Final = tuple(b"%d" % number for number in range(1 << 7))


def read_ziplist(data: bytes) -> list[bytes]:
    """The elements of a ziplist; raises ``BadDataError``."""
    reader = Reader(data)
    size, _, count = (int.from_bytes(reader.take(width), "little") for width in (4, 4, 2))
    return checked(list(ziplist_elements(reader)), size, count, data)


def ziplist_elements(reader: Reader) -> Iterator[bytes]:
    while (before := reader.byte()) != END:
        if before == 0xFE:
            reader.take(4)
        yield ziplist_element(reader)


def ziplist_element(reader: Reader) -> bytes:
    first = reader.byte()
    if first < 0x40:
        return reader.take(first)
    if first < 0x80:
        return reader.take((first & 63) << 8 | reader.byte())
    if first == 0x80:
        return reader.take(int.from_bytes(reader.take(4)))
    if first in ZIPLIST_INTEGERS:
        return integer(reader, ZIPLIST_INTEGERS[first])
    if 0xF1 <= first <= 0xFD:
        return b"%d" % (first - 0xF1)
    raise BadDataError


def integer(reader: Reader, width: int) -> bytes:
    return b"%d" % int.from_bytes(reader.take(width), "little", signed=True)


def checked(elements: list[bytes], size: int, count: int, data: bytes) -> list[bytes]:
    if size != len(data) or count not in {len(elements), UNCOUNTED}:
        raise BadDataError
    return elements


MANY: Final = 16
"""Of so many elements, to see whether they are alike takes less time than to read them one by one."""


def read_listpack(data: bytes) -> list[bytes]:
    """The elements of a listpack; raises ``BadDataError``."""
    try:
        size, count = HEADER.unpack_from(data)
        elements = [*bulk_elements(data, count)] if count >= MANY else []
        elements = elements or listpack_elements(data)
    except (IndexError, struct.error):  # it ends within an element
        raise BadDataError from None
    return checked(elements, size, count, data)


def listpack_elements(data: bytes) -> list[bytes]:
    """The elements up to the end; raises ``IndexError`` or ``struct.error`` where there is none.

    The most frequent forms are read without a call. A text that is cut off is noticed at the next byte.
    """
    elements: list[bytes] = []
    at = HEADER.size
    while (first := data[at]) != END:
        if first < 0x80:
            elements.append(SMALL_INTEGERS[first])
            at += 2
        elif first < 0xC0:
            end = at + 1 + (first & 63)
            elements.append(data[at + 1 : end])
            at = end + 1
        elif first < 0xE0:
            value = (first & 31) << 8 | data[at + 1]
            elements.append(b"%d" % (value - (1 << 13) if value >> 12 else value))
            at += 3
        elif first in LISTPACK_INTEGERS:
            read, begin, shift, width = LISTPACK_INTEGERS[first]
            elements.append(b"%d" % (read(data, at + begin)[0] >> shift))
            at += width
        else:
            element, size = long_text(data, at, first)
            elements.append(element)
            at += size + back_length_size(size)
    return elements


def long_text(data: bytes, at: int, first: int) -> tuple[bytes, int]:
    """A text of more than 63 bytes, and how many bytes it took."""
    if first > 0xF0:
        raise BadDataError
    if first < 0xF0:
        head, size = 2, (first & 15) << 8 | data[at + 1]
    else:
        head, size = 5, int.from_bytes(data[at + 1 : at + 5], "little")
    return data[at + head : at + head + size], head + size
