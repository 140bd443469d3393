"""Looks at a queue that take no role: its counters, who holds a role, the value that comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pressure.errors import QueueEmptyError
from pressure.identity import is_released
from pressure.protocol.foreign import naming_foreign_keys
from pressure.protocol.numbers import count_in, malformed
from pressure.protocol.problems import does_not_exist
from pressure.protocol.role import CONSUMER, PRODUCER, Role
from pressure.protocol.steps import Batch, Command, Context, Operation, atomic, check, executed, operation
from pressure.protocol.waits import bound_of

#: The counters, in the order in which they are asked for.
COUNTERS: Final = ("produced messages", "produced bytes", "consumed messages", "consumed bytes")

_ROLES: Final = {"producer": PRODUCER, "consumer": CONSUMER}


@dataclass(frozen=True, slots=True)
class Stats:
    """What ``stats`` returns: a queue at one moment.

    Attributes:
        length: How many values are in the queue.
        bound: How many values it may hold; 0 means any number.
        closed: Whether it is closed.
        unacknowledged: How many messages were received and are not acknowledged yet.
        produced_messages: How many values were put since the queue was created.
        produced_bytes: How many bytes those values have, as far as clients count them.
        consumed_messages: How many values were taken since the queue was created.
        consumed_bytes: How many bytes those values have, as far as clients count them.
        producer: The id of the client that holds the producer role; None if the role is free, empty if the
            holder has not written its id yet.
        consumer: The same for the consumer role.
        rejected: How many rejected messages there are.
    """

    length: int
    bound: int
    closed: bool
    unacknowledged: int
    produced_messages: int
    produced_bytes: int
    consumed_messages: int
    consumed_bytes: int
    producer: bytes | None
    consumer: bytes | None
    rejected: int = 0


def snapshot(*commands: Command) -> Operation[list[object]]:
    """The replies to looks that are taken at one moment."""
    result = executed((yield Batch(atomic(*commands))))
    return check(result or [])


@operation
@naming_foreign_keys
def stats(ctx: Context) -> Operation[Stats]:
    """The queue at one moment.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        MalformedQueueError: Its bound, or one of its counters, is not a number.
    """
    keys = ctx.keys
    bound, *found = yield from snapshot(
        (b"GET", keys.bound),
        (b"LLEN", keys.queue),
        (b"EXISTS", keys.closed),
        (b"LLEN", keys.unacked),
        (b"LLEN", keys.rejected),
        (b"MGET", keys.produced_messages, keys.produced_bytes, keys.consumed_messages, keys.consumed_bytes),
        *_who(ctx, PRODUCER),
        *_who(ctx, CONSUMER),
    )
    length, closed, unacked, turned_away, counters, free_p, producer, free_c, consumer = found
    assert bound is None or isinstance(bound, bytes)
    assert isinstance(length, int)
    assert isinstance(unacked, int)
    assert isinstance(turned_away, int)
    assert isinstance(counters, list)
    numbers = (_counted(ctx, what, count) for what, count in zip(COUNTERS, counters, strict=True))
    produced, produced_bytes, consumed, consumed_bytes = numbers
    return Stats(
        length=length,
        bound=bound_of(ctx, bound),
        closed=bool(closed),
        unacknowledged=unacked,
        produced_messages=produced,
        produced_bytes=produced_bytes,
        consumed_messages=consumed,
        consumed_bytes=consumed_bytes,
        producer=_named(free_p, producer),
        consumer=_named(free_c, consumer),
        rejected=turned_away,
    )


def _counted(ctx: Context, what: str, count: bytes | None) -> int:
    number = count_in(count)
    if number is None:
        raise malformed(ctx.keys, f"counter of {what}", count, "repair recounts it")
    return number


def _who(ctx: Context, role: Role) -> tuple[Command, Command]:
    return (b"LLEN", role.free(ctx.keys)), (b"GET", role.holder(ctx.keys))


def _named(free: object, holder: object) -> bytes | None:
    """The holder key is stale while the role is free, or marked as released."""
    if free:
        return None
    return b"" if not isinstance(holder, bytes) or is_released(holder) else holder


@operation
def holder(ctx: Context, role: str) -> Operation[bytes | None]:
    """Who holds a role at this moment; None if nobody does, empty if that is not known.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    found, free, name = yield from snapshot((b"EXISTS", ctx.keys.bound), *_who(ctx, _ROLES[role]))
    if not found:
        raise does_not_exist(ctx)
    return _named(free, name)


@operation
def peek(ctx: Context) -> Operation[bytes]:
    """The value that comes next, which stays where it is.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueEmptyError: There is none.
    """
    values = yield from peek_many(ctx, 1)
    if not values:
        raise QueueEmptyError(f"queue {ctx.keys} is empty")
    return values[0]


@operation
def peek_many(ctx: Context, most: int) -> Operation[list[bytes]]:
    """The values that come next, up to so many, which stay where they are.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    return (yield from _front(ctx, ctx.keys.queue, most))


@operation
def rejected(ctx: Context, most: int) -> Operation[list[bytes]]:
    """The messages that were rejected, up to so many, the oldest first; they stay where they are.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    return (yield from _front(ctx, ctx.keys.rejected, most))


def _front(ctx: Context, key: bytes, most: int) -> Operation[list[bytes]]:
    """In one look, so that they were in this order; again for more if they are short (see ``sizes``)."""
    sizes, values, asked = ctx.server.sizes, list[bytes](), 0
    while len(values) == asked < (more := sizes.bounded(most)):
        asked = more
        found, values = check((yield Batch(((b"EXISTS", ctx.keys.bound), (b"LRANGE", key, -asked, -1)))))
        if not found:
            raise does_not_exist(ctx)
        sizes.note(values)
    return values[::-1]
