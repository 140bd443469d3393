"""Whole payloads: a type, a value, the version of the format, and the checksum."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..keyspace import ListValue, Value
from ..numbers import parse_integer
from ..streams import Stream
from .crc64 import crc64
from .packed import pack, read_listpack, read_ziplist
from .reader import BadDataError, Reader
from .streams import STREAM, STREAM_2, dump_stream, load_old_stream, load_stream

__all__ = ["BadDataError", "BadPayloadError", "dump", "restore"]

VERSION: Final = 10
FOOTER: Final = 10
"""Bytes of version and checksum at the end."""

STRING: Final = 0
LIST: Final = 1
LIST_ZIPLIST: Final = 10
QUICKLIST: Final = 14
QUICKLIST_2: Final = 18

PLAIN: Final = 1
PACKED: Final = 2

NODE: Final = 8192
"""About how many bytes of elements Redis keeps in one packed node, unless told."""


class BadPayloadError(Exception):
    """The version is too new, or the checksum is wrong."""


def dump(value: Value) -> bytes:
    """A value as a payload."""
    body = DUMPERS[type(value)](value) + VERSION.to_bytes(2, "little")
    return body + crc64(body).to_bytes(8, "little")


def restore(payload: bytes) -> Value:
    """The value in a payload.

    Raises:
        BadPayloadError: its end does not fit its beginning.
        BadDataError: it is of a type there is not here, empty, or damaged in spite of its checksum.
    """
    if len(payload) < FOOTER:
        raise BadPayloadError
    version, checksum = payload[-FOOTER : -FOOTER + 2], payload[-FOOTER + 2 :]
    if int.from_bytes(version, "little") > VERSION or crc64(payload[:-8]) != int.from_bytes(
        checksum, "little"
    ):
        raise BadPayloadError
    reader = Reader(payload)
    load = LOADERS.get(reader.byte())
    if load is None:
        raise BadDataError
    return load(reader)


# Writing


def length(number: int) -> bytes:
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return (1 << 14 | number).to_bytes(2)
    return b"\x80" + number.to_bytes(4) if number < 1 << 32 else b"\x81" + number.to_bytes(8)


def string(text: bytes) -> bytes:
    return length(len(text)) + text


def dump_string(text: bytes) -> bytes:
    number = parse_integer(text)
    for form, width in enumerate((1, 2, 4)):
        if number is not None and -(1 << 8 * width - 1) <= number < 1 << 8 * width - 1:
            return bytes([STRING, 0xC0 | form]) + number.to_bytes(width, "little", signed=True)
    return bytes([STRING]) + string(text)


def dump_list(values: ListValue) -> bytes:
    nodes = list(list_nodes(values))
    return bytes([QUICKLIST_2]) + length(len(nodes)) + b"".join(nodes)


def list_nodes(values: ListValue) -> Iterator[bytes]:
    """The elements in packed nodes of a few KiB; one that is larger has a plain node of its own."""
    gathered: list[bytes] = []
    size = 0
    for element in values:
        if gathered and size + len(element) > NODE:
            yield bytes([PACKED]) + string(pack(gathered))
            gathered, size = [], 0
        if len(element) > NODE:
            yield bytes([PLAIN]) + string(element)
        else:
            gathered.append(element)
            size += len(element)
    if gathered:
        yield bytes([PACKED]) + string(pack(gathered))


DUMPERS: Final[dict[type, Callable[[Any], bytes]]] = {
    bytes: dump_string,
    bytearray: lambda text: dump_string(bytes(text)),
    deque: dump_list,
    Stream: lambda stream: bytes([STREAM_2]) + dump_stream(stream, length),
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


LOADERS: Final[dict[int, Callable[[Reader], Value]]] = {
    STRING: Reader.string,
    LIST: lambda reader: filled(strings(reader)),
    LIST_ZIPLIST: lambda reader: filled(iter(read_ziplist(reader.string()))),
    QUICKLIST: lambda reader: filled(element for node in strings(reader) for element in read_ziplist(node)),
    STREAM: load_old_stream,
    QUICKLIST_2: lambda reader: filled(nodes(reader)),
    STREAM_2: load_stream,
}
"""How each type of the format is read."""
