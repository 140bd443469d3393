"""What Redis leaves to luck, and goes on to depend on: such requests are not sent.

A reply that depends on luck alone is let pass by the table of ``tolerated`` differences. A key that does
would make all that follows differ: the order in which SORT stores members of a table that weigh the same, and
the members that a skip list finds in a range of members, where its scores have them in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from miniredis.engine import Engine, Session
from miniredis.engine.sorted_set import SortedSet

__all__ = ["is_luck"]

SORTS: Final = {b"SORT", b"SORT_RO"}
RANGES: Final = {
    b"ZRANGEBYLEX": 1, b"ZREVRANGEBYLEX": 1, b"ZLEXCOUNT": 1, b"ZREMRANGEBYLEX": 1,
    b"ZRANGE": 1, b"ZRANGESTORE": 2,
}  # fmt: skip
"""Where the key is in those that may be told a range of members."""

MAKES_SORTED_SETS: Final = (b"Z", b"GEO", b"RESTORE")
"""How the names of commands begin that make one of nothing."""


def is_luck(engine: Engine, session: Session, words: Sequence[bytes]) -> bool:
    """Whether luck decides what a request does, or that which it makes run or puts off."""
    if words[0].upper() == b"EXEC" and session.transaction is not None:
        queued = [request for _, request in session.transaction.queued]
        makes = any(request[0].upper().startswith(MAKES_SORTED_SETS) for request in queued)
        values = everything(engine)
        return any(depends(values, request) or (makes and depends(ANY, request)) for request in queued)
    if session.transaction is not None:
        return False
    return depends(everything(engine) if engine.pause else session.db.values, words)


ANY: Final = None
"""In place of all that a key may hold: it may be anything."""


def everything(engine: Engine) -> list[object]:
    """All that any key holds."""
    return [value for database in engine.keyspace.databases for value in database.values.values()]


def depends(values: Mapping[bytes, object] | list[object] | None, words: Sequence[bytes]) -> bool:
    """Whether luck decides what one request does.

    Args:
        values: what there is at each key, what may be there at any, or (None) it may be anything.
        words: the request.
    """
    is_luck: Callable[[object], bool]
    name, options = words[0].upper(), {word.upper() for word in words[1:]}
    if name in SORTS and b"BY" in options:
        at, is_luck = 1, is_sorted_set
    elif name in SORTS and b"ALPHA" in options:
        at, is_luck = 1, has_nul
    elif name in RANGES and (b"LEX" in name or b"BYLEX" in options):
        at, is_luck = RANGES[name], is_out_of_order
    else:
        return False
    if isinstance(values, Mapping):
        return at < len(words) and is_luck(values.get(words[at]))
    return values is None or any(map(is_luck, values))


def is_sorted_set(value: object) -> bool:
    """SORT makes a table of it."""
    return isinstance(value, SortedSet)


def has_nul(value: object) -> bool:
    """As texts of C, several of its members may be the same."""
    return isinstance(value, SortedSet) and any(b"\0" in member for member in value.scores)


def is_out_of_order(value: object) -> bool:
    """Whether it is kept in a skip list, by scores that may have its members in another order."""
    return isinstance(value, SortedSet) and not value.is_packed and len(set(value.scores.values())) > 1
