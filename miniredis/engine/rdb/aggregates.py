"""Hashes and sets in a payload, in every form that Redis up to 7.0 writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..hashes import HashValue
from ..listpack import pack_strings
from ..numbers import MAX, fits
from ..packing import Packing
from ..sets import SetValue
from .kinds import HASH, HASH_LISTPACK, INTSET, SET
from .packed import END, read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string

__all__ = [
    "dump_hash",
    "dump_set",
    "load_hash",
    "load_intset",
    "load_packed_hash",
    "load_set",
    "load_ziplist_hash",
    "load_zipmap",
]

WIDTHS: Final = (2, 4, 8)
"""How many bytes the integers of an intset have."""

LONG: Final = 0xFE
"""In a zipmap, what stands before a length of four bytes, or for a count that does not fit."""


# Writing


def dump_hash(values: HashValue) -> bytes:
    """A packed hash as a listpack, another one string by string."""
    parts = [part for pair in values.fields.items() for part in pair]
    if values.is_packed:
        return bytes([HASH_LISTPACK]) + string(pack_strings(parts))
    return bytes([HASH]) + length(len(values)) + b"".join(map(string, parts))


def dump_set(values: SetValue) -> bytes:
    """A packed set as an intset, another one string by string."""
    if values.is_packed:
        return bytes([INTSET]) + string(intset([int(member) for member in values]))
    return bytes([SET]) + length(len(values)) + b"".join(map(string, values))


def intset(numbers: Sequence[int]) -> bytes:
    """Sorted integers, each in as many bytes as the largest of them needs."""
    width = next(each for each in WIDTHS if fits(numbers[0], each) and fits(numbers[-1], each))
    head = width.to_bytes(4, "little") + len(numbers).to_bytes(4, "little")
    return head + b"".join(number.to_bytes(width, "little", signed=True) for number in numbers)


# Reading


def load_set(reader: Reader, packing: Packing) -> SetValue:
    """Member by member."""
    return set_of([reader.string() for _ in range(reader.length())], packing)


def load_intset(reader: Reader, packing: Packing) -> SetValue:
    """Integers of one width, behind the width and their number."""
    data = Reader(reader.string())
    width, count = (int.from_bytes(data.take(4), "little") for _ in range(2))
    if width not in WIDTHS:
        raise BadDataError
    body = Reader(data.take(width * count))
    if data.rest():
        raise BadDataError
    numbers = (int.from_bytes(body.take(width), "little", signed=True) for _ in range(count))
    return set_of([b"%d" % number for number in numbers], packing)


def set_of(members: list[bytes], packing: Packing) -> SetValue:
    """A set of them; an empty one does not exist, and none comes twice."""
    values = SetValue.of(members, packing)
    if not members or len(values) != len(members):
        raise BadDataError
    return values


def load_hash(reader: Reader, packing: Packing) -> HashValue:
    """Field by field, each with its value."""
    return hash_of([reader.string() for _ in range(2 * reader.length())], packing)


def load_packed_hash(reader: Reader, packing: Packing) -> HashValue:
    """A listpack, which may stay one however long its strings are."""
    return hash_of(read_listpack(reader.string()), packing._replace(hash_value=MAX))


def load_ziplist_hash(reader: Reader, packing: Packing) -> HashValue:
    """A ziplist, of which the same holds."""
    return hash_of(read_ziplist(reader.string()), packing._replace(hash_value=MAX))


def load_zipmap(reader: Reader, packing: Packing) -> HashValue:
    """The form of Redis up to 2.4."""
    data = Reader(reader.string())
    count = data.byte()
    parts = list(zipmap_parts(data))
    if data.rest() or (count < LONG and 2 * count != len(parts)):
        raise BadDataError
    return hash_of(parts, packing)


def zipmap_parts(data: Reader) -> Iterator[bytes]:
    while (first := data.byte()) != END:
        yield data.take(zipmap_length(data, first))
        size = zipmap_length(data, data.byte())
        unused = data.byte()
        yield data.take(size)
        data.take(unused)


def zipmap_length(data: Reader, first: int) -> int:
    if first < LONG:
        return first
    size = int.from_bytes(data.take(4), "little")
    if first == END or size < LONG:
        raise BadDataError
    return size


def hash_of(parts: list[bytes], packing: Packing) -> HashValue:
    """A hash of fields and values in turn; an empty one does not exist, and no field comes twice."""
    fields = dict(zip(parts[::2], parts[1::2], strict=False))
    if not fields or 2 * len(fields) != len(parts):
        raise BadDataError
    return HashValue.of(fields, packing)
