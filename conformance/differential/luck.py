"""What Redis leaves to luck, and goes on to depend on: such requests are not sent.

A reply that depends on luck alone is let pass by the table of ``tolerated`` differences. A key that does
would make all that follows differ: what SPOP leaves in a set, the order in which SORT stores members of a
table that weigh the same or are not sorted at all, and the members that a skip list finds in a range of
members, where its scores have them in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from miniredis.engine import Engine, Session
from miniredis.engine.numbers.numbers import parse_integer
from miniredis.engine.values.sets import SetValue
from miniredis.engine.values.sorted_sets import SortedSet

__all__ = ["is_luck"]

SORTS: Final = {b"SORT", b"SORT_RO"}
RANGES: Final = {
    b"ZRANGEBYLEX": 1, b"ZREVRANGEBYLEX": 1, b"ZLEXCOUNT": 1, b"ZREMRANGEBYLEX": 1,
    b"ZRANGE": 1, b"ZRANGESTORE": 2,
}  # fmt: skip
"""Where the key is in those that may be told a range of members."""

MAKES: Final = (b"SADD", b"SMOVE", b"SINTER", b"SUNION", b"SDIFF", b"Z", b"GEO", b"RESTORE")
"""How the names of commands begin that make a set or a sorted set, or add to one."""

OLDER: Final = 10_000
"""Seconds; no client of a conversation becomes so old."""

ANY: Final = None
"""In place of all that a key may hold: it may be anything."""

Values: TypeAlias = "Mapping[bytes, object] | list[object] | None"
"""What there is at each key, what may be there at any, or ``ANY``."""

Rule: TypeAlias = "tuple[int, Callable[[object], bool]]"
"""Where a request has its key, and whether luck decides what it does with a value there."""


def is_luck(engine: Engine, session: Session, words: Sequence[bytes]) -> bool:
    """Whether luck decides what a request does, or that which it makes run or puts off."""
    if asks_for_ages(words):
        return True
    if words[0].upper() == b"EXEC" and session.transaction is not None:
        queued = [request for _, request in session.transaction.queued]
        makes = any(request[0].upper().startswith(MAKES) for request in queued)
        values = ANY if makes or engine.conditions.pause else everything(engine)
        return any(depends(values, request) for request in queued)
    if session.transaction is not None:
        return False
    return depends(ANY if engine.conditions.pause else session.db.values, words)


def asks_for_ages(words: Sequence[bytes]) -> bool:
    """CLIENT KILL or LIST asks for clients that are so many seconds old, or silent, by two clocks."""
    if words[0].upper() != b"CLIENT":
        return False
    options = zip(words[2:], map(parse_integer, words[3:]), strict=False)
    return any(
        word.upper().endswith((b"MAXAGE", b"IDLE")) and age is not None and 0 < age < OLDER
        for word, age in options
    )


def everything(engine: Engine) -> list[object]:
    """All that any key holds."""
    return [value for database in engine.keyspace.databases for value in database.values.values()]


def depends(values: Values, words: Sequence[bytes]) -> bool:
    """Whether luck decides what one request does."""
    rule = rule_for(words)
    if rule is None:
        return False
    at, decides = rule
    if isinstance(values, Mapping):
        return at < len(words) and decides(values.get(words[at]))
    return values is ANY or any(map(decides, values))


def rule_for(words: Sequence[bytes]) -> Rule | None:
    name, options = words[0].upper(), {word.upper() for word in words[1:]}
    if name == b"SPOP":
        return pops_some(words)
    if name in SORTS and b"BY" in options:
        return 1, is_sorted_as_table
    if name in SORTS and b"ALPHA" in options:
        return 1, is_table_with_nul
    if name in RANGES and (b"LEX" in name or b"BYLEX" in options):
        return RANGES[name], is_out_of_order
    return None


def pops_some(words: Sequence[bytes]) -> Rule | None:
    """SPOP takes some of several members."""
    count = parse_integer(words[2]) if len(words) > 2 else 1
    if len(words) not in {2, 3} or count is None or count <= 0:
        return None
    return 1, lambda value: isinstance(value, SetValue) and count < len(value)


def is_sorted_as_table(value: object) -> bool:
    """SORT goes through it in the order of a table, which it makes of a sorted set."""
    return isinstance(value, SortedSet) or (isinstance(value, SetValue) and not value.is_packed)


def is_table_with_nul(value: object) -> bool:
    """As texts of C, several of its members may be the same."""
    members = value.members if isinstance(value, SetValue) else getattr(value, "scores", ())
    return any(b"\0" in member for member in members)


def is_out_of_order(value: object) -> bool:
    """Whether it is kept in a skip list, by scores that may have its members in another order."""
    return isinstance(value, SortedSet) and not value.is_packed and len(set(value.scores.values())) > 1
