"""Reliable get: a value stays on the server until its consumer acknowledges it, rejects it or puts it back.

The documents leave room for this: elements go in on the left and out on the right to allow for BRPOPLPUSH,
"to get additional data reliability". The value is moved to ``:unacked`` instead of popped, and the consumer
role is held until the value is settled.

Rules:
    - To other clients this looks like a Get that takes long. ``:not_full`` and the counters change when the
      value is acknowledged or rejected, not before.
    - ``:unacked`` and ``:rejected`` are not among the protocol's twelve keys. Only a reliable get creates
      them; Delete removes them.
    - A rejected message counts as consumed. It stays in ``:rejected`` until ``redrive`` puts it again.
    - Messages in ``:unacked`` when the role is taken are those of a dead consumer. They go back first, so
      that the order is kept. A plain get puts them back, too.
    - A message that goes back takes the token along if the queue is full then.
    - BLMOVE waits for values only, not for a close. So it waits in slices, and ``:closed`` is read between
      them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from pressure.errors import QueueEmptyError, ServerReplyError
from pressure.protocol import scripts
from pressure.protocol.commands import atomic, blocking, check, executed
from pressure.protocol.get import effects
from pressure.protocol.operation import (
    Batch,
    Command,
    Context,
    Deadline,
    NewHold,
    Operation,
    Reply,
    operation,
    with_note,
)
from pressure.protocol.problems import (
    does_not_exist,
    first_error,
    is_closed,
    note_uncounted,
    problem,
)
from pressure.protocol.role import CONSUMER, Hold, drop_token, look_at_size, put_back
from pressure.protocol.roles import do_as_holder, finish, give_back, holding, lost_role, take


class Settlement(Enum):
    """What becomes of a received message."""

    REQUEUED = 0
    ACKNOWLEDGED = 1
    REJECTED = 2


@dataclass(frozen=True, slots=True)
class Received:
    """A received value, and the id of the hold that lasts until the value is settled."""

    value: bytes
    hold_id: bytes


@operation
def receive(ctx: Context, deadline: Deadline) -> Operation[Received]:
    """Move one value to ``:unacked``, and hold the consumer role until ``settle``.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: The queue is closed and empty.
        QueueInUseError: The consumer role did not come free in time.
        QueueEmptyError: No value came in time.
    """
    hold = Hold(CONSUMER, *(yield NewHold()))
    if ctx.server.scripts:
        value = yield from holding(ctx, hold, _by_script(ctx, hold, deadline))
        if value is not None:
            return Received(value, hold.id)
    return Received((yield from holding(ctx, hold, _by_batches(ctx, hold, deadline))), hold.id)


def _by_script(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[bytes | None]:
    values = yield from scripts.receive(ctx, hold, deadline)
    if values is None:
        return None
    return values[0] if values else (yield from _wait(ctx, hold, deadline))


def _take(ctx: Context) -> Command:
    return (b"LMOVE", ctx.keys.queue, ctx.keys.unacked, b"RIGHT", b"LEFT")


def _by_batches(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[bytes]:
    keys = ctx.keys
    work: tuple[Command, ...] = (
        put_back(ctx),
        (b"LLEN", keys.unacked),
        _take(ctx),
        (b"GET", keys.bound),
        (b"EXISTS", keys.closed),
    )
    claimed, _, orphans, value, bound, closed = yield from take(ctx, hold, deadline, work)
    hold.unacked = int(isinstance(value, bytes))
    if isinstance(orphans, int) and orphans:
        value = yield from _after_orphans(ctx, hold, orphans)
    if isinstance(value, bytes):
        check([claimed])  # a hold that could not write its id cannot settle; the value goes back
        return value
    check([claimed, orphans, value, bound, closed])
    if bound is None:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed(ctx, CONSUMER)
    return (yield from _wait(ctx, hold, deadline))


def _after_orphans(ctx: Context, hold: Hold, orphans: int) -> Operation[Reply]:
    """Put back the messages that others have left in ``:unacked``, then take a value; the reply to that."""
    back = (put_back(ctx),) * (orphans + hold.unacked)
    *_, value = yield from do_as_holder(ctx, hold, *back, _take(ctx))
    hold.unacked = int(isinstance(value, bytes))
    return value


def _wait(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[bytes]:
    keys = ctx.keys
    looks: tuple[Command, ...] = (
        (b"GET", keys.consumer),
        (b"GET", keys.bound),
        (b"EXISTS", keys.closed),
        (b"LLEN", keys.unacked),
    )
    name, *arguments = _take(ctx)
    for seconds in deadline.attempts():
        if seconds:
            words = [word for word in arguments if isinstance(word, bytes)]
            replies = yield blocking(b"BLMOVE", *words, seconds=seconds, then=looks)
        else:
            replies = yield Batch(((name, *arguments), *looks))
        value, holder, bound, closed, unacked = replies
        if holder != hold.id and not isinstance(holder, ServerReplyError):
            raise (yield from _lost_while_waiting(ctx, hold, value))
        if isinstance(value, bytes) and isinstance(unacked, int) and unacked > 1:
            hold.unacked = 1  # the others came to a fenced consumer whose wait was still under way
            value = yield from _after_orphans(ctx, hold, unacked - 1)
        if isinstance(value, bytes):
            return value
        check(replies)
        if bound is None:
            raise does_not_exist(ctx)
        if closed:
            return (yield from _last_look(ctx, hold))
    raise QueueEmptyError(f"queue {keys} is empty")


def _lost_while_waiting(ctx: Context, hold: Hold, value: Reply) -> Operation[Exception]:
    """The error after another client freed the role during the wait. A value that arrived goes back.

    Unless it is not in ``:unacked`` any more: then the next consumer has received it.
    """
    unacked, done = ctx.keys.unacked, None
    while isinstance(value, bytes) and done is None:
        looks: tuple[Command, ...] = ((b"UNWATCH",), (b"WATCH", unacked), (b"LPOS", unacked, value))
        *_, place, bound, length = check((yield Batch((*looks, *look_at_size(ctx)))))
        if place is None:
            yield Batch(((b"UNWATCH",),))
            break
        back: tuple[Command, ...] = ((b"LREM", unacked, 1, value), (b"RPUSH", ctx.keys.queue, value))
        done = executed((yield Batch(atomic(*back, *drop_token(ctx, 1, bound, length)))))
        check(done or [])
    return (yield from lost_role(ctx, hold))


def _last_look(ctx: Context, hold: Hold) -> Operation[bytes]:
    """Take a value that was put before the queue was closed."""
    (value,) = check((yield from do_as_holder(ctx, hold, _take(ctx))))
    if not isinstance(value, bytes):
        raise is_closed(ctx, CONSUMER)
    return value


@operation
def settle(ctx: Context, hold_id: bytes, outcome: Settlement, size: int) -> Operation[None]:
    """Acknowledge the message in ``:unacked``, reject it, or put it back; then give the role back.

    Args:
        ctx: The context.
        hold_id: The hold that received the message.
        outcome: What becomes of it.
        size: Its size in bytes, for the counters.

    Raises:
        QueueInUseError: Another client has freed the role meanwhile; the message will be redelivered.
        QueueDoesNotExistError: The queue is gone, as after a restart of a server that keeps no data.
    """
    note = f"the message of queue {ctx.keys} is not acknowledged; it will be redelivered"
    lost = f"{note} when a client that waits has freed the consumer role, or a repair"
    try:
        yield from with_note(lost, _settled(ctx, hold_id, outcome, size))
    except ServerReplyError as error:
        error.add_note(note)
        raise


def _settled(ctx: Context, hold_id: bytes, outcome: Settlement, size: int) -> Operation[None]:
    hold = Hold(CONSUMER, hold_id, claimed=True, held=True, unacked=1)
    if ctx.server.scripts:
        answer = yield from holding(ctx, hold, scripts.settle(ctx, hold, outcome.value, size))
        if answer is not None:
            if answer.status == b"lost":
                raise (yield from lost_role(ctx, hold))
            if error := problem(ctx, CONSUMER, answer):
                raise error
            scripts.note_refused(ctx, CONSUMER, answer, _SETTLED[outcome])
            return
    yield from holding(ctx, hold, _by_transaction(ctx, hold, outcome, size))


def _by_transaction(ctx: Context, hold: Hold, outcome: Settlement, size: int) -> Operation[None]:
    keys = ctx.keys
    looks: tuple[Command, ...] = ((b"GET", keys.consumer), (b"LLEN", keys.unacked))
    watch: Command = (b"WATCH", keys.consumer, keys.unacked)
    room: tuple[Command, ...] = ((b"LLEN", keys.rejected),) if outcome is Settlement.REJECTED else ()
    _, holder, there, bound, length, *_ = check((yield Batch((watch, *looks, *look_at_size(ctx), *room))))
    if holder != hold.id:
        hold.held = False
        yield Batch(((b"UNWATCH",),))
        raise (yield from lost_role(ctx, hold))
    work: tuple[Command, ...] = ()
    if there and outcome is Settlement.REQUEUED:
        work = (put_back(ctx), *drop_token(ctx, 1, bound, length))
    elif there:
        work = (_removal(ctx, outcome), *effects(ctx, 1, size, bound, length))
    result = yield from finish(ctx, hold, work)
    if result is None:
        raise (yield from lost_role(ctx, hold))
    check(result[:1])
    hold.unacked = 0
    stuck = hold.held and first_error((yield from give_back(ctx, hold))) is not None
    note_uncounted(ctx, _SETTLED[outcome], first_error(result), CONSUMER if stuck else None)


#: What a warning says of the message.
_SETTLED: Final = {
    Settlement.REQUEUED: "the message is put back",
    Settlement.ACKNOWLEDGED: "the message is acknowledged",
    Settlement.REJECTED: "the message is rejected",
}


def _removal(ctx: Context, outcome: Settlement) -> Command:
    """The command that takes a message which is acknowledged, or rejected, out of ``:unacked``."""
    if outcome is Settlement.ACKNOWLEDGED:
        return (b"LTRIM", ctx.keys.unacked, 0, -2)
    return (b"LMOVE", ctx.keys.unacked, ctx.keys.rejected, b"RIGHT", b"LEFT")
