"""Correct the counters of a queue after a client died between a put or get and its counting.

The messages produced, less those consumed, equal the messages in the queue, unacknowledged ones included. A
client that changes one of these numbers holds a role until it has changed the other. So while both roles are
free, a difference is permanent: a missing message was consumed, a surplus one was produced, and no client
counted it.

Rules:
    - All keys that are compared are under WATCH, from before they are read until the counters are set.
    - Bytes are checked only if the messages do not add up or a counter is not a number: some clients do not
      count bytes, and to check them every value has to be read.
    - A counter that is not a number of 0 or more is taken as 0, and set to the value that adds up.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.commands import atomic, check, executed
from pressure.protocol.numbers import count_in
from pressure.protocol.operation import Batch, Command, Context, Operation

#: How many values one LRANGE reads at most.
_MANY: Final = 1000
#: How often the counters are read while other clients change the queue.
_ATTEMPTS: Final = 20


def restore_counters(ctx: Context) -> Operation[tuple[int, int] | None]:
    """Set the counters to values that add up.

    Returns:
        How many messages were counted as consumed or, if negative, as produced; and how many counters were
        not numbers and have been recounted. None if other clients changed the queue in each attempt.
    """
    keys = ctx.keys
    counters = (keys.produced_messages, keys.consumed_messages, keys.produced_bytes, keys.consumed_bytes)
    lists = (keys.producer_free, keys.consumer_free, keys.queue, keys.unacked)
    looks: tuple[Command, ...] = ((b"WATCH", *lists, *counters), (b"MGET", *counters))
    lengths: tuple[Command, ...] = tuple((b"LLEN", key) for key in lists)
    for _ in range(_ATTEMPTS):
        _, counted, *free, values, unacked = check((yield Batch((*looks, *lengths))))
        counts = [count_in(count) or 0 for count in counted]
        broken = [count_in(count) is None for count in counted]
        missing = counts[0] - counts[1] - values - unacked
        if not (missing or any(broken)) or not all(free):
            yield Batch(((b"UNWATCH",),))
            return 0, 0
        size = (yield from _size(ctx, keys.queue, values)) + (yield from _size(ctx, keys.unacked, unacked))
        right = _corrected(counts, missing, counts[2] - counts[3] - size, any(broken[2:]))
        corrections: list[Command] = [
            (b"SET", key, now)
            for key, was, now, bad in zip(counters, counts, right, broken, strict=True)
            if bad or now != was
        ]
        done = executed((yield Batch(atomic(*corrections))))
        if done is not None:  # else another client changed one of the keys meanwhile, or they have moved
            check(done)
            return (0 if any(broken[:2]) else missing), sum(broken)
    return None


def _corrected(counts: list[int], missing: int, missing_bytes: int, recount_bytes: bool) -> list[int]:
    """The counters that add up; those of bytes are left alone where some client does not count bytes."""
    right = list(counts)
    right[missing > 0] += abs(missing)
    if missing_bytes * missing > 0 or recount_bytes:
        right[2 + (missing_bytes > 0)] += abs(missing_bytes)
    return right


def _size(ctx: Context, key: bytes, length: int) -> Operation[int]:
    """The total size of the first ``length`` values of a list, in bytes."""
    size = first = 0
    while first < length:
        last = first + ctx.server.sizes.bounded(_MANY) - 1
        (values,) = check((yield Batch(((b"LRANGE", key, first, last),))))
        ctx.server.sizes.note(values)
        size += sum(map(len, values))
        first = last + 1
    return size
