"""Listpacks of many elements, packed and read at once: a call for each element would take most of the time.

Elements of one form and one size stand in columns: the bytes that all of them have in common are every n-th
byte. A function that finds the elements to be of other forms returns nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import compress, repeat
from typing import Final, NamedTuple

import hiredis

from ..numbers.numbers import parse_integer
from .listpack import (
    EMPTY,
    END,
    HEADER,
    LONGEST_INTEGER,
    around,
    back_length_size,
    framed,
    pack,
    pack_element,
    pack_integer,
)

__all__ = ["body", "bulk_elements", "even_body", "pack_strings"]

STARTS: Final = b"-123456789"
"""What an integer begins with if it has several bytes."""

NO_STARTS: Final = bytes(set(range(256)) - set(STARTS))


class Columns(NamedTuple):
    """How integers of one size are packed.

    Attributes:
        first: the first byte of each.
        layout: of the array in which they are packed and read.
        shift: how many bits of ``first`` are read together with them, in the lowest places.
        tail: the last byte of each: how many bytes stand before it.
    """

    first: int
    layout: str
    shift: int
    tail: int

    @property
    def width(self) -> int:
        """How many bytes one takes."""
        return self.tail + 1

    def pack(self, numbers: Sequence[int]) -> bytes:
        """Packs them, side by side."""
        count = len(numbers)
        columns = bytearray(count * self.width)
        columns[:: self.width] = bytes((self.first,)) * count
        columns[self.tail :: self.width] = bytes((self.tail,)) * count
        array = struct.pack(f"<{count}{self.layout}", *numbers)
        size = struct.calcsize(self.layout)
        for place in range(1, self.tail):
            columns[place :: self.width] = array[place - 1 :: size]
        return bytes(columns)

    def unpack(self, data: bytes, count: int) -> list[bytes]:
        """The integers of a listpack that has so many, as texts."""
        body = data[HEADER.size : -1]
        if body[:: self.width] != bytes((self.first,)) * count:
            return []
        skipped = "" if self.shift else "x"
        form = f"<{HEADER.size}x" + f"{skipped}{self.layout}x" * count + "x"
        numbers, shift = struct.unpack(form, data), self.shift
        if shift:
            numbers = tuple([number >> shift for number in numbers])
        return (b"%d " * count % numbers).split()


WIDE: Final = {
    16: Columns(0xF1, "h", 0, 3),
    24: Columns(0xF2, "i", 8, 4),
    32: Columns(0xF3, "i", 0, 5),
    64: Columns(0xF4, "q", 0, 9),
}
"""By how many bits an integer takes; those of up to 13 bits are packed otherwise."""

BY_FIRST: Final = {each.first: each for each in WIDE.values()}

CLASSES: Final = (*[0] * 13, *[16] * 3, *[24] * 8, *[32] * 8, *[64] * 32)
"""The bits that an integer takes, by how many it has beside its sign; 0 for the fewest."""


class Parts(dict[int, bytes]):
    """What stands before (0) or behind (1) a text, by its size."""

    def __init__(self, side: int) -> None:
        self._side = side

    def __missing__(self, size: int) -> bytes:
        self[size] = around(size)[self._side]
        return self[size]


HEADS: Final = Parts(0)
TAILS: Final = Parts(1)


# Packing


MANY: Final = 16
"""Of so many elements, to see whether they are alike takes less time than to pack them one by one."""


def pack_strings(texts: Sequence[bytes], *, are_even: bool = False) -> bytes:
    """A listpack of strings, which may be known to be of one size."""
    if len(texts) < MANY:
        return pack([*map(pack_element, texts)])
    return framed(even_body(texts, are_even) or integers_body(texts) or body(texts), len(texts))


def even_body(texts: Sequence[bytes], are_even: bool) -> bytes:
    """Strings as elements, unless they are of several sizes, or one may be an integer."""
    size = len(texts[0])
    if size < 2 or len(texts[-1]) != size or parse_integer(texts[0]) is not None:
        return b""
    if not are_even and set(map(len, texts)) != {size}:
        return b""
    head, tail = around(size)
    packed = head + (tail + head).join(texts) + tail
    firsts = packed[len(head) :: len(head) + size + len(tail)]
    return b"" if size <= LONGEST_INTEGER and firsts.translate(None, NO_STARTS) else packed


def integers_body(texts: Sequence[bytes]) -> bytes:
    """Integers as elements, unless they are of several sizes, or not all of them are integers."""
    numbers = integers(texts)
    if not numbers:
        return b""
    low, high = bits_of(min(numbers)), bits_of(max(numbers))
    columns = WIDE.get(abs(low)) if low == high else None
    return b"".join(map(pack_integer, numbers)) if columns is None else columns.pack(numbers)


def bits_of(number: int) -> int:
    """How many bits an integer takes, negative for negative integers; 0 for the fewest."""
    size = CLASSES[(number ^ number >> 63).bit_length()]
    return -size if number < 0 else size


def integers(texts: Sequence[bytes]) -> list[int]:
    """The integers that all texts are, written as Redis writes them; else none.

    hiredis reads them as the elements of a reply. It takes no other text for an integer, and ``int`` takes
    twice as long. A text with a line end in it makes more elements than there are texts.
    """
    if parse_integer(texts[0]) is None:
        return []
    reader = hiredis.Reader()
    reader.feed(b"*%d\r\n:%b\r\n" % (len(texts), b"\r\n:".join(texts)))
    try:
        numbers: list[int] = reader.gets()
    except hiredis.HiredisError:
        return []
    return [] if reader.has_data() else numbers


def body(texts: Sequence[bytes], behind: Sequence[bytes] = ()) -> bytes:
    """Strings as elements, each followed by one of the elements ``behind``, if those are given."""
    width = 4 if behind else 3
    sizes = [*map(len, texts)]
    pieces = [b""] * (width * len(texts))
    pieces[::width], pieces[1::width] = map(HEADS.__getitem__, sizes), texts
    pieces[2::width] = map(TAILS.__getitem__, sizes)
    if behind:
        pieces[3::width] = behind
    for at in maybe_integers(texts):
        number = parse_integer(texts[at])
        if number is not None:
            pieces[width * at : width * at + 3] = b"", pack_integer(number), b""
    return b"".join(pieces)


def maybe_integers(texts: Sequence[bytes]) -> Iterable[int]:
    """The indexes of the texts that look like integers."""
    places = range(len(texts))
    yield from compress(places, map(bytes.isdigit, texts))
    if b"-" in b"".join(texts):
        yield from compress(places, map(bytes.startswith, texts, repeat(b"-")))


# Reading

TEXT: Final = 0x80
"""The first byte of an empty text; that of one with up to 63 bytes is greater by its size."""

NO_TEXT: Final = 0xC0
LONGER_TEXTS: Final = range(0xE0, 0xF0)

SHORT_FORMS: Final = (
    *[""] * TEXT,
    *(f"x{size}sx" for size in range(NO_TEXT - TEXT)),
    *[""] * (256 - NO_TEXT),
)
"""How a short text is read, by its first byte."""


def bulk_elements(data: bytes, count: int) -> Sequence[bytes]:
    """The elements of a listpack that says that it has so many; none if they have several forms."""
    first = data[HEADER.size]
    columns = BY_FIRST.get(first)
    if columns is None:
        return even_texts(data, count) or uneven_texts(data)
    is_even = len(data) == EMPTY + count * columns.width and data[-1:] == END
    return columns.unpack(data, count) if is_even else ()


def even_texts(data: bytes, count: int) -> Sequence[bytes]:
    """The elements if all of them are texts of one size."""
    first = data[HEADER.size]
    is_short = TEXT <= first < NO_TEXT
    if not is_short and first not in LONGER_TEXTS:
        return ()
    size = first - TEXT if is_short else (first & 15) << 8 | data[HEADER.size + 1]
    head, tail = around(size)
    width = len(head) + size + len(tail)
    if len(data) != EMPTY + count * width or data[-1:] != END:
        return ()
    columns = [*enumerate(head, HEADER.size), *enumerate(tail, HEADER.size + len(head) + size)]
    if any(data[at:-1:width] != bytes((byte,)) * count for at, byte in columns):
        return ()
    return struct.unpack(f"{HEADER.size}x" + f"{len(head)}x{size}s{len(tail)}x" * count + "x", data)


def uneven_texts(data: bytes) -> Sequence[bytes]:
    """The elements if all of them are texts of less than 4 KiB."""
    forms: list[str] = []
    at = HEADER.size
    while (first := data[at]) != END[0]:
        if form := SHORT_FORMS[first]:
            forms.append(form)
            at += first - TEXT + 2
        elif first in LONGER_TEXTS:
            size = (first & 15) << 8 | data[at + 1]
            tail = back_length_size(2 + size)
            forms.append(f"2x{size}s{tail}x")
            at += 2 + size + tail
        else:
            return ()
    return struct.unpack(f"{HEADER.size}x{''.join(forms)}x", data)
