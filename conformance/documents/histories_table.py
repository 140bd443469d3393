"""What must hold of all that many clients do at once, whatever their luck.

Each stands on a sentence of a document; the histories that are judged are recorded on the server, with the client
under test.
"""

from __future__ import annotations

from typing import Final

from .model import Clause
from .registry import declare

__all__ = ["HISTORIES"]

QUEUES: Final = "pressure 0.15, 'distributed, reliable, bounded, synchronized, exclusive FIFO queues'"
PUSHED: Final = "list notes, 4, 'On push to any key: if waiters exist, wake one (FIFO)'"


def of(
    id_: str,
    place: str,
    text: str,
    *,
    needs: tuple[str, ...] = ("list-move", "list-count"),
    limit: float | None = None,
) -> Clause:
    return Clause(id_, ("histories",), place, "must", text, needs, limit)


HISTORIES: Final = (
    of("history.fifo", QUEUES, "With many producers and consumers at once no value overtakes another, and none is invented; who is told that the queue is empty was told so when it was."),
    of("history.no-loss", QUEUES, "With many at once, a value whose Put succeeded is got or still there."),
    of("history.no-duplicate", "pressure 0.15, Get, pops from the right", "With many at once no value is got twice, unless it was received and put back."),
    of("history.bound", "pressure 0.15, 'queues can have a maximum length'", "With many at once there are never more values in a queue than its bound, or one more where clients send plain batches; one that was received and goes back is apart."),
    of("history.exclusive", "pressure 0.15, 'at most one producer and one consumer'", "With many at once, what one client puts or gets in one go has nothing of another's in it, and nothing is got while a received value is worked on."),
    of("history.closed", "pressure 0.15, Close, and Put to a closed queue", "No Put succeeds behind a Close, and nobody hears of a Close before it begins."),
    of("history.waiters", PUSHED, "Who waits for elements of a list is served in the order of blocking, whoever hung up or ran out of time meanwhile.", needs=()),
    of("history.linearizable", "list notes, commands are atomic", "Commands on lists from several connections each take effect at one moment while they are under way.", needs=("list-move", "list-count")),
    of("history.killed-clients", QUEUES, "Clients that are processes, some of them killed by SIGKILL and their roles freed, break none of these rules.", limit=90.0),
)  # fmt: skip

declare(*HISTORIES)
