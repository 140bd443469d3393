"""How messages that wait are delivered, of one queue or of several in the order of their priority.

A queue has two lanes: the messages in the order of their pushes, and the messages that were delayed and are
due. What is due does not wait behind the others, nor the others behind what is due.

Rules:
    - What is due is moved and delivered in one step, in the order of its time, and at most half of a pop
      while others wait. Pops of a single message take turns.
    - Where no scripts run, whether something is due is seen by each pop for the next one, at no cost.
    - Nobody waits past the moment at which the next message is due.
    - Of several queues the first is asked before the second, whatever carries them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
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

#: Some messages, and if there are none in how many seconds the first delayed one is due.
Found: TypeAlias = "tuple[list[T], float | None]"


def _until_found(
    deadline: Deadline,
    step: Callable[[], Operation[Found[T]]],
    wait: Callable[[float], Operation[list[T]]],
) -> Operation[list[T]]:
    attempts = deadline.attempts()
    while True:
        found, left = yield from step()
        if found:
            return found
        if left is not None and left <= 0:
            continue
        try:
            seconds = next(attempts)
        except StopIteration:
            return []
        if left is not None:
            seconds = min(seconds, left)
        if seconds and (found := (yield from wait(seconds))):
            return found


def _collected(
    ctx: KindContext,
    count: int,
    deadline: Deadline,
    step: Callable[[int, bool], Operation[Found[T]]],
    wait: Callable[[int, float], Operation[list[T]]],
    data: Callable[[T], bytes],
) -> Operation[list[T]]:
    """Up to so many; only the first is waited for."""
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
    """Seconds until the first delayed message is due; None if there is none, or the server does not tell."""
    if isinstance(first, ServerReplyError) or isinstance(time, ServerReplyError):
        return None
    late = seconds_since_first(first, time)
    return None if late is None else -late


def _at(time: Reply) -> float | None:
    """The server's time in seconds; None if it does not tell."""
    return None if isinstance(time, ServerReplyError) else now(time) / 1000


def _deliver(
    ctx: KindContext, state: QueueState, most: int, *, more: bool = False
) -> Operation[Found[Delivered]]:
    """Deliver what is there, without waiting; ``more`` if something was delivered before."""
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
    """The same without scripts; what is due is asked for if the last pop has seen some."""
    due = (yield from _deliver_due(ctx, state, share)) if share else []
    state.due_first = False
    if len(due) == most:
        return due, None
    rest = _deliver_pushed(state, most - len(due))
    try:
        found, left = yield from (with_taken([each.data for each in due], rest) if due else rest)
    except PressureError:
        if due:  # what was delivered is returned, whatever is refused after it
            return due, None
        raise
    state.due_first = (most > 1 or not due) and (not found or (left is not None and left <= 0))
    return [*due, *found], left


def _deliver_pushed(state: QueueState, most: int) -> Operation[Found[Delivered]]:
    """What waits in the order of the pushes."""
    reply, first, time = yield Batch((state.backend.pop_command(state.keys, most), _first(state), (b"TIME",)))
    found = yield from state.backend.read_popped(state.keys, most, reply, _at(time))
    if not found:
        check([first, time])
    return found, _until_due(first, time)


def _deliver_due(ctx: KindContext, state: QueueState, share: int) -> Operation[list[Delivered]]:
    """Some of what is due. What is in the lane already was left there by a client that died."""
    lane = state.keys.due
    read = state.backend.pop_command(lane, share)
    reply, first, time = yield Batch((read, _first(state), (b"TIME",)))
    found = yield from state.backend.read_popped(lane, share, reply, _at(time))
    left = _until_due(first, time)
    if found or left is None or left > 0:
        return found
    if not state.is_prepared:
        if commands := state.backend.prepare_commands(lane):
            yield Batch(commands)
        state.is_prepared = True
    moved = yield from due_by_transaction(ctx, state, lane, share, (read,))
    if moved is None:
        return []
    _, at, replies = moved
    return (yield from state.backend.read_popped(lane, share, replies[0], at / 1000))


@modifying
def pop(ctx: KindContext, state: QueueState, count: int, deadline: Deadline) -> Operation[list[Delivered]]:
    """Deliver up to so many messages; none if none came in time."""

    def step(most: int, more: bool) -> Operation[Found[Delivered]]:
        return _deliver(ctx, state, most, more=more)

    def wait(most: int, seconds: float) -> Operation[list[Delivered]]:
        commands = (state.backend.pop_command(state.keys, most, block_ms(seconds)), (b"TIME",))
        reply, time = yield Wait(commands, seconds)
        found = yield from state.backend.read_popped(state.keys, most, reply, _at(time))
        if not found and isinstance(reply, ServerReplyError) and reply.code == "NOGROUP":
            yield from state.backend.wait([state.keys], seconds)  # there is no stream yet
        return found

    return (yield from _collected(ctx, count, deadline, step, wait, lambda each: each.data))


@modifying
def pop_any(
    ctx: KindContext, state: Sequence[QueueState], count: int, deadline: Deadline
) -> Operation[list[tuple[int, Delivered]]]:
    """Deliver up to so many messages of the first queues that have some, each with its queue's number."""
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
                if found:  # what was delivered is returned, whatever is refused after it
                    break
                raise
            found += [(number, message) for message in some]
            due += [] if left is None else [left]
            if len(found) == most:
                break
        return found, min(due, default=None)

    def wait(_: int, seconds: float) -> Operation[list[tuple[int, Delivered]]]:
        return backend.wait([each.keys for each in state], seconds)

    return (yield from _collected(ctx, count, deadline, step, wait, lambda each: each[1].data))
