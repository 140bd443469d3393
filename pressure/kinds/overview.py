"""The states of backup, ring and reliable queues, read from their keys. Nothing is changed.

Rules:
    - Such a queue needs no creation: it exists while one of its keys does.
    - The types of the keys, and the key that names the kind (``kind_check``), show the kind. A list without
      other keys may be a backup queue, a ring, or another program's list: its kind is ``"list"``.
    - Items in progress are counted in the list of items in progress (backup), by the locks (ring), or by the
      server's list of pending messages (reliable).

To add a kind: a row in ``_EXAMINE``, and the types of its keys in ``_kind``.
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
"""The default prefix of keys."""

OLD: Final = 3600.0
"""Default age in seconds from which a claim is a problem."""

_LOCK: Final = b":lock:"
_SUFFIXES: Final = (b"", b":processing", b":claims", b":delayed")
_HIDDEN: Final = (*_SUFFIXES[1:], b":deliveries", b":beats", b":notes", b":due", MARK)
#: What stands before the name of a consumer group in a key, if it is not the default group.
_OF_GROUPS: Final = (b":delayed:", b":due:")

#: The backend of a reliable queue, by the type of its main key.
_CARRIERS: Final = {b"stream": "stream", b"Queue-EDU": "module"}

#: How many pending messages are read to find the oldest; RedisMQ lists the oldest delivery first.
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
        length: How many items wait; for a ring, how many items it has.
        in_progress: How many items are in progress, locked, or delivered and not acknowledged.
        oldest: Seconds since the oldest of these was taken; None if there is none, or it is not known.
        delayed: How many messages are delayed.
        overdue: For how many seconds the first delayed message has been due; None if none is due.
        dead: How many messages the dead-letter queue holds.
        endless: How many locks never expire.
        problems: What is wrong, one sentence for each problem.
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

    #: None for every such queue: a push never waits for room.
    bound = None

    @property
    def state(self) -> str:
        """The state of the queue in a few words."""
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
    """The keys of a queue of unknown kind."""
    name = as_bytes(name)
    main = prefix + b":" + name
    return KindKeys(name, tuple(main + suffix for suffix in _SUFFIXES))


def find(prefix: bytes = PREFIX) -> Operation[dict[bytes, list[bytes]]]:
    """The names that may be queues under a prefix, each with its locks; ``examine`` shows which are."""
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
    for each in _HIDDEN * 2:  # twice: the lane of due messages has suffixed keys, too
        rest = rest.removesuffix(each)
    return rest


def examine(
    places: Sequence[KindKeys], old: float = OLD, locks: Mapping[bytes, list[bytes]] | None = None
) -> Operation[list[Overview]]:
    """The states of those queues that exist.

    Args:
        places: The keys of each queue.
        old: Age in seconds from which a claim is a problem.
        locks: The names of locks, by the queue's name; None to scan the server for the locks of each list.
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
    """The state of a queue; ``"unreadable"`` if the server refuses a command, or the kind just changed."""
    try:
        return (yield from _EXAMINE[kind](place, locks))
    except ServerReplyError as error:
        error.explain(str(place))
        return Overview(place.name, "unreadable", 0, problems=(str(error),))


def _type_commands(place: KindKeys) -> tuple[Command, ...]:
    return (*((b"TYPE", key) for key in place.all), (b"GET", place.main + MARK))


def _kind(replies: Sequence[Reply]) -> str | None:
    main, processing, claims, delayed, mark = replies  # an error reply equals none of the types
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
    held = [each for each in left if each != -2]  # -2: expired meanwhile
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
    "delayed": _examine_reliable("stream"),  # only delayed messages exist yet
}

#: How to put back the items of a dead worker, by the kind of queue.
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
