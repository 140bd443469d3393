"""Keyspace events: what happens to keys, told on channels to whoever listens.

To tell of a new event, give it a class in ``CLASSES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .publishing import Publishing

__all__ = ["AFTER_REPLY", "ALL", "CLASSES", "LETTERS", "Notifications", "shown"]

NAMES: Final = {
    "g": "del rename_from rename_to move_from move_to copy_to restore expire persist",
    "$": "set setrange incrby incrbyfloat append setbit pfadd",
    "l": "lpush rpush lpop rpop linsert lset lrem ltrim sortstore",
    "s": "sadd srem spop sinterstore sunionstore sdiffstore",
    "h": "hset hincrby hincrbyfloat hdel",
    "z": (
        "zadd zincr zrem zpopmin zpopmax zremrangebyrank zremrangebyscore zremrangebylex zrangestore "
        "zunionstore zinterstore zdiffstore geosearchstore georadiusstore"
    ),
    "t": (
        "xadd xdel xtrim xsetid xgroup-create xgroup-createconsumer xgroup-setid xgroup-destroy "
        "xgroup-delconsumer"
    ),
    "x": "expired",
    "m": "keymiss",
    "n": "new",
}
"""The events of each class, by its letter."""

CLASSES: Final = {event: letter for letter, events in NAMES.items() for event in events.split()}
"""The class of each event."""

ALL: Final = "g$lshzxetd"
"""The classes that ``A`` stands for, in the order in which they are shown."""

LETTERS: Final = frozenset(ALL + "AKEmn")


def shown(letters: str) -> str:
    """Classes as CONFIG GET shows them: ``n`` does not show beside ``A``, though it holds."""
    classes = "A" if "A" in letters or set(ALL) <= set(letters) else each_of(ALL + "n", letters)
    return classes + each_of("KEm", letters)


def each_of(order: str, letters: str) -> str:
    return "".join(letter for letter in order if letter in letters)


class Notifications:
    """Publishes keyspace events.

    Args:
        publishing: where.

    Attributes:
        classes: of the events that are told of; none if nobody asked for channels to tell them on.
    """

    def __init__(self, publishing: Publishing) -> None:
        self._publishing = publishing
        self.classes: frozenset[str] = frozenset()
        self._by_key = self._by_event = False

    def configure(self, letters: str) -> None:
        """Takes what ``notify-keyspace-events`` asks for."""
        wanted = frozenset(letters.replace("A", ALL))
        self._by_key, self._by_event = "K" in wanted, "E" in wanted
        self.classes = wanted - {"K", "E"} if self._by_key or self._by_event else frozenset()

    def tell(self, database: int, key: bytes, event: str) -> None:
        """Something happened to a key."""
        if not event or CLASSES[event] not in self.classes or not self._publishing.is_heard:
            return
        name = event.encode()
        if self._by_key:
            self._publishing.publish(b"__keyspace@%d__:%b" % (database, key), name, event)
        if self._by_event:
            self._publishing.publish(b"__keyevent@%d__:%b" % (database, name), key, event)


AFTER_REPLY: Final[Mapping[bytes, frozenset[str]]] = {}
"""By command: the events that Redis tells of only when it has answered. The client itself may hear them."""
