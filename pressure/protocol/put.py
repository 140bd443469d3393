"""Put and Close: what a producer does (pressure protocol 0.15, Put, Put (Non-Blocking), Close).

With scripts, a Put is one round trip if the role is free and there is room (``scripts``). Without scripts it
is three:
    1. Pop the role; read ``:producer``, ``:bound`` and ``:closed``.
    2. Write the hold's id, pop the token, read bound, length and ``:closed``.
    3. Push the value, count, refill the token, give the role back: one transaction.
While this client is the producer, no other client adds values. So if step 2 saw room for one value more than
its own, step 3 need not read the length. Otherwise the length that LPUSH answers decides about the token, as
in the documents, and giving the role back is a fourth round trip.

Rules:
    - Nothing is stored in a deleted queue: ``:bound`` is watched up to the transaction that pushes.
    - ``:closed`` is read before the role is taken, to fail at once, and again with the role.
    - A Put that over-fills pops the token if there is one, and goes on either way. If it left the token in a
      queue that is not full, later Puts could exceed the bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from pressure.errors import PressureError, ServerReplyError
from pressure.keys import Keys
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
    with_done,
)
from pressure.protocol.problems import (
    does_not_exist,
    first_error,
    is_closed,
    is_closed_already,
    note_uncounted,
)
from pressure.protocol.role import PRODUCER, Hold, refill
from pressure.protocol.roles import (
    finish,
    finish_or_refusal,
    give_back,
    holding,
    is_ours,
    keep_role,
    let_close,
    lost_role,
    take,
)
from pressure.protocol.scripts import PutProgress
from pressure.protocol.waits import bound_of, wait_for_room


@operation
def put(ctx: Context, value: bytes, deadline: Deadline, *, overfill: bool = False) -> Operation[None]:
    """Put one value.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now; nothing is stored.
        QueueClosedError: The queue is closed.
        QueueInUseError: The producer role did not come free in time, or another client freed it meanwhile.
        QueueFullError: No room came free in time.
    """
    yield from put_values(ctx, PutProgress((value,)), deadline, overfill)


@operation
def put_many(
    ctx: Context, values: Sequence[bytes], deadline: Deadline, *, overfill: bool = False
) -> Operation[None]:
    """Put values, one after the other, and keep the role until the last.

    Raises:
        PressureError: As in ``put``; its ``done`` says how many of them were put, or if the connection was
            lost, how many at least.
    """
    progress = PutProgress(values)
    if not values:
        return
    try:
        yield from with_done(progress, put_values(ctx, progress, deadline, overfill))
    except GeneratorExit:
        raise
    except BaseException as error:
        if isinstance(error, PressureError):
            error.done = progress.stored
        error.add_note(f"{progress.stored} of {len(values)} values were put into queue {ctx.keys}")
        raise


def put_values(ctx: Context, progress: PutProgress, deadline: Deadline, overfill: bool) -> Operation[None]:
    """Put those values of ``progress`` that are not stored yet; see ``put_many``."""
    hold = Hold(PRODUCER, *(yield NewHold()))
    if ctx.server.scripts and (yield from scripts.put(ctx, hold, progress, deadline, overfill)):
        return
    yield from holding(ctx, hold, _put_as_producer(ctx, hold, progress, deadline, overfill))


def _put_as_producer(
    ctx: Context, hold: Hold, progress: PutProgress, deadline: Deadline, overfill: bool
) -> Operation[None]:
    while progress.stored < len(progress.values):
        yield from _put_some(ctx, hold, progress, deadline, overfill)


def _put_some(
    ctx: Context, hold: Hold, progress: PutProgress, deadline: Deadline, overfill: bool
) -> Operation[None]:
    """Put as many values as there is room for, and give the role back after the last."""
    limit, length = yield from (_check_again(ctx, hold) if hold.claimed else _take_role(ctx, hold, deadline))
    if not hold.token and not overfill:
        room = yield from wait_for_room(ctx, hold, deadline, gives_way=not progress.stored)
        if room is None:
            return (yield from let_close(ctx, hold, deadline))
        limit, length = room
    values = progress.next_values()
    if limit and not overfill:
        values = values[: max(limit - length, 1)]
    yield from _push(ctx, hold, progress, values, limit, length)


def _take_role(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[tuple[int, int]]:
    """Take the role, and pop the token if there is one. Returns bound and length."""
    pop: Command = (b"RPOP", ctx.keys.not_full)
    checks = _check_commands(ctx, hold)
    claimed, token, *seen = yield from take(ctx, hold, deadline, (pop,), checks, refuse_closed=True)
    hold.token = isinstance(token, bytes)
    check([claimed])
    return (yield from _checked(ctx, hold, token, seen))


def _check_again(ctx: Context, hold: Hold) -> Operation[tuple[int, int]]:
    """The same between two values of ``put_many``, where another client may have freed the role."""
    pop: Command = (b"LLEN" if hold.token else b"RPOP", ctx.keys.not_full)
    token, *seen = yield Batch((pop, *_check_commands(ctx, hold)))
    return (yield from _checked(ctx, hold, token, seen))


def _check_commands(ctx: Context, hold: Hold) -> tuple[Command, ...]:
    """The commands that read what a producer has to know, and watch the holder key and ``:bound``."""
    keys = ctx.keys
    checks: tuple[Command, ...] = ((b"GET", keys.bound), (b"LLEN", keys.queue), (b"EXISTS", keys.closed))
    return (*is_ours(ctx, hold, keys.bound), *checks)


def _checked(ctx: Context, hold: Hold, token: Reply, seen: list[Reply]) -> Operation[tuple[int, int]]:
    hold.token |= isinstance(token, bytes)
    _, holder, bound, length, closed = seen
    check([token, *seen])
    if holder != hold.id:  # ``holding`` puts the token back, for the new holder
        raise (yield from lost_role(ctx, hold))
    limit = bound_of(ctx, bound)
    if closed:
        raise is_closed(ctx, PRODUCER)
    return limit, length


def _push(
    ctx: Context, hold: Hold, progress: PutProgress, values: Sequence[bytes], bound: int, length: int
) -> Operation[None]:
    """Push values, and give the role back after the last. The queue has at most ``length`` values."""
    store = _store(ctx.keys, values)
    last = progress.stored + len(values) == len(progress.values)
    if last and (bound == 0 or length + len(values) < bound):
        done = yield from _stored(ctx, hold, progress, values, finish(ctx, hold, (*store, *refill(ctx))))
        yield from _rescue(ctx, hold, first_error(done))
        return
    done = yield from _stored(ctx, hold, progress, values, keep_role(ctx, hold, store))
    room = bound == 0 or done[0] < bound
    if not last:
        hold.token = room
        note_uncounted(ctx, "the value is stored", first_error(done))
    elif not hold.held:  # another client freed the role after the push, so this hold writes nothing more
        yield Batch(((b"UNWATCH",),))
    else:
        freed = yield from finish_or_refusal(ctx, hold, refill(ctx) if room else ())
        yield from _rescue(ctx, hold, first_error([done, freed]))


def _stored(
    ctx: Context,
    hold: Hold,
    progress: PutProgress,
    values: Sequence[bytes],
    transaction: Operation[list[Reply] | None],
) -> Operation[list[Reply]]:
    """The replies to the transaction that pushes values. After it the hold has no token.

    Raises:
        PressureError: The values were not stored.
    """
    done = yield from transaction
    if done is None:
        raise (yield from lost_role(ctx, hold))
    check(done[:1])
    progress.stored += len(values)
    hold.token = False
    return done


def _rescue(ctx: Context, hold: Hold, refused: ServerReplyError | None) -> Operation[None]:
    """If the server refused a command after the value was stored: give the role back, and warn."""
    if refused is not None:
        stuck = hold.held and first_error((yield from give_back(ctx, hold))) is not None
        note_uncounted(ctx, "the value is stored", refused, PRODUCER if stuck else None)


def _store(keys: Keys, values: Sequence[bytes]) -> tuple[Command, ...]:
    return (
        (b"LPUSH", keys.queue, *values),
        (b"INCRBY", keys.produced_messages, len(values)),
        (b"INCRBY", keys.produced_bytes, sum(map(len, values))),
    )


@operation
def close(ctx: Context, deadline: Deadline) -> Operation[None]:
    """Close the queue for ever, by pushing two marks onto ``:closed``.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: It is closed already: a queue can be closed at most once.
        QueueInUseError: The producer role did not come free in time.
    """
    hold = Hold(PRODUCER, *(yield NewHold()))
    hold.closes = True
    # Producers that wait for the role begin anew after a slice, and then this client has waited longest.
    deadline.slices = 3
    if ctx.server.scripts and (yield from holding(ctx, hold, scripts.close(ctx, hold, deadline))):
        return
    yield from holding(ctx, hold, _close_as_producer(ctx, hold, deadline))


def _close_as_producer(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[None]:
    keys = ctx.keys
    checks: tuple[Command, ...] = ((b"EXISTS", keys.bound), (b"EXISTS", keys.closed))
    replies = yield from take(ctx, hold, deadline, then=(*is_ours(ctx, hold, keys.bound), *checks))
    *_, holder, exists, closed = check(replies)
    if holder != hold.id:
        raise (yield from lost_role(ctx, hold))
    if not exists:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed_already(ctx)
    done = yield from finish(ctx, hold, ((b"LPUSH", keys.closed, 0, 0),))
    if done is None:
        raise (yield from lost_role(ctx, hold))
    check(done)
