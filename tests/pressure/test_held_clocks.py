"""A timeout ends when a test moves the clock of its miniredis, though the clock of the client does not move."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import miniredis
from pressure import BackupQueue, Queue, QueueEmptyError, ReliableQueue

from .conftest import StartTask, until

CALLS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "get": (Queue, lambda queue: queue.get(timeout=8)),
    "receive": (Queue, lambda queue: queue.receive(timeout=8).__enter__()),
    "claim": (BackupQueue, lambda queue: queue.claim(timeout=8)),
    "pop": (ReliableQueue, lambda queue: queue.pop(timeout=8)),
    "pop_any": (ReliableQueue, lambda queue: queue.pop_any(queue, timeout=8)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_timeout_ends_when_the_clock_is_moved(task: StartTask, name: str) -> None:
    kind, call = CALLS[name]
    with miniredis.start(clock="held") as server, kind("jobs", url=server.url) as queue:
        if kind is Queue:
            queue.create()
        taking = task(lambda: call(queue))
        moves = []

        def move() -> bool:  # a wait is sent to the server a second at a time
            if server.blocked_clients():
                server.fast_forward(1)
                moves.append(1)
            return taking.done()

        until(move)
        assert len(moves) <= 9
        with contextlib.suppress(QueueEmptyError):
            assert not taking.result()
