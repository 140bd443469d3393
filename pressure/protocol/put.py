"""Put and Close: what a producer does (pressure protocol 0.15, Put, Put (Non-Blocking), Close).

A Put on a free queue with room costs three round trips:
    1. Look at ``:bound`` and ``:closed``, pop the role.
    2. Write who we are, look again, pop the token.
    3. Push the value, count, refill the token, give the role back: one transaction.
While we are the producer the length can only fall, so when step 2 saw room for one more beyond our value,
step 3 need not ask again. Otherwise the length that LPUSH answered decides, as the documents have it, and
giving back is a fourth trip.

Rules:
    - Nothing is stored when ``:bound`` is found gone: it is watched up to the transaction that pushes.
    - Closed is looked at before the role is taken (to fail at once) and again with the role.
    - An over-filling Put pops the token if there is one and goes on either way. To skip it on a queue that
      is not full would leave a token behind and let later Puts pass the bound.
"""

from __future__ import annotations

import warnings

from pressure.errors import PressureError, PressureWarning, QueueFullError, ServerReplyError
from pressure.keys import Keys
from pressure.protocol.roles import (
    PRODUCER,
    Hold,
    attempt,
    claim,
    does_not_exist,
    give_back,
    holding,
    is_closed,
    lost_role,
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
    executed,
    operation,
)


@operation
def put(ctx: Context, value: bytes, patience: Patience, *, overfill: bool = False) -> Operation[None]:
    """Put one value.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now; nothing is stored.
        QueueClosedError: Closed queues take no values.
        QueueInUseError: The producer role did not come free in time, or it was taken away by a repair.
        QueueFullError: No room came free in time.
    """
    hold = yield from take_role(ctx, PRODUCER, patience, refuse_closed=True)
    yield from holding(ctx, hold, _put_as_producer(ctx, hold, value, patience, overfill))


def _put_as_producer(
    ctx: Context, hold: Hold, value: bytes, patience: Patience, overfill: bool
) -> Operation[None]:
    keys = ctx.keys
    replies = yield Batch(
        (
            *claim(ctx, PRODUCER, keys.bound),
            (b"EXISTS", keys.closed),
            (b"RPOP", keys.not_full),
            (b"GET", keys.bound),
            (b"LLEN", keys.queue),
        )
    )
    claimed, _, closed, token, bound, length = replies
    hold.claimed = not isinstance(claimed, ServerReplyError)
    hold.token = isinstance(token, bytes)
    check(replies)
    limit = bound_of(ctx, bound)
    if closed:
        raise is_closed(ctx)
    if not hold.token and not overfill:
        limit, length = yield from _wait_for_room(ctx, hold, patience)
    yield from _push(ctx, hold, value, limit, length)


def _wait_for_room(ctx: Context, hold: Hold, patience: Patience) -> Operation[tuple[int, int]]:
    """Wait for the token; the bound and the length seen right after it came."""
    keys = ctx.keys
    looks: tuple[Command, ...] = ((b"GET", keys.bound), (b"LLEN", keys.queue))
    for seconds in patience.attempts():
        replies = yield attempt((keys.not_full,), seconds, looks)
        token, bound, length = replies
        hold.token = token is not None and not isinstance(token, ServerReplyError)
        check(replies)
        limit = bound_of(ctx, bound)
        if hold.token:
            return limit, length
    raise QueueFullError(f"queue {keys} is full")


def _push(ctx: Context, hold: Hold, value: bytes, bound: int, length: int) -> Operation[None]:
    """Push the value and give the role back; ``length`` is no less than the queue's length now."""
    if bound == 0 or length + 1 < bound:
        replies = yield Batch(atomic(*_store(ctx.keys, value), *refill(ctx), *_free(ctx.keys)))
        done = yield from _stored(ctx, hold, replies[-1])
        if refused := trouble(done):
            yield from _rescue(ctx, hold, refused, released=not isinstance(done[-1], ServerReplyError))
        return
    producer = ctx.keys.producer
    replies = yield Batch(
        (*atomic(*_store(ctx.keys, value)), (b"WATCH", producer), (b"GET", producer)),
    )
    done = yield from _stored(ctx, hold, replies[-3])
    room = refill(ctx) if done[0] < bound else ()
    if replies[-1] != ctx.client_id:  # the role was taken away since; only the value was ours to write
        yield Batch(((b"UNWATCH",),))
        return
    replies = yield Batch(atomic(*room, *_free(ctx.keys)))
    if refused := trouble([done, *replies]):
        yield from _rescue(ctx, hold, refused, released=trouble(replies) is None)


def _stored(ctx: Context, hold: Hold, result: Reply) -> Operation[list[Reply]]:
    """The replies of the transaction that pushed the value; from here on only the role is to be given back.

    Raises:
        PressureError: The value was not stored.
    """
    done = executed(result)
    if done is None:
        raise (yield from lost_role(ctx, PRODUCER))
    check(done[:1])
    hold.token = False
    return done


def _rescue(ctx: Context, hold: Hold, refused: ServerReplyError, *, released: bool) -> Operation[None]:
    """The value is stored, but something after it was refused: see to the role, and say so."""
    if not released:
        released = trouble((yield from give_back(ctx, hold))) is None
    role = "" if released else " and the producer role could not be given back"
    warnings.warn(
        f"queue {ctx.keys}: the value is stored, but the server refused to count it{role} ({refused}); "
        "repair the queue",
        PressureWarning,
        stacklevel=2,
    )


def _store(keys: Keys, value: bytes) -> tuple[Command, ...]:
    return (
        (b"LPUSH", keys.queue, value),
        (b"INCR", keys.produced_messages),
        (b"INCRBY", keys.produced_bytes, len(value)),
    )


def _free(keys: Keys) -> tuple[Command]:
    return ((b"LPUSH", keys.producer_free, 0),)


def bound_of(ctx: Context, reply: bytes | None) -> int:
    """The bound as a number.

    Raises:
        QueueDoesNotExistError: There is none: the queue was deleted.
        PressureError: It is not a number; another program wrote it.
    """
    if reply is None:
        raise does_not_exist(ctx)
    try:
        return int(reply)
    except ValueError:
        raise PressureError(f"queue {ctx.keys}: its bound is not a number: {reply!r}") from None


@operation
def close(ctx: Context, patience: Patience) -> Operation[None]:
    """Close the queue for ever, by pushing two marks onto ``:closed``.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: It is closed already: a queue can be closed at most once.
        QueueInUseError: The producer role did not come free in time.
    """
    hold = yield from take_role(ctx, PRODUCER, patience)
    yield from holding(ctx, hold, _close_as_producer(ctx, hold))


def _close_as_producer(ctx: Context, hold: Hold) -> Operation[None]:
    keys = ctx.keys
    replies = yield Batch(
        (
            *claim(ctx, PRODUCER, keys.bound),
            (b"EXISTS", keys.bound),
            (b"EXISTS", keys.closed),
        )
    )
    hold.claimed = not isinstance(replies[0], ServerReplyError)
    exists, closed = check(replies)[-2:]
    if not exists:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed(ctx)
    replies = yield Batch(atomic((b"LPUSH", keys.closed, 0, 0), *_free(keys)))
    done = executed(replies[-1])
    if done is None:
        raise (yield from lost_role(ctx, PRODUCER))
    check(done)
