"""Keyspace events: their names and their classes, as ``notify-keyspace-events`` names these.

To add an event, add its name to its class in ``NAMES``.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ALL", "CLASSES", "LETTERS", "shown"]

NAMES: Final = {
    "g": "del emptied rename_from rename_to move_from move_to copy_to restore expire persist",
    "$": "set setrange incrby incrbyfloat append setbit pfadd",
    "l": "lpush rpush lpop rpop linsert lset lrem ltrim sortstore",
    "s": "sadd srem spop sinterstore sunionstore sdiffstore",
    "h": "hset hincrby hincrbyfloat hdel hexpire hexpired hpersist",
    "z": (
        "zadd zincr zrem zpopmin zpopmax zremrangebyrank zremrangebyscore zremrangebylex zrangestore "
        "zunionstore zinterstore zdiffstore geosearchstore georadiusstore"
    ),
    "t": (
        "xadd xdel xtrim xsetid xgroup-create xgroup-createconsumer xgroup-setid xgroup-destroy "
        "xgroup-delconsumer"
    ),
    "d": "mq.push mq.pop mq.ack mq.recover",
    "x": "expired overdue",
    "m": "keymiss",
    "n": "new",
}
"""The names of the events of each class, by the letter of the class."""

CLASSES: Final = {event: letter for letter, events in NAMES.items() for event in events.split()}
"""The letter of the class of each event."""

ALL: Final = "g$lshzxetd"
"""The classes that ``A`` means, in the order of CONFIG GET."""

LETTERS: Final = frozenset(ALL + "AKEmn")


def shown(letters: str) -> str:
    """Classes as CONFIG GET shows them: beside ``A``, ``n`` is not shown although it is set."""
    classes = "A" if "A" in letters or set(ALL) <= set(letters) else each_of(ALL + "n", letters)
    return classes + each_of("KEm", letters)


def each_of(order: str, letters: str) -> str:
    return "".join(letter for letter in order if letter in letters)
