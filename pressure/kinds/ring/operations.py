"""The operations on ring queues, as generators over batches.

Rules:
    - An item stays in the list until it is completed: a claim moves it to the back and locks it.
    - Without scripts, a claim moves and locks in two round trips. With the lock it checks that the item is
      still in the list, since another client may have completed it in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from pressure.kinds.commands import execute, front, transaction
from pressure.kinds.kind import KindContext
from pressure.kinds.kind_check import creating, modifying, reading
from pressure.kinds.ring.lua import CLAIM, COMPLETE, EXTEND
from pressure.protocol.operation import Command, Operation, Reply
from pressure.protocol.scripts import NO_SCRIPTS, eval_script


@creating
def push(ctx: KindContext, items: Sequence[bytes]) -> Operation[int]:
    """Add items at the back; returns how many there are then."""
    (length,) = yield from execute((b"LPUSH", ctx.keys.main, *items) if items else (b"LLEN", ctx.keys.main))
    return int(length)


@reading
def peek(ctx: KindContext, count: int) -> Operation[list[bytes]]:
    """The items at the front, locked or not; they stay where they are."""
    return (yield from front(ctx.keys.main, count))


@reading
def length(ctx: KindContext) -> Operation[int]:
    """How many items there are, locked or not."""
    (number,) = yield from execute((b"LLEN", ctx.keys.main))
    return int(number)


@modifying
def claim(ctx: KindContext, locks: bytes, token: bytes, ttl: int, *, walk: bool) -> Operation[bytes | None]:
    """Move the item at the front to the back and lock it; None if it is locked already, or there is none.

    With ``walk``, try further items until one can be locked, each item once at most.
    """
    item = yield from eval_script(ctx.server, CLAIM, (ctx.keys.main,), locks, token, ttl, 0 if walk else 1)
    if item is NO_SCRIPTS:
        item = yield from _walk(ctx, locks, token, ttl, walk=walk)
    result: bytes | None = item
    return result


def _walk(ctx: KindContext, locks: bytes, token: bytes, ttl: int, *, walk: bool) -> Operation[bytes | None]:
    turn: Command = (b"LMOVE", ctx.keys.main, ctx.keys.main, b"RIGHT", b"LEFT")
    item, left = yield from execute(turn, (b"LLEN", ctx.keys.main))
    tries = left if walk else 1
    while item is not None:
        lock: Command = (b"SET", locks + item, token, b"NX", b"PX", ttl)
        locked, place = yield from execute(lock, (b"LPOS", ctx.keys.main, item))
        if locked is not None and place is not None:
            return bytes(item)
        if locked is not None:
            yield from _change(ctx, locks + item, token, (b"DEL", locks + item))
        tries -= 1
        if tries <= 0:
            return None
        (item,) = yield from execute(turn)
    return None


@modifying
def complete(ctx: KindContext, locks: bytes, token: bytes, item: bytes) -> Operation[tuple[bool, bool]]:
    """Remove an item and free its lock; returns whether the lock was still ours, and the item in the list."""
    reply = yield from eval_script(ctx.server, COMPLETE, (ctx.keys.main,), locks, token, item)
    if reply is not NO_SCRIPTS:
        ours, removed = reply
        return bool(ours), bool(removed)
    remove: Command = (b"LREM", ctx.keys.main, 1, item)
    lock = locks + item

    def decide(seen: list[Reply]) -> tuple[Sequence[Command], bool]:
        ours = seen[0] == token
        return ((remove, (b"DEL", lock)) if ours else (remove,)), ours

    ours, (removed, *_) = yield from transaction(ctx, (lock,), ((b"GET", lock),), decide)
    return ours, bool(removed)


@modifying
def extend(ctx: KindContext, locks: bytes, token: bytes, item: bytes, ttl: int) -> Operation[bool]:
    """Set the time to live of our lock in milliseconds; 0 frees it. False if the lock is not ours."""
    reply = yield from eval_script(ctx.server, EXTEND, (ctx.keys.main,), locks, token, item, ttl)
    if reply is not NO_SCRIPTS:
        return bool(reply)
    lock = locks + item
    step: Command = (b"PEXPIRE", lock, ttl) if ttl else (b"DEL", lock)
    return (yield from _change(ctx, lock, token, step))


def _change(ctx: KindContext, lock: bytes, token: bytes, step: Command) -> Operation[bool]:
    """Run a command on a lock if the lock is ours; returns whether it was."""

    def decide(seen: list[Reply]) -> tuple[Sequence[Command], bool]:
        ours = seen[0] == token
        return ((step,) if ours else ()), ours

    ours, _ = yield from transaction(ctx, (lock,), ((b"GET", lock),), decide)
    return ours


@reading
def items(ctx: KindContext, locks: bytes) -> Operation[list[tuple[bytes, bool]]]:
    """All items, the one at the front first, and whether each is locked (read in a second round trip)."""
    (found,) = yield from execute((b"LRANGE", ctx.keys.main, 0, -1))
    if not found:
        return []
    locked = yield from execute(*((b"EXISTS", locks + item) for item in found))
    return [(item, bool(each)) for item, each in zip(reversed(found), reversed(locked), strict=True)]
