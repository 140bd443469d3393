"""Redrive: push dead letters to their queue again.

Rules:
    - A dead letter is popped like any message, and acknowledged in the transaction that pushes it. So two
      clients do not push the same letter, and letters that are pending at a consumer stay there.
    - Letters of a client that died are recovered after ``IDLE``.
"""

from __future__ import annotations

from typing import Final

from pressure.kinds.kind import KindContext
from pressure.kinds.kind_check import modifying
from pressure.kinds.reliable.model import Delivered, ReliableKeys
from pressure.kinds.reliable.notes import by_lane
from pressure.kinds.reliable.operations import TOGETHER, QueueState, acknowledged, recover
from pressure.kinds.reliable.popping import pop
from pressure.protocol.operation import CHECKPOINT, Batch, Deadline, Operation

#: After how many milliseconds without acknowledgement a popped letter is recovered.
IDLE: Final = 60_000


@modifying
def redrive(ctx: KindContext, state: QueueState, count: int) -> Operation[int]:
    """Push up to ``count`` dead letters to their queue; returns how many."""
    dead = QueueState(ReliableKeys.of(state.keys.dead, state.keys.group), state.backend, None)
    done = 0
    while done < count:
        yield CHECKPOINT
        most = min(count - done, TOGETHER)
        dead_letters = yield from recover(ctx, dead, most, IDLE)
        if len(dead_letters) < most:
            dead_letters += yield from pop(ctx, dead, most - len(dead_letters), Deadline.of(ctx, block=False))
        if not dead_letters:
            break
        done += yield from _pushed(state, dead, dead_letters)
    return done


def _pushed(state: QueueState, dead: QueueState, dead_letters: list[Delivered]) -> Operation[int]:
    datas = {each.id: each.data for each in dead_letters}
    for lane, known in by_lane(dead.keys, datas):
        seen = (yield Batch(looks)) if (looks := state.backend.before_ack(lane)) else []
        pushes = [state.backend.push_command(state.keys.queue, datas[each]) for each in known.values()]
        yield from acknowledged(state, lane, list(known), state.backend.other_groups(lane, seen), pushes)
    return len(dead_letters)
