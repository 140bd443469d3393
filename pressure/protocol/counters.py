"""Counters that do not add up: what a client leaves that took a value, or put one, and could not count it.

Produced less consumed is what is there, unacknowledged messages included. Whoever changes that holds a role
until it has counted, so while both roles are free the difference is for good: what is missing was consumed by
somebody, what is too much was produced.

Rules:
    - Everything that is compared is watched, from before it is read until it is mended.
    - Bytes are looked at only where messages do not add up, or a counter is no number: not all clients count
      them, and all values have to be read for it.
    - A counter that is no number of 0 or more counts as 0, and is set to what adds up.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.numbers import count_in
from pressure.protocol.steps import Batch, Command, Context, Operation, atomic, check, executed

#: Values to read at once at most.
_MANY: Final = 1000


def restore_counters(ctx: Context) -> Operation[tuple[int, int]]:
    """Count what nobody has counted, and count anew where there is no number.

    How many messages were consumed, or (below 0) produced; and how many counters were counted anew.
    """
    keys = ctx.keys
    counters = (keys.produced_messages, keys.consumed_messages, keys.produced_bytes, keys.consumed_bytes)
    free = (keys.producer_free, keys.consumer_free)
    lists = (*free, keys.queue, keys.unacked)
    looks: tuple[Command, ...] = ((b"WATCH", *lists, *counters), (b"MGET", *counters))
    lengths: tuple[Command, ...] = tuple((b"LLEN", key) for key in lists)
    _, counted, *free_and_there = check((yield Batch((*looks, *lengths))))
    counts = [count_in(count) or 0 for count in counted]
    broken = [count_in(count) is None for count in counted]
    missing = counts[0] - counts[1] - sum(free_and_there[2:])
    if not (missing or any(broken)) or not all(free_and_there[:2]):
        yield Batch(((b"UNWATCH",),))
        return 0, 0
    sizes: int = 0
    for key, length in zip(lists[2:], free_and_there[2:], strict=True):
        sizes += yield from _size(ctx, key, length)
    size = counts[2] - counts[3] - sizes
    right = list(counts)
    right[missing > 0] += abs(missing)
    if size * missing > 0 or any(broken[2:]):  # else somebody does not count bytes
        right[2 + (size > 0)] += abs(size)
    mend: list[Command] = [
        (b"SET", key, now)
        for key, was, now, bad in zip(counters, counts, right, broken, strict=True)
        if bad or now != was
    ]
    done = executed((yield Batch(atomic(*mend))))
    if done is None:  # somebody was at work meanwhile
        return 0, 0
    check(done)
    return (0 if any(broken[:2]) else missing), sum(broken)


def _size(ctx: Context, key: bytes, length: int) -> Operation[int]:
    """How many bytes a list's values have."""
    size = first = 0
    while first < length:
        last = first + ctx.server.sizes.bounded(_MANY) - 1
        (values,) = check((yield Batch(((b"LRANGE", key, first, last),))))
        ctx.server.sizes.note(values)
        size += sum(map(len, values))
        first = last + 1
    return size
