"""Streams killed at every step and run again: no row is lost or doubled.

The tests replace Spark by a few lines: a log of offsets, a log of commits, and the order of Spark's calls. Older
versions ask for the newest offset without a start, and before they ask for the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from pressure.spark import sink as sinks
from pressure.spark import source as sources
from pressure.spark.server import QueueServer
from pressure.spark.sink import Sink
from pressure.spark.source import Source, slices
from tests.cases import exhaustive_but

from .conftest import Place, some

ROWS = 7
"""Rows of a batch."""


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Clock:
    """Ends the process before its next step, when it has taken so many."""

    left: int

    def tick(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1


@dataclass
class Checkpoint:
    """What Spark has on its disk."""

    first: tuple[str, int] | None = None
    offsets: list[tuple[str, int]] = field(default_factory=list)
    commits: int = 0


@dataclass
class Run:
    """One run of a query, from its start to its end or its death."""

    place: Place
    target: Place
    checkpoint: Checkpoint
    clock: Clock
    old: bool

    def __post_init__(self) -> None:
        self.source = Source(self.place.options(lease=30))
        self.sink = Sink(self.target.options())
        for server in (self.source._server, self.sink._server):
            self._slow(server)

    def _slow(self, server: QueueServer) -> None:
        run: Callable[[Any], Any] = server._once

        def stepwise(operation: Any) -> Any:
            self.clock.tick()
            return run(operation)

        server._once = stepwise  # type: ignore[assignment, method-assign]

    def until_drained(self) -> None:
        checkpoint = self.checkpoint
        if checkpoint.commits < len(checkpoint.offsets):
            self.batch(checkpoint.commits)
        while self.construct():
            self.batch(checkpoint.commits)
        self.source.acknowledge(checkpoint.offsets[-1][1])  # finish
        self.source.leave()

    def construct(self) -> bool:
        """Ask for an offset, and note it if it is a new one; be done with the batch before it."""
        checkpoint = self.checkpoint
        if self.old:
            end = self.source.advance(None, ROWS)
        if checkpoint.first is None:
            checkpoint.first = (self.source.state.id, self.source.state.first)
        stream, start = checkpoint.offsets[-1] if checkpoint.offsets else checkpoint.first
        self.source.check(stream, start)
        if not self.old:
            end = self.source.advance(start, ROWS)
        if end == start:
            return False
        self.clock.tick()
        checkpoint.offsets.append((self.source.state.id, end))
        if len(checkpoint.offsets) > 1:
            self.source.acknowledge(start, stream)
        return True

    def batch(self, number: int) -> None:
        checkpoint = self.checkpoint
        assert checkpoint.first is not None
        stream, start = checkpoint.offsets[number - 1] if number else checkpoint.first
        _, end = checkpoint.offsets[number]
        self.source.check(stream, start)
        staged = []
        for partition, (low, high) in enumerate(slices(start, end, 2)):
            rows = (found.values for _, found in self.source.read(self.source.state, low, high))
            staged.append(self.sink.stage(rows, partition, "query"))
        self.sink.commit("query", number, staged)
        self.clock.tick()
        checkpoint.commits += 1


def end(run: Run) -> None:
    """What is left of a process that was killed is nothing; its lease goes with it."""
    run.clock.left = 1_000_000
    with suppress(Exception):
        run.source.release()
    run.sink._server.close()


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MOVED_TOGETHER", 3)
    monkeypatch.setattr(sources, "CLAIMED_TOGETHER", 5)
    monkeypatch.setattr(sources, "ACKED_TOGETHER", 3)
    monkeypatch.setattr(sources, "SLICE", 4)


ROUTES = {
    "pressure": ("pressure", "pressure"),
    "reliable to backup": ("reliable", "backup"),
    "backup to reliable": ("backup", "reliable"),
}


@pytest.mark.parametrize(
    ("server", "old"),
    [
        pytest.param("embedded_server", False, id="embedded_server-4.2"),
        pytest.param("real_server", True, id="real_server-4.0"),
        pytest.param("embedded_server", True, id="embedded_server-4.0", marks=pytest.mark.slow),
        pytest.param("real_server", False, id="real_server-4.2", marks=pytest.mark.slow),
    ],
    indirect=["server"],
)
@pytest.mark.parametrize("route", exhaustive_but(["pressure"], ROUTES))
def test_a_stream_killed_at_every_step_loses_and_doubles_no_row(
    make: Callable[..., Place], route: str, old: bool
) -> None:
    place, target = (make(kind) for kind in ROUTES[route])
    put, steps, deaths = 0, 0, 0
    checkpoint = Checkpoint()
    while True:
        place.put(*some(put, put + 9))
        put += 9
        run = Run(place, target, checkpoint, Clock(steps), old)
        try:
            run.until_drained()
        except Killed:
            steps, deaths = steps + 1, deaths + 1
        else:
            break
        finally:
            end(run)
        if deaths % 8 == 0:  # or it would never get anywhere
            whole = Run(place, target, checkpoint, Clock(1_000_000), old)
            whole.until_drained()
            end(whole)
    assert deaths > 20
    assert target.look() == some(0, put)
    assert place.look() == []
    if route == "pressure":
        assert place.queue.doctor().problems == target.queue.doctor().problems == ()
