"""Intersections, unions and differences of sets, returned or stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ...clients.session import Session
from ...declarations.registry import CountedKeys, Keys, command
from ...keyspace.keyspace import SET
from ...numbers.numbers import MAX, read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply, Set
from ...values.packing import Packing
from ...values.sets import SetValue

READ: Final = Keys(1, "RO access", last=-1)
SOURCES: Final = Keys(2, "RO access", last=-1)
UNORDERED: Final = "nondeterministic_output_order"
STORING: Final = "destination#0 key#1..."

Operation: TypeAlias = "Callable[[Sequence[SetValue | None], Packing], SetValue]"


def sources(session: Session, keys: Sequence[bytes]) -> list[SetValue | None]:
    """The sets at some keys; None for missing keys."""
    return [session.db.lookup_read(key, SET) for key in keys]


def store(session: Session, args: list[bytes], operation: Operation, event: str) -> int:
    """Stores the result in place of any old value of the first key."""
    values = operation(sources(session, args[2:]), session.engine.packing)
    return session.db.store_or_delete(args[1], values, event)


# Intersections


def intersection(sets: Sequence[SetValue | None]) -> list[bytes]:
    """The members that all sets have, in the order of the smallest set."""
    present = [values for values in sets if values is not None]
    if len(present) < len(sets):
        return []
    smallest, *others = sorted(present, key=len)
    found = list(smallest)
    for values in others:
        found = [member for member in found if member in values.members]
    return found


def intersected(sets: Sequence[SetValue | None], packing: Packing) -> SetValue:
    return SetValue.of(intersection(sets), packing)


@command("SINTER", -2, "readonly", acl="set", keys=READ, tips=UNORDERED, since="1.0.0", syntax="key#0...")
def sinter(session: Session, args: list[bytes]) -> Reply:
    """Returns the members that all given sets have in common."""
    return Set(intersection(sources(session, args[1:])))


@command(
    "SINTERSTORE",
    -3,
    "write denyoom",
    acl="set",
    keys=(Keys(1, "RW update"), SOURCES),
    since="1.0.0",
    syntax=STORING,
)
def sinterstore(session: Session, args: list[bytes]) -> Reply:
    """Stores the intersection of sets; returns how many members it has."""
    sets = sources(session, args[2:])
    values = intersected(sets, session.engine.packing)
    if values or None in sets:
        return session.db.store_or_delete(args[1], values, "sinterstore")
    session.db.delete(args[1], "emptied")
    return 0


@command(
    "SINTERCARD",
    -3,
    "readonly movablekeys",
    acl="set",
    keys=CountedKeys(1, "RO access"),
    since="7.0.0",
    syntax="numkeys:integer key#0... [LIMIT limit:integer]",
)
def sintercard(session: Session, args: list[bytes]) -> Reply:
    """Counts the members that all given sets have in common, up to a limit."""
    number = read_range(args[1], 1, MAX, errors.NUMKEYS_NOT_POSITIVE)
    if number > len(args) - 2:
        raise CommandError(errors.TOO_MANY_KEYS)
    limit = read_limit(args[2 + number :])
    size = len(intersection(sources(session, args[2 : 2 + number])))
    return min(size, limit) if limit else size


def read_limit(words: list[bytes]) -> int:
    """The last LIMIT; 0 for none."""
    limit = 0
    rest = iter(words)
    for word in rest:
        number = next(rest, None)
        if word.upper() != b"LIMIT" or number is None:
            raise CommandError(errors.SYNTAX)
        limit = read_range(number, 0, MAX, errors.LIMIT_NEGATIVE)
    return limit


# Unions


def union(sets: Sequence[SetValue | None], packing: Packing) -> SetValue:
    """The members that any of the sets has."""
    members: dict[bytes, None] = {}
    for values in sets:
        if values is not None:
            members.update(values.members)
    return SetValue.of(members, packing)


@command("SUNION", -2, "readonly", acl="set", keys=READ, tips=UNORDERED, since="1.0.0", syntax="key#0...")
def sunion(session: Session, args: list[bytes]) -> Reply:
    """Returns the members of at least one of the given sets."""
    return Set(union(sources(session, args[1:]), session.engine.packing))


@command(
    "SUNIONSTORE",
    -3,
    "write denyoom",
    acl="set",
    keys=(Keys(1, "OW update"), SOURCES),
    since="1.0.0",
    syntax=STORING,
)
def sunionstore(session: Session, args: list[bytes]) -> Reply:
    """Stores the union of sets; returns how many members it has."""
    return store(session, args, union, "sunionstore")


# Differences


def difference(sets: Sequence[SetValue | None], packing: Packing) -> SetValue:
    """The members of the first set that no other set has."""
    first, *others = sets
    present = [values for values in others if values is not None]
    if first is None or any(values is first for values in present):
        return SetValue()
    found = list(first)
    for values in present:
        found = [member for member in found if member not in values.members]
    outcome = SetValue.of(found, packing)
    if begins_with_all(first, present):
        outcome.is_packed = SetValue.of(first.members, packing).is_packed
    return outcome


def begins_with_all(first: SetValue, others: Sequence[SetValue]) -> bool:
    """Whether Redis removes the others from a copy of the first set, which stays a hash table if that is one.

    It does so if that costs less than looking up each member of the first set in all others.
    """
    looking_up = len(first) * (1 + len(others)) // 2
    return looking_up > len(first) + sum(map(len, others))


@command("SDIFF", -2, "readonly", acl="set", keys=READ, tips=UNORDERED, since="1.0.0", syntax="key#0...")
def sdiff(session: Session, args: list[bytes]) -> Reply:
    """Returns the members of the first set that no other given set has."""
    return Set(difference(sources(session, args[1:]), session.engine.packing))


@command(
    "SDIFFSTORE",
    -3,
    "write denyoom",
    acl="set",
    keys=(Keys(1, "OW update"), SOURCES),
    since="1.0.0",
    syntax=STORING,
)
def sdiffstore(session: Session, args: list[bytes]) -> Reply:
    """Stores the difference of sets; returns how many members it has."""
    return store(session, args, difference, "sdiffstore")
