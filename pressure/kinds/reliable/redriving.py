"""How dead letters get into their queue again.

Rules:
    - A letter is delivered by the dead-letter queue as to any consumer, and acknowledged there in the same
      transaction that pushes it. So two clients do not push it twice, and nobody's letter is taken away.
    - What a client had taken when it died is taken over after ``IDLE``.
"""

from __future__ import annotations

from typing import Final

from pressure.kinds.kind import KindContext
from pressure.kinds.reliable.model import Delivered, ReliableKeys
from pressure.kinds.reliable.notes import by_lane
from pressure.kinds.reliable.operations import TOGETHER, QueueState, acknowledged, recover
from pressure.kinds.reliable.popping import pop
from pressure.kinds.sharing import changing
from pressure.protocol.operation import Batch, Deadline, Operation

#: After how many milliseconds a letter that another client has taken to redrive it is taken over.
IDLE: Final = 60_000


@changing
def redrive(ctx: KindContext, on: QueueState, count: int) -> Operation[int]:
    """Put dead letters into their queue; how many were."""
    dead = QueueState(ReliableKeys.of(on.keys.dead, on.keys.group), on.backend, None)
    done = 0
    while done < count:
        most = min(count - done, TOGETHER)
        letters = yield from recover(ctx, dead, most, IDLE)
        if len(letters) < most:
            letters += yield from pop(ctx, dead, most - len(letters), Deadline.of(ctx, block=False))
        if not letters:
            break
        done += yield from _pushed(on, dead, letters)
    return done


def _pushed(on: QueueState, dead: QueueState, letters: list[Delivered]) -> Operation[int]:
    datas = {each.id: each.data for each in letters}
    for lane, known in by_lane(dead.keys, datas):
        seen = (yield Batch(looks)) if (looks := on.backend.looking(lane)) else []
        pushes = [on.backend.pushing(on.keys.queue, datas[each]) for each in known.values()]
        yield from acknowledged(on, lane, list(known), on.backend.others(lane, seen), pushes)
    return len(letters)
