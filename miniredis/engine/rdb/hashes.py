"""Hashes in a payload, in every form that Redis up to 7.0 writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..hashes import HashValue
from ..listpack_bulk import pack_strings
from ..packing import Packing
from .kinds import HASH, HASH_LISTPACK
from .packed import END, read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string
from .steps import Steps, strings

__all__ = ["dump_hash", "load_hash", "load_listpack", "load_ziplist", "load_zipmap"]

LONG: Final = 0xFE
"""In a zipmap, what stands before a length of four bytes, or for a count that does not fit."""


def dump_hash(values: HashValue) -> bytes:
    """A packed hash as a listpack, another one string by string."""
    parts = [part for pair in values.fields.items() for part in pair]
    if values.is_packed:
        return bytes([HASH_LISTPACK]) + string(pack_strings(parts))
    return bytes([HASH]) + length(len(values)) + b"".join(map(string, parts))


def load_hash(reader: Reader, packing: Packing) -> Steps[HashValue]:
    """Field by field, each with its value."""
    return hash_of((yield from strings(reader, 2 * reader.length())), packing)


def load_listpack(reader: Reader, packing: Packing) -> HashValue:
    """A listpack, which may stay one however long its strings are."""
    return hash_of(read_listpack(reader.string()), packing, may_be_long=True)


def load_ziplist(reader: Reader, packing: Packing) -> HashValue:
    """A ziplist, of which the same holds."""
    return hash_of(read_ziplist(reader.string()), packing, may_be_long=True)


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


def hash_of(parts: list[bytes], packing: Packing, *, may_be_long: bool = False) -> HashValue:
    """A hash of fields and values in turn; an empty one does not exist, and no field comes twice."""
    fields = dict(zip(parts[::2], parts[1::2], strict=False))
    if not fields or 2 * len(fields) != len(parts):
        raise BadDataError
    return HashValue.of(fields, packing, may_be_long=may_be_long)
