"""Reliable get: a value stays on the server until whoever took it is done with it.

The documents leave room for it: elements go in on the left and out on the right to allow for BRPOPLPUSH, "to
get additional data reliability". The value is moved to ``:unacked`` instead of popped, and the consumer role
is held until it is settled: done with, or put back.

Rules:
    - Other clients see the protocol unchanged: a Get that takes long. ``:not_full`` and the counters change
      when the value is done with, not before.
    - ``:unacked`` and ``:rejected`` are beyond the twelve keys. Only this creates them; Delete takes them
      along.
    - A message that is rejected counts as consumed. It stays in ``:rejected`` until ``redrive`` puts it
      again.
    - What is found in ``:unacked`` when the role is taken was left by somebody who died: it goes back first,
      so that the order holds.
    - A wait is on the values alone, as BLMOVE has it, and so in slices: a close is noticed between them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pressure.errors import PressureWarning, QueueEmptyError, ServerReplyError
from pressure.protocol import scripted
from pressure.protocol.get import effects
from pressure.protocol.roles import (
    CONSUMER,
    Hold,
    as_holder,
    does_not_exist,
    holding,
    is_closed,
    new_hold,
    not_ours,
    put_back,
    said,
    take_role,
    trouble,
)
from pressure.protocol.scripted import Settlement
from pressure.protocol.steps import (
    Batch,
    Command,
    Context,
    Operation,
    Patience,
    atomic,
    blocking,
    check,
    operation,
)
from pressure.protocol.waits import after_pop


@dataclass(frozen=True, slots=True)
class Received:
    """A value that was received, and the hold that lasts until it is settled."""

    value: bytes
    hold_id: bytes


@operation
def receive(ctx: Context, patience: Patience) -> Operation[Received]:
    """Move one value to ``:unacked``; the consumer role is held until ``settle``.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueClosedError: Closed, and nothing is left.
        QueueInUseError: The consumer role did not come free in time.
        QueueEmptyError: No value came in time.
    """
    hold = yield from new_hold(CONSUMER)
    if ctx.server.scripts:
        value = yield from holding(ctx, hold, _by_script(ctx, hold, patience))
        if value is not None:
            return Received(value, hold.id)
    if not hold.held:  # else scripts were forbidden in the middle
        yield from take_role(ctx, hold, patience)
    return Received((yield from holding(ctx, hold, _by_batches(ctx, hold, patience))), hold.id)


def _by_script(ctx: Context, hold: Hold, patience: Patience) -> Operation[bytes | None]:
    values = yield from scripted.receive(ctx, hold, patience)
    if values is None:
        return None
    return values[0] if values else (yield from _wait(ctx, patience))


def _take(ctx: Context) -> Command:
    return (b"LMOVE", ctx.keys.queue, ctx.keys.unacked, b"RIGHT", b"LEFT")


def _by_batches(ctx: Context, hold: Hold, patience: Patience) -> Operation[bytes]:
    keys = ctx.keys
    # nothing is watched: the connection is others' until we settle
    looks: tuple[Command, ...] = ((b"GET", keys.bound), (b"EXISTS", keys.closed))
    left: Command = (b"LLEN", keys.unacked)
    claimed, _, orphans, value, bound, closed = yield Batch(
        (said(ctx, hold), put_back(ctx), left, _take(ctx), *looks)
    )
    hold.claimed = not isinstance(claimed, ServerReplyError)
    if isinstance(orphans, int) and orphans:
        back = orphans + isinstance(value, bytes)
        *_, value = yield Batch((*(put_back(ctx) for _ in range(back)), _take(ctx)))
    if isinstance(value, bytes):
        hold.unacked = 1
        check([claimed])  # who has not said that the role is theirs cannot settle; the value goes back
        return value
    check([claimed, orphans, value, bound, closed])
    if bound is None:
        raise does_not_exist(ctx)
    if closed:
        raise is_closed(ctx, CONSUMER)
    return (yield from _wait(ctx, patience))


def _wait(ctx: Context, patience: Patience) -> Operation[bytes]:
    keys = ctx.keys
    looks: tuple[Command, ...] = ((b"GET", keys.bound), (b"EXISTS", keys.closed))
    name, *arguments = _take(ctx)
    for seconds in patience.attempts():
        if seconds:
            words = [word for word in arguments if isinstance(word, bytes)]
            value, bound, closed = replies = yield blocking(b"BLMOVE", *words, seconds=seconds, then=looks)
        else:
            value, bound, closed = replies = yield Batch(((name, *arguments), *looks))
        if isinstance(value, bytes):
            return value
        check(replies)
        if bound is None:
            raise does_not_exist(ctx)
        if closed:
            return (yield from _last_look(ctx))
    raise QueueEmptyError(f"queue {keys} is empty")


def _last_look(ctx: Context) -> Operation[bytes]:
    """The queue was closed meanwhile: take what was put before that."""
    (value,) = check((yield Batch((_take(ctx),))))
    if not isinstance(value, bytes):
        raise is_closed(ctx, CONSUMER)
    return value


@operation
def settle(ctx: Context, hold_id: bytes, outcome: Settlement, size: int) -> Operation[None]:
    """Be done with the value in ``:unacked``, reject it, or put it back; the role is given back.

    ``hold_id`` is that of the hold by which it was received, ``size`` how many bytes it has: it is not looked
    at again.

    Raises:
        QueueInUseError: A repair has freed the role meanwhile; the message will be redelivered.
    """
    try:
        yield from _settled(ctx, hold_id, outcome, size)
    except ServerReplyError as error:
        error.add_note(f"the message of queue {ctx.keys} is not acknowledged; it will be redelivered")
        raise


def _settled(ctx: Context, hold_id: bytes, outcome: Settlement, size: int) -> Operation[None]:
    hold = Hold(CONSUMER, hold_id, claimed=True, held=True, unacked=1)
    if ctx.server.scripts:
        answer = yield from holding(ctx, hold, scripted.settle(ctx, hold, outcome, size))
        if answer is not None:
            if error := scripted.problem(ctx, CONSUMER, answer):
                raise error
            scripted.note_uncounted(ctx, CONSUMER, answer, "the message is acknowledged")
            return
    yield from holding(ctx, hold, _by_transaction(ctx, hold, outcome, size))


def _by_transaction(ctx: Context, hold: Hold, outcome: Settlement, size: int) -> Operation[None]:
    keys = ctx.keys
    looks: tuple[Command, ...] = ((b"GET", keys.consumer), (b"LLEN", keys.unacked))
    watch: Command = (b"WATCH", keys.consumer, keys.unacked)
    room: tuple[Command, ...] = ((b"LLEN", keys.rejected),) if outcome is Settlement.REJECTED else ()
    _, holder, there, bound, length, *_ = check((yield Batch((watch, *looks, *after_pop(ctx), *room))))
    if holder != hold.id:
        hold.held = False
        yield Batch(((b"UNWATCH",),))
        raise not_ours(ctx, CONSUMER, holder)
    work: tuple[Command, ...] = ()
    if there:
        work = (_REMOVALS[outcome](ctx),)
        if outcome is not Settlement.BACK:
            work = (*work, *effects(ctx, 1, size, bound, length))
    yield from _settle(ctx, hold, work)


#: The command that takes a message from ``:unacked``.
_REMOVALS: Final[dict[Settlement, Callable[[Context], Command]]] = {
    Settlement.BACK: lambda ctx: put_back(ctx),
    Settlement.DONE: lambda ctx: (b"LTRIM", ctx.keys.unacked, 0, -2),
    Settlement.REJECTED: lambda ctx: (b"LMOVE", ctx.keys.unacked, ctx.keys.rejected, b"RIGHT", b"LEFT"),
}


def _settle(ctx: Context, hold: Hold, work: tuple[Command, ...]) -> Operation[None]:
    keys = ctx.keys
    free: Command = (b"LPUSH", keys.consumer_free, 0)
    replies = yield Batch(atomic(*work, free))
    result = yield from as_holder(ctx, hold, replies, (*work, free))
    if result is None:
        hold.held = False
        (holder,) = check((yield Batch(((b"GET", keys.consumer),))))
        raise not_ours(ctx, CONSUMER, holder)
    hold.held = isinstance(result[-1], ServerReplyError)
    check(result[: 1 if work else 0])
    hold.unacked = 0
    if refused := trouble(result):
        warnings.warn(
            f"queue {keys}: the message is acknowledged, but the server refused to count it ({refused}); "
            "repair mends that",
            PressureWarning,
            stacklevel=2,
        )
