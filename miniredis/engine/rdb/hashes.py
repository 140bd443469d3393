"""Hashes in a payload, in every form that Redis up to 7.0 writes, and those whose fields may expire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..values.expiring_hashes import ExpiringHash, ValkeyHash
from ..values.hashes import HashValue
from ..values.listpack import pack, pack_element, pack_integer
from ..values.listpack_bulk import pack_strings
from ..values.packing import Packing
from .kinds import HASH, HASH_EXPIRING, HASH_LISTPACK, HASH_LISTPACK_EXPIRING, VALKEY_HASH
from .packed import END, read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string
from .steps import STEP, Steps, strings

__all__ = [
    "dump_expiring",
    "dump_fields",
    "dump_hash",
    "dump_valkey",
    "load_expiring",
    "load_hash",
    "load_listpack",
    "load_packed_expiring",
    "load_valkey",
    "load_ziplist",
    "load_zipmap",
]

LONG: Final = 0xFE
"""In a zipmap, what stands before a length of four bytes, or for a count that does not fit."""


def dump_hash(values: HashValue) -> bytes:
    """A packed hash as a listpack, another one string by string."""
    if not values.is_packed:
        return dump_fields(values)
    return bytes([HASH_LISTPACK]) + string(pack_strings(parts_of(values)))


def dump_fields(values: HashValue) -> bytes:
    """A hash string by string, which every version reads."""
    return bytes([HASH]) + length(len(values)) + b"".join(map(string, parts_of(values)))


def parts_of(values: HashValue) -> list[bytes]:
    """The fields, each before its value."""
    return [part for pair in values.fields.items() for part in pair]


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


# Hashes whose fields may expire

NO_DEADLINE: Final = -1


def time(milliseconds: int) -> bytes:
    """A wall time, or ``NO_DEADLINE``."""
    return milliseconds.to_bytes(8, "little", signed=True)


def dump_expiring(values: ExpiringHash) -> bytes:
    """As Redis 7.4: the first deadline, then each field with its own, or how much later it is."""
    deadlines = values.deadlines
    first = min(deadlines.values(), default=0)
    if values.is_packed:
        elements = [
            element
            for field, value in values.fields.items()
            for element in (pack_element(field), pack_element(value), pack_integer(deadlines.get(field, 0)))
        ]
        return bytes([HASH_LISTPACK_EXPIRING]) + time(first) + string(pack(elements))
    if not deadlines:
        return dump_hash(values)
    parts = (
        length(deadlines[field] - first + 1 if field in deadlines else 0) + string(field) + string(value)
        for field, value in values.fields.items()
    )
    return bytes([HASH_EXPIRING]) + time(first) + length(len(values)) + b"".join(parts)


def load_packed_expiring(reader: Reader, packing: Packing) -> ExpiringHash:
    """A listpack of fields, values and deadlines, 0 for none."""
    reader.take(8)
    parts = read_listpack(reader.string())
    fields = [part for pair in zip(parts[::3], parts[1::3], strict=False) for part in pair]
    if len(parts) % 3 or not all(map(bytes.isdigit, parts[2::3])):
        raise BadDataError
    values = ExpiringHash.over(hash_of(fields, packing, may_be_long=True))
    return with_deadlines(values, zip(parts[::3], map(int, parts[2::3]), strict=True))


def with_deadlines(values: ExpiringHash, deadlines: Iterable[tuple[bytes, int]]) -> ExpiringHash:
    """The hash with the deadlines that are not 0; it keeps its order."""
    was_packed, values.is_packed = values.is_packed, False
    for field, when in deadlines:
        if when:
            values.set_deadline(field, when)
    values.is_packed = was_packed
    return values


def load_expiring(reader: Reader, packing: Packing) -> Steps[ExpiringHash]:
    """Field by field, each with its deadline behind the first one and its value."""
    first = int.from_bytes(reader.take(8), "little")
    parts: list[bytes] = []
    deadlines: list[int] = []
    for _ in range(reader.length()):
        later = reader.length()
        parts += [reader.string(), reader.string()]
        deadlines.append(first + later - 1 if later else 0)
        if len(deadlines) % STEP == 0:
            yield
    values = ExpiringHash.over(hash_of(parts, packing))
    values.is_packed = False
    return with_deadlines(values, zip(parts[::2], deadlines, strict=True))


def dump_valkey(values: ValkeyHash) -> bytes:
    """As Valkey 9: each field with its value and its deadline; without any, as every hash."""
    if not values.deadlines:
        return dump_hash(values)
    parts = (
        string(field) + string(value) + time(values.deadlines.get(field, NO_DEADLINE))
        for field, value in values.fields.items()
    )
    return bytes([VALKEY_HASH]) + length(len(values)) + b"".join(parts)


def load_valkey(reader: Reader, packing: Packing) -> Steps[ExpiringHash]:
    """Field by field, each with its value and its deadline."""
    parts: list[bytes] = []
    deadlines: list[int] = []
    for _ in range(reader.length()):
        parts += [reader.string(), reader.string()]
        if len(parts) % STEP == 0:
            yield
        deadlines.append(max(int.from_bytes(reader.take(8), "little", signed=True), 0))
    return with_deadlines(ValkeyHash.over(hash_of(parts, packing)), zip(parts[::2], deadlines, strict=True))
