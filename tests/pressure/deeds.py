"""Everything that can be done with a queue, from a given state: a table.

To add a deed: a row in ``DEEDS``. All start from a queue with a bound, the values that are given, and what
``more`` does to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import redis

from pressure import Queue

SOON: Final = 0.05
"""Seconds that a deed waits at most for what does not come."""

LATER: Final = 0.5
"""The same for what another one does."""


class Boom(Exception):  # noqa: N818, a test's own
    """What ends a block."""


@dataclass(frozen=True, slots=True)
class Deed:
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


def _stuck(_: Queue, raw: redis.Redis) -> None:
    """What a consumer leaves that dies in a reliable get, and a producer that dies with its role."""
    root = "__pressure__:{jobs}"
    raw.rpop(f"{root}:producer_free")
    raw.set(f"{root}:producer", "dead")
    raw.rpop(f"{root}:consumer_free")
    raw.set(f"{root}:consumer", "dead")
    raw.lmove(root, f"{root}:unacked", "RIGHT", "LEFT")


def _half_deleted(_: Queue, raw: redis.Redis) -> None:
    raw.delete("__pressure__:{jobs}:bound")


A, B, C = b"a", b"bb", b"ccc"
LARGE = b"large" * 300_000
"""More than the buffers of sockets take, and than one script of ours is handed."""

DEEDS: Final[dict[str, Deed]] = {
    "create": Deed(lambda q: q.create(2), bound=None),
    "put": Deed(lambda q: q.put(A), puts=(A,)),
    "put without bound": Deed(lambda q: q.put(A), bound=0, values=(B,), puts=(A,)),
    "put, to the bound": Deed(lambda q: q.put(A), bound=1, puts=(A,)),
    "put, full": Deed(lambda q: q.put(A, timeout=SOON), bound=1, values=(B,)),
    "put, full at first": Deed(
        lambda q: q.put(A, timeout=LATER), bound=1, values=(B,), puts=(A,), other=lambda q: q.get_nowait()
    ),
    "put, not waiting": Deed(lambda q: q.put_nowait(A), bound=1, values=(B,)),
    "put, over-filling": Deed(lambda q: q.put(A, overfill=True), bound=1, values=(B,), puts=(A,)),
    "put many": Deed(lambda q: q.put_many([A, B]), puts=(A, B)),
    "put too many": Deed(lambda q: q.put_many([A, B, C], timeout=SOON), bound=2, puts=(A, B)),
    "put many, closed": Deed(lambda q: q.put_many([A]), more=lambda q, _: q.close()),
    "get": Deed(lambda q: [q.get()], values=(A, B)),
    "get, full": Deed(lambda q: [q.get()], bound=1, values=(A,)),
    "get, empty": Deed(lambda q: [q.get(timeout=SOON)]),
    "get, empty at first": Deed(lambda q: [q.get(timeout=LATER)], puts=(A,), other=lambda q: q.put(A)),
    "get, closed": Deed(lambda q: [q.get()], values=(A,), more=lambda q, _: q.close()),
    "get, closed and empty": Deed(lambda q: [q.get()], more=lambda q, _: q.close()),
    "get, closed meanwhile": Deed(lambda q: [q.get(timeout=LATER)], other=lambda q: q.close()),
    "get many": Deed(lambda q: q.get_many(2), bound=3, values=(A, B, C)),
    "get many, empty at first": Deed(
        lambda q: q.get_many(2, timeout=LATER), puts=(A,), other=lambda q: q.put(A)
    ),
    "receive": Deed(received, values=(A, B)),
    "receive, full": Deed(received, bound=1, values=(A,)),
    "receive, empty": Deed(received),
    "receive, and fail": Deed(lambda q: received(q, Boom()), values=(A, B)),
    "close": Deed(lambda q: q.close(), values=(A,)),
    "close, closed": Deed(lambda q: q.close(), more=lambda q, _: q.close()),
    "delete": Deed(lambda q: q.delete(), values=(A,)),
    "delete, in use": Deed(
        lambda q: q.delete(SOON), more=lambda _, raw: raw.rpop("__pressure__:{jobs}:producer_free")
    ),
    "delete, half deleted": Deed(lambda q: q.delete(), more=_half_deleted),
    "wait for the close": Deed(lambda q: q.wait_closed(LATER), other=lambda q: q.close()),
    "wait for no close": Deed(lambda q: q.wait_closed(SOON)),
    "repair": Deed(lambda q: q.repair(force=True), values=(A, B), more=_stuck),
    "repair, half deleted": Deed(lambda q: q.repair(force=True), more=_half_deleted),
    "doctor": Deed(lambda q: q.doctor()),
    "stats": Deed(lambda q: q.stats()),
    "holder": Deed(lambda q: q.holder("producer")),
    "peek": Deed(lambda q: q.peek(), values=(A,)),
    "peek many": Deed(lambda q: q.peek_many(2) and None, values=(A, B, C)),
    "length": Deed(lambda q: q.length()),
    "full": Deed(lambda q: q.full()),
    "closed": Deed(lambda q: q.closed()),
    "exists": Deed(lambda q: q.exists()),
    "put, large": Deed(lambda q: q.put(LARGE), puts=(LARGE,)),
    "put many, large": Deed(lambda q: q.put_many([LARGE, A, LARGE]), puts=(LARGE, A, LARGE)),
    "get, large": Deed(lambda q: [q.get()], values=(LARGE, B)),
    "get, large, empty at first": Deed(
        lambda q: [q.get(timeout=LATER)], puts=(LARGE,), other=lambda q: q.put(LARGE)
    ),
    "get many, large": Deed(lambda q: q.get_many(3), values=(LARGE, B, LARGE)),
    "receive, large": Deed(received, values=(LARGE, B)),
    "receive, large, and fail": Deed(lambda q: received(q, Boom()), values=(LARGE, B)),
    "repair, large": Deed(lambda q: q.repair(force=True), values=(LARGE, B), more=_stuck),
    "peek, large": Deed(lambda q: q.peek(), values=(LARGE,)),
}
