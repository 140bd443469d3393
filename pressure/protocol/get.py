"""Get: what a consumer does (pressure protocol 0.15, Get, Get (Non-Blocking)).

A Get on a free queue with values costs three round trips:
    1. Look at ``:bound``, pop the role.
    2. Write who we are, look whether the queue is closed, pop a value, look at bound and length.
    3. Refill the token if there is room, count, give the role back: one transaction.

Rules:
    - A value once popped is returned, whatever is found or refused after it.
    - Closed is looked at before the pop: no value follows a close, so closed and nothing popped means
      nothing is left.
    - A wait is on the values and on ``:closed`` at once, and which wins when both are ready is never relied
      on: after a mark was popped the values are looked at once more, so that no value is lost to a close.
      The mark is pushed back before the role is given back, or the queue would open again.
    - ``:not_full`` is refilled only below the bound, so that an over-filled queue drains to its bound first.
    - Nothing read, nothing touched but the role.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Final

from pressure.errors import PressureError, PressureWarning, QueueEmptyError, ServerReplyError
from pressure.protocol.put import bound_of
from pressure.protocol.roles import (
    CONSUMER,
    Hold,
    attempt,
    claim,
    does_not_exist,
    give_back,
    holding,
    is_closed,
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
    atomic,
    check,
    operation,
)

#: What is looked at right after every pop of a value: bound and length.
_AFTER: Final = 2


@dataclass(frozen=True, slots=True)
class _Popped:
    """A value that was taken from the queue, and what was seen right after it."""

    value: bytes
    bound: Reply
    length: Reply


@operation
def get(ctx: Context, patience: Patience) -> Operation[bytes]:
    """Get one value; on a closed queue what is left of it.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: Closed, and nothing is left.
        QueueInUseError: The consumer role did not come free in time.
        QueueEmptyError: No value came in time.
    """
    hold = yield from take_role(ctx, CONSUMER, patience)
    popped = yield from holding(ctx, hold, _pop(ctx, hold, patience))
    yield from _finish(ctx, hold, popped)
    return popped.value


def _after(ctx: Context) -> tuple[Command, ...]:
    return ((b"GET", ctx.keys.bound), (b"LLEN", ctx.keys.queue))


def _pop(ctx: Context, hold: Hold, patience: Patience) -> Operation[_Popped]:
    keys = ctx.keys
    replies = yield Batch(
        (*claim(ctx, CONSUMER), (b"EXISTS", keys.closed), (b"RPOP", keys.queue), *_after(ctx))
    )
    hold.claimed = not isinstance(replies[0], ServerReplyError)
    closed, value, bound, length = replies[2:]
    if isinstance(value, bytes):
        return _Popped(value, bound, length)
    check(replies)
    if bound is None:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed(ctx)
    return (yield from _wait_for_value(ctx, patience))


def _wait_for_value(ctx: Context, patience: Patience) -> Operation[_Popped]:
    keys = ctx.keys
    for seconds in patience.attempts():
        popped, bound, length = replies = yield attempt((keys.queue, keys.closed), seconds, _after(ctx))
        if isinstance(popped, list) and popped[0] == keys.closed:
            return (yield from _closed_meanwhile(ctx, popped[1], bound))
        if popped is not None and not isinstance(popped, ServerReplyError):
            return _Popped(popped[1] if isinstance(popped, list) else popped, bound, length)
        check(replies)
        if bound is None:
            raise does_not_exist(ctx)
    raise QueueEmptyError(f"queue {keys} is empty")


def _closed_meanwhile(ctx: Context, mark: bytes, bound: Reply) -> Operation[_Popped]:
    """A mark of ``:closed`` was popped: put it back, and take what was put before the close."""
    if bound is None:  # Delete woke us; it removes the list of marks itself
        raise does_not_exist(ctx)
    keys = ctx.keys
    replies = yield Batch(((b"LPUSH", keys.closed, mark), (b"RPOP", keys.queue), *_after(ctx)))
    value = replies[1]
    if isinstance(value, bytes):
        return _Popped(value, *replies[-_AFTER:])
    check(replies)
    raise is_closed(ctx)


def _finish(ctx: Context, hold: Hold, popped: _Popped) -> Operation[None]:
    """Refill, count and give the role back. The value is safe with us, so nothing here raises."""
    replies = yield Batch(atomic(*_effects(ctx, popped), (b"LPUSH", ctx.keys.consumer_free, 0)))
    result = replies[-1]
    refused = trouble([result])
    if result is None or refused is None:  # None: the role was taken away, so nothing more is ours to write
        return
    released = isinstance(result, list) and not isinstance(result[-1], ServerReplyError)
    if not released:
        released = trouble((yield from give_back(ctx, hold))) is None
    role = "" if released else " and the consumer role could not be given back"
    warnings.warn(
        f"queue {ctx.keys}: the value is delivered, but the server refused to count it{role} ({refused}); "
        "repair the queue",
        PressureWarning,
        stacklevel=2,
    )


def _effects(ctx: Context, popped: _Popped) -> tuple[Command, ...]:
    """What a delivered value changes beside the list; nothing on a queue that is being deleted."""
    try:
        check([popped.bound, popped.length])
        bound = bound_of(ctx, popped.bound)
    except PressureError:
        return ()
    keys = ctx.keys
    return (
        *(refill(ctx) if bound == 0 or popped.length < bound else ()),
        (b"INCR", keys.consumed_messages),
        (b"INCRBY", keys.consumed_bytes, len(popped.value)),
    )
