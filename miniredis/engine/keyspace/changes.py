"""Changes: every change of a key is one ``Change``, which the keyspace passes to its listeners.

The keyspace reports only observed keys. WATCH is handled first (``keyspace.py``), then blocked clients
(``waiting.py``), then tracked keys and keyspace events (``change_notifier.py``) and effects (``effects.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

__all__ = ["ALL_DATABASES", "Change", "Everything", "Listener", "Watcher"]

ALL_DATABASES: Final = -1


class Change(NamedTuple):
    """A change of a key, or of all keys of a database.

    Attributes:
        database: its number, or ``ALL_DATABASES``.
        key: None for all keys at once.
        kind: the type of the key's value after the change; None if the key is gone.
        event: the keyspace event, or several separated by spaces; empty for none.
        modifies: whether it concerns WATCH and tracking; not so, say, for what a group has read of a stream.
        elements: of a hash, the fields that have expired.
        is_ready: whether blocked clients may now be served: the key is new or gone, or there is more to read.
    """

    database: int
    key: bytes | None
    kind: type | None
    event: str
    modifies: bool = True
    is_ready: bool = False
    elements: Sequence[bytes] = ()


Listener: TypeAlias = Callable[[Change], None]


class Watcher(Protocol):
    """A client that watches keys."""

    def watched_key_changed(self) -> None:
        """Makes its next EXEC run nothing."""


class Everything:
    """A container of everything."""

    def __contains__(self, _: object) -> bool:
        return True
