"""Delayed messages: add them, cancel them, and push them when they are due.

Rules:
    - A due message is pushed and removed from the delayed messages in one atomic step.
    - A pop delivers due messages (``popping``). ``move`` puts them behind the waiting messages, for programs
      that read the queue's key themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from pressure.kinds.commands import execute, now, pairs, transaction
from pressure.kinds.kind import KindContext
from pressure.kinds.kind_check import creating, modifying
from pressure.kinds.reliable.model import ReliableKeys
from pressure.kinds.reliable.notes import beginning_of, parts_of, place_of, pushed_later
from pressure.kinds.reliable.operations import TOGETHER, QueueState
from pressure.protocol.operation import Command, Operation, Reply, with_taken
from pressure.protocol.scripts import NO_SCRIPTS, eval_script


@creating
def delay(
    ctx: KindContext, state: QueueState, data: Sequence[bytes], milliseconds: int
) -> Operation[list[bytes]]:
    """Add messages that are due after some milliseconds; returns their ids."""
    if not data:
        return []
    (time,) = yield from execute((b"TIME",))
    due = now(time) + milliseconds
    state.due_first = True
    made = [pushed_later(each, due, beginning_of(time, number)) for number, each in enumerate(data)]
    yield from execute((b"ZADD", state.keys.delayed, *(word for _, member in made for word in (due, member))))
    return [message for message, _ in made]


@modifying
def cancel(ctx: KindContext, state: QueueState, message: bytes) -> Operation[bool]:
    """Remove a delayed message; False if it is not delayed any more."""
    place = place_of(message)
    if place is None:
        return False
    due, beginning = place
    reply = yield from eval_script(
        ctx.server, state.backend.scripts.cancel, state.keys.all, state.keys.group, due, beginning
    )
    if reply is not NO_SCRIPTS:
        return bool(reply)
    (found,) = yield from execute((b"ZRANGEBYSCORE", state.keys.delayed, due, due))
    meant = [member for member in found if member.startswith(beginning)]
    if not meant:
        return False
    (removed,) = yield from execute((b"ZREM", state.keys.delayed, *meant))
    return bool(removed)


@modifying
def move(ctx: KindContext, state: QueueState) -> Operation[int]:
    """Push all due messages behind the waiting ones; returns how many there were."""
    moved = 0
    script = state.backend.scripts.move
    while True:
        reply = yield from eval_script(ctx.server, script, state.keys.all, state.keys.group, TOGETHER)
        if reply is NO_SCRIPTS:
            found = yield from due_by_transaction(ctx, state, state.keys, TOGETHER, ())
            some = 0 if found is None else found[0]
            more = some == TOGETHER
        else:
            some, more = reply
        moved += some
        if not more:
            return moved


def due_by_transaction(
    ctx: KindContext, state: QueueState, lane: ReliableKeys, most: int, then: Sequence[Command]
) -> Operation[tuple[int, int, list[Reply]] | None]:
    """Push up to ``most`` due messages to a lane and run the commands ``then``, in one transaction.

    Returns:
        How many messages were due, the time in milliseconds, and the replies to ``then``; None if none was.
    """
    looks: tuple[Command, ...] = ((b"ZRANGE", state.keys.delayed, 0, most - 1, b"WITHSCORES"), (b"TIME",))

    def decide(seen: list[Reply]) -> tuple[Sequence[Command], tuple[int, list[bytes]]]:
        scores, time = seen
        at = now(time)
        due = [member for member, score in pairs(scores) if float(score) <= at]
        pushes = [state.backend.push_command(lane.queue, *parts_of(member)) for member in due]
        moves = [*pushes, *((b"ZREM", state.keys.delayed, member) for member in due), *then]
        return moves if due else (), (at, due)

    (at, due), replies = yield from transaction(ctx, (state.keys.delayed,), looks, decide)
    if not due:
        return None
    known = [
        (state.backend.pushed_id(r), *parts_of(member)[1:]) for r, member in zip(replies, due, strict=False)
    ]
    if rest := state.backend.after_push(lane.queue, known):
        delivered = [parts_of(member)[0] for member in due] if then else []
        yield from with_taken(delivered, execute(*rest))
    return len(due), at, replies[2 * len(due) :]
