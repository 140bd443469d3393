"""Fields of hashes: setting, reading and removing them."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, command, prepared_in
from ...keyspace.keyspace import HASH, Database
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Map, Reply
from ...values.hashes import HashValue

READ: Final = Keys(1, "RO access")
LOOKED_AT: Final = Keys(1, "RO")
UPDATED: Final = Keys(1, "RW update")
UNORDERED: Final = "nondeterministic_output_order"


# Setting


@command(
    "HSET",
    -4,
    "write denyoom fast",
    acl="hash",
    keys=UPDATED,
    since="2.0.0",
    syntax="key#0 field_value{field value}...",
)
def hset(session: Session, args: list[bytes]) -> Reply:
    """Sets fields of a hash, and creates it if needed; returns how many fields are new."""
    return put(session, args, b"hset")


@command(
    "HMSET",
    -4,
    "write denyoom fast",
    acl="hash",
    keys=UPDATED,
    since="2.0.0",
    syntax="key#0 field_value{field value}...",
    deprecated="4.0.0",
    replaced_by="`HSET` with multiple field-value pairs",
)
def hmset(session: Session, args: list[bytes]) -> Reply:
    """Sets fields of a hash; the older form of HSET, which replies with OK."""
    put(session, args, b"hmset")
    return OK


def put(session: Session, args: list[bytes], name: bytes) -> int:
    if len(args) % 2:
        raise CommandError(errors.wrong_arity(name))
    db, key, packing = session.db, args[1], session.engine.packing
    values = db.lookup_write(key, HASH)
    changed = HashValue() if values is None else values
    added = 0
    for at in range(2, len(args), 2):
        added += changed.put(args[at], args[at + 1], packing)
    keep(db, key, values, changed, "hset", len(args) // 2 - 1)
    return added


def keep(
    db: Database, key: bytes, before: HashValue | None, after: HashValue, event: str, count: int = 1
) -> None:
    """Reports that so many fields of a hash were set; creates the key if there was none."""
    if before is None:
        db.create(key, after, event, count)
    else:
        db.signal_modified(key, event, count)


@command(
    "HSETNX",
    4,
    "write denyoom fast",
    acl="hash",
    keys=Keys(1, "RW insert"),
    since="2.0.0",
    syntax="key#0 field value",
)
def hsetnx(session: Session, args: list[bytes]) -> Reply:
    """Sets a field of a hash if it does not exist; returns whether it was set."""
    _, key, field, value = args
    values = session.db.lookup_write(key, HASH)
    if values is not None and field in values.fields:
        return 0
    changed = HashValue() if values is None else values
    changed.put(field, value, session.engine.packing)
    keep(session.db, key, values, changed, "hset")
    return 1


@prepared_in("6.0-6.2", "hsetnx")
def unpacks_for_nothing(session: Session, args: list[bytes]) -> None:
    """HSETNX unpacks a hash for a text that is too long, although it may not store it."""
    values = session.db.lookup_write(args[1], HASH)
    if values is not None and max(map(len, args[2:])) > session.engine.packing.hash_value:
        values.is_packed = False


# Reading


def fields_of(session: Session, key: bytes) -> dict[bytes, bytes]:
    """The fields of the hash at a key; an empty dictionary if there is no such key."""
    values = session.db.lookup_read(key, HASH)
    return {} if values is None else values.fields


@command("HGET", 3, "readonly fast", acl="hash", keys=READ, since="2.0.0", syntax="key#0 field")
def hget(session: Session, args: list[bytes]) -> Reply:
    """Returns the value of one field of a hash."""
    return fields_of(session, args[1]).get(args[2])


@command("HMGET", -3, "readonly fast", acl="hash", keys=READ, since="2.0.0", syntax="key#0 field...")
def hmget(session: Session, args: list[bytes]) -> Reply:
    """Returns the values of several fields of a hash; null for a missing field."""
    return list(map(fields_of(session, args[1]).get, args[2:]))


@command("HEXISTS", 3, "readonly fast", acl="hash", keys=LOOKED_AT, since="2.0.0", syntax="key#0 field")
def hexists(session: Session, args: list[bytes]) -> Reply:
    """Returns whether a hash has a field."""
    return int(args[2] in fields_of(session, args[1]))


@command("HSTRLEN", 3, "readonly fast", acl="hash", keys=LOOKED_AT, since="3.2.0", syntax="key#0 field")
def hstrlen(session: Session, args: list[bytes]) -> Reply:
    """Returns the length in bytes of the value in a field; 0 for a missing field."""
    return len(fields_of(session, args[1]).get(args[2], b""))


@command("HLEN", 2, "readonly fast", acl="hash", keys=LOOKED_AT, since="2.0.0", syntax="key#0")
def hlen(session: Session, args: list[bytes]) -> Reply:
    """Counts the fields of a hash."""
    return len(fields_of(session, args[1]))


@command("HKEYS", 2, "readonly", acl="hash", keys=READ, tips=UNORDERED, since="2.0.0", syntax="key#0")
def hkeys(session: Session, args: list[bytes]) -> Reply:
    """Lists the fields of a hash."""
    return list(fields_of(session, args[1]))


@command("HVALS", 2, "readonly", acl="hash", keys=READ, tips=UNORDERED, since="2.0.0", syntax="key#0")
def hvals(session: Session, args: list[bytes]) -> Reply:
    """Lists the values of a hash."""
    return list(fields_of(session, args[1]).values())


@command("HGETALL", 2, "readonly", acl="hash", keys=READ, tips=UNORDERED, since="2.0.0", syntax="key#0")
def hgetall(session: Session, args: list[bytes]) -> Reply:
    """Lists the fields of a hash with their values."""
    return Map(fields_of(session, args[1]))


# Removing


@command(
    "HDEL", -3, "write fast", acl="hash", keys=Keys(1, "RW delete"), since="2.0.0", syntax="key#0 field..."
)
def hdel(session: Session, args: list[bytes]) -> Reply:
    """Removes fields of a hash, and the hash with its last field."""
    values = session.db.lookup_write(args[1], HASH)
    removed = 0 if values is None else sum(map(values.remove, args[2:]))
    if values is not None and removed:
        session.db.shrunk(args[1], values, "hdel", removed)
    return removed
