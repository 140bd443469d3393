"""Operations that read a queue and take no role: its counters, the holders of its roles, the next values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pressure.connections.identity import is_released
from pressure.errors import QueueEmptyError
from pressure.protocol.commands import check, together
from pressure.protocol.foreign import naming_foreign_keys
from pressure.protocol.numbers import count_in, malformed
from pressure.protocol.operation import Batch, Command, Context, Operation, operation
from pressure.protocol.problems import does_not_exist
from pressure.protocol.role import CONSUMER, PRODUCER, Role
from pressure.protocol.waits import bound_of

#: The names of the counters, in the order of the MGET in ``stats``.
COUNTERS: Final = ("produced messages", "produced bytes", "consumed messages", "consumed bytes")

_ROLES: Final = {"producer": PRODUCER, "consumer": CONSUMER}


@dataclass(frozen=True, slots=True)
class Stats:
    """What ``stats`` returns: the state of a queue at one moment.

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


@operation
@naming_foreign_keys
def stats(ctx: Context) -> Operation[Stats]:
    """The state of the queue at one moment.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        MalformedQueueError: Its bound, or one of its counters, is not a number.
    """
    keys = ctx.keys
    bound, *found = yield from together(
        (b"GET", keys.bound),
        (b"LLEN", keys.queue),
        (b"EXISTS", keys.closed),
        (b"LLEN", keys.unacked),
        (b"LLEN", keys.rejected),
        (b"MGET", keys.produced_messages, keys.produced_bytes, keys.consumed_messages, keys.consumed_bytes),
        *_ask_holder(ctx, PRODUCER),
        *_ask_holder(ctx, CONSUMER),
    )
    length, closed, unacked, rejected_count, counters, free_p, producer, free_c, consumer = found
    assert bound is None or isinstance(bound, bytes)
    assert isinstance(length, int)
    assert isinstance(unacked, int)
    assert isinstance(rejected_count, int)
    assert isinstance(counters, list)
    numbers = (_counter(ctx, what, count) for what, count in zip(COUNTERS, counters, strict=True))
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
        producer=_holder_id(free_p, producer),
        consumer=_holder_id(free_c, consumer),
        rejected=rejected_count,
    )


def _counter(ctx: Context, what: str, count: bytes | None) -> int:
    number = count_in(count)
    if number is None:
        raise malformed(ctx.keys, f"counter of {what}", count, "repair recounts it")
    return number


def _ask_holder(ctx: Context, role: Role) -> tuple[Command, Command]:
    return (b"LLEN", role.free(ctx.keys)), (b"GET", role.holder(ctx.keys))


def _holder_id(free: object, holder: object) -> bytes | None:
    """None if the role is free; empty if its holder has not written its id yet."""
    if free:
        return None
    return b"" if not isinstance(holder, bytes) or is_released(holder) else holder


@operation
def holder(ctx: Context, role: str) -> Operation[bytes | None]:
    """The id of the client that holds a role; None if the role is free, empty if the id is not written yet.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    found, free, name = yield from together((b"EXISTS", ctx.keys.bound), *_ask_holder(ctx, _ROLES[role]))
    if not found:
        raise does_not_exist(ctx)
    return _holder_id(free, name)


@operation
def peek(ctx: Context) -> Operation[bytes]:
    """The value that the next get would take; it stays in the queue.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
        QueueEmptyError: The queue is empty.
    """
    values = yield from peek_many(ctx, 1)
    if not values:
        raise QueueEmptyError(f"queue {ctx.keys} is empty")
    return values[0]


@operation
def peek_many(ctx: Context, most: int) -> Operation[list[bytes]]:
    """At most ``most`` values in the order in which gets would take them; they stay in the queue.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    return (yield from _front(ctx, ctx.keys.queue, most))


@operation
def rejected(ctx: Context, most: int) -> Operation[list[bytes]]:
    """At most ``most`` rejected messages, the oldest first; they stay where they are.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    return (yield from _front(ctx, ctx.keys.rejected, most))


def _front(ctx: Context, key: bytes, most: int) -> Operation[list[bytes]]:
    """Values from the end of a list, by LRANGE; again for more if these are shorter than estimated."""
    sizes, values, asked = ctx.server.sizes, list[bytes](), 0
    while len(values) == asked < (more := sizes.bounded(most)):
        asked = more
        found, values = check((yield Batch(((b"EXISTS", ctx.keys.bound), (b"LRANGE", key, -asked, -1)))))
        if not found:
            raise does_not_exist(ctx)
        sizes.note(values)
    return values[::-1]
