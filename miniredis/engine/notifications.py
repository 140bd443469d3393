"""Keyspace events: what happens to keys, told on channels to whoever listens.

To tell of a new event, give it a class in ``CLASSES``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .publishing import Publishing

__all__ = [
    "ALL",
    "BEFORE_TRACKING",
    "CLASSES",
    "LETTERS",
    "NONE",
    "TRACKED_AS",
    "Notifications",
    "after_reply",
    "shown",
]

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
    "d": "mq.push mq.pop mq.ack mq.recover",
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

    def tell(self, database: int, key: bytes, events: str) -> None:
        """Something happened to a key; several events have spaces between them."""
        for event in events.split():
            if CLASSES[event] in self.classes and self._publishing.is_heard:
                self._publish(database, key, event)

    def _publish(self, database: int, key: bytes, event: str) -> None:
        name = event.encode()
        if self._by_key:
            self._publishing.publish(b"__keyspace@%d__:%b" % (database, key), name, event)
        if self._by_event:
            self._publishing.publish(b"__keyevent@%d__:%b" % (database, name), key, event)


BEFORE_TRACKING: Final = frozenset("lpop rpop ltrim spop zrem zpopmin zpopmax xtrim expired".split())
"""The events that clients hear of before those are told who track the key; of others they hear after it."""

TRACKED_AS: Final = {
    "spop": "del",
    **dict.fromkeys("sinterstore sunionstore sdiffstore".split(), ""),
    **dict.fromkeys("zunionstore zinterstore zdiffstore zrangestore xgroup-create".split(), ""),
}
"""For some events, by which other one it goes whether those who track the key are told behind the reply."""

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
    "sinterstore": "sinterstore",
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
"""By commands, the events that Redis tells of only when it has answered; a client may hear of its own.

Some it tells of in the midst of its answer, which no client can make sense of. Here they come before it.
"""

AFTER_REPLY: Final = {
    command.encode(): frozenset(events.split())
    for commands, events in LATE.items()
    for command in commands.split()
}
NONE: Final[frozenset[str]] = frozenset()


def after_reply(command: bytes, args: list[bytes]) -> frozenset[str]:
    """The events of a request that its client hears of behind the reply.

    Args:
        command: its name, in lower case.
        args: the request.
    """
    if command == b"set" and any(word.upper() == b"GET" for word in args[3:]):
        command = b"set+get"
    return AFTER_REPLY.get(command, NONE)
