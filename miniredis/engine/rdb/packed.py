"""Reading the two packed forms of short lists: the ziplist of Redis up to 6.2, and the listpack of 7.0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..listpack import UNCOUNTED, back_length_size
from .reader import BadDataError, Reader

__all__ = ["END", "read_listpack", "read_ziplist"]

END: Final = 0xFF

ZIPLIST_INTEGERS: Final = {0xC0: 2, 0xD0: 4, 0xE0: 8, 0xF0: 3, 0xFE: 1}
LISTPACK_INTEGERS: Final = {0xF1: 2, 0xF2: 3, 0xF3: 4, 0xF4: 8}


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


def read_listpack(data: bytes) -> list[bytes]:
    """The elements of a listpack; raises ``BadDataError``."""
    reader = Reader(data)
    size, count = (int.from_bytes(reader.take(width), "little") for width in (4, 2))
    return checked(list(listpack_elements(reader)), size, count, data)


def listpack_elements(reader: Reader) -> Iterator[bytes]:
    while (first := reader.byte()) != END:
        element, size = listpack_element(reader, first)
        reader.take(back_length_size(size))
        yield element


def listpack_element(reader: Reader, first: int) -> tuple[bytes, int]:
    """One element, and how many bytes it took."""
    if first < 0x80:
        return b"%d" % first, 1
    if first < 0xC0:
        return reader.take(first & 63), 1 + (first & 63)
    if first < 0xE0:
        value = (first & 31) << 8 | reader.byte()
        return b"%d" % (value - (1 << 13) if value >> 12 else value), 2
    if first < 0xF0:
        size = (first & 15) << 8 | reader.byte()
        return reader.take(size), 2 + size
    if first == 0xF0:
        size = int.from_bytes(reader.take(4), "little")
        return reader.take(size), 5 + size
    if first in LISTPACK_INTEGERS:
        return integer(reader, LISTPACK_INTEGERS[first]), 1 + LISTPACK_INTEGERS[first]
    raise BadDataError
