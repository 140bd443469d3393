"""What queues of the other kinds look like from outside, by their keys. Nothing is changed.

Rules:
    - Nobody has to create such a queue: it is there while one of its keys is.
    - The kind is told by the types of the keys, and by the key that names it (``kind_check``). A list beside
      which there is nothing may be a backup queue or a ring, or another program's; it is a ``"list"``.
    - What is claimed is told from the one side that is kept for it: the list of what is in progress, the
      locks, or the server's own account of deliveries.

To add a kind: a row in ``_EXAMINE``, and in ``_kind`` what its keys are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from pressure.errors import ServerReplyError
from pressure.keys import as_bytes
from pressure.kinds.commands import execute, seconds_since_first
from pressure.kinds.kind import KindContext, KindKeys
from pressure.kinds.kind_check import MARK
from pressure.kinds.reliable import BACKENDS
from pressure.kinds.reliable import operations as reliable
from pressure.kinds.reliable.model import ReliableKeys
from pressure.kinds.reliable.operations import QueueState
from pressure.protocol.operation import Batch, Command, Operation, Reply
from pressure.protocol.scanning import keys_under

PREFIX: Final = b"queue"
"""What keys begin with unless they are named otherwise."""

OLD: Final = 3600.0
"""From how many seconds on a claim is old, unless it is said otherwise."""

_LOCK: Final = b":lock:"
_SUFFIXES: Final = (b"", b":processing", b":claims", b":delayed")
_HIDDEN: Final = (*_SUFFIXES[1:], b":deliveries", b":beats", b":notes", b":due", MARK)
#: What stands before the name of a consumer group that is not the usual one.
_OF_GROUPS: Final = (b":delayed:", b":due:")

#: What carries a reliable queue, by the type of its main key.
_CARRIERS: Final = {b"stream": "stream", b"Queue-EDU": "module"}

#: How many deliveries are looked at for the oldest; with RedisMQ's commands that is the first.
_MOST: Final = 100


_Locks: TypeAlias = "list[bytes] | None"
_Examine: TypeAlias = "Callable[[KindKeys, _Locks], Operation[Overview]]"


@dataclass(frozen=True, slots=True)
class Overview:
    """A queue at one moment, or a few close to each other.

    Attributes:
        queue: Its name.
        kind: ``"backup"``, ``"ring"``, ``"reliable"``; ``"list"``, which may be either of the first two; or
            ``"unreadable"``.
        length: How many items wait; of a ring, how many there are.
        in_progress: How many are in progress, locked, or delivered and not acknowledged.
        oldest: For how many seconds the oldest of these is; None if there is none, or it is not known.
        delayed: How many wait until they are due.
        overdue: For how many seconds the first of those is due; None if none is.
        dead: How many were delivered too often.
        endless: How many locks never expire.
        problems: What is wrong, a sentence each.
    """

    queue: bytes
    kind: str
    length: int
    in_progress: int = 0
    oldest: float | None = None
    delayed: int = 0
    overdue: float | None = None
    dead: int = 0
    endless: int = 0
    problems: tuple[str, ...] = ()

    #: It drops what it does not hold, or holds all: nobody waits for room.
    bound = None

    @property
    def state(self) -> str:
        """What it is doing, in a few words."""
        doing = {"in progress": self.in_progress, "delayed": self.delayed, "dead": self.dead}
        words = [f"{count} {what}" for what, count in doing.items() if count]
        if self.oldest is not None:
            words.insert(1, f"for up to {self.oldest:.0f} s")
        return ", ".join(words) or ("idle" if not self.length else "waiting")

    def __str__(self) -> str:
        """A few lines for people."""
        name = self.queue.decode("utf-8", "backslashreplace")
        return "\n  ".join((f"{name!r}: {self.kind}, {_items(self.length)}, {self.state}", *self.problems))


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"


def place_of(name: bytes | str, prefix: bytes = PREFIX) -> KindKeys:
    """Where a queue is, whatever its kind."""
    name = as_bytes(name)
    main = prefix + b":" + name
    return KindKeys(name, tuple(main + suffix for suffix in _SUFFIXES))


def find(prefix: bytes = PREFIX) -> Operation[dict[bytes, list[bytes]]]:
    """The names of all keys under a prefix that may be queues, with their locks; ``examine`` says which."""
    rests = yield from keys_under(prefix + b":")
    found: dict[bytes, list[bytes]] = {_name(rest): [] for rest in rests if _LOCK not in rest}
    for rest in rests:
        queue, is_lock, lock = rest.partition(_LOCK)
        if is_lock and queue in found:
            found[queue].append(lock)
    return found


def _name(rest: bytes) -> bytes:
    for each in _OF_GROUPS:
        rest = rest.partition(each)[0]
    for each in _HIDDEN * 2:  # the lane of what is due has keys beside it
        rest = rest.removesuffix(each)
    return rest


def examine(
    places: Sequence[KindKeys], old: float = OLD, locks: Mapping[bytes, list[bytes]] | None = None
) -> Operation[list[Overview]]:
    """Those that are queues, and how they are.

    Args:
        places: Where they may be.
        old: From how many seconds on a claim is a problem.
        locks: Their locks by their names, where they are known; else keys are searched for those of a list.
    """
    if not places:
        return []
    replies = yield Batch(tuple(command for place in places for command in _type_commands(place)))
    each_has = len(_SUFFIXES) + 1
    found: list[Overview] = []
    for number, place in enumerate(places):
        kind = _kind(replies[number * each_has : (number + 1) * each_has])
        if kind is not None:
            seen = yield from _examined(kind, place, None if locks is None else locks.get(place.name, []))
            found.append(replace(seen, problems=(*seen.problems, *_problems(seen, old))))
    return found


def _examined(kind: str, place: KindKeys, locks: _Locks) -> Operation[Overview]:
    """A queue; ``"unreadable"`` if the server does not let us look, or it is changing its kind."""
    try:
        return (yield from _EXAMINE[kind](place, locks))
    except ServerReplyError as error:
        error.explain(str(place))
        return Overview(place.name, "unreadable", 0, problems=(str(error),))


def _type_commands(place: KindKeys) -> tuple[Command, ...]:
    return (*((b"TYPE", key) for key in place.all), (b"GET", place.main + MARK))


def _kind(replies: Sequence[Reply]) -> str | None:
    main, processing, claims, delayed, mark = replies  # an error is none of those
    if main in _CARRIERS:
        return _CARRIERS[main]
    if main not in (b"list", b"none"):
        return None
    if main == b"list" and mark in (b"backup", b"ring"):
        return "backup" if mark == b"backup" else "list"
    if processing == b"list" or claims == b"zset":
        return "backup"
    if delayed == b"zset" and main == b"none":
        return "delayed"
    return "list" if main == b"list" else None


def _examine_backup(place: KindKeys, _: _Locks) -> Operation[Overview]:
    pending, processing, claims = place.all[:3]
    first: Command = (b"ZRANGE", claims, 0, 0, b"WITHSCORES")
    waiting, taken, oldest, time = yield from execute(
        (b"LLEN", pending), (b"LLEN", processing), first, (b"TIME",)
    )
    age = seconds_since_first(oldest, time) if taken else None
    return Overview(place.name, "backup", waiting, taken, age)


def _examine_list(place: KindKeys, known: _Locks) -> Operation[Overview]:
    root = place.main + _LOCK
    locks = (yield from keys_under(root)) if known is None else known
    length, *left = yield from execute((b"LLEN", place.main), *((b"PTTL", root + lock) for lock in locks))
    held = [each for each in left if each != -2]  # expired meanwhile
    (mark,) = yield from execute((b"GET", place.main + MARK))
    kind = "ring" if held or mark == b"ring" else "list"
    return Overview(place.name, kind, length, len(held), endless=held.count(-1))


def _examine_reliable(backend: str) -> _Examine:
    def examine_queue(place: KindKeys, _: _Locks) -> Operation[Overview]:
        keys = ReliableKeys.of(place.main, b"workers")
        on, context = QueueState(keys, BACKENDS[backend](), None), KindContext(place)
        told = yield from reliable.info(context, on)
        pending = (yield from reliable.pending(context, on, 0, _MOST)) if told.delivered else []
        first, time = yield from execute((b"ZRANGE", keys.delayed, 0, 0, b"WITHSCORES"), (b"TIME",))
        due = seconds_since_first(first, time)
        return Overview(
            place.name, "reliable", told.undelivered, told.delivered,
            max((each.idle for each in pending), default=None), told.delayed,
            due if due is not None and due > 0 else None, told.dead,
        )  # fmt: skip

    return examine_queue


_EXAMINE: Final[dict[str, _Examine]] = {
    "backup": _examine_backup,
    "list": _examine_list,
    "stream": _examine_reliable("stream"),
    "module": _examine_reliable("module"),
    "delayed": _examine_reliable("stream"),  # of which there is nothing yet but what is delayed
}

#: Who brings back what a dead worker had, by the kind of queue.
_REMEDIES: Final = {
    "backup": "requeue_stale or 'pressure inprogress --requeue' puts it back",
    "reliable": "recover delivers it again",
}


def _problems(seen: Overview, old: float) -> Iterator[str]:
    if seen.oldest is not None and seen.oldest >= old:
        remedy = _REMEDIES[seen.kind]
        items = _items(seen.in_progress)
        yield f"{items} in progress, the oldest of them taken {seen.oldest:.0f} s ago; {remedy}"
    if seen.endless:
        yield f"{seen.endless} of its locks never expire; delete them, or their items are never claimed again"
    if seen.overdue is not None and seen.overdue >= old:
        yield f"a delayed message has been due for {seen.overdue:.0f} s, and no client pops"
    if seen.dead:
        name = (seen.queue + b":dead").decode("utf-8", "backslashreplace")
        yield f"{_items(seen.dead)} delivered too often: see the dead-letter queue {name!r}"
