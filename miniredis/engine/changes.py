"""The one stream of changes: whatever happens to a key is a ``Change``, and all who must know hear of it.

The keyspace makes them, and tells only of keys that somebody heeds. WATCH hears first (``keyspace.py``), then
blocked clients (``waiting.py``), then tracked keys and keyspace events (``news.py``) and ``effects.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

__all__ = ["ALL_DATABASES", "Change", "Everything", "Listener"]

ALL_DATABASES: Final = -1


class Change(NamedTuple):
    """Something that happened to a key, or to all keys of a database.

    Attributes:
        database: its number, or ``ALL_DATABASES``.
        key: None for all keys at once.
        kind: the type of the value that is there now; None if none is.
        event: the keyspace event, or several with spaces between them; empty if there is none.
        modifies: WATCH and clients that track keys see it; not, say, what a group has read of a stream.
        is_ready: blocked clients may be served now: the key is new, or there is more to read, or it is gone.
    """

    database: int
    key: bytes | None
    kind: type | None
    event: str
    modifies: bool = True
    is_ready: bool = False


Listener: TypeAlias = Callable[[Change], None]


class Everything:
    """Contains whatever one asks for."""

    def __contains__(self, _: object) -> bool:
        return True
