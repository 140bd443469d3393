"""ZSCAN and ZRANDMEMBER: members of a sorted set in steps, and random members."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, by_version, command
from ...glob import compile_match
from ...keyspace.keyspace import SORTED_SET
from ...numbers.doubles import packed_text, short_text
from ...numbers.numbers import MAX
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Pairs, Reply, double_text
from ...values.sorted_sets import Entry, SortedSet
from ..drawing import MOST_REPEATED, check_repeated, read_count
from ..keys.scanning import read_cursor, read_options

READ: Final = Keys(1, "RO access")

FEW: Final = 100
"""Up to this many entries are looked up by rank, which is faster than a copy of all entries."""


@command(
    "ZSCAN",
    -3,
    "readonly",
    acl="sortedset",
    keys=READ,
    tips="nondeterministic_output",
    since="2.8.0",
    syntax="key#0 cursor:integer [MATCH pattern:pattern] [COUNT count:integer]",
)
def zscan(session: Session, args: list[bytes]) -> Reply:
    """Returns some members of a sorted set with their scores, and the cursor for the next call."""
    cursor = read_cursor(args[2])
    values = session.db.lookup_read(args[1], SORTED_SET)
    if values is None:
        return [b"0", []]
    options = read_options(args[3:], may_have_type=False)
    fits = compile_match(options.pattern)
    if values.is_packed:  # Redis returns all at once, with the texts in its listpack
        cursor, members = 0, [member for _, member in values]
    else:
        cursor, members = values.index().walk(cursor, options.count)
    text = score_texts(session.engine.version)[not values.is_packed]
    found = [part for each in members if fits(each) for part in (each, text(values.scores[each]))]
    return [b"%d" % cursor, found]


score_texts: Final = by_version(
    (packed_text, double_text), {"6.0-6.2": (double_text, double_text), "7.2+": (short_text, short_text)}
)
"""How ZSCAN tells scores: those of a packed value, and of another."""


@command(
    "ZRANDMEMBER",
    -2,
    "readonly",
    acl="sortedset",
    keys=READ,
    tips="nondeterministic_output",
    since="6.2.0",
    syntax="key#0 [options{count:integer [WITHSCORES]}]",
)
def zrandmember(session: Session, args: list[bytes]) -> Reply:
    """Returns random members: distinct ones, or with a negative count perhaps repeated ones."""
    count = read_count(args[2]) if len(args) > 2 else None
    with_scores = len(args) > 3
    if with_scores:
        check_scores(args[3:], count or 0)
    values = session.db.lookup_read(args[1], SORTED_SET)
    if values is None:
        return None if count is None else []
    if count is None:
        return values.at(session.engine.random.randrange(len(values)))[1]
    chosen = drawn(session, values, count)
    return Pairs((member, score) for score, member in chosen) if with_scores else [each for _, each in chosen]


def drawn(session: Session, values: SortedSet, count: int) -> list[Entry]:
    """Random entries: up to ``count`` distinct ones, or, if negative, ``-count`` with repetition."""
    luck, size = session.engine.random, len(values)
    if count >= size:
        return list(reversed(values))  # Redis returns all of them in this order
    if count > FEW:
        return luck.sample(list(values), count)
    if count >= 0:
        return [values.at(rank) for rank in luck.sample(range(size), count)]
    if count < -MOST_REPEATED:
        raise CommandError(errors.OUT_OF_RANGE)
    chosen = luck.choices(list(values), k=-count)
    check_repeated(session, [member for _, member in chosen], count)
    return chosen


def check_scores(words: list[bytes], count: int) -> None:
    """Checks WITHSCORES, with which a reply has two items for each member."""
    if len(words) > 1 or words[0].upper() != b"WITHSCORES":
        raise CommandError(errors.SYNTAX)
    if not -(MAX // 2) <= count <= MAX // 2:
        raise CommandError(errors.OUT_OF_RANGE)
