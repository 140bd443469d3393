"""Deliver waiting messages of one queue, or of several queues in the order of their priority.

A queue has two lanes: the messages in the order of their pushes, and the delayed messages that are due. The
messages of neither lane wait behind all those of the other.

Rules:
    - Due messages are moved and delivered in one atomic step, in the order of their due times. They are at
      most half of a pop while other messages wait; pops of a single message alternate between the lanes.
    - Without scripts, each pop also reads whether a message is due, in the same round trip, for the next pop.
    - A wait ends at the latest when the next delayed message is due.
    - Several queues are asked in their order, with either backend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TypeAlias, TypeVar

from pressure.errors import PressureError, ServerReplyError
from pressure.kinds.commands import block_ms, now, seconds_since_first
from pressure.kinds.kind import KindContext
from pressure.kinds.kind_check import modifying
from pressure.kinds.reliable.collecting import collect
from pressure.kinds.reliable.delaying import due_by_transaction
from pressure.kinds.reliable.model import Delivered
from pressure.kinds.reliable.operations import QueueState
from pressure.protocol.commands import check
from pressure.protocol.operation import Batch, Command, Deadline, Operation, Reply, Wait, with_taken
from pressure.protocol.scripts import NO_SCRIPTS, eval_script

T = TypeVar("T")

#: Some messages; and if there are none, in how many seconds the first delayed message is due, if any.
Found: TypeAlias = "tuple[list[T], float | None]"


def _until_found(
    deadline: Deadline,
    step: Callable[[], Operation[Found[T]]],
    wait: Callable[[float], Operation[list[T] | None]],
) -> Operation[list[T]]:
    left: float | None = None
    attempts = deadline.attempts(lambda: inf if left is None else left)
    woken: bool | None = None
    while True:
        found, left = yield from step()
        if found:
            return found
        if left is not None and left <= 0:
            continue
        try:
            seconds = attempts.send(woken)
        except StopIteration:
            return []
        came = (yield from wait(seconds)) if seconds else []
        if came:
            return came
        woken = came is not None


def _collected(
    ctx: KindContext,
    count: int,
    deadline: Deadline,
    step: Callable[[int, bool], Operation[Found[T]]],
    wait: Callable[[int, float], Operation[list[T] | None]],
    data: Callable[[T], bytes],
) -> Operation[list[T]]:
    """Deliver up to ``count`` messages; waits only for the first."""
    found_some = False

    def take(most: int) -> Operation[list[T]]:
        nonlocal found_some
        if found_some:
            return (yield from step(most, True))[0]
        found = yield from _until_found(deadline, lambda: step(most, False), partial(wait, most))
        found_some = bool(found)
        return found

    return (yield from collect(ctx, count, take, data))


def _first(state: QueueState) -> Command:
    return (b"ZRANGE", state.keys.delayed, 0, 0, b"WITHSCORES")


def _until_due(first: Reply, time: Reply) -> float | None:
    """Seconds until the first delayed message is due; None if there is none, or for an error reply."""
    if isinstance(first, ServerReplyError) or isinstance(time, ServerReplyError):
        return None
    late = seconds_since_first(first, time)
    return None if late is None else -late


def _at(time: Reply) -> float | None:
    """The server's time in seconds; None for an error reply."""
    return None if isinstance(time, ServerReplyError) else now(time) / 1000


def _deliver(
    ctx: KindContext, state: QueueState, most: int, *, more: bool = False
) -> Operation[Found[Delivered]]:
    """Deliver up to ``most`` messages without waiting; ``more`` if this call of pop has delivered some."""
    share = (most + state.due_first) // 2
    keys = (*state.keys.due.all, state.keys.queue, state.keys.deliveries, state.keys.notes)
    reply = yield from eval_script(ctx.server, state.backend.scripts.pop, keys, state.keys.group, most, share)
    if reply is NO_SCRIPTS:
        return (
            yield from _deliver_plain(ctx, state, most, 0 if more or not state.due_first else max(share, 1))
        )
    milliseconds, first, due, rest = reply
    state.due_first = not due
    at = milliseconds / 1000
    found = [
        *state.backend.read_reply(state.keys.due, due, at),
        *state.backend.read_reply(state.keys, rest, at),
    ]
    return found, None if first is None else float(first) / 1000 - at


def _deliver_plain(ctx: KindContext, state: QueueState, most: int, share: int) -> Operation[Found[Delivered]]:
    """Deliver without scripts, and up to ``share`` due messages first."""
    due = (yield from _deliver_due(ctx, state, share)) if share else []
    state.due_first = False
    if len(due) == most:
        return due, None
    rest = _deliver_pushed(state, most - len(due))
    try:
        found, left = yield from (with_taken([each.data for each in due], rest) if due else rest)
    except PressureError:
        if due:  # return delivered messages even if the server refuses the next command
            return due, None
        raise
    state.due_first = (most > 1 or not due) and (not found or (left is not None and left <= 0))
    return [*due, *found], left


def _deliver_pushed(state: QueueState, most: int) -> Operation[Found[Delivered]]:
    """Deliver from the lane of pushed messages."""
    reply, first, time = yield Batch((state.backend.pop_command(state.keys, most), _first(state), (b"TIME",)))
    found = yield from state.backend.read_popped(state.keys, most, reply, _at(time))
    if not found:
        check([first, time])
    return found, _until_due(first, time)


def _deliver_due(ctx: KindContext, state: QueueState, share: int) -> Operation[list[Delivered]]:
    """Deliver from the lane of due messages: first those that a client moved there before it died."""
    lane = state.keys.due
    read = state.backend.pop_command(lane, share)
    reply, first, time = yield Batch((read, _first(state), (b"TIME",)))
    found = yield from state.backend.read_popped(lane, share, reply, _at(time))
    left = _until_due(first, time)
    if found or left is None or left > 0:
        return found
    if isinstance(reply, ServerReplyError) and (commands := state.backend.prepare_commands(lane)):
        yield Batch(commands)
    moved = yield from due_by_transaction(ctx, state, lane, share, (read,))
    if moved is None:
        return []
    _, at, replies = moved
    return (yield from state.backend.read_popped(lane, share, replies[0], at / 1000))


@modifying
def pop(ctx: KindContext, state: QueueState, count: int, deadline: Deadline) -> Operation[list[Delivered]]:
    """Deliver up to ``count`` messages; an empty list if none arrived in time."""

    def step(most: int, more: bool) -> Operation[Found[Delivered]]:
        return _deliver(ctx, state, most, more=more)

    def wait(most: int, seconds: float) -> Operation[list[Delivered] | None]:
        commands = (state.backend.pop_command(state.keys, most, block_ms(seconds)), (b"TIME",))
        reply, time = yield Wait(commands, seconds)
        found = yield from state.backend.read_popped(state.keys, most, reply, _at(time))
        if not found and isinstance(reply, ServerReplyError) and reply.code == "NOGROUP":
            # there is no stream yet, so wait with XREAD
            return None if (yield from state.backend.wait([state.keys], seconds)) is None else []
        return found or None

    return (yield from _collected(ctx, count, deadline, step, wait, lambda each: each.data))


@modifying
def pop_any(
    ctx: KindContext, state: Sequence[QueueState], count: int, deadline: Deadline
) -> Operation[list[tuple[int, Delivered]]]:
    """Deliver up to ``count`` messages of the first queues that have some, each with its queue's number."""
    backend = state[0].backend
    if len(state) == 1:
        return [(0, each) for each in (yield from pop(ctx, state[0], count, deadline))]
    if any(each.backend.capabilities != backend.capabilities for each in state):
        raise ValueError("all queues of pop_any must have the same backend")

    def step(most: int, more: bool) -> Operation[Found[tuple[int, Delivered]]]:
        found: list[tuple[int, Delivered]] = []
        due: list[float] = []
        for number, each in enumerate(state):
            body = _deliver(ctx, each, most - len(found), more=more or bool(found))
            try:
                some, left = yield from (with_taken([m.data for _, m in found], body) if found else body)
            except PressureError:
                if found:  # return delivered messages even if the server refuses the next command
                    break
                raise
            found += [(number, message) for message in some]
            due += [] if left is None else [left]
            if len(found) == most:
                break
        return found, min(due, default=None)

    def wait(_: int, seconds: float) -> Operation[list[tuple[int, Delivered]] | None]:
        return backend.wait([each.keys for each in state], seconds)

    return (yield from _collected(ctx, count, deadline, step, wait, lambda each: each[1].data))
