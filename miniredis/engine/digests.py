"""DEBUG DIGEST: a digest of values and of whole databases, the same as redis-server's for the same data.

Two operations make it, on digests as numbers of 20 bytes. ``hashed`` results are combined by exclusive or
where the order does not matter, as in a set. ``mixed`` goes through elements in their order.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from .hashes import HashValue
from .rqueues import RQueue
from .sets import SetValue
from .sorted_sets import SortedSet
from .stream_nodes import id_text
from .streams import Stream

if TYPE_CHECKING:
    from .keyspace import Database

__all__ = ["digest_of_all", "digest_of_key", "text"]

SIZE: Final = 20
"""Bytes of a digest of SHA-1."""


def text(digest: int) -> bytes:
    """A digest as clients see it."""
    return b"%040x" % digest


def digest_of_all(databases: Iterable[Database]) -> int:
    """The digest of all keys of all databases."""
    digest = 0
    for db in databases:
        if db.values:
            digest = mixed(digest, db.index.to_bytes(4))
        for key in db.values:
            digest ^= hashed(digest_of_key(db, key, mixed(0, key)).to_bytes(SIZE))
    return digest


def digest_of_key(db: Database, key: bytes, digest: int = 0) -> int:
    """The digest of a key's value, even if it has expired; 0 for a key that is not there.

    Args:
        db: the database that has the key.
        key: its name.
        digest: what the value's digest is combined with.
    """
    value = db.values.get(key)
    if value is None:
        return 0
    number, part = TYPES[type(value)]
    digest = part(mixed(digest, number.to_bytes(4)), value)
    return digest ^ hashed(b"!!expire!!") if key in db.deadlines else digest


def hashed(data: bytes | bytearray) -> int:
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest())


def mixed(digest: int, *pieces: bytes | bytearray) -> int:
    """A digest that depends on the order of the pieces."""
    for piece in pieces:
        digest = hashed((digest ^ hashed(piece)).to_bytes(SIZE))
    return digest


def unordered(digest: int, elements: Iterable[bytes]) -> int:
    """A digest that does not depend on the order of the elements."""
    for element in elements:
        digest ^= hashed(element)
    return digest


def pairs(digest: int, elements: Iterable[tuple[bytes, bytes]]) -> int:
    return unordered(digest, (mixed(0, *pair).to_bytes(SIZE) for pair in elements))


def stream_entries(digest: int, stream: Stream) -> int:
    for number, content in stream.walk():
        digest = mixed(digest, id_text(number).replace(b"-", b"."), *content)
    return digest


TYPES: Final[dict[type, tuple[int, Callable[[int, Any], int]]]] = {
    bytes: (0, mixed),
    bytearray: (0, mixed),
    deque: (1, lambda digest, values: mixed(digest, *values)),
    SetValue: (2, unordered),
    SortedSet: (3, lambda digest, value: pairs(digest, ((m, b"%.17g" % s) for m, s in value.scores.items()))),
    HashValue: (4, lambda digest, value: pairs(digest, value.fields.items())),
    RQueue: (5, lambda digest, _: digest),  # a module's type, whose digest is the module's affair
    Stream: (6, stream_entries),
}
"""The number that Redis has for each type, and what digests its values."""
