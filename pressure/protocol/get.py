"""Get: what a consumer does (pressure protocol 0.15, Get, Get (Non-Blocking)).

Where the server runs scripts, a Get on a free queue with values is one round trip (``scripts``). Elsewhere
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
from pressure.protocol import scripts
from pressure.protocol.commands import check
from pressure.protocol.operation import (
    Batch,
    Command,
    Context,
    Deadline,
    NewHold,
    Operation,
    Reply,
    operation,
    with_taken,
)
from pressure.protocol.problems import does_not_exist, first_error, is_closed, note_uncounted
from pressure.protocol.role import CONSUMER, Hold, refill
from pressure.protocol.roles import finish_or_refusal, give_back, holding, is_ours, keep_role, lost_role, take
from pressure.protocol.waits import Popped, after_pop, bound_of, wait_for_value


@operation
def get(ctx: Context, deadline: Deadline) -> Operation[bytes]:
    """Get one value; on a closed queue what is left of it.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: Closed, and nothing is left.
        QueueInUseError: The consumer role did not come free in time.
        QueueEmptyError: No value came in time.
    """
    (value,) = yield from _get(ctx, deadline, 1)
    return value


@operation
def get_many(ctx: Context, deadline: Deadline, most: int) -> Operation[list[bytes]]:
    """Get what is there, up to so many values, but wait for one; as the consumer all the while.

    Raises:
        PressureError: As in ``get``.
    """
    return list((yield from _get(ctx, deadline, most)))


def _get(ctx: Context, deadline: Deadline, most: int) -> Operation[Sequence[bytes]]:
    hold = Hold(CONSUMER, *(yield NewHold()))
    if ctx.server.scripts:
        found = yield from holding(ctx, hold, scripts.get(ctx, hold, deadline, most))
        if isinstance(found, Popped):
            if (yield from with_taken(found.values, _still_ours(ctx, hold))):
                yield from with_taken(found.values, _finish(ctx, hold, found))
            return found.values
        if found:
            return found
    popped = yield from holding(ctx, hold, _pop(ctx, hold, deadline, most))
    yield from with_taken(popped.values, _finish(ctx, hold, popped))
    return popped.values


def _still_ours(ctx: Context, hold: Hold) -> Operation[bool]:
    """Whether we are still the consumer, as far as the server tells; it is watched from here on."""
    *_, holder = yield Batch(is_ours(ctx, hold))
    if isinstance(holder, ServerReplyError) or holder == hold.id:
        return True
    yield Batch(((b"UNWATCH",),))
    return False


def _pop(ctx: Context, hold: Hold, deadline: Deadline, most: int) -> Operation[Popped]:
    keys = ctx.keys
    asked = ctx.server.sizes.bounded(most)
    count = (asked,) if most > 1 else ()
    work: tuple[Command, ...] = ((b"EXISTS", keys.closed), (b"RPOP", keys.queue, *count), *after_pop(ctx))
    replies = yield from take(ctx, hold, deadline, work, is_ours(ctx, hold))
    _, closed, found, bound, length, _, holder = replies
    hold.held = holder == hold.id or isinstance(holder, ServerReplyError)
    if values := _values(found):
        ctx.server.sizes.note(values)
        popped = Popped(values, bound, length)
        return (yield from _pop_more(ctx, hold, popped, most)) if len(values) == asked < most else popped
    check(replies)
    if bound is None:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed(ctx, CONSUMER)
    if not hold.held:
        raise (yield from lost_role(ctx, hold))
    popped = yield from wait_for_value(ctx, deadline)
    ctx.server.sizes.note(popped.values)
    return (yield from _pop_more(ctx, hold, popped, most))


def _pop_more(ctx: Context, hold: Hold, popped: Popped, most: int) -> Operation[Popped]:
    """What there is beside it, if it is not too much together (see ``sizes``) and the role is still ours."""
    sizes = ctx.server.sizes
    while hold.held:
        asked = sizes.bounded(most - len(popped.values), popped.size)
        if asked == 0:
            break
        work: tuple[Command, ...] = ((b"RPOP", ctx.keys.queue, asked), *after_pop(ctx))
        done = yield from with_taken(popped.values, keep_role(ctx, hold, work))
        if done is None:
            hold.held = False
            break
        found, bound, length = done
        more = _values(found)
        sizes.note(more)
        popped = Popped((*popped.values, *more), bound, length)
        if len(more) < asked:
            break
    return popped


def _values(found: Reply) -> tuple[bytes, ...]:
    """What a pop found, with a count or without."""
    if isinstance(found, list):
        return tuple(found)
    return (found,) if isinstance(found, bytes) else ()


def _finish(ctx: Context, hold: Hold, popped: Popped) -> Operation[None]:
    """Refill, count and give the role back. The value is safe with us, so nothing here raises."""
    if not hold.held:  # the role was taken away, so nothing more is ours to write
        yield Batch(((b"UNWATCH",),))
        return
    seen = (len(popped.values), popped.size, popped.bound, popped.length)
    done = yield from finish_or_refusal(ctx, hold, effects(ctx, *seen))
    if done is None:  # the same
        return
    refused = first_error([*done, popped.bound, popped.length])
    stuck = hold.held and first_error((yield from give_back(ctx, hold))) is not None
    note_uncounted(ctx, "the value was taken", refused, CONSUMER if stuck else None, popped.values)


def effects(ctx: Context, number: int, size: int, bound: Reply, length: Reply) -> tuple[Command, ...]:
    """What values that are delivered change beside the list; nothing on a queue that is being deleted.

    Where the server does not tell whether there is room, nobody is told that there is.
    """
    room = False
    if first_error([bound, length]) is None:
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
