"""DEBUG DIGEST: a digest of values and of whole databases, the same as redis-server's for the same data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .rdb.value_types import TYPES
from .values.hashing import SIZE, hashed, mixed

if TYPE_CHECKING:
    from .keyspace.keyspace import Database

__all__ = ["digest_of_all", "digest_of_key", "text"]


def text(digest: int) -> bytes:
    """A digest as clients see it."""
    return b"%040x" % digest


def digest_of_all(databases: Iterable[Database]) -> int:
    """The digest of all keys in some databases."""
    digest = 0
    for db in databases:
        if db.values:
            digest = mixed(digest, db.index.to_bytes(4))
        for key in db.values:
            digest ^= hashed(digest_of_key(db, key, mixed(0, key)).to_bytes(SIZE))
    return digest


def digest_of_key(db: Database, key: bytes, digest: int = 0) -> int:
    """The digest of a key's value, even if the key has expired; 0 if there is no such key.

    Args:
        db: the database of the key.
        key: its name.
        digest: the digest to combine with that of the value.
    """
    value = db.values.get(key)
    if value is None:
        return 0
    facts = TYPES[type(value)]
    digest = facts.digest(mixed(digest, facts.number.to_bytes(4)), value)
    return digest ^ hashed(b"!!expire!!") if key in db.deadlines else digest
