"""The types of values: each has a row for DUMP, DEBUG DIGEST, MEMORY USAGE and OBJECT ENCODING.

``keyspace.py`` has the names of types and the kinds for lookups, ``payload.py`` reads payloads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import Any, Final, NamedTuple

from ..numbers.numbers import parse_integer
from ..protocol.replies import PlainText
from ..values.expiring_hashes import ExpiringHash, ValkeyHash
from ..values.hashes import HashValue
from ..values.hashing import mixed, pairs, unordered
from ..values.rqueues import RQueue
from ..values.sets import SetValue
from ..values.sizes import Size, of_elements, of_stream, of_text
from ..values.sorted_sets import SortedSet
from ..values.stream_nodes import id_text
from ..values.streams import Stream
from .hashes import dump_expiring, dump_hash, dump_valkey
from .lists import dump_list
from .rqueues import dump_rqueue
from .sets import dump_set
from .sorted_sets import dump_sorted_set
from .streams import dump_stream
from .strings import dump_string

__all__ = ["TYPES", "ValueType"]


class ValueType(NamedTuple):
    """The operations of a type.

    Attributes:
        number: its number in Redis.
        encoding: returns the encoding that Redis would use for a value.
        size: measures a value.
        digest: combines a key's digest with that of its value.
        dump: returns a value as a payload, starting with its RDB type.
    """

    number: int
    encoding: Callable[[Any], bytes]
    size: Size
    digest: Callable[[int, Any], int]
    dump: Callable[[Any], bytes]


LONGEST_EMBEDDED: Final = 44
"""The longest string, in bytes, that Redis allocates together with its object header."""


def string_encoding(text: bytes) -> bytes:
    if parse_integer(text) is not None:
        return b"int"
    return text_encoding(text)


def text_encoding(text: bytes) -> bytes:
    return b"embstr" if len(text) <= LONGEST_EMBEDDED else b"raw"


def digest_of_stream(digest: int, stream: Stream) -> int:
    for number, content in stream.walk():
        digest = mixed(digest, id_text(number).replace(b"-", b"."), *content)
    return digest


def always(encoding: bytes) -> Callable[[object], bytes]:
    return lambda _: encoding


def packed_or(packed: bytes, large: bytes) -> Callable[[Any], bytes]:
    return lambda value: packed if value.is_packed else large


OF_HASH: Final = ValueType(
    4,
    packed_or(b"listpack", b"hashtable"),
    of_elements(lambda values: (values.fields, values.fields.values())),
    lambda digest, values: pairs(digest, values.fields.items()),
    dump_hash,
)

TYPES: Final[dict[type, ValueType]] = {
    bytes: ValueType(0, string_encoding, of_text, mixed, dump_string),
    bytearray: ValueType(0, always(b"raw"), of_text, mixed, dump_string),
    PlainText: ValueType(0, text_encoding, of_text, mixed, dump_string),
    deque: ValueType(
        1,
        always(b"quicklist"),
        of_elements(lambda values: (values,)),
        lambda digest, values: mixed(digest, *values),
        dump_list,
    ),
    SetValue: ValueType(
        2, packed_or(b"intset", b"hashtable"), of_elements(lambda values: (values,)), unordered, dump_set
    ),
    SortedSet: ValueType(
        3,
        packed_or(b"listpack", b"skiplist"),
        of_elements(lambda values: (values.scores,)),
        lambda digest, values: pairs(digest, ((m, b"%.17g" % s) for m, s in values.scores.items())),
        dump_sorted_set,
    ),
    HashValue: OF_HASH,
    ExpiringHash: OF_HASH._replace(encoding=packed_or(b"listpackex", b"hashtable"), dump=dump_expiring),
    ValkeyHash: OF_HASH._replace(dump=dump_valkey),
    RQueue: ValueType(  # for module types Redis says raw, and the module makes the digest
        5,
        always(b"raw"),
        of_elements(lambda queue: (map(b"".join, chain(queue.undelivered, queue.redelivered())),)),
        lambda digest, _: digest,
        dump_rqueue,
    ),
    Stream: ValueType(6, always(b"stream"), of_stream, digest_of_stream, dump_stream),
}
