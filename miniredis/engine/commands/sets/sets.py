"""Members of sets: adding, looking up, moving, removing, random and scanning."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, command, completed_in
from ...keyspace.keyspace import SET
from ...numbers.numbers import read_positive
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply, Set
from ...values.sets import SetValue
from ..drawing import check_repeated, drawn, read_count
from ..keys.scanning import next_members, read_cursor, read_options

READ: Final = Keys(1, "RO access")
LOOKED_AT: Final = Keys(1, "RO")
LUCK: Final = "nondeterministic_output"

FEW_STAY: Final = 5
"""If SPOP removes at least this many times the members that stay, it makes a new set of these."""


# Adding and removing


@command(
    "SADD",
    -3,
    "write denyoom fast",
    acl="set",
    keys=Keys(1, "RW insert"),
    since="1.0.0",
    syntax="key#0 member...",
)
def sadd(session: Session, args: list[bytes]) -> Reply:
    """Adds members to a set, and creates it if needed; returns how many are new."""
    db, key, packing = session.db, args[1], session.engine.packing
    values = db.lookup_write(key, SET)
    changed = SetValue() if values is None else values
    if packing.foresees and len(args) - 2 > packing.set_integers:
        changed.is_packed = False
    added = 0
    for member in args[2:]:
        added += changed.add(member, packing)
    if values is None:
        db.create(key, changed, "sadd", added)
    elif added:
        db.signal_modified(key, "sadd", added)
    return added


@command(
    "SREM", -3, "write fast", acl="set", keys=Keys(1, "RW delete"), since="1.0.0", syntax="key#0 member..."
)
def srem(session: Session, args: list[bytes]) -> Reply:
    """Removes members of a set, and the set with its last member."""
    values = session.db.lookup_write(args[1], SET)
    removed = 0 if values is None else sum(map(values.remove, args[2:]))
    if values is not None and removed:
        session.db.shrunk(args[1], values, "srem", removed)
    return removed


@command(
    "SMOVE",
    4,
    "write fast",
    acl="set",
    keys=(Keys(1, "RW access delete"), Keys(2, "RW insert")),
    since="1.0.0",
    syntax="source#0 destination#1 member",
)
def smove(session: Session, args: list[bytes]) -> Reply:
    """Moves a member from one set to another; returns whether it was in the first."""
    db, (_, source, target, member) = session.db, args
    sought, _ = db.lookup_write(source), db.lookup_write(target)
    if sought is None:
        return 0
    giver, taker = db.lookup_write(source, SET), db.lookup_write(target, SET)
    assert giver is not None
    if giver is taker:
        return int(member in giver.members)
    if not giver.remove(member):
        return 0
    db.announce(source, "srem")
    if not giver:
        db.delete(source, None)
        db.announce(source, "del")
    if taker is None:
        db.create(target, SetValue.of([member], session.engine.packing), None)
    db.signal_modified(source, "")
    if taker is None or taker.add(member, session.engine.packing):
        db.signal_modified(target, "sadd")
    return 1


# Looking up


def members_of(session: Session, key: bytes) -> dict[bytes, None]:
    """The members of the set at a key; an empty dictionary if there is no such key."""
    values = session.db.lookup_read(key, SET)
    return {} if values is None else values.members


@command("SISMEMBER", 3, "readonly fast", acl="set", keys=LOOKED_AT, since="1.0.0", syntax="key#0 member")
def sismember(session: Session, args: list[bytes]) -> Reply:
    """Returns whether a set has a member."""
    return int(args[2] in members_of(session, args[1]))


@command("SMISMEMBER", -3, "readonly fast", acl="set", keys=READ, since="6.2.0", syntax="key#0 member...")
def smismember(session: Session, args: list[bytes]) -> Reply:
    """Returns for each of several members whether a set has it."""
    members = members_of(session, args[1])
    return [int(member in members) for member in args[2:]]


@command("SCARD", 2, "readonly fast", acl="set", keys=LOOKED_AT, since="1.0.0", syntax="key#0")
def scard(session: Session, args: list[bytes]) -> Reply:
    """Counts the members of a set."""
    return len(members_of(session, args[1]))


@command(
    "SMEMBERS",
    2,
    "readonly",
    acl="set",
    keys=READ,
    tips="nondeterministic_output_order",
    since="1.0.0",
    syntax="key#0",
)
def smembers(session: Session, args: list[bytes]) -> Reply:
    """Lists the members of a set."""
    return Set(session.db.lookup_read(args[1], SET) or ())


# Scanning


@command(
    "SSCAN",
    -3,
    "readonly",
    acl="set",
    keys=READ,
    tips=LUCK,
    since="2.8.0",
    syntax="key#0 cursor:integer [MATCH pattern:pattern] [COUNT count:integer]",
)
def sscan(session: Session, args: list[bytes]) -> Reply:
    """Returns some members of a set, and the cursor for the next call."""
    cursor = read_cursor(args[2])
    values = session.db.lookup_read(args[1], SET)
    if values is None:
        return [b"0", []]
    cursor, found = next_members(values, cursor, read_options(args[3:], may_have_type=False))
    return [b"%d" % cursor, found]


# Random members


@command(
    "SRANDMEMBER",
    -2,
    "readonly",
    acl="set",
    keys=READ,
    tips=LUCK,
    since="1.0.0",
    syntax="key#0 [count:integer@2.6.0]",
)
def srandmember(session: Session, args: list[bytes]) -> Reply:
    """Returns random members of a set: distinct ones, or with a negative count perhaps repeated ones."""
    if len(args) > 3:
        raise CommandError(errors.SYNTAX)
    count = read_count(args[2]) if len(args) > 2 else None
    values = session.db.lookup_read(args[1], SET)
    if count is None:
        return None if values is None else values.index().any(session.engine.random)
    if values is None:
        return []
    found = drawn(session, values, count)
    check_repeated(session, found, count)
    return found


@completed_in("6.0", "srandmember")
def as_set(_: Session, __: list[bytes], reply: Reply) -> Reply:
    """SRANDMEMBER of 6.0 replies with a set if it has a count, although a member may come twice."""
    return Set(reply) if isinstance(reply, list) else reply


@command(
    "SPOP",
    -2,
    "write fast",
    acl="set",
    keys=Keys(1, "RW access delete"),
    tips=LUCK,
    since="1.0.0",
    syntax="key#0 [count:integer@3.2.0]",
)
def spop(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns one or more random members of a set."""
    if len(args) > 3:
        raise CommandError(errors.SYNTAX)
    count = read_positive(args[2]) if len(args) > 2 else None
    values = session.db.lookup_write(args[1], SET)
    if count is None:
        return None if values is None else pop(session, args[1], values, 1)[0]
    if values is not None and count >= len(values):
        session.db.lookup_read(args[1])  # as Redis does, where a client can see it: this one is a hit
    return Set(pop(session, args[1], values, count) if values is not None and count else ())


def pop(session: Session, key: bytes, values: SetValue, count: int) -> list[bytes]:
    """Removes up to ``count`` (at least 1) random members from the set at a key."""
    found = drawn(session, values, count)
    stay = len(values) - len(found)
    if not stay:
        session.db.delete(key, "spop del", len(found))
        return found
    for member in found:
        values.remove(member)
    if stay * FEW_STAY <= count:
        session.db.replace(key, SetValue.of(values.members, session.engine.packing))
    session.db.signal_modified(key, "spop", len(found))
    return found
