"""The listpack: Redis's encoding of small strings and integers in one block of bytes.

Packed values are dumped as listpacks. A stream's nodes are listpacks, too; their size in bytes decides when
a new node begins. So sizes can be computed without encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from .numbers import fits, parse_integer

__all__ = [
    "EMPTY",
    "UNCOUNTED",
    "back_length_size",
    "element_size",
    "integer_size",
    "pack",
    "pack_element",
    "pack_integer",
    "pack_strings",
]

END: Final = b"\xff"
EMPTY: Final = 7
"""The size of an empty listpack: total size, count and end."""

UNCOUNTED: Final = 0xFFFF
"""Stored in place of a number of elements that does not fit."""

SMALL_INTEGERS: Final = range(1 << 7)
MIDDLE_INTEGERS: Final = range(-(1 << 12), 1 << 12)
WIDE_INTEGERS: Final = (2, 3, 4, 8)
"""The sizes of larger integers, in bytes."""

SHORT_TEXTS: Final = 1 << 6
HEADS: Final = tuple(bytes((0x80 | size,)) for size in range(SHORT_TEXTS))
TAILS: Final = tuple(bytes((1 + size,)) for size in range(SHORT_TEXTS))
"""The bytes before and after a short text, by its size."""

LONGEST_INTEGER: Final = 20
"""A longer text is not a 64-bit integer."""

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


def pack_integer(number: int) -> bytes:
    """A signed 64-bit integer as an element."""
    if number in SMALL_INTEGERS:
        return bytes([number, 1])
    if number in MIDDLE_INTEGERS:
        return (0xC000 | number & 0x1FFF).to_bytes(2) + b"\x02"
    if -(1 << 31) <= number < 1 << 31:
        if -(1 << 15) <= number < 1 << 15:
            return struct.pack("<BhB", 0xF1, number, 3)
        if -(1 << 23) <= number < 1 << 23:
            return b"\xf2" + number.to_bytes(3, "little", signed=True) + b"\x04"
        return struct.pack("<BiB", 0xF3, number, 5)
    return struct.pack("<BqB", 0xF4, number, 9)


def pack_element(text: bytes) -> bytes:
    """A string as an element."""
    size = len(text)
    number = parse_integer(text) if size <= LONGEST_INTEGER else None
    if number is not None:
        return pack_integer(number)
    if size < SHORT_TEXTS:
        return HEADS[size] + text + TAILS[size]
    head = (0xE000 | size).to_bytes(2) if size < 1 << 12 else b"\xf0" + size.to_bytes(4, "little")
    return head + text + back_length(len(head) + size)


def pack(elements: list[bytes]) -> bytes:
    """A listpack of encoded elements."""
    body = b"".join(elements)
    count = min(len(elements), UNCOUNTED)
    return (len(body) + EMPTY).to_bytes(4, "little") + count.to_bytes(2, "little") + body + END


def pack_strings(texts: Iterable[bytes]) -> bytes:
    """A listpack of strings."""
    return pack(list(map(pack_element, texts)))
