"""What is done with reliable queues, whatever carries them, as generators over batches.

Rules:
    - A message is at every moment in the queue, delivered, delayed or dead, until it is acknowledged.
      To delay one is to acknowledge it here and to push it again when it is due, in one step each.
    - What is delayed is moved when it is due by whoever pops next; nobody waits past that moment.
    - What was delivered more often than it may be is dead: it goes to a queue of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pressure.errors import PressureError, ServerReplyError
from pressure.kinds.asking import asked, now, pairs, transaction
from pressure.kinds.kind import Context
from pressure.kinds.reliable.backend import Backend
from pressure.kinds.reliable.collecting import collect
from pressure.kinds.reliable.model import Delivered, Info, Pending, ReliableKeys, delayed_of, parts_of
from pressure.protocol.scripted import NO_SCRIPTS, evaluated
from pressure.protocol.steps import (
    Batch,
    Command,
    Operation,
    Reply,
    atomic,
    carrying,
    check,
    executed,
    operation,
)

#: How many messages that are due are moved together.
TOGETHER: Final = 100


class Carried:
    """A queue and what carries it.

    Args:
        keys: The queue.
        backend: What carries it.
        most: How often a message may be delivered; None for any number of times.
    """

    __slots__ = ("backend", "keys", "most")

    def __init__(self, keys: ReliableKeys, backend: Backend, most: int | None) -> None:
        self.keys = keys
        self.backend = backend
        self.most = most

    @property
    def script_keys(self) -> tuple[bytes, ...]:
        """Those that scripts are told."""
        return self.keys.all


@operation
def push(ctx: Context, on: Carried, data: Sequence[bytes]) -> Operation[list[bytes]]:
    """Add messages, together; their ids."""
    if not data:
        return []
    commands = [on.backend.pushing(on.keys, on.keys.queue, each, 0) for each in data]
    if len(commands) == 1:
        replies = check((yield Batch(tuple(commands))))
    else:
        replies = check(executed((yield Batch(atomic(*commands)))) or [])
    return [on.backend.id_in(reply) for reply in replies]


@operation
def delay(ctx: Context, on: Carried, data: Sequence[bytes], milliseconds: int) -> Operation[None]:
    """Add messages that are to be delivered later."""
    if data:
        (time,) = yield from asked((b"TIME",))
        due = now(time) + milliseconds
        members = [word for each in data for word in (due, delayed_of(each, 0))]
        yield from asked((b"ZADD", on.keys.delayed, *members))


@operation
def move(ctx: Context, on: Carried) -> Operation[int]:
    """Push what is due; how many messages were."""
    moved = 0
    while True:
        some, more = yield from move_some(ctx, on)
        moved += some
        if not more:
            return moved


def move_some(ctx: Context, on: Carried) -> Operation[tuple[int, bool]]:
    """Push some of what is due, together; how many messages were, and whether there may be more."""
    reply = yield from evaluated(ctx.server, on.backend.scripts.move, on.script_keys, on.keys.group, TOGETHER)
    if reply is not NO_SCRIPTS:
        moved, more = reply
        return moved, bool(more)
    looks: tuple[Command, ...] = (
        (b"ZRANGE", on.keys.delayed, 0, TOGETHER - 1, b"WITHSCORES"),
        (b"TIME",),
    )
    due, replies = yield from transaction(ctx, (on.keys.delayed,), looks, lambda seen: _due(on, seen))
    ids = [on.backend.id_in(reply) for reply in replies[: len(due)]]
    counts = [(each, parts_of(member)[1]) for each, member in zip(ids, due, strict=True)]
    if rest := on.backend.pushed(on.keys, counts):
        yield from asked(*rest)
    return len(due), len(due) == TOGETHER


def _due(on: Carried, seen: list[Reply]) -> tuple[Sequence[Command], list[bytes]]:
    scores, time = seen
    due = [member for member, score in pairs(scores) if float(score) <= now(time)]
    pushes = [on.backend.pushing(on.keys, on.keys.queue, *parts_of(member)) for member in due]
    return [*pushes, *((b"ZREM", on.keys.delayed, member) for member in due)], due


@operation
def ack(ctx: Context, on: Carried, ids: Sequence[bytes]) -> Operation[list[bytes]]:
    """Be done with messages; the ids of those that were delivered still."""
    return (yield from _ack(ctx, on, ids)) if ids else []


def _ack(ctx: Context, on: Carried, ids: Sequence[bytes]) -> Operation[list[bytes]]:
    done = yield from evaluated(ctx.server, on.backend.scripts.ack, on.script_keys, on.keys.group, *ids)
    if done is NO_SCRIPTS:
        replies = yield Batch(atomic(*on.backend.acknowledging(on.keys, ids)))
        done = on.backend.acknowledged(ids, _unless_missing(executed(replies) or []))
    return list(done)


def _unless_missing(replies: list[Reply]) -> list[Reply]:
    """The replies, where there is no group none that is an error."""
    return check([0 if isinstance(r, ServerReplyError) and r.code == "NOGROUP" else r for r in replies])


@operation
def retry(ctx: Context, on: Carried, message: Delivered, milliseconds: int) -> Operation[bool]:
    """Deliver a message later, or never again; False if it was not delivered any more."""
    dead = on.most is not None and message.deliveries >= on.most
    return (yield from _retry(ctx, on, message, milliseconds, dead=dead))


def _retry(ctx: Context, on: Carried, message: Delivered, delay: int, *, dead: bool) -> Operation[bool]:
    member = delayed_of(message.data, message.deliveries)
    args = (on.keys.group, message.id, member, delay, *((message.data,) if dead else ()))
    reply = yield from evaluated(ctx.server, on.backend.scripts.retry, on.script_keys, *args)
    if reply is not NO_SCRIPTS:
        return bool(reply)
    (time,) = yield from asked((b"TIME",))
    add: Command = (b"ZADD", on.keys.delayed, now(time) + delay, member)
    remove: Command = (b"ZREM", on.keys.delayed, member)
    acks = on.backend.acknowledging(on.keys, [message.id])
    _, *replies = check(executed((yield Batch(atomic(add, *acks)))) or [])
    if not on.backend.acknowledged([message.id], replies):
        yield from asked(remove)
        return False
    if dead:  # it is among the delayed until it is there
        yield from asked(on.backend.pushing(on.keys, on.keys.dead, message.data, 0))
        yield from asked(remove)
    return True


#: For how long (milliseconds) a message is delayed on its way to the dead, if its way is cut.
_ON_THE_WAY: Final = 1000


@operation
def recover(ctx: Context, on: Carried, count: int, idle: int) -> Operation[list[Delivered]]:
    """Deliver again what was delivered long ago; what was so too often is dead instead.

    Messages that were recovered are returned although the server refuses what comes after, as in
    ``collecting``. A message that could not be moved to the dead stays delivered, or is delayed; it is not
    lost.
    """
    good: list[Delivered] = []
    try:
        while len(good) < count:
            found = yield from carrying(_datas(good), _recover(ctx, on, count - len(good), idle))
            dead = [each for each in found if on.most is not None and each.deliveries > on.most]
            good += [each for each in found if each not in dead]
            for each in dead:
                yield from carrying(_datas(good), _retry(ctx, on, each, _ON_THE_WAY, dead=True))
            if not dead:
                break
    except PressureError:
        if not good:
            raise
    return good


def _recover(ctx: Context, on: Carried, count: int, idle: int) -> Operation[list[Delivered]]:
    def take(most: int) -> Operation[list[Delivered]]:
        return on.backend.recover(on.keys, most, idle)

    return (yield from collect(ctx, count, take, lambda each: each.data))


def _datas(messages: Sequence[Delivered]) -> list[bytes]:
    return [each.data for each in messages]


@operation
def heartbeat(ctx: Context, on: Carried, ids: Sequence[bytes]) -> Operation[list[bytes]]:
    """Keep messages from being recovered; the ids of those that are delivered still, as far as is known."""
    return (yield from on.backend.heartbeat(on.keys, ids)) if ids else []


@operation
def inspect(ctx: Context, on: Carried, start: int, count: int) -> Operation[list[Delivered]]:
    """Messages that wait, from one place on."""
    return (yield from on.backend.inspect(on.keys, start, count))


@operation
def pending(ctx: Context, on: Carried, start: int, count: int) -> Operation[list[Pending]]:
    """Messages that are delivered, from one place on."""
    return (yield from on.backend.pending(on.keys, start, count))


@operation
def info(ctx: Context, on: Carried) -> Operation[Info]:
    """The queue, looked at in a few steps."""
    last, undelivered, delivered = yield from on.backend.info(on.keys, on.keys.queue)
    _, dead, _ = yield from on.backend.info(on.keys, on.keys.dead)
    (delayed,) = yield from asked((b"ZCARD", on.keys.delayed))
    return Info(last, undelivered, delivered, int(delayed), dead)
