"""The operations on backup queues, as generators over batches.

No single command claims an item and records the time of the claim. Without scripts, and after a wait, the
time is written in a second round trip. If the client dies before that, ``reap`` records the time at which it
first sees the item. So no item is lost; at worst, one is put back late.

Rules:
    - From its push until it is completed or discarded, an item is always in one of the two lists.
    - ``reap`` puts back and removes an item in one atomic step, so two clients never put back the same one.
    - The time of a claim is removed when its item has left the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pressure.errors import QueueAlreadyExistsError
from pressure.kinds.backup.lua import CLAIM, REAP, REQUEUE
from pressure.kinds.commands import execute, front, now, pairs, transaction
from pressure.kinds.kind import KindContext
from pressure.kinds.kind_check import check_kind, creating, modifying, reading
from pressure.protocol.commands import atomic, blocking, check, executed, together
from pressure.protocol.numbers import milliseconds_in
from pressure.protocol.operation import Batch, Command, Deadline, Operation, Reply
from pressure.protocol.scripts import NO_SCRIPTS, eval_script


@dataclass(frozen=True, slots=True)
class BackupKeys:
    """The keys of a backup queue.

    Attributes:
        pending: The list of waiting items: pushed on the left, claimed from the right.
        processing: The list of items in progress, the newest claim on the left.
        claims: The sorted set of the times of claims, in milliseconds.
    """

    pending: bytes
    processing: bytes
    claims: bytes

    @property
    def all(self) -> tuple[bytes, bytes, bytes]:
        """The keys in the order in which scripts take them."""
        return self.pending, self.processing, self.claims


@creating
def push(ctx: KindContext, keys: BackupKeys, items: Sequence[bytes], maxlen: int | None) -> Operation[int]:
    """Add items; returns how many wait then."""
    add: Command = (b"LPUSH", keys.pending, *items) if items else (b"LLEN", keys.pending)
    if maxlen is None:
        (length,) = yield from execute(add)
        return int(length)
    replies = yield Batch(atomic(add, (b"LTRIM", keys.pending, 0, maxlen - 1)))
    length, _ = check(executed(replies) or [])
    return min(int(length), maxlen)


@modifying
def claim(ctx: KindContext, keys: BackupKeys, deadline: Deadline) -> Operation[bytes | None]:
    """Move the next item to the list in progress, and return it; None if no item arrived in time."""
    item = yield from eval_script(ctx.server, CLAIM, keys.all)
    if item is NO_SCRIPTS:
        ends: Command = (b"LMOVE", keys.pending, keys.processing, b"RIGHT", b"LEFT")
        item, time = yield from execute(ends, (b"TIME",))
        if item is not None:
            yield _timed(keys, item, time)
    if item is None:
        item = yield from _wait(keys, deadline)
        if item is not None:
            yield from _keep(ctx, keys, item)
    result: bytes | None = item
    return result


def _wait(keys: BackupKeys, deadline: Deadline) -> Operation[Reply]:
    for seconds in deadline.attempts():
        if not seconds:
            break  # no last try without waiting: a wait also finds items that arrived before it
        ends = (keys.pending, keys.processing, b"RIGHT", b"LEFT")
        item, time = yield blocking(b"BLMOVE", *ends, seconds=seconds, then=((b"TIME",),))
        check([item])
        if item is not None:
            yield _timed(keys, item, time)
            return item
    return None


def _keep(ctx: KindContext, keys: BackupKeys, item: bytes) -> Operation[None]:
    """Put the item back if a queue of another kind was created during the wait."""
    try:
        yield from check_kind(ctx)
    except QueueAlreadyExistsError:
        yield from _requeue(ctx, keys, item)
        raise


def _timed(keys: BackupKeys, item: bytes, time: Reply) -> Batch:
    """The batch that records the time of a claim. Ignore an error reply: the item is claimed all the same."""
    return Batch(((b"ZADD", keys.claims, now(time), item),))


@modifying
def remove(ctx: KindContext, keys: BackupKeys, item: bytes) -> Operation[bool]:
    """Remove an item in progress; False if it was not there."""
    removed, _ = yield from together((b"LREM", keys.processing, 1, item), (b"ZREM", keys.claims, item))
    return bool(removed)


@modifying
def requeue(ctx: KindContext, keys: BackupKeys, item: bytes) -> Operation[bool]:
    """Put an item in progress back, to be claimed next; False if it was not there."""
    return (yield from _requeue(ctx, keys, item))


def _requeue(ctx: KindContext, keys: BackupKeys, item: bytes) -> Operation[bool]:
    reply = yield from eval_script(ctx.server, REQUEUE, keys.all, item)
    if reply is not NO_SCRIPTS:
        return bool(reply)

    def decide(seen: list[Reply]) -> tuple[Sequence[Command], bool]:
        there = seen[0] is not None
        return (*_put_back(keys, item), (b"ZREM", keys.claims, item)) if there else (), there

    looks: tuple[Command, ...] = ((b"LPOS", keys.processing, item), (b"LLEN", keys.pending))
    there, _ = yield from transaction(ctx, (keys.processing,), looks, decide)
    return there


def _put_back(keys: BackupKeys, item: bytes) -> tuple[Command, Command]:
    return (b"RPUSH", keys.pending, item), (b"LREM", keys.processing, 1, item)


@modifying
def reap(ctx: KindContext, keys: BackupKeys, older: int) -> Operation[list[bytes]]:
    """Put back the items claimed at least ``older`` milliseconds ago; returns them, the oldest first."""
    back: list[bytes] = []
    left = -1
    while True:
        reply = yield from eval_script(ctx.server, REAP, keys.all, older, left)
        if reply is NO_SCRIPTS:
            break
        back, left = back + reply[0], reply[1]
        if left < 0:
            return back[::-1]
    looks: tuple[Command, ...] = (
        (b"LRANGE", keys.processing, 0, -1),
        (b"ZRANGE", keys.claims, 0, -1, b"WITHSCORES"),
        (b"TIME",),
        (b"LLEN", keys.pending),
    )
    watched = (keys.processing, keys.claims)
    rest, _ = yield from transaction(ctx, watched, looks, lambda seen: _reaped(keys, older, seen))
    return [*rest[::-1], *back[::-1]]


def _reaped(keys: BackupKeys, older: int, seen: list[Reply]) -> tuple[Sequence[Command], list[bytes]]:
    items, scores, time, _ = seen
    times, at = times_of(scores), now(time)
    back = [item for item in items if at - times.get(item, at) >= older]
    stay = set(items).difference(back)
    fresh = [item for item in dict.fromkeys(items) if item in stay and item not in times]
    gone = [item for item in times if item not in stay]
    commands: list[Command] = [(b"RPUSH", keys.pending, item) for item in back]
    commands += _taken_out(keys, items, stay)
    commands += [(b"ZADD", keys.claims, at, item) for item in fresh]
    commands += [(b"ZREM", keys.claims, item) for item in gone]
    return commands, back


def _taken_out(keys: BackupKeys, items: Sequence[bytes], stay: set[bytes]) -> list[Command]:
    """Commands that remove all other items from the list, keep its order, and cost the same for each item.

    They take items from the right end, where the oldest claims are, move the items that stay to the left end,
    and move those back in the end.
    """
    key = keys.processing
    oldest = list(items[next((at for at, item in enumerate(items) if item not in stay), len(items)) :])[::-1]
    aside: Command = (b"LMOVE", key, key, b"RIGHT", b"LEFT")
    again: Command = (b"LMOVE", key, key, b"LEFT", b"RIGHT")
    moves = [aside if item in stay else (b"RPOP", key) for item in oldest]
    return [*moves, *(again for item in oldest if item in stay)]


def times_of(scores: Reply) -> dict[bytes, int]:
    """The time of each item's claim in milliseconds, from the reply to ZRANGE with scores."""
    return {item: milliseconds_in(score) for item, score in pairs(scores)}


@reading
def in_progress(ctx: KindContext, keys: BackupKeys) -> Operation[list[tuple[bytes, int | None, int]]]:
    """Each item in progress with the time of its claim and the server's time now; the oldest claim first."""
    looks: tuple[Command, ...] = (
        (b"LRANGE", keys.processing, 0, -1),
        (b"ZRANGE", keys.claims, 0, -1, b"WITHSCORES"),
        (b"TIME",),
    )
    items, scores, time = yield from together(*looks)
    times, at = times_of(scores), now(time)
    found = [(item, times.get(item), at) for item in reversed(items)]
    return sorted(found, key=lambda each: at if each[1] is None else each[1])


@reading
def peek(ctx: KindContext, keys: BackupKeys, count: int) -> Operation[list[bytes]]:
    """The items that will be claimed next; they stay in the queue."""
    return (yield from front(keys.pending, count))


@reading
def length(ctx: KindContext, keys: BackupKeys) -> Operation[int]:
    """How many items wait."""
    (number,) = yield from execute((b"LLEN", keys.pending))
    return int(number)
