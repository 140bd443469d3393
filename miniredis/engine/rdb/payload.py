"""Whole payloads: a type, a value, the version of the format, and the checksum."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..hashes import HashValue
from ..keyspace import ListValue, Value
from ..listpack import pack_strings
from ..numbers import fits, parse_integer
from ..packing import Packing
from ..rqueues import RQueue
from ..sets import SetValue
from ..sorted_sets import SortedSet
from ..streams import Stream
from . import hashes, kinds, modules, rqueues, sets, sorted_sets, streams
from .crc64 import crc64
from .packed import read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string

__all__ = [
    "DUMPERS",
    "FILE_LOADERS",
    "VERSION",
    "BadDataError",
    "BadPayloadError",
    "dump",
    "opened",
    "restore",
    "sealed",
    "string_or_integer",
]

VERSION: Final = 10
FOOTER: Final = 10
"""Bytes of version and checksum at the end."""

PLAIN: Final = 1
PACKED: Final = 2

NODE: Final = 8192
"""About how many bytes of elements Redis keeps in one packed node, unless told."""


DEFAULTS: Final = Packing()


class BadPayloadError(Exception):
    """The version is too new, or the checksum is wrong."""


def dump(value: Value) -> bytes:
    """A value as a payload."""
    return sealed(DUMPERS[type(value)](value))


def sealed(body: bytes) -> bytes:
    """A payload of some content: the version and the checksum follow."""
    body += VERSION.to_bytes(2, "little")
    return body + crc64(body).to_bytes(8, "little")


def restore(payload: bytes, packing: Packing = DEFAULTS) -> Value:
    """The value in a payload, packed as far as the limits let it be.

    Raises:
        BadPayloadError: its end does not fit its beginning.
        BadDataError: it is of a type there is not here, empty, or damaged in spite of its checksum.
    """
    check_seal(payload)
    reader = Reader(payload)
    load = LOADERS.get(reader.byte())
    if load is None:
        raise BadDataError
    return load(reader, packing)


def opened(payload: bytes) -> Reader:
    """The content of a payload, to be read; raises ``BadPayloadError``."""
    check_seal(payload)
    return Reader(payload[:-FOOTER])


def check_seal(payload: bytes) -> None:
    """Raises ``BadPayloadError`` where the end of a payload does not fit its beginning."""
    if len(payload) < FOOTER:
        raise BadPayloadError
    version, checksum = payload[-FOOTER : -FOOTER + 2], payload[-FOOTER + 2 :]
    if int.from_bytes(version, "little") > VERSION or crc64(payload[:-8]) != int.from_bytes(
        checksum, "little"
    ):
        raise BadPayloadError


# Writing


def dump_string(text: bytes) -> bytes:
    return bytes([kinds.STRING]) + string_or_integer(text)


def string_or_integer(text: bytes) -> bytes:
    """A string, as an integer of 1, 2 or 4 bytes if it reads as one."""
    number = parse_integer(text)
    for form, width in enumerate((1, 2, 4)):
        if number is not None and fits(number, width):
            return bytes([0xC0 | form]) + number.to_bytes(width, "little", signed=True)
    return string(text)


def dump_list(values: ListValue) -> bytes:
    nodes = list(list_nodes(values))
    return bytes([kinds.QUICKLIST_2]) + length(len(nodes)) + b"".join(nodes)


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


DUMPERS: Final[dict[type, Callable[[Any], bytes]]] = {
    bytes: dump_string,
    bytearray: lambda text: dump_string(bytes(text)),
    deque: dump_list,
    HashValue: hashes.dump_hash,
    SetValue: sets.dump_set,
    SortedSet: sorted_sets.dump_sorted_set,
    Stream: streams.dump_stream,
    RQueue: rqueues.dump_rqueue,
}
"""How a value of each type is written."""


# Reading


def filled(elements: Iterator[bytes]) -> ListValue:
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


def ziplists(reader: Reader) -> Iterator[bytes]:
    return (element for node in strings(reader) for element in read_ziplist(node))


LOADERS: Final[dict[int, Callable[[Reader, Packing], Value]]] = {
    kinds.STRING: lambda reader, _: reader.string(),
    kinds.LIST: lambda reader, _: filled(strings(reader)),
    kinds.SET: sets.load_set,
    kinds.SORTED_SET: sorted_sets.load_with_texts,
    kinds.HASH: hashes.load_hash,
    kinds.SORTED_SET_2: sorted_sets.load_with_doubles,
    kinds.MODULE_2: lambda reader, _: modules.load_of(reader, {rqueues.MODULE_ID: rqueues.load_rqueue}),
    kinds.HASH_ZIPMAP: hashes.load_zipmap,
    kinds.LIST_ZIPLIST: lambda reader, _: filled(iter(read_ziplist(reader.string()))),
    kinds.INTSET: sets.load_intset,
    kinds.SORTED_SET_ZIPLIST: sorted_sets.load_ziplist,
    kinds.HASH_ZIPLIST: hashes.load_ziplist,
    kinds.QUICKLIST: lambda reader, _: filled(ziplists(reader)),
    kinds.STREAM: lambda reader, _: streams.load_old_stream(reader),
    kinds.HASH_LISTPACK: hashes.load_listpack,
    kinds.SORTED_SET_LISTPACK: sorted_sets.load_listpack,
    kinds.QUICKLIST_2: lambda reader, _: filled(nodes(reader)),
    kinds.STREAM_2: lambda reader, _: streams.load_stream(reader),
}
"""How each type of the format is read."""

FILE_LOADERS: Final[dict[int, Callable[[Reader, Packing], Value]]] = {
    **LOADERS,
    kinds.SET_LISTPACK: sets.load_listpack,
    kinds.STREAM_3: lambda reader, _: streams.load_newer_stream(reader),
}
"""How each type is read in a file, also those of newer versions. RESTORE refuses them, as Redis 7.0 does."""
