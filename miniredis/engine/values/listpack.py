"""The listpack: Redis's encoding of small strings and integers in one block of bytes.

Packed values are dumped as listpacks. A stream's nodes are listpacks, too; their size in bytes decides when
a new node begins. So sizes can be computed without encoding. ``listpack_bulk`` packs and reads many at once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from ..numbers.numbers import fits, parse_integer

__all__ = [
    "EMPTY",
    "END",
    "HEADER",
    "LONGEST_INTEGER",
    "UNCOUNTED",
    "around",
    "back_length_size",
    "element_size",
    "framed",
    "integer_size",
    "pack",
    "pack_element",
    "pack_integer",
]

END: Final = b"\xff"
EMPTY: Final = 7
"""The size of an empty listpack: total size, count and end."""

HEADER: Final = struct.Struct("<IH")
"""What a listpack begins with: its size, and how many elements it has."""

UNCOUNTED: Final = 0xFFFF
"""Stored in place of a number of elements that does not fit."""

SMALL_INTEGERS: Final = range(1 << 7)
MIDDLE_INTEGERS: Final = range(-(1 << 12), 1 << 12)
WIDE_INTEGERS: Final = (2, 3, 4, 8)
"""The sizes of larger integers, in bytes."""

LONGEST_INTEGER: Final = 20
"""A longer text is not a 64-bit integer."""

DIGITS: Final = b"0123456789"
"""What an integer ends with."""

BACK_LENGTHS: Final = ((127, 1), (16382, 2), (2097150, 3), (268435454, 4))
"""The largest size of an element whose back length takes a number of bytes."""


def integer_size(number: int) -> int:
    """The bytes that a signed 64-bit integer takes, including its back length."""
    if number in SMALL_INTEGERS:
        return 2
    if number in MIDDLE_INTEGERS:
        return 3
    return 2 + next(width for width in WIDE_INTEGERS if fits(number, width))


def element_size(text: bytes) -> int:
    """The bytes that a string takes; a string that is an integer is stored as one."""
    size = len(text)
    if size <= LONGEST_INTEGER:
        number = parse_integer(text)
        return size + 2 if number is None else integer_size(number)
    whole = size + (1 if size < 1 << 6 else 2 if size < 1 << 12 else 5)
    return whole + back_length_size(whole)


def back_length_size(size: int) -> int:
    """The bytes of an element's back length, which stores its size with 7 bits in each byte."""
    return next((width for most, width in BACK_LENGTHS if size <= most), 5)


def back_length(size: int) -> bytes:
    """The back length of an element: highest bits first, the high bit set in each byte but the first."""
    groups = [size >> 7 * place & 127 for place in reversed(range(back_length_size(size)))]
    return bytes([groups[0], *(group | 128 for group in groups[1:])])


SMALL: Final = tuple(bytes((number, 1)) for number in SMALL_INTEGERS)


def pack_middle(number: int) -> bytes:
    return (0xC000 | number & 0x1FFF).to_bytes(2) + b"\x02"


def pack_24_bits(number: int) -> bytes:
    return b"\xf2" + number.to_bytes(3, "little", signed=True) + b"\x04"


def with_format(layout: str, head: int, tail: int) -> Callable[[int], bytes]:
    to_bytes = struct.Struct(layout).pack
    return lambda number: to_bytes(head, number, tail)


PACKERS: Final[Sequence[Callable[[int], bytes]]] = [
    *[pack_middle] * 13,
    *[with_format("<BhB", 0xF1, 3)] * 3,
    *[pack_24_bits] * 8,
    *[with_format("<BiB", 0xF3, 5)] * 8,
    *[with_format("<BqB", 0xF4, 9)] * 32,
]
"""How an integer that is not small is packed, by how many bits it has beside its sign."""


def pack_integer(number: int) -> bytes:
    """A signed 64-bit integer as an element; most are small."""
    if 0 <= number < len(SMALL):
        return SMALL[number]
    return PACKERS[(number ^ number >> 63).bit_length()](number)


@lru_cache(maxsize=1 << 13)
def around(size: int) -> tuple[bytes, bytes]:
    """What stands before and behind a text of some size."""
    if size < 1 << 6:
        head = bytes((0x80 | size,))
    else:
        head = (0xE000 | size).to_bytes(2) if size < 1 << 12 else b"\xf0" + size.to_bytes(4, "little")
    return head, back_length(len(head) + size)


def pack_element(text: bytes) -> bytes:
    """A string as an element."""
    size = len(text)
    if 0 < size <= LONGEST_INTEGER and text[-1] in DIGITS:
        number = parse_integer(text)
        if number is not None:
            return pack_integer(number)
    head, tail = around(size)
    return head + text + tail


def pack(elements: Sequence[bytes]) -> bytes:
    """A listpack of elements that are packed already."""
    return framed(b"".join(elements), len(elements))


def framed(body: bytes | memoryview, count: int) -> bytes:
    """A listpack of so many elements, which are packed and side by side."""
    return b"".join((HEADER.pack(len(body) + EMPTY, min(count, UNCOUNTED)), body, END))
