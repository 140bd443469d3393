"""Wait with a role: a producer for room, a consumer for a value.

Rules:
    - A wait for a value pops from the values or from ``:closed``, and which comes first does not matter:
      after a mark the values are tried once more, so that no value is lost to a close. The mark is pushed
      back before the role is given back, or the queue would open again.
    - After each slice the bound is read, and the length. A producer that waits for room also reads the
      consumer's keys, and frees the role of a dead consumer (``healing``).
"""

from __future__ import annotations

from dataclasses import dataclass

from pressure.errors import (
    QueueEmptyError,
    QueueFullError,
    ServerReplyError,
)
from pressure.protocol.commands import ELSEWHERE, attempt, check
from pressure.protocol.healing import heal_room
from pressure.protocol.numbers import bound_in, how_to_set_bound, malformed
from pressure.protocol.operation import Batch, Command, Context, Deadline, Operation, Reply
from pressure.protocol.problems import does_not_exist, is_closed, warn
from pressure.protocol.role import CONSUMER, Hold, look_at_size, put_back
from pressure.protocol.roles import check_ours, do_as_holder


@dataclass(frozen=True, slots=True)
class Popped:
    """Values that were taken from the queue, and its bound and length right after that."""

    values: tuple[bytes, ...]
    bound: Reply
    length: Reply

    @property
    def size(self) -> int:
        """How many bytes the values have together."""
        return sum(map(len, self.values))


def bound_of(ctx: Context, reply: bytes | None) -> int:
    """The bound as a number.

    Raises:
        QueueDoesNotExistError: There is none: the queue was deleted.
        MalformedQueueError: It is not a number; another program wrote it.
    """
    if reply is None:
        raise does_not_exist(ctx)
    bound = bound_in(reply)
    if bound is None:
        raise malformed(ctx.keys, "bound", reply, how_to_set_bound(ctx.keys))
    return bound


def wait_for_room(
    ctx: Context, hold: Hold, deadline: Deadline, *, gives_way: bool
) -> Operation[tuple[int, int] | None]:
    """Wait for the token. Returns the bound and the length right after it came.

    None if a client waits to close the queue, and the hold ``gives_way`` (``let_close``).
    """
    keys = ctx.keys
    looks: tuple[Command, ...] = (
        (b"GET", keys.bound),
        (b"LLEN", keys.queue),
        (b"LLEN", keys.consumer_free),
        (b"GET", keys.consumer),
        (b"EXISTS", keys.closing),
    )
    for seconds in deadline.attempts():
        replies = yield attempt((keys.not_full,), seconds, looks)
        while (yield from _has_moved(ctx, hold, replies, keys.bound)):
            replies = yield attempt((keys.not_full,), seconds, looks)
        token, bound, length, free, consumer, closing = replies
        hold.token = token is not None and not isinstance(token, ServerReplyError)
        check(replies)
        limit = bound_of(ctx, bound)
        if hold.token:
            return limit, length
        if closing and gives_way and seconds:
            return None
        yield from heal_room(ctx, limit == 0 or length < limit, free, consumer, deadline)
    raise QueueFullError(f"queue {keys} is full")


def wait_for_value(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[Popped]:
    """Wait for one value.

    Raises:
        QueueClosedError: The queue was closed meanwhile, and nothing is left.
        QueueDoesNotExistError: It was deleted meanwhile.
        QueueEmptyError: No value came in time.
    """
    keys = ctx.keys
    looks = (*look_at_size(ctx), (b"LLEN", keys.unacked))
    for seconds in deadline.attempts():
        replies = yield attempt((keys.queue, keys.closed), seconds, looks)
        while (yield from _has_moved(ctx, hold, replies)):
            replies = yield attempt((keys.queue, keys.closed), seconds, looks)
        popped, bound, length, orphans = replies
        if isinstance(popped, list) and popped[0] == keys.closed:
            return (yield from _closed_meanwhile(ctx, popped[1], bound))
        if popped is not None and not isinstance(popped, ServerReplyError):
            return Popped((popped[1] if isinstance(popped, list) else popped,), bound, length)
        check(replies)
        if bound is None:
            raise does_not_exist(ctx)
        if orphans:  # they came to a fenced consumer whose wait was still under way
            yield from do_as_holder(ctx, hold, *(put_back(ctx),) * orphans)
            if hold.watched:
                yield from check_ours(ctx, hold)
    raise QueueEmptyError(f"queue {keys} is empty")


def _has_moved(ctx: Context, hold: Hold, replies: list[Reply], *watched: bytes) -> Operation[bool]:
    """Whether a wait popped nothing since its keys have moved to another node; then watch them there.

    That node does not know what was watched. So the holder key is read again: another client may have freed
    the role meanwhile. (Where nothing is watched, the driver itself sends the wait to the other node.)

    Raises:
        PressureError: The hold has lost the role, or the queue was deleted.
    """
    first = replies[0]
    if not (hold.watched and isinstance(first, ServerReplyError) and first.code in ELSEWHERE):
        return False
    yield Batch(((b"UNWATCH",),))
    yield from check_ours(ctx, hold, *watched)
    return True


def _closed_meanwhile(ctx: Context, mark: bytes, bound: Reply) -> Operation[Popped]:
    """After a mark of ``:closed`` was popped: push it back, and take a value put before the close."""
    if bound is None:  # Delete pushed the mark to wake this client; it removes ``:closed`` itself
        raise does_not_exist(ctx)
    keys = ctx.keys
    replies = yield Batch(((b"LPUSH", keys.closed, mark), (b"RPOP", keys.queue), *look_at_size(ctx)))
    pushed, value, *size = replies
    if isinstance(pushed, ServerReplyError):
        lost = f"queue {keys}: a mark of the close could not be put back ({pushed}); repair mends that"
        if not isinstance(value, bytes):
            pushed.add_note(lost)
            raise pushed
        warn(lost, (value,))
    if isinstance(value, bytes):
        return Popped((value,), *size)
    check(replies)
    raise is_closed(ctx, CONSUMER)
