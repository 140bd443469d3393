"""Behind sentinels: what was acknowledged and replicated is never lost, and nothing else may be.

A seed decides which servers die, come back, take over and are cut off from their primary, and what one client does
with a queue in between. After each operation the replication offset of the primary is noted. A replica that takes
over says up to which offset it has the history: the operations behind that are undone, as if they had never been.
What is left must be the history of a queue that loses nothing, delivers nothing twice and keeps the order.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

import miniredis
from conformance.clients.flavours import FLAVOURS
from conformance.histories import Facts, History, Operation, fifo
from conformance.histories.recorder import Notebook, RecordedQueue, Recorder
from pressure import ConnectionFailedError, QueueEmptyError
from tests.cases import exhaustive

STEPS = 12
AT_ONCE = 4
"""How many operations there are between two steps."""


class Run:
    """A client and its servers.

    Args:
        servers: where the queue is.
        client: its queue object.
        seed: decides what the client does.

    Attributes:
        operations: all that it did.
        undone: those of them that a failover has undone.
    """

    def __init__(self, servers: miniredis.Sentinels, client: Any, seed: int) -> None:
        self._servers, self._primary = servers, servers.primary
        self._luck = random.Random(seed)  # noqa: S311  (no secret)
        self._notebook = Notebook()
        self._queue = RecordedQueue(client, Recorder("client", self._notebook))
        self._ends: list[tuple[Operation, int]] = []  # since the last failover
        self.undone: list[Operation] = []
        self._values = iter(range(1_000_000))

    @property
    def operations(self) -> list[Operation]:
        return self._notebook.operations

    def _facts(self) -> dict[str, Any]:
        with self._servers.primary.client() as raw:
            told: dict[str, Any] = raw.info("replication")
        return told

    def work(self) -> None:
        """A few operations."""
        for _ in range(AT_ONCE):
            self.do(self._luck.choice([self.put, self.put, self.get, self.receive]))

    def do(self, operation: Any) -> None:
        """An operation; it may be told once that its connection has ended, and that nothing was changed."""
        before = len(self.operations)
        try:
            operation()
        except ConnectionFailedError:
            operation()
        end = self._facts()["master_repl_offset"]
        self._ends += [(each, end) for each in self.operations[before:]]

    def put(self) -> None:
        self._queue.put(b"%d" % next(self._values))

    def get(self) -> None:
        with suppress(QueueEmptyError):
            self._queue.get(block=False)

    def receive(self) -> None:
        with suppress(QueueEmptyError), self._queue.receive(block=False):
            pass

    def empty(self) -> None:
        """Gets all that there is."""
        while not self.operations[-1].error:
            self.do(self.get)

    def look(self) -> None:
        """Notes what is undone, if a replica has taken over."""
        if self._servers.primary is not self._primary:
            had, self._primary = self._facts()["second_repl_offset"] - 1, self._servers.primary
            self.undone += [operation for operation, end in self._ends if end > had]
            self._ends.clear()


@pytest.mark.parametrize(
    ("flavour", "seed"),
    [
        exhaustive(flavour, seed, when=(flavour, seed) != ("sync", 3))
        for flavour in FLAVOURS
        for seed in range(5)
    ],
)
def test_failovers_undo_what_was_not_replicated_and_nothing_else(flavour: str, seed: int) -> None:
    with miniredis.sentinel(replicas=2, sentinels=1) as servers:
        client = FLAVOURS[flavour]("jobs", url=servers.url, prefix="test")
        try:
            client.create()
            run, schedule = Run(servers, client, seed), servers.schedule(seed)
            for _ in range(STEPS):
                if servers.primary.is_up:
                    run.work()
                schedule.step()
                run.look()
            schedule.finish()
            run.look()
            run.do(run.put)
            run.empty()
        finally:
            client.disconnect()
    assert bool(run.undone) == bool(servers.lost)
    kept = [each for each in run.operations if each not in run.undone]
    verdict = fifo.check(History(kept, Facts(final={"jobs": ()})))
    assert verdict.answer == "ok", f"{verdict.reason}\n" + "\n".join(map(str, run.operations))
    if any(each.outcome == "ok" for each in run.undone):
        assert fifo.check(History(run.operations, Facts(final={"jobs": ()}))).answer == "illegal"
