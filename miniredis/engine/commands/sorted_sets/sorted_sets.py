"""Members of sorted sets: setting their scores, looking them up, removing them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, command, in_versions
from ...keyspace.keyspace import SORTED_SET
from ...numbers.doubles import read_double
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NULL_ARRAY, Reply
from ...values.packing import Packing
from ...values.sorted_sets import SortedSet

READ: Final = Keys(1, "RO access")


# Scores

OPTIONS: Final = (b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR")


@dataclass(slots=True)
class Counts:
    """The outcome of a ZADD.

    Attributes:
        added: the number of new members.
        updated: the number of members whose score changed.
        last: the score of the last member; None if it was not set.
    """

    added: int = 0
    updated: int = 0
    last: float | None = None


@command(
    "ZADD",
    -4,
    "write denyoom fast",
    acl="sortedset",
    keys=Keys(1, "RW update"),
    since="1.2.0",
    syntax=(
        "key#0 [condition@3.0.2(NX|XX)] [comparison@6.2.0(GT|LT)] [CH~change@3.0.2] [INCR~increment@3.0.2] "
        "score_member{score:double member}..."
    ),
)
def zadd(session: Session, args: list[bytes]) -> Reply:
    """Adds members with scores to a sorted set, or changes the scores of its members."""
    at = 2
    while at < len(args) and args[at].upper() in OPTIONS:
        at += 1
    options = {word.upper() for word in args[2:at]}
    return add(session, args[1], args[at:], options)


@command(
    "ZINCRBY",
    4,
    "write denyoom fast",
    acl="sortedset",
    keys=Keys(1, "RW access update"),
    since="1.2.0",
    syntax="key#0 increment:integer member",
)
def zincrby(session: Session, args: list[bytes]) -> Reply:
    """Adds to the score of a member; a missing member counts as 0."""
    if args[2].upper() in OPTIONS:  # Redis parses it as options of ZADD
        raise CommandError(errors.SYNTAX)
    return add(session, args[1], args[2:], {b"INCR"})


def add(session: Session, key: bytes, words: list[bytes], options: set[bytes]) -> Reply:
    """Runs ZADD from the scores on."""
    if len(words) % 2 or not words:
        raise CommandError(errors.SYNTAX)
    check_options(options, len(words) // 2)
    scores = [read_double(text) for text in words[::2]]
    counts = put(session, key, scores, words[1::2], options)
    if b"INCR" in options:
        return counts.last
    return counts.added + (counts.updated if b"CH" in options else 0)


def check_options(options: set[bytes], pairs: int) -> None:
    if {b"NX", b"XX"} <= options:
        raise CommandError(errors.NX_WITH_XX)
    if len(options & {b"NX", b"GT", b"LT"}) > 1:
        raise CommandError(errors.GT_LT_NX)
    if b"INCR" in options and pairs > 1:
        raise CommandError(errors.INCR_OF_SEVERAL)


def put(
    session: Session, key: bytes, scores: Sequence[float], members: Sequence[bytes], options: set[bytes]
) -> Counts:
    """Sets the scores of members as far as the options allow."""
    db, counts = session.db, Counts()
    values = db.lookup_write(key, SORTED_SET)
    is_new = values is None
    if values is None:
        if b"XX" in options:
            return counts
        values = SortedSet()
    packing = session.engine.packing
    if packing.foresees_unpacking(members):
        values.is_packed = False
    for member, score in zip(members, scores, strict=True):
        put_one(values, member, score, options, packing, counts)
    event = "zincr" if b"INCR" in options else "zadd"
    changed = counts.added + counts.updated
    if is_new:
        db.create(key, values, event, changed)
    elif changed:
        db.signal_modified(key, event, changed)
    return counts


def put_one(
    values: SortedSet, member: bytes, score: float, options: set[bytes], packing: Packing, counts: Counts
) -> None:
    counts.last = None
    old = values.scores.get(member)
    if (b"XX" if old is None else b"NX") in options:
        return
    if old is not None:
        if b"INCR" in options:
            score += old
            if math.isnan(score):
                raise CommandError(errors.NOT_A_SCORE)
        if (b"LT" in options and score >= old) or (b"GT" in options and score <= old):
            return
    counts.last = score
    if score == old:
        return
    values.put(member, score, packing)
    if old is None:
        counts.added += 1
    else:
        counts.updated += 1


# Looking up


@command("ZCARD", 2, "readonly fast", acl="sortedset", keys=Keys(1, "RO"), since="1.2.0", syntax="key#0")
def zcard(session: Session, args: list[bytes]) -> Reply:
    """Counts the members of a sorted set; 0 if there is no sorted set."""
    return len(session.db.lookup_read(args[1], SORTED_SET) or ())


@command("ZSCORE", 3, "readonly fast", acl="sortedset", keys=READ, since="1.2.0", syntax="key#0 member")
def zscore(session: Session, args: list[bytes]) -> Reply:
    """Returns the score of one member."""
    values = session.db.lookup_read(args[1], SORTED_SET)
    return None if values is None else values.scores.get(args[2])


@command("ZMSCORE", -3, "readonly fast", acl="sortedset", keys=READ, since="6.2.0", syntax="key#0 member...")
def zmscore(session: Session, args: list[bytes]) -> Reply:
    """Returns the scores of several members; null for a missing member."""
    values = session.db.lookup_read(args[1], SORTED_SET)
    scores = {} if values is None else values.scores
    return [scores.get(member) for member in args[2:]]


@command("ZRANK", 3, "readonly fast", acl="sortedset", keys=READ, since="2.0.0", syntax="key#0 member")
def zrank(session: Session, args: list[bytes]) -> Reply:
    """Returns the rank of a member by ascending score; the lowest has rank 0."""
    values = session.db.lookup_read(args[1], SORTED_SET)
    return None if values is None else values.rank(args[2])


@command("ZREVRANK", 3, "readonly fast", acl="sortedset", keys=READ, since="2.0.0", syntax="key#0 member")
def zrevrank(session: Session, args: list[bytes]) -> Reply:
    """Returns the rank of a member by descending score; the highest has rank 0."""
    values = session.db.lookup_read(args[1], SORTED_SET)
    rank = None if values is None else values.rank(args[2])
    return None if values is None or rank is None else len(values) - 1 - rank


@in_versions("7.2+", "zrank zrevrank")
def ranks_with_score(session: Session, args: list[bytes]) -> Reply:
    """ZRANK and ZREVRANK as they are since 7.2: both take WITHSCORE."""
    name, has_score = args[0].lower(), len(args) > 3
    if len(args) > 4:
        raise CommandError(errors.wrong_arity(name))
    if has_score and args[3].upper() != b"WITHSCORE":
        raise CommandError(errors.SYNTAX)
    values = session.db.lookup_read(args[1], SORTED_SET)
    rank = None if values is None else values.rank(args[2])
    if values is None or rank is None:
        return NULL_ARRAY if has_score else None
    rank = len(values) - 1 - rank if name == b"zrevrank" else rank
    return [rank, values.scores[args[2]]] if has_score else rank


# Removing


@command(
    "ZREM",
    -3,
    "write fast",
    acl="sortedset",
    keys=Keys(1, "RW delete"),
    since="1.2.0",
    syntax="key#0 member...",
)
def zrem(session: Session, args: list[bytes]) -> Reply:
    """Removes members of a sorted set; returns how many were in it."""
    values = session.db.lookup_write(args[1], SORTED_SET)
    if values is None:
        return 0
    removed = sum(values.remove(member) for member in args[2:])
    if removed:
        session.db.shrunk(args[1], values, "zrem", removed)
    return removed
