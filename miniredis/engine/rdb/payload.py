"""Whole payloads: a type, a value, the version of the format, and the checksum."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..values.hashes import HashValue
from ..values.packing import Packing
from ..values.sorted_sets import SortedSet
from ..values.streams import Stream
from . import hashes, kinds, lists, modules, rqueues, sets, sorted_sets, streams
from .crc64 import crc64
from .reader import BadDataError, Reader
from .steps import Steps, at_once
from .value_types import TYPES

if TYPE_CHECKING:
    from ..keyspace.keyspace import Value

__all__ = [
    "FILE_LOADERS",
    "VERSION",
    "BadDataError",
    "BadPayloadError",
    "decode_payload",
    "dump",
    "encode_payload",
    "restore",
]

Loader: TypeAlias = "Callable[[Reader, Packing], Value | Steps[Value]]"

VERSION: Final = 10
FOOTER: Final = 10
"""Bytes of version and checksum at the end."""

DEFAULTS: Final = Packing()

ELEMENT_BY_ELEMENT: Final[dict[type, Callable[[Any], bytes]]] = {
    deque: lists.dump_elements,
    HashValue: hashes.dump_fields,
    SortedSet: sorted_sets.dump_scores,
    Stream: streams.dump_old_stream,
}
"""How values are dumped for 6.x, where their usual form is newer. It packs what it has read by itself."""


class BadPayloadError(Exception):
    """The version is too new, or the checksum is wrong."""


def dump(value: Value, version: int = VERSION) -> bytes:
    """A value as a payload."""
    write = ELEMENT_BY_ELEMENT.get(type(value)) if version < VERSION else None
    return encode_payload((write or TYPES[type(value)].dump)(value), version)


def encode_payload(body: bytes, version: int = VERSION) -> bytes:
    """A payload of some content: the version of the format and the checksum follow."""
    body += version.to_bytes(2, "little")
    return body + crc64(body).to_bytes(8, "little")


def restore(payload: bytes, packing: Packing = DEFAULTS, newest: int = VERSION) -> Value:
    """The value in a payload, packed as far as the limits let it be.

    Args:
        payload: from DUMP.
        packing: the limits.
        newest: the version of the format that is known.

    Raises:
        BadPayloadError: its end does not fit its beginning.
        BadDataError: it is of a type there is not here, empty, or damaged in spite of its checksum.
    """
    check_seal(payload, newest)
    reader = Reader(payload)
    load = FORMATS.get(newest, LOADERS).get(reader.byte())
    if load is None:
        raise BadDataError
    value = load(reader, packing)
    return at_once(value) if isinstance(value, Generator) else value


def decode_payload(payload: bytes) -> Reader:
    """The content of a payload, to be read; raises ``BadPayloadError``."""
    check_seal(payload)
    return Reader(payload[:-FOOTER])


def check_seal(payload: bytes, newest: int = VERSION) -> None:
    """Raises ``BadPayloadError`` where the end of a payload does not fit its beginning."""
    if len(payload) < FOOTER:
        raise BadPayloadError
    version = int.from_bytes(payload[-FOOTER : -FOOTER + 2], "little")
    checksum = int.from_bytes(payload[-FOOTER + 2 :], "little")
    is_foreign = newest == OF_VALKEY and OF_REDIS < version < OF_VALKEY
    if version > newest or is_foreign or crc64(payload[:-8]) != checksum:
        raise BadPayloadError


LOADERS: Final[dict[int, Loader]] = {
    kinds.STRING: lambda reader, _: reader.string(),
    kinds.LIST: lambda reader, _: lists.load_list(reader),
    kinds.SET: sets.load_set,
    kinds.SORTED_SET: sorted_sets.load_with_texts,
    kinds.HASH: hashes.load_hash,
    kinds.SORTED_SET_2: sorted_sets.load_with_doubles,
    kinds.MODULE_2: lambda reader, _: modules.load_of(reader, {rqueues.MODULE_ID: rqueues.load_rqueue}),
    kinds.HASH_ZIPMAP: hashes.load_zipmap,
    kinds.LIST_ZIPLIST: lambda reader, _: lists.load_ziplist(reader),
    kinds.INTSET: sets.load_intset,
    kinds.SORTED_SET_ZIPLIST: sorted_sets.load_ziplist,
    kinds.HASH_ZIPLIST: hashes.load_ziplist,
    kinds.QUICKLIST: lambda reader, _: lists.load_ziplists(reader),
    kinds.STREAM: lambda reader, _: streams.load_old_stream(reader),
    kinds.HASH_LISTPACK: hashes.load_listpack,
    kinds.SORTED_SET_LISTPACK: sorted_sets.load_listpack,
    kinds.QUICKLIST_2: lambda reader, _: lists.load_nodes(reader),
    kinds.STREAM_2: lambda reader, _: streams.load_stream(reader),
}
"""How each type of the format is read, in steps if it may be large."""

OF_7_2: Final[dict[int, Loader]] = {
    **LOADERS,
    kinds.SET_LISTPACK: sets.load_listpack,
    kinds.STREAM_3: lambda reader, _: streams.load_newer_stream(reader),
}
OF_7_4: Final[dict[int, Loader]] = {
    **OF_7_2,
    kinds.HASH_EXPIRING: hashes.load_expiring,
    kinds.HASH_LISTPACK_EXPIRING: hashes.load_packed_expiring,
}
FILE_LOADERS: Final = OF_7_2
"""How each type is read in a file, also those of newer versions. RESTORE refuses them, as Redis 7.0 does."""

OF_6: Final = {kind: load for kind, load in LOADERS.items() if kind <= kinds.STREAM}

OF_REDIS: Final = 11
"""The last version of the format that Redis and Valkey have in common."""

OF_VALKEY: Final = 80

FORMATS: Final = {
    VERSION - 1: OF_6,
    OF_REDIS: OF_7_2,
    12: OF_7_4,
    OF_VALKEY: {**OF_7_2, kinds.VALKEY_HASH: hashes.load_valkey},
}
"""What RESTORE reads where the newest version of the format is that one; elsewhere, ``LOADERS``."""


def file_loaders(newest: int) -> dict[int, Loader]:
    """How each type is read in a file where the newest version of the format is that one; 6.x reads 7.0's."""
    return FORMATS.get(max(newest, VERSION), FILE_LOADERS)
