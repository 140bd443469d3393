"""Get: what a consumer does (pressure protocol 0.15, Get, Get (Non-Blocking)).

Where the server runs scripts, a Get on a free queue with values is one round trip (``scripted``). Elsewhere
it is three:
    1. Look at ``:bound``, pop the role.
    2. Write who we are, look whether the queue is closed, pop a value, look at bound and length.
    3. Refill the token if there is room, count, give the role back: one transaction.

Rules:
    - A value once popped is returned, whatever is found or refused after it.
    - Closed is looked at before the pop: no value follows a close, so closed and nothing popped means
      nothing is left.
    - ``:not_full`` is refilled only below the bound, so that an over-filled queue drains to its bound first.
    - Nothing read, nothing touched but the role.
"""

from __future__ import annotations

from collections.abc import Sequence

from pressure.errors import PressureError, ServerReplyError
from pressure.protocol import scripted
from pressure.protocol.roles import (
    CONSUMER,
    Hold,
    claim,
    does_not_exist,
    finish,
    give_back,
    holding,
    is_closed,
    new_hold,
    refill,
    take_role,
    trouble,
)
from pressure.protocol.steps import (
    Batch,
    Command,
    Context,
    Operation,
    Patience,
    Reply,
    carrying,
    check,
    operation,
)
from pressure.protocol.waits import Popped, after_pop, bound_of, wait_for_value
from pressure.protocol.warned import warn


@operation
def get(ctx: Context, patience: Patience) -> Operation[bytes]:
    """Get one value; on a closed queue what is left of it.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: Closed, and nothing is left.
        QueueInUseError: The consumer role did not come free in time.
        QueueEmptyError: No value came in time.
    """
    (value,) = yield from _get(ctx, patience, 1)
    return value


@operation
def get_many(ctx: Context, patience: Patience, most: int) -> Operation[list[bytes]]:
    """Get what is there, up to so many values, but wait for one; as the consumer all the while.

    Raises:
        PressureError: As in ``get``.
    """
    return list((yield from _get(ctx, patience, most)))


def _get(ctx: Context, patience: Patience, most: int) -> Operation[Sequence[bytes]]:
    hold = yield from new_hold(CONSUMER)
    if ctx.server.scripts:
        found = yield from holding(ctx, hold, scripted.get(ctx, hold, patience, most))
        if isinstance(found, Popped):
            if (yield from carrying(found.values, _is_ours(ctx, hold))):
                yield from carrying(found.values, _finish(ctx, hold, found))
            return found.values
        if found:
            return found
    if not hold.held:  # else scripts were forbidden in the middle
        yield from take_role(ctx, hold, patience)
    popped = yield from holding(ctx, hold, _pop(ctx, hold, patience, most))
    yield from carrying(popped.values, _finish(ctx, hold, popped))
    return popped.values


def _is_ours(ctx: Context, hold: Hold) -> Operation[bool]:
    """Whether we are still the consumer, as far as the server tells; it is watched from here on."""
    keys = ctx.keys
    *_, holder = yield Batch(((b"WATCH", keys.consumer), (b"GET", keys.consumer)))
    if isinstance(holder, ServerReplyError) or holder == hold.id:
        return True
    yield Batch(((b"UNWATCH",),))
    return False


def _pop(ctx: Context, hold: Hold, patience: Patience, most: int) -> Operation[Popped]:
    keys = ctx.keys
    asked = ctx.server.sizes.bounded(most)
    count = (asked,) if most > 1 else ()
    replies = yield Batch(
        (*claim(ctx, hold), (b"EXISTS", keys.closed), (b"RPOP", keys.queue, *count), *after_pop(ctx))
    )
    hold.claimed = not isinstance(replies[0], ServerReplyError)
    closed, found, bound, length = replies[2:]
    if values := _values(found):
        ctx.server.sizes.note(values)
        popped = Popped(values, bound, length)
        return (yield from _pop_more(ctx, popped, most)) if len(values) == asked < most else popped
    check(replies)
    if bound is None:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed(ctx, CONSUMER)
    popped = yield from wait_for_value(ctx, patience)
    ctx.server.sizes.note(popped.values)
    return (yield from _pop_more(ctx, popped, most))


def _pop_more(ctx: Context, popped: Popped, most: int) -> Operation[Popped]:
    """What there is beside it, as long as it is not too much together (see ``sizes``)."""
    sizes = ctx.server.sizes
    while True:
        asked = sizes.bounded(most - len(popped.values), popped.size)
        if asked == 0:
            return popped
        pop: Command = (b"RPOP", ctx.keys.queue, asked)
        found, bound, length = yield Batch((pop, *after_pop(ctx)), taken=popped.values)
        more = _values(found)
        sizes.note(more)
        popped = Popped((*popped.values, *more), bound, length)
        if len(more) < asked:
            return popped


def _values(found: Reply) -> tuple[bytes, ...]:
    """What a pop found, with a count or without."""
    if isinstance(found, list):
        return tuple(found)
    return (found,) if isinstance(found, bytes) else ()


def _finish(ctx: Context, hold: Hold, popped: Popped) -> Operation[None]:
    """Refill, count and give the role back. The value is safe with us, so nothing here raises."""
    seen = (len(popped.values), popped.size, popped.bound, popped.length)
    work: tuple[Command, ...] = (*effects(ctx, *seen), (b"LPUSH", ctx.keys.consumer_free, 0))
    done = yield from finish(ctx, hold, work)
    if done is None:  # the role was taken away, so nothing more is ours to write
        return
    refused = trouble([*done, popped.bound, popped.length])
    if refused is None:
        return
    released = not isinstance(done[-1], ServerReplyError)
    if not released:
        released = trouble((yield from give_back(ctx, hold))) is None
    role = "" if released else " and to free the consumer role"
    warn(
        f"queue {ctx.keys}: the value was taken, but the server refused to count it{role} ({refused}); "
        "repair mends that",
        popped.values,
    )


def effects(ctx: Context, number: int, size: int, bound: Reply, length: Reply) -> tuple[Command, ...]:
    """What values that are delivered change beside the list; nothing on a queue that is being deleted.

    Where the server does not tell whether there is room, nobody is told that there is.
    """
    room = False
    if trouble([bound, length]) is None:
        try:
            limit = bound_of(ctx, bound)
        except PressureError:
            return ()
        room = limit == 0 or length < limit
    keys = ctx.keys
    return (
        *(refill(ctx) if room else ()),
        (b"INCRBY", keys.consumed_messages, number),
        (b"INCRBY", keys.consumed_bytes, size),
    )
