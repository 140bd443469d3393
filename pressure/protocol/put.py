"""Put and Close: what a producer does (pressure protocol 0.15, Put, Put (Non-Blocking), Close).

Where the server runs scripts, a Put on a free queue with room is one round trip (``scripted``). Elsewhere it
is three:
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
from collections.abc import Sequence

from pressure.errors import PressureError, PressureWarning, ServerReplyError
from pressure.keys import Keys
from pressure.protocol import scripted
from pressure.protocol.roles import (
    PRODUCER,
    Hold,
    as_holder,
    claim,
    does_not_exist,
    finish,
    give_back,
    holding,
    is_closed,
    is_closed_already,
    lost_role,
    new_hold,
    refill,
    take_role,
    trouble,
)
from pressure.protocol.scripted import Run
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
from pressure.protocol.waits import bound_of, wait_for_room


@operation
def put(ctx: Context, value: bytes, patience: Patience, *, overfill: bool = False) -> Operation[None]:
    """Put one value.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now; nothing is stored.
        QueueClosedError: Closed queues take no values.
        QueueInUseError: The producer role did not come free in time, or it was taken away by a repair.
        QueueFullError: No room came free in time.
    """
    yield from put_run(ctx, Run((value,)), patience, overfill)


@operation
def put_many(
    ctx: Context, values: Sequence[bytes], patience: Patience, *, overfill: bool = False
) -> Operation[None]:
    """Put values, one after the other, as the producer all the while.

    Raises:
        PressureError: As in ``put``; its ``done`` says how many of them were put.
    """
    run = Run(values)
    if not values:
        return
    try:
        yield from put_run(ctx, run, patience, overfill)
    except GeneratorExit:
        raise
    except BaseException as error:
        if isinstance(error, PressureError):
            error.done = run.stored
        error.add_note(f"{run.stored} of {len(values)} values were put into queue {ctx.keys}")
        raise


def put_run(ctx: Context, run: Run, patience: Patience, overfill: bool) -> Operation[None]:
    """Put the values that are left of a run; see ``put_many``."""
    hold = yield from new_hold(PRODUCER)
    if ctx.server.scripts and (
        yield from holding(ctx, hold, scripted.put(ctx, hold, run, patience, overfill))
    ):
        return
    if not hold.held:  # else scripts were forbidden in the middle
        yield from take_role(ctx, hold, patience, refuse_closed=True)
    yield from holding(ctx, hold, _put_as_producer(ctx, hold, run, patience, overfill))


def _put_as_producer(
    ctx: Context, hold: Hold, run: Run, patience: Patience, overfill: bool
) -> Operation[None]:
    while run.stored < len(run.values):
        yield from _put_some(ctx, hold, run, patience, overfill)


def _put_some(ctx: Context, hold: Hold, run: Run, patience: Patience, overfill: bool) -> Operation[None]:
    """Put as many values as there is room for, one at least; the role is given back with the last."""
    limit, length = yield from (_look_again(ctx, hold) if hold.claimed else _look(ctx, hold))
    if not hold.token and not overfill:
        limit, length = yield from wait_for_room(ctx, hold, patience)
    values = run.next()
    if limit and not overfill:
        values = values[: max(limit - length, 1)]
    yield from _push(ctx, hold, run, values, limit, length)


def _look(ctx: Context, hold: Hold) -> Operation[tuple[int, int]]:
    """Say who we are, and pop the token if there is one; bound and length."""
    keys = ctx.keys
    replies = yield Batch(
        (
            *claim(ctx, hold, keys.bound),
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
        raise is_closed(ctx, PRODUCER)
    return limit, length


def _look_again(ctx: Context, hold: Hold) -> Operation[tuple[int, int]]:
    """The same in the middle of a run, where the role may have been taken away."""
    keys = ctx.keys
    pop: Command = (b"LLEN" if hold.token else b"RPOP", keys.not_full)
    replies = yield Batch(
        (
            (b"WATCH", keys.producer, keys.bound),
            (b"GET", keys.producer),
            pop,
            (b"GET", keys.bound),
            (b"LLEN", keys.queue),
        )
    )
    _, holder, token, bound, length = replies
    if isinstance(token, bytes):
        if holder != hold.id:
            yield Batch(refill(ctx))  # it was not ours to take
        else:
            hold.token = True
    check(replies)
    if holder != hold.id:
        raise (yield from lost_role(ctx, PRODUCER))
    return bound_of(ctx, bound), length


def _push(
    ctx: Context, hold: Hold, run: Run, values: Sequence[bytes], bound: int, length: int
) -> Operation[None]:
    """Push values, and give the role back after the last; the queue is no longer than ``length``."""
    last = run.stored + len(values) == len(run.values)
    if bound == 0 or length + len(values) < bound:
        rest = (*refill(ctx), *_free(ctx.keys)) if last else ()
        work = (*_store(ctx.keys, values), *rest)
        replies = yield Batch(atomic(*work))
        done = yield from _stored(ctx, hold, run, values, (yield from as_holder(ctx, hold, replies, work)))
        hold.token = not last
        if refused := trouble(done):
            yield from _rescue(
                ctx, hold, refused, released=not (last and isinstance(done[-1], ServerReplyError))
            )
        return
    producer, work = ctx.keys.producer, _store(ctx.keys, values)
    replies = yield Batch((*atomic(*work), (b"WATCH", producer), (b"GET", producer)))
    done = yield from _stored(
        ctx, hold, run, values, (yield from as_holder(ctx, hold, replies, work, end=-3))
    )
    room = done[0] < bound
    if not last:
        hold.token = room
        if refused := trouble(done):
            yield from _rescue(ctx, hold, refused, released=True)
        return
    holder = replies[-1]
    if replies[-3] is None:  # it was done again, and that transaction has ended the watch
        _, holder = yield Batch(((b"WATCH", producer), (b"GET", producer)))
    if holder != hold.id and not isinstance(holder, ServerReplyError):
        yield Batch(((b"UNWATCH",),))  # the role was taken away since; only the values were ours to write
        return
    freed = yield from finish(ctx, hold, (*(refill(ctx) if room else ()), *_free(ctx.keys)))
    if refused := trouble([done, freed]):
        yield from _rescue(ctx, hold, refused, released=trouble([freed]) is None)


def _stored(
    ctx: Context, hold: Hold, run: Run, values: Sequence[bytes], done: list[Reply] | None
) -> Operation[list[Reply]]:
    """The replies of the transaction that pushed values; from here on only the role is to be given back.

    Raises:
        PressureError: The values were not stored.
    """
    if done is None:
        raise (yield from lost_role(ctx, PRODUCER))
    check(done[:1])
    run.stored += len(values)
    hold.token = False
    return done


def _rescue(ctx: Context, hold: Hold, refused: ServerReplyError, *, released: bool) -> Operation[None]:
    """The value is stored, but something after it was refused: see to the role, and say so."""
    if not released:
        released = trouble((yield from give_back(ctx, hold))) is None
        hold.held = False
    role = "" if released else " and to free the producer role"
    warnings.warn(
        f"queue {ctx.keys}: the value is stored, but the server refused to count it{role} ({refused}); "
        "repair mends that",
        PressureWarning,
        stacklevel=2,
    )


def _store(keys: Keys, values: Sequence[bytes]) -> tuple[Command, ...]:
    return (
        (b"LPUSH", keys.queue, *values),
        (b"INCRBY", keys.produced_messages, len(values)),
        (b"INCRBY", keys.produced_bytes, sum(map(len, values))),
    )


def _free(keys: Keys) -> tuple[Command]:
    return ((b"LPUSH", keys.producer_free, 0),)


@operation
def close(ctx: Context, patience: Patience) -> Operation[None]:
    """Close the queue for ever, by pushing two marks onto ``:closed``.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: It is closed already: a queue can be closed at most once.
        QueueInUseError: The producer role did not come free in time.
    """
    hold = yield from new_hold(PRODUCER)
    if ctx.server.scripts and (yield from holding(ctx, hold, scripted.close(ctx, hold, patience))):
        return
    if not hold.held:  # else scripts were forbidden in the middle
        yield from take_role(ctx, hold, patience)
    yield from holding(ctx, hold, _close_as_producer(ctx, hold))


def _close_as_producer(ctx: Context, hold: Hold) -> Operation[None]:
    keys = ctx.keys
    replies = yield Batch(
        (
            *claim(ctx, hold, keys.bound),
            (b"EXISTS", keys.bound),
            (b"EXISTS", keys.closed),
        )
    )
    hold.claimed = not isinstance(replies[0], ServerReplyError)
    exists, closed = check(replies)[-2:]
    if not exists:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed_already(ctx)
    work: tuple[Command, ...] = ((b"LPUSH", keys.closed, 0, 0), *_free(keys))
    done = yield from as_holder(ctx, hold, (yield Batch(atomic(*work))), work)
    if done is None:
        raise (yield from lost_role(ctx, PRODUCER))
    check(done)
