"""Pops the lowest and highest members of sorted sets, blocking or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...clients.session import Session
from ...declarations.registry import CountedKeys, Keys, command
from ...keyspace.keyspace import SORTED_SET, Database
from ...numbers.numbers import read_positive, read_timeout
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NULL_ARRAY, Pairs, Reply
from ...values.sorted_sets import SortedSet
from ..lists.lists import End, read_keys_and_end

POPPED: Final = Keys(1, "RW access delete")
POPPED_ANY: Final = Keys(1, "RW access delete", last=-2)

LOWEST: Final[End] = "min"
HIGHEST: Final[End] = "max"
ENDS: Final = {b"MIN": LOWEST, b"MAX": HIGHEST}
POP_EVENT: Final[dict[End, str]] = {LOWEST: "zpopmin", HIGHEST: "zpopmax"}


@command(
    "ZPOPMIN", -2, "write fast", acl="sortedset", keys=POPPED, since="5.0.0", syntax="key#0 [count:integer]"
)
def zpopmin(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns one or more members with the lowest scores."""
    return pop(session, args, LOWEST)


@command(
    "ZPOPMAX", -2, "write fast", acl="sortedset", keys=POPPED, since="5.0.0", syntax="key#0 [count:integer]"
)
def zpopmax(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns one or more members with the highest scores."""
    return pop(session, args, HIGHEST)


def pop(session: Session, args: list[bytes], end: End) -> Reply:
    if len(args) > 3:
        raise CommandError(errors.SYNTAX)
    count = read_positive(args[2]) if len(args) == 3 else None
    values = session.db.lookup_write(args[1], SORTED_SET)
    if values is None or count == 0:
        return []
    popped = pop_many(session.db, args[1], values, end, count or 1)
    return list(popped[0]) if count is None else Pairs(popped)


def pop_many(db: Database, key: bytes, values: SortedSet, end: End, count: int) -> list[tuple[bytes, float]]:
    """Pops up to ``count`` members, in the order of popping them one by one."""
    number = min(count, len(values))
    if end == LOWEST:
        entries = values.remove_between(0, number)
    else:
        entries = values.remove_between(len(values) - number, len(values))[::-1]
    db.signal_modified(key, POP_EVENT[end], number)
    if not values:
        db.delete(key, count=0)
    return [(member, score) for score, member in entries]


@dataclass(frozen=True, slots=True)
class AnySortedSet:
    """The arguments of ZMPOP and BZMPOP: pop up to ``count`` members at one end of the first sorted set."""

    keys: list[bytes]
    end: End
    count: int

    def serve(self, db: Database, key: bytes, values: SortedSet) -> Reply:
        """Pops from the sorted set at one of the keys."""
        return [key, [list(pair) for pair in pop_many(db, key, values, self.end, self.count)]]


@command(
    "ZMPOP",
    -4,
    "write movablekeys",
    acl="sortedset",
    keys=CountedKeys(1, "RW access delete"),
    since="7.0.0",
    syntax="numkeys:integer key#0... where(MIN|MAX) [COUNT count:integer]",
)
def zmpop(session: Session, args: list[bytes]) -> Reply:
    """Removes and returns members of the first non-empty sorted set among several."""
    return pop_from_any(session.db, AnySortedSet(*read_keys_and_end(args, 1, ENDS)))


def pop_from_any(db: Database, wanted: AnySortedSet) -> Reply:
    for key in wanted.keys:
        values = db.lookup_write(key, SORTED_SET)
        if values is not None:
            return wanted.serve(db, key, values)
    return NULL_ARRAY


# Blocking


@command(
    "BZPOPMIN",
    -3,
    "write noscript blocking fast",
    acl="sortedset",
    keys=POPPED_ANY,
    since="5.0.0",
    syntax="key#0... timeout:double",
)
def bzpopmin(session: Session, args: list[bytes]) -> Reply:
    """Pops the member with the lowest score of the first non-empty sorted set, or waits for a member."""
    return blocking_pop(session, args, LOWEST)


@command(
    "BZPOPMAX",
    -3,
    "write noscript blocking fast",
    acl="sortedset",
    keys=POPPED_ANY,
    since="5.0.0",
    syntax="key#0... timeout:double",
)
def bzpopmax(session: Session, args: list[bytes]) -> Reply:
    """Pops the member with the highest score of the first non-empty sorted set, or waits for a member."""
    return blocking_pop(session, args, HIGHEST)


def blocking_pop(session: Session, args: list[bytes], end: End) -> Reply:
    def serve(db: Database, key: bytes, values: SortedSet) -> Reply:
        return [key, *pop_many(db, key, values, end, 1)[0]]

    timeout = read_timeout(args[-1])
    keys = args[1:-1]
    for key in keys:
        values = session.db.lookup_write(key, SORTED_SET)
        if values is not None:
            return serve(session.db, key, values)
    return session.block(keys, SortedSet, serve, timeout) if session.may_block else NULL_ARRAY


@command(
    "BZMPOP",
    -5,
    "write blocking movablekeys",
    acl="sortedset",
    keys=CountedKeys(2, "RW access delete"),
    since="7.0.0",
    syntax="timeout:double numkeys:integer key#0... where(MIN|MAX) [COUNT count:integer]",
)
def bzmpop(session: Session, args: list[bytes]) -> Reply:
    """Pops members like ZMPOP, or waits for one."""
    wanted = AnySortedSet(*read_keys_and_end(args, 2, ENDS))
    timeout = read_timeout(args[1])
    reply = pop_from_any(session.db, wanted)
    if reply is NULL_ARRAY and session.may_block:
        return session.block(wanted.keys, SortedSet, wanted.serve, timeout)
    return reply
