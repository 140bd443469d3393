"""How dead letters get into their queue again.

Rules:
    - A letter is delivered by the dead-letter queue as to any consumer, and acknowledged there in the same
      transaction that pushes it. So two clients do not push it twice, and nobody's letter is taken away.
    - What a client had taken when it died is taken over after ``IDLE``.
"""

from __future__ import annotations

from typing import Final

from pressure.kinds.kind import KindContext
from pressure.kinds.kind_check import modifying
from pressure.kinds.reliable.model import Delivered, ReliableKeys
from pressure.kinds.reliable.notes import by_lane
from pressure.kinds.reliable.operations import TOGETHER, QueueState, acknowledged, recover
from pressure.kinds.reliable.popping import pop
from pressure.protocol.operation import Batch, Deadline, Operation

#: After how many milliseconds a letter that another client has taken to redrive it is taken over.
IDLE: Final = 60_000


@modifying
def redrive(ctx: KindContext, state: QueueState, count: int) -> Operation[int]:
    """Put dead letters into their queue; how many were."""
    dead = QueueState(ReliableKeys.of(state.keys.dead, state.keys.group), state.backend, None)
    done = 0
    while done < count:
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
