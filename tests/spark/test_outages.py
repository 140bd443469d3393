"""Outages of the server are waited out: nothing is lost, doubled or out of order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from typing import Any, Final

import pytest
from _pytest.mark import ParameterSet

import miniredis
from miniredis import faults
from pressure import PressureError, QueueInUseError
from pressure.spark import RowsGoneError, server
from pressure.spark import sink as sinks
from pressure.spark import source as sources
from pressure.spark.sink import Sink
from pressure.spark.source import Source

from ..cases import exhaustive
from ..pressure.conftest import until
from ..servers import RealServer
from .conftest import KINDS, Place, some

FAULTS: dict[str, Callable[[], Any]] = {
    "reply lost": faults.lose_reply,
    "request lost": lambda: faults.cut("before"),
    "loading": lambda: "LOADING Redis is loading the dataset in memory",
}


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SHORTEST", 0.001)
    monkeypatch.setattr(sources, "CLAIMED_TOGETHER", 4)
    monkeypatch.setattr(sources, "ACKED_TOGETHER", 4)
    monkeypatch.setattr(sinks, "MOVED_TOGETHER", 4)
    monkeypatch.setattr(sinks, "STAGED_TOGETHER", 3)


@pytest.fixture
def local() -> Iterator[miniredis.Server]:
    with miniredis.start() as handle:
        yield handle


def copied(place: Place, target: Place, rows: int, **options: object) -> None:
    """Two micro-batches from a queue to another."""
    source = Source(place.options(**options))
    with Sink(target.options(**options)) as sink:
        for number, start in enumerate((0, rows // 2)):
            end = source.advance(start, rows // 2)
            found = source.read(source.state, start, end)
            staged = sink.stage((each.values for _, each in found), 0, "w")
            sink.commit("w", number, [staged])
            source.acknowledge(end)
    assert source.leave() == 0


COMMANDS: Final = ("EVALSHA", "LPUSH", "RENAME", "HMGET", "LLEN", "PEXPIRE")


def every_pair() -> Iterator[ParameterSet]:
    """All cases; those of the default run have each two of a kind, a command and a fault together."""
    cases = product(enumerate(KINDS), enumerate(COMMANDS), enumerate(FAULTS))
    for (a, kind), (b, command), (c, fault) in cases:
        yield exhaustive(kind, command, fault, when=(a + b + c) % 3 > 0)


@pytest.mark.parametrize(("kind", "command", "fault"), [*every_pair()])
def test_a_fault_at_any_request_loses_and_doubles_no_row(
    local: miniredis.Server, kind: str, command: str, fault: str
) -> None:
    """Each second of the requests meets it, in turn with those that it spares."""
    with ExitStack() as stack:
        place, target = (Place(local.url, kind, stack) for _ in range(2))
        place.put(*some(0, 20))
        rule = local.faults.add(command=command, probability=0.4, seed=1, then=FAULTS[fault]())
        if command == "RENAME":
            local.faults.add(command="LPUSH", probability=0.4, seed=2, then=faults.lose_reply())
        copied(place, target, 20)
        local.faults.clear()
        assert rule.met
        assert target.look() == some(0, 20)
        assert place.look() == []
        if kind == "pressure":
            stats = place.queue.stats()
            assert (stats.consumed_messages, stats.consumed_bytes) == (20, sum(map(len, some(0, 20))))
            assert place.queue.doctor().problems == target.queue.doctor().problems == ()


def test_a_restart_of_redis_is_waited_out(durable: RealServer) -> None:
    with ExitStack() as stack:
        place = Place(durable.url, "pressure", stack)
        place.put(*some(0, 20))
        source = Source(place.options(lease=0.3))
        assert source.advance(0, 5) == 5
        durable.stop()
        until(lambda: not durable.is_running, "did it stop")
        restarting = threading.Timer(1, durable.start)  # the lease has run out by then
        restarting.start()
        assert source.advance(5, 5) == 10
        assert [value for _, found in source.read(source.state, 0, 10) for value in found.values] == some(
            0, 10
        )
        restarting.join()
        source.acknowledge(10)
        assert source.leave() == 0
        assert place.look() == some(10, 20)


def test_an_outage_that_is_too_long_is_an_error_that_says_how_long(local: miniredis.Server) -> None:
    with ExitStack() as stack:
        place = Place(local.url, "backup", stack)
        place.put(b"a")
        local.faults.add(command="EVALSHA", then=faults.cut("before"))
        with pytest.raises(PressureError) as caught:
            Source(place.options(retry=0.1)).advance(0, 1)
        assert caught.value.__notes__ == ["it was tried for 0.1 s"]
        local.faults.clear()


def test_a_query_whose_lease_ran_out_goes_on_unless_another_one_was_the_owner_meanwhile(place: Place) -> None:
    place.put(*some(0, 9))
    source = Source(place.options(lease=30))
    source.advance(0, 3)
    source._server.ask((b"DEL", source._keys[0]))
    assert source.advance(3, 3) == 6
    other = Source(place.options(lease=30))
    source._server.ask((b"DEL", source._keys[0]))
    assert other.state.claimed == 6
    other.release()
    with pytest.raises(QueueInUseError, match="another query"):
        source.advance(6, 3)
    source.release()


def test_staged_rows_that_the_server_lost_in_an_outage_are_an_error(local: miniredis.Server) -> None:
    with ExitStack() as stack:
        place = Place(local.url, "backup", stack)
        with Sink(place.options()) as sink:

            def rows() -> Iterator[list[bytes]]:
                yield some(0, 3)
                local.faults.add(command="LPUSH", times=1, then=faults.restart(keeps_data=False))
                yield some(3, 6)

            with pytest.raises(RowsGoneError, match="of 3 staged rows, 0 are left after an outage"):
                sink.stage(rows(), 0, "w")
