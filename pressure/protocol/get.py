"""Get: take values as the consumer (pressure protocol 0.15, Get, Get (Non-Blocking)).

With scripts, a Get is one round trip if the role is free and there is a value (``scripts``). Without scripts
it is three:
    1. Pop the role; read ``:consumer``, ``:bound`` and ``:closed``.
    2. Write the hold's id, read ``:closed``, put back what a dead consumer received, pop a value, read bound
       and length.
    3. Refill the token if there is room, count, give the role back: one transaction.
``get_many`` takes its other values in one more.

Rules:
    - A value once popped is returned, whatever is found or refused after it.
    - ``:closed`` is read before the pop. Nothing is put after a close, so a closed queue from which nothing
      was popped is empty for good.
    - ``:not_full`` is refilled only below the bound, so that an over-filled queue drains to its bound first.
    - A Get that returns no value leaves all keys but those of the role as they were.
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
from pressure.protocol.role import CONSUMER, Hold, look_at_size, refill
from pressure.protocol.roles import finish_or_refusal, give_back, holding, is_ours, keep_role, lost_role, take
from pressure.protocol.waits import Popped, bound_of, wait_for_value


@operation
def get(ctx: Context, deadline: Deadline) -> Operation[bytes]:
    """Take one value. A closed queue still delivers the values that are left in it.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: The queue is closed and empty.
        QueueInUseError: The consumer role did not come free in time.
        QueueEmptyError: No value came in time.
    """
    (value,) = yield from _get(ctx, deadline, 1)
    return value


@operation
def get_many(ctx: Context, deadline: Deadline, most: int) -> Operation[list[bytes]]:
    """Take up to ``most`` values, waiting for the first only, and keep the role until the last.

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
    """Whether this hold still has the role, as far as the server tells; the holder key is watched then."""
    *_, holder = yield Batch(is_ours(ctx, hold))
    if isinstance(holder, ServerReplyError) or holder == hold.id:
        return True
    yield Batch(((b"UNWATCH",),))
    return False


def _pop(ctx: Context, hold: Hold, deadline: Deadline, most: int) -> Operation[Popped]:
    keys = ctx.keys
    work: tuple[Command, ...] = (
        (b"EXISTS", keys.closed),
        _orphan(ctx),
        (b"RPOP", keys.queue),
        *look_at_size(ctx),
    )
    replies = yield from take(ctx, hold, deadline, work, is_ours(ctx, hold))
    _, closed, orphan, value, bound, length, _, holder = replies
    hold.held = holder == hold.expected or isinstance(holder, ServerReplyError)
    if isinstance(value, bytes):
        ctx.server.sizes.note((value,))
        popped = Popped((value,), bound, length)
        return (yield from _pop_more(ctx, hold, popped, most, orphans=isinstance(orphan, bytes)))
    check(replies)
    if bound is None:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed(ctx, CONSUMER)
    if not hold.held:
        raise (yield from lost_role(ctx, hold))
    popped = yield from wait_for_value(ctx, hold, deadline)
    ctx.server.sizes.note(popped.values)
    return (yield from _pop_more(ctx, hold, popped, most))


def _orphan(ctx: Context) -> Command:
    """The command that puts back the oldest message of a dead consumer."""
    return (b"LMOVE", ctx.keys.unacked, ctx.keys.queue, b"RIGHT", b"RIGHT")


def _pop_more(
    ctx: Context, hold: Hold, popped: Popped, most: int, *, orphans: bool = False
) -> Operation[Popped]:
    """The popped values and more of them, up to the limits in ``sizes``, while this hold has the role.

    While there are ``orphans``, each is put back and taken alone: they are older than what is in the queue.
    """
    sizes = ctx.server.sizes
    while hold.held:
        asked = sizes.bounded(most - len(popped.values), popped.size)
        if asked == 0:
            break
        back = (_orphan(ctx),) if orphans else ()
        asked = 1 if orphans else asked
        work: tuple[Command, ...] = (*back, (b"RPOP", ctx.keys.queue, asked), *look_at_size(ctx))
        try:
            done = yield from with_taken(popped.values, keep_role(ctx, hold, work))
        except ServerReplyError:  # more is refused; what was popped is returned
            break
        if done is None:
            hold.held = False
            break
        orphan, found, bound, length = done if orphans else (None, *done)
        orphans = isinstance(orphan, bytes)
        more = tuple(found) if isinstance(found, list) else ()
        sizes.note(more)
        popped = Popped((*popped.values, *more), bound, length)
        if len(more) < asked:
            break
    return popped


def _finish(ctx: Context, hold: Hold, popped: Popped) -> Operation[None]:
    """Refill the token, count, and give the role back. Since the values are taken, a refusal only warns."""
    if not hold.held:  # another client has freed the role, so this hold writes nothing more
        yield Batch(((b"UNWATCH",),))
        return
    seen = (len(popped.values), popped.size, popped.bound, popped.length)
    done = yield from finish_or_refusal(ctx, hold, effects(ctx, *seen))
    if done is None:  # another client has freed the role
        return
    refused = first_error([*done, popped.bound, popped.length])
    stuck = hold.held and first_error((yield from give_back(ctx, hold))) is not None
    note_uncounted(ctx, "the value was taken", refused, CONSUMER if stuck else None, popped.values)


def effects(ctx: Context, number: int, size: int, bound: Reply, length: Reply) -> tuple[Command, ...]:
    """The commands that refill the token and count delivered values; none if the queue is being deleted.

    If the server refused to tell bound or length, the token is not refilled.
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
