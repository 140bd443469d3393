"""Ranges of sorted sets: returned, counted, stored and removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ...clients.session import Session
from ...declarations.registry import Keys, chosen, command, instead_of
from ...keyspace.keyspace import SORTED_SET
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Pairs, Reply
from ...values.entry_ranges import Ranks, limited, ranks_between, read_members, read_scores
from ...values.sorted_sets import Entry, SortedSet

READ: Final = Keys(1, "RO access")
REMOVED: Final = Keys(1, "RW delete")

By: TypeAlias = Literal["rank", "score", "member"]
RANK: Final = "rank"
SCORE: Final = "score"
MEMBER: Final = "member"

Select: TypeAlias = Callable[[SortedSet], Ranks]
"""Returns the ranks of a sorted set that are in a range."""

LIMIT: Final = "[LIMIT offset_count{offset:integer count:integer}]"


def nowhere(values: SortedSet, ranks: Ranks, offset: int) -> int:
    """What a negative offset means: it is behind all entries, and nothing is found."""
    return offset


@instead_of(nowhere, "7.4+ valkey-8.1+")
def from_end(values: SortedSet, ranks: Ranks, offset: int) -> int:
    """The same since 7.4: it counts from the end of the range, but not in a packed sorted set."""
    return offset if values.is_packed else offset + ranks[1] - ranks[0]


@dataclass(slots=True)
class Query:
    """A range and how to return it.

    Attributes:
        by: what the range compares; None while options may decide it.
        backwards: whether the highest entry comes first; None while options may decide it.
        with_scores: whether to return scores.
        offset: how many entries of the range to skip.
        count: the most entries to return; negative for all.
        from_end: tells the offset that a negative one means.
    """

    by: By | None = None
    backwards: bool | None = None
    with_scores: bool = False
    offset: int = 0
    count: int = -1
    from_end: Callable[[SortedSet, Ranks, int], int] = nowhere

    def read_options(self, words: list[bytes], *, may_show_scores: bool = True) -> None:
        """Parses the options after the range."""
        at = 0
        while at < len(words):
            match words[at].upper():
                case b"WITHSCORES" if may_show_scores:
                    self.with_scores = True
                case b"LIMIT" if at + 2 < len(words):
                    self.offset, self.count = (read_integer(each) for each in words[at + 1 : at + 3])
                    at += 2
                case b"REV" if self.backwards is None:
                    self.backwards = True
                case b"BYSCORE" | b"BYLEX" as word if self.by is None:
                    self.by = SCORE if word == b"BYSCORE" else MEMBER
                case _:
                    raise CommandError(errors.SYNTAX)
            at += 1
        self._check()

    def _check(self) -> None:
        if self.by in {None, RANK} and self.count != -1:
            raise CommandError(errors.LIMIT_OF_RANKS)
        if self.by == MEMBER and self.with_scores:
            raise CommandError(errors.SCORES_OF_STRINGS)

    def read_range(self, start: bytes, stop: bytes) -> Select:
        """Parses the two bounds; backwards, the first is the upper one unless it is a rank."""
        backwards = bool(self.backwards)
        if self.by in {None, RANK}:
            first, last = read_integer(start), read_integer(stop)
            return lambda values: ranks_between(first, last, len(values), backwards=backwards)
        read = read_scores if self.by == SCORE else read_members
        wanted = read(stop, start) if backwards else read(start, stop)

        def select(values: SortedSet) -> Ranks:
            ranks = wanted.ranks(values, backwards=backwards)
            offset = self.offset if self.offset >= 0 else self.from_end(values, ranks, self.offset)
            return limited(ranks, offset, self.count, backwards=backwards)

        return select

    def entries(self, values: SortedSet | None, select: Select) -> list[Entry]:
        """The selected entries, in the requested order."""
        found = [] if values is None else values.between(*select(values))
        return found[::-1] if self.backwards else found

    def answer(self, session: Session, args: list[bytes]) -> Reply:
        """Runs a command that returns entries; its arguments are key, two bounds, options."""
        self.read_options(args[4:])
        if self.offset < 0:
            self.from_end = chosen(session.engine.version, nowhere)
        select = self.read_range(args[2], args[3])
        entries = self.entries(session.db.lookup_read(args[1], SORTED_SET), select)
        if self.with_scores:
            return Pairs((member, score) for score, member in entries)
        return [member for _, member in entries]


# Returning


@command(
    "ZRANGE",
    -4,
    "readonly",
    acl="sortedset",
    keys=READ,
    since="1.2.0",
    syntax=(
        "key#0 start stop [sortby@6.2.0(BYSCORE|BYLEX)] [REV@6.2.0] "
        "[LIMIT offset_count@6.2.0{offset:integer count:integer}] [WITHSCORES]"
    ),
)
def zrange(session: Session, args: list[bytes]) -> Reply:
    """Returns the members in a range of ranks, scores or names, in either order."""
    return Query().answer(session, args)


@command(
    "ZREVRANGE",
    -4,
    "readonly",
    acl="sortedset",
    keys=READ,
    since="1.2.0",
    syntax="key#0 start:integer stop:integer [WITHSCORES]",
    deprecated="6.2.0",
    replaced_by="`ZRANGE` with `REV`",
)
def zrevrange(session: Session, args: list[bytes]) -> Reply:
    """Returns the members in a range of ranks, the highest first."""
    return Query(RANK, backwards=True).answer(session, args)


@command(
    "ZRANGEBYSCORE",
    -4,
    "readonly",
    acl="sortedset",
    keys=READ,
    since="1.0.5",
    syntax=f"key#0 min:double max:double [WITHSCORES@2.0.0] {LIMIT}",
    deprecated="6.2.0",
    replaced_by="`ZRANGE` with `BYSCORE`",
)
def zrangebyscore(session: Session, args: list[bytes]) -> Reply:
    """Returns the members in a range of scores, the lowest first."""
    return Query(SCORE, backwards=False).answer(session, args)


@command(
    "ZREVRANGEBYSCORE",
    -4,
    "readonly",
    acl="sortedset",
    keys=READ,
    since="2.2.0",
    syntax=f"key#0 max:double min:double [WITHSCORES] {LIMIT}",
    deprecated="6.2.0",
    replaced_by="`ZRANGE` with `REV` and `BYSCORE`",
)
def zrevrangebyscore(session: Session, args: list[bytes]) -> Reply:
    """Returns the members in a range of scores, the highest first."""
    return Query(SCORE, backwards=True).answer(session, args)


@command(
    "ZRANGEBYLEX",
    -4,
    "readonly",
    acl="sortedset",
    keys=READ,
    since="2.8.9",
    syntax=f"key#0 min max {LIMIT}",
    deprecated="6.2.0",
    replaced_by="`ZRANGE` with `BYLEX`",
)
def zrangebylex(session: Session, args: list[bytes]) -> Reply:
    """Returns the members in a range of names, if all scores are equal."""
    return Query(MEMBER, backwards=False).answer(session, args)


@command(
    "ZREVRANGEBYLEX",
    -4,
    "readonly",
    acl="sortedset",
    keys=READ,
    since="2.8.9",
    syntax=f"key#0 max min {LIMIT}",
    deprecated="6.2.0",
    replaced_by="`ZRANGE` with `REV` and `BYLEX`",
)
def zrevrangebylex(session: Session, args: list[bytes]) -> Reply:
    """Returns the members in a range of names, the last first, if all scores are equal."""
    return Query(MEMBER, backwards=True).answer(session, args)


# Storing


@command(
    "ZRANGESTORE",
    -5,
    "write denyoom",
    acl="sortedset",
    keys=(Keys(1, "OW update"), Keys(2, "RO access")),
    since="6.2.0",
    syntax=f"dst#0 src#1 min max [sortby(BYSCORE|BYLEX)] [REV] {LIMIT}",
)
def zrangestore(session: Session, args: list[bytes]) -> Reply:
    """Stores a range of a sorted set at another key; returns how many members it has."""
    db, query = session.db, Query()
    query.read_options(args[5:], may_show_scores=False)
    query.from_end = chosen(session.engine.version, nowhere)
    select = query.read_range(args[3], args[4])
    entries = query.entries(db.lookup_read(args[2], SORTED_SET), select)
    stored, packing = SortedSet(), session.engine.packing
    for score, member in entries:
        stored.put(member, score, packing)
    return db.store_or_delete(args[1], stored, "zrangestore")


# Counting


@command(
    "ZCOUNT",
    4,
    "readonly fast",
    acl="sortedset",
    keys=READ,
    since="2.0.0",
    syntax="key#0 min:double max:double",
)
def zcount(session: Session, args: list[bytes]) -> Reply:
    """Counts the members in a range of scores."""
    return count(session, args, Query(SCORE))


@command("ZLEXCOUNT", 4, "readonly fast", acl="sortedset", keys=READ, since="2.8.9", syntax="key#0 min max")
def zlexcount(session: Session, args: list[bytes]) -> Reply:
    """Counts the members in a range of names, if all scores are equal."""
    return count(session, args, Query(MEMBER))


def count(session: Session, args: list[bytes], query: Query) -> int:
    select = query.read_range(args[2], args[3])
    values = session.db.lookup_read(args[1], SORTED_SET)
    if values is None:
        return 0
    first, end = select(values)
    return end - first


# Removing


@command(
    "ZREMRANGEBYRANK",
    4,
    "write",
    acl="sortedset",
    keys=REMOVED,
    since="2.0.0",
    syntax="key#0 start:integer stop:integer",
)
def zremrangebyrank(session: Session, args: list[bytes]) -> Reply:
    """Removes the members in a range of ranks; returns how many."""
    return remove(session, args, Query(RANK), "zremrangebyrank")


@command(
    "ZREMRANGEBYSCORE",
    4,
    "write",
    acl="sortedset",
    keys=REMOVED,
    since="1.2.0",
    syntax="key#0 min:double max:double",
)
def zremrangebyscore(session: Session, args: list[bytes]) -> Reply:
    """Removes the members in a range of scores; returns how many."""
    return remove(session, args, Query(SCORE), "zremrangebyscore")


@command("ZREMRANGEBYLEX", 4, "write", acl="sortedset", keys=REMOVED, since="2.8.9", syntax="key#0 min max")
def zremrangebylex(session: Session, args: list[bytes]) -> Reply:
    """Removes the members in a range of names, if all scores are equal; returns how many."""
    return remove(session, args, Query(MEMBER), "zremrangebylex")


def remove(session: Session, args: list[bytes], query: Query, event: str) -> int:
    select = query.read_range(args[2], args[3])
    db, key = session.db, args[1]
    values = db.lookup_write(key, SORTED_SET)
    if values is None:
        return 0
    removed = values.remove_between(*select(values))
    if removed:
        db.shrunk(key, values, event, len(removed))
    return len(removed)
