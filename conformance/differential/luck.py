"""What Redis leaves to luck, and goes on to depend on: such requests are not sent.

A reply that depends on luck alone is let pass by the table of ``tolerated`` differences. A key that does
would make all that follows differ: what SPOP leaves in a set, and the order in which SORT stores members of
a set that is a table, where they weigh the same or are not sorted at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from miniredis.engine import Engine, Session
from miniredis.engine.numbers import parse_integer
from miniredis.engine.sets import SetValue

__all__ = ["is_luck"]

SORTS: Final = {b"SORT", b"SORT_RO"}
MAKES_SETS: Final = {b"SADD", b"SMOVE", b"SINTERSTORE", b"SUNIONSTORE", b"SDIFFSTORE", b"RESTORE"}


def is_luck(engine: Engine, session: Session, words: Sequence[bytes]) -> bool:
    """Whether luck decides what a request does, or that which it makes run or puts off."""
    name = words[0].upper()
    if name == b"EXEC" and session.transaction is not None:
        queued = [request for _, request in session.transaction.queued]
        makes_sets = any(request[0].upper() in MAKES_SETS for request in queued)
        return any(depends(engine, None, request, makes_sets=makes_sets) for request in queued)
    if session.transaction is not None:
        return False
    return depends(engine, None if engine.pause else session, words, makes_sets=False)


def depends(engine: Engine, session: Session | None, words: Sequence[bytes], *, makes_sets: bool) -> bool:
    """Whether luck decides what one request does, run by a client now, or (None) whenever that will be."""
    name = words[0].upper()
    if name == b"SPOP" and len(words) in {2, 3}:
        return pops_some(session, words)
    if name in SORTS and any(word.upper() == b"BY" for word in words):
        if session is not None:
            return is_table(session.db.values.get(words[1]))
        return makes_sets or any(
            is_table(value) for db in engine.keyspace.databases for value in db.values.values()
        )
    return False


def pops_some(session: Session | None, words: Sequence[bytes]) -> bool:
    """Whether SPOP takes some of several members."""
    count = parse_integer(words[2]) if len(words) > 2 else 1
    if count is None or count <= 0:
        return False
    if session is None:
        return count < MANY
    value = session.db.values.get(words[1])
    return isinstance(value, SetValue) and count < len(value)


MANY: Final = 100
"""More members than a set has here."""


def is_table(value: object) -> bool:
    return isinstance(value, SetValue) and not value.is_packed
