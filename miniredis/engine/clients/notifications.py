"""Keyspace events: messages about changes of keys, on the channels of ``notify-keyspace-events``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..declarations.registry import instead_of
from ..keyspace.events import ALL, CLASSES

if TYPE_CHECKING:
    from .publishing import Publishing

__all__ = ["BEFORE_TRACKING", "NONE", "TRACKED_AS", "Notifications", "after_reply"]


class Notifications:
    """Publishes keyspace events.

    Args:
        publishing: sends the messages.

    Attributes:
        classes: of the events that are published; empty if neither ``K`` nor ``E`` is set.
    """

    def __init__(self, publishing: Publishing) -> None:
        self._publishing = publishing
        self.classes: frozenset[str] = frozenset()
        self._by_key = self._by_event = False

    def configure(self, letters: str) -> None:
        """Applies ``notify-keyspace-events``."""
        wanted = frozenset(letters.replace("A", ALL))
        self._by_key, self._by_event = "K" in wanted, "E" in wanted
        self.classes = wanted - {"K", "E"} if self._by_key or self._by_event else frozenset()

    def tell(self, database: int, key: bytes, events: str) -> None:
        """Publishes the events of a key; several events are separated by spaces."""
        for event in events.split():
            if CLASSES[event] in self.classes and self._publishing.is_heard:
                self._publish(database, key, event)

    def _publish(self, database: int, key: bytes, event: str) -> None:
        name = PUBLISHED_AS.get(event, event).encode()
        if self._by_key:
            self._publishing.publish(b"__keyspace@%d__:%b" % (database, key), name, event)
        if self._by_event:
            self._publishing.publish(b"__keyevent@%d__:%b" % (database, name), key, event)


PUBLISHED_AS: Final = {"overdue": "expired", "emptied": "del"}
"""Events that have another name for clients.

Valkey says ``overdue`` of keys whose deadline is set to the past. A key is ``emptied`` by a SINTERSTORE that
has found all of its sets: unlike for one that misses a set, Redis replies before it publishes the event.
"""

BEFORE_TRACKING: Final = frozenset("lpop rpop ltrim spop zrem zpopmin zpopmax xtrim expired hexpired".split())
"""The events that are published before the key is invalidated for tracking clients; others after it."""

TRACKED_AS: Final = {
    "spop": "del",
    **dict.fromkeys("sinterstore sunionstore sdiffstore".split(), ""),
    **dict.fromkeys("zunionstore zinterstore zdiffstore zrangestore xgroup-create".split(), ""),
}
"""For some events, another one by which ``LATE`` decides whether invalidations come after the reply."""

LATE: Final = {
    "expire pexpire expireat pexpireat": "expire",
    "getdel": "del",
    "getex": "del expire persist",
    "getset set+get": "new set expire",
    "bitfield": "setbit",
    "lpush lpushx": "lpush",
    "rpush rpushx": "rpush",
    "lset": "lset",
    "lpop rpop lmpop blpop brpop blmpop lmove blmove rpoplpush brpoplpush": "lpop rpop del",
    "hset hmset hsetnx": "hset",
    "hincrby": "hincrby",
    "hincrbyfloat": "hincrbyfloat",
    "spop zpopmin zpopmax zmpop bzpopmin bzpopmax bzmpop": "del",
    "sinterstore": "sinterstore emptied",
    "sunionstore": "sunionstore del",
    "sdiffstore": "sdiffstore del",
    "zadd geoadd zincrby": "zadd zincr",
    "zunionstore": "zunionstore del",
    "zinterstore": "zinterstore del",
    "zdiffstore": "zdiffstore del",
    "zrangestore": "zrangestore del",
    "xadd": "xadd xtrim",
    "xsetid": "xsetid",
    "xgroup|create": "xgroup-create",
    "xgroup|setid": "xgroup-setid",
    "xgroup|destroy": "xgroup-destroy",
}
"""By command, the events that Redis publishes after it has replied; its own client gets them after the reply.

Redis publishes some other events in the middle of a reply, which no client can parse; here they come before.
"""

AFTER_REPLY: Final = {
    command.encode(): frozenset(events.split())
    for commands, events in LATE.items()
    for command in commands.split()
}
NONE: Final[frozenset[str]] = frozenset()


class AllEvents(frozenset[str]):
    """All events, and messages that are none."""

    def __contains__(self, _: object) -> bool:
        return True


EVERYTHING: Final = AllEvents()
CONFIRMED: Final = frozenset(b"subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe".split())
"""The commands whose replies are pushes."""


def after_reply(command: bytes, args: list[bytes]) -> frozenset[str]:
    """The events of a request that its own client gets after the reply.

    Args:
        command: its name, in lower case.
        args: the request.
    """
    if command == b"set" and any(word.upper() == b"GET" for word in args[3:]):
        command = b"set+get"
    return AFTER_REPLY.get(command, NONE)


@instead_of(after_reply, "6.0")
def after_reply_of_6_0(command: bytes, args: list[bytes]) -> frozenset[str]:
    """The same, but that all it says of a set or sorted set that it has stored comes after the reply."""
    return STORED_IN_6_0[command] if command in STORED_IN_6_0 else after_reply(command, args)


STORED_IN_6_0: Final = {
    **dict.fromkeys(b"sunionstore sdiffstore zunionstore zinterstore".split(), EVERYTHING),
    b"sinterstore": frozenset(("sinterstore", "emptied", "")),
}


@instead_of(after_reply, "7.4-8.0")
def after_reply_of_7_4(command: bytes, args: list[bytes]) -> frozenset[str]:
    """The same as since 7.2, but that it replies to FLUSHALL and FLUSHDB at the end of all."""
    flushes = command in {b"flushall", b"flushdb"} and args[-1].upper() != b"ASYNC"
    return NONE if flushes else all_after_reply(command, args)


@instead_of(after_reply, "7.2+")
def all_after_reply(command: bytes, args: list[bytes]) -> frozenset[str]:  # noqa: ARG001
    """All that its own client hears of it, unless its replies are pushes themselves."""
    return NONE if command in CONFIRMED else EVERYTHING
