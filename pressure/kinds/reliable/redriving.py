"""Redrive: push dead letters to their queue again.

Rules:
    - A dead letter is popped like any message, and acknowledged in the transaction that pushes it. So two
      clients do not push the same letter, and letters that are pending at a consumer stay there.
    - Letters of a client that died are recovered after ``IDLE``.
"""

from __future__ import annotations

from typing import Final

from pressure.errors import PressureError
from pressure.kinds.kind import KindContext
from pressure.kinds.kind_check import modifying
from pressure.kinds.reliable.model import Delivered, ReliableKeys
from pressure.kinds.reliable.notes import by_lane
from pressure.kinds.reliable.operations import TOGETHER, QueueState, acknowledged, recover
from pressure.kinds.reliable.popping import pop
from pressure.protocol.operation import CHECKPOINT, Batch, Deadline, Operation, with_done

#: After how many milliseconds without acknowledgement a popped letter is recovered.
IDLE: Final = 60_000


@modifying
def redrive(ctx: KindContext, state: QueueState, count: int) -> Operation[int]:
    """Push up to ``count`` dead letters to their queue; returns how many.

    Raises:
        PressureError: Its ``done`` says how many were pushed before the error, at least.
    """
    dead = QueueState(ReliableKeys.of(state.keys.dead, state.keys.group), state.backend, None)
    done = 0
    try:
        moved = 1
        while moved and done < count:
            moved = yield from with_done(done, _redrive_some(ctx, state, dead, count - done))
            done += moved
    except PressureError as error:
        error.done = done
        raise
    return done


def _redrive_some(ctx: KindContext, state: QueueState, dead: QueueState, count: int) -> Operation[int]:
    """Push up to ``count`` dead letters, at most ``TOGETHER``; returns how many, 0 if there are none."""
    yield CHECKPOINT
    most = min(count, TOGETHER)
    dead_letters = yield from recover(ctx, dead, most, IDLE)
    if len(dead_letters) < most:
        dead_letters += yield from pop(ctx, dead, most - len(dead_letters), Deadline.of(ctx, block=False))
    return (yield from _pushed(state, dead, dead_letters))


def _pushed(state: QueueState, dead: QueueState, dead_letters: list[Delivered]) -> Operation[int]:
    datas = {each.id: each.data for each in dead_letters}
    for lane, known in by_lane(dead.keys, datas):
        seen = (yield Batch(looks)) if (looks := state.backend.before_ack(lane)) else []
        pushes = [state.backend.push_command(state.keys.queue, datas[each]) for each in known.values()]
        yield from acknowledged(state, lane, list(known), state.backend.other_groups(lane, seen), pushes)
    return len(dead_letters)
