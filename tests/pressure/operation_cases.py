"""A table of the operations of a queue, each in a given state.

To add a case, add a row to ``OPERATION_CASES``. Each starts from a queue with its bound and values, to which
``more`` is done first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import redis

from pressure import Queue

SOON: Final = 0.05
"""Seconds that an operation waits at most for what does not come."""

LATER: Final = 0.5
"""The same for what another one does."""


class Boom(Exception):  # noqa: N818, a test's own
    """What ends a block."""


@dataclass(frozen=True, slots=True)
class OperationCase:
    """An operation in a state.

    Attributes:
        call: The operation; what it returns are the values that it took.
        bound: Of the queue; None if there is none.
        values: What is in it.
        puts: The values that it is to put.
        more: What else is done to the queue first.
        other: What another client does once this one waits.
    """

    call: Callable[[Any], object]
    bound: int | None = 3
    values: tuple[bytes, ...] = ()
    puts: tuple[bytes, ...] = ()
    more: Callable[[Queue, redis.Redis], object] | None = None
    other: Callable[[Queue], object] | None = None


def received(queue: Any, error: Exception | None = None) -> list[bytes]:
    """Receive, and be done with it or fail."""
    try:
        with queue.receive(timeout=SOON) as message:
            if error is not None:
                raise error
    except Boom as boom:
        if getattr(boom, "__notes__", None):
            raise
        return []
    return [message.data]


DEAD = "elsewhere:1:00000000/1/1"
"""The id of a hold whose connection is gone."""


def _stuck(_: Queue, raw: redis.Redis) -> None:
    """What a consumer leaves that dies in a reliable get, and a producer that dies with its role."""
    root = "__pressure__:{jobs}"
    raw.rpop(f"{root}:producer_free")
    raw.set(f"{root}:producer", DEAD)
    raw.rpop(f"{root}:consumer_free")
    raw.set(f"{root}:consumer", DEAD)
    raw.lmove(root, f"{root}:unacked", "RIGHT", "LEFT")


def _half_deleted(_: Queue, raw: redis.Redis) -> None:
    raw.delete("__pressure__:{jobs}:bound")


A, B, C = b"a", b"bb", b"ccc"
LARGE = b"large" * 300_000
"""More than the buffers of sockets take, and than one script of ours is handed."""

OPERATION_CASES: Final[dict[str, OperationCase]] = {
    "create": OperationCase(lambda q: q.create(2), bound=None),
    "put": OperationCase(lambda q: q.put(A), puts=(A,)),
    "put without bound": OperationCase(lambda q: q.put(A), bound=0, values=(B,), puts=(A,)),
    "put, to the bound": OperationCase(lambda q: q.put(A), bound=1, puts=(A,)),
    "put, full": OperationCase(lambda q: q.put(A, timeout=SOON), bound=1, values=(B,)),
    "put, full at first": OperationCase(
        lambda q: q.put(A, timeout=LATER), bound=1, values=(B,), puts=(A,), other=lambda q: q.get_nowait()
    ),
    "put, not waiting": OperationCase(lambda q: q.put_nowait(A), bound=1, values=(B,)),
    "put, over-filling": OperationCase(lambda q: q.put(A, overfill=True), bound=1, values=(B,), puts=(A,)),
    "put many": OperationCase(lambda q: q.put_many([A, B]), puts=(A, B)),
    "put too many": OperationCase(lambda q: q.put_many([A, B, C], timeout=SOON), bound=2, puts=(A, B)),
    "put many, closed": OperationCase(lambda q: q.put_many([A]), more=lambda q, _: q.shutdown()),
    "get": OperationCase(lambda q: [q.get()], values=(A, B)),
    "get, full": OperationCase(lambda q: [q.get()], bound=1, values=(A,)),
    "get, empty": OperationCase(lambda q: [q.get(timeout=SOON)]),
    "get, empty at first": OperationCase(
        lambda q: [q.get(timeout=LATER)], puts=(A,), other=lambda q: q.put(A)
    ),
    "get, closed": OperationCase(lambda q: [q.get()], values=(A,), more=lambda q, _: q.shutdown()),
    "get, closed and empty": OperationCase(lambda q: [q.get()], more=lambda q, _: q.shutdown()),
    "get, closed meanwhile": OperationCase(lambda q: [q.get(timeout=LATER)], other=lambda q: q.shutdown()),
    "get many": OperationCase(lambda q: q.get_many(2), bound=3, values=(A, B, C)),
    "get many, empty at first": OperationCase(
        lambda q: q.get_many(2, timeout=LATER), puts=(A,), other=lambda q: q.put(A)
    ),
    "receive": OperationCase(received, values=(A, B)),
    "receive, full": OperationCase(received, bound=1, values=(A,)),
    "receive, empty": OperationCase(received),
    "receive, and fail": OperationCase(lambda q: received(q, Boom()), values=(A, B)),
    "close": OperationCase(lambda q: q.shutdown(), values=(A,)),
    "close, closed": OperationCase(lambda q: q.shutdown(), more=lambda q, _: q.shutdown()),
    "delete": OperationCase(lambda q: q.delete(), values=(A,)),
    "delete, in use": OperationCase(
        lambda q: q.delete(SOON), more=lambda _, raw: raw.rpop("__pressure__:{jobs}:producer_free")
    ),
    "delete, half deleted": OperationCase(lambda q: q.delete(), more=_half_deleted),
    "wait for the close": OperationCase(lambda q: q.wait_closed(LATER), other=lambda q: q.shutdown()),
    "wait for no close": OperationCase(lambda q: q.wait_closed(SOON)),
    "repair": OperationCase(lambda q: q.repair(force=True), values=(A, B), more=_stuck),
    "repair, half deleted": OperationCase(lambda q: q.repair(force=True), more=_half_deleted),
    "doctor": OperationCase(lambda q: q.doctor()),
    "stats": OperationCase(lambda q: q.stats()),
    "holder": OperationCase(lambda q: q.holder("producer")),
    "peek": OperationCase(lambda q: q.peek(), values=(A,)),
    "peek many": OperationCase(lambda q: q.peek_many(2) and None, values=(A, B, C)),
    "length": OperationCase(lambda q: q.length()),
    "full": OperationCase(lambda q: q.full()),
    "closed": OperationCase(lambda q: q.closed()),
    "exists": OperationCase(lambda q: q.exists()),
    "put, large": OperationCase(lambda q: q.put(LARGE), puts=(LARGE,)),
    "put many, large": OperationCase(lambda q: q.put_many([LARGE, A, LARGE]), puts=(LARGE, A, LARGE)),
    "get, large": OperationCase(lambda q: [q.get()], values=(LARGE, B)),
    "get, large, empty at first": OperationCase(
        lambda q: [q.get(timeout=LATER)], puts=(LARGE,), other=lambda q: q.put(LARGE)
    ),
    "get many, large": OperationCase(lambda q: q.get_many(3), values=(LARGE, B, LARGE)),
    "receive, large": OperationCase(received, values=(LARGE, B)),
    "receive, large, and fail": OperationCase(lambda q: received(q, Boom()), values=(LARGE, B)),
    "repair, large": OperationCase(lambda q: q.repair(force=True), values=(LARGE, B), more=_stuck),
    "peek, large": OperationCase(lambda q: q.peek(), values=(LARGE,)),
}
