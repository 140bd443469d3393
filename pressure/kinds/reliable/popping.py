"""How messages that wait are delivered, of one queue or of several in the order of their priority.

Rules:
    - What is delayed is moved when it is due by whoever pops; nobody waits past that moment.
    - Of several queues the first is asked before the second, whatever carries them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from pressure.kinds.asking import asked, since_first
from pressure.kinds.kind import Context
from pressure.kinds.reliable.collecting import collect
from pressure.kinds.reliable.model import Delivered
from pressure.kinds.reliable.operations import Carried, move_some
from pressure.protocol.steps import Batch, Command, Operation, Patience, Reply, Wait, check, operation

T = TypeVar("T")

#: What came after so many seconds at most, and in how many seconds the first delayed message is due.
Look: TypeAlias = Callable[[float], Operation[tuple[list[T], float | None]]]


def _patiently(patience: Patience, look: Look[T], move: Callable[[], Operation[None]]) -> Operation[list[T]]:
    attempts, seconds = patience.attempts(), 0.0
    while True:
        found, left = yield from look(seconds)
        if found:
            return found
        if left is not None and left <= 0:
            yield from move()
            seconds = 0.0
            continue
        try:
            seconds = next(attempts)
        except StopIteration:
            return []
        if left is not None:
            seconds = min(seconds, left)


def _collected(
    ctx: Context,
    count: int,
    patience: Patience,
    look: Callable[[int, float], Operation[tuple[list[T], float | None]]],
    move: Callable[[], Operation[None]],
    data: Callable[[T], bytes],
) -> Operation[list[T]]:
    """Up to so many; only the first is waited for, and what is due is moved only if there is none."""
    found_some = False

    def take(most: int) -> Operation[list[T]]:
        nonlocal found_some
        if found_some:
            return (yield from look(most, 0.0))[0]
        found = yield from _patiently(patience, lambda seconds: look(most, seconds), move)
        found_some = bool(found)
        return found

    return (yield from collect(ctx, count, take, data))


def _first(on: Carried) -> Command:
    return (b"ZRANGE", on.keys.delayed, 0, 0, b"WITHSCORES")


def _until_due(first: Reply, time: Reply) -> float | None:
    """Seconds until the first delayed message is due; None if there is none."""
    late = since_first(first, time)
    return None if late is None else -late


def as_block(seconds: float) -> int | None:
    """A wait as it is sent, in milliseconds; None for no wait, as 0 would be one for ever."""
    return max(1, int(seconds * 1000)) if seconds else None


@operation
def pop(ctx: Context, on: Carried, count: int, patience: Patience) -> Operation[list[Delivered]]:
    """Deliver up to so many messages; none if none came in time."""

    def look(most: int, seconds: float) -> Operation[tuple[list[Delivered], float | None]]:
        commands = (on.backend.popping(on.keys, most, as_block(seconds)), _first(on), (b"TIME",))
        reply, first, time = yield Wait(commands, seconds) if seconds else Batch(commands)
        found = yield from on.backend.popped(on.keys, most, reply)
        return found, None if found else _until_due(check([first, time])[0], time)

    def move() -> Operation[None]:
        yield from move_some(ctx, on)

    return (yield from _collected(ctx, count, patience, look, move, lambda each: each.data))


@operation
def pop_any(
    ctx: Context, on: Sequence[Carried], count: int, patience: Patience
) -> Operation[list[tuple[int, Delivered]]]:
    """Deliver up to so many messages of the first queues that have some, each with its queue's number."""
    backend = on[0].backend
    if len(on) == 1:
        return [(0, each) for each in (yield from pop(ctx, on[0], count, patience))]
    if any(each.backend.capabilities != backend.capabilities for each in on):
        raise ValueError("all queues of pop_any must have the same backend")

    def look(most: int, seconds: float) -> Operation[tuple[list[tuple[int, Delivered]], float | None]]:
        found = yield from backend.pop_any([each.keys for each in on], most, as_block(seconds))
        if found:
            return found, None
        *firsts, time = yield from asked(*map(_first, on), (b"TIME",))
        due = [left for first in firsts if (left := _until_due(first, time)) is not None]
        return [], min(due, default=None)

    def move() -> Operation[None]:
        for each in on:
            yield from move_some(ctx, each)

    return (yield from _collected(ctx, count, patience, look, move, lambda each: each[1].data))
