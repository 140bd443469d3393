"""Counters that do not add up: what a client leaves that took a value, or put one, and could not count it.

Produced less consumed is what is there, unacknowledged messages included. Whoever changes that holds a role
until it has counted, so while both roles are free the difference is for good: what is missing was consumed by
somebody, what is too much was produced.

Rules:
    - Everything that is compared is watched, from before it is read until it is mended.
    - Bytes are looked at only where messages do not add up: not all clients count them, and all values have
      to be read for it.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.steps import Batch, Command, Context, Operation, atomic, check, executed

#: Values to read at once.
_MANY: Final = 1000


def restore_counters(ctx: Context) -> Operation[int]:
    """Count what nobody has counted; how many messages were consumed, or (below 0) produced."""
    keys = ctx.keys
    counters = (keys.produced_messages, keys.consumed_messages, keys.produced_bytes, keys.consumed_bytes)
    free = (keys.producer_free, keys.consumer_free)
    lists = (*free, keys.queue, keys.unacked)
    looks: tuple[Command, ...] = ((b"WATCH", *lists, *counters), (b"MGET", *counters))
    lengths: tuple[Command, ...] = tuple((b"LLEN", key) for key in lists)
    _, counted, *free_and_there = check((yield Batch((*looks, *lengths))))
    counts = [_number(count) for count in counted]
    missing = counts[0] - counts[1] - sum(free_and_there[2:])
    if not missing or not all(free_and_there[:2]) or min(counts) < 0:
        yield Batch(((b"UNWATCH",),))
        return 0
    sizes: int = 0
    for key, length in zip(lists[2:], free_and_there[2:], strict=True):
        sizes += yield from _size(key, length)
    size = counts[2] - counts[3] - sizes
    messages, number_of_bytes = counters[1::2] if missing > 0 else counters[::2]
    mend: list[Command] = [(b"INCRBY", messages, abs(missing))]
    if size * missing > 0:  # else somebody does not count bytes
        mend.append((b"INCRBY", number_of_bytes, abs(size)))
    done = executed((yield Batch(atomic(*mend))))
    if done is None:  # somebody was at work meanwhile
        return 0
    check(done)
    return missing


def _number(count: object) -> int:
    """A counter; -1 if somebody has made something else of it."""
    if count is None:
        return 0
    return int(count) if isinstance(count, bytes) and count.isdigit() else -1


def _size(key: bytes, length: int) -> Operation[int]:
    """How many bytes a list's values have."""
    size = 0
    for first in range(0, length, _MANY):
        (values,) = check((yield Batch(((b"LRANGE", key, first, first + _MANY - 1),))))
        size += sum(map(len, values))
    return size
