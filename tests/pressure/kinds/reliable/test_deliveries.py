"""Delivery and recovery with every backend, beyond what the clauses of ``conformance`` say."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import redis

from pressure import Capabilities, ItemLostError, QueueEmptyError, ReliableQueue

from ...conftest import StartTask
from ..conftest import Make
from .conftest import SETTINGS, counts, datas


def test_capabilities_name_the_backend(queue: Any, setting: str) -> None:
    capabilities = queue.capabilities()
    assert isinstance(capabilities, Capabilities)
    assert capabilities.backend == SETTINGS[setting][1]
    assert capabilities.heartbeat_is_native == (capabilities.backend == "stream")


def test_a_queue_is_a_stream_unless_the_module_is_asked_for(redis_url: str, raw: redis.Redis) -> None:
    with ReliableQueue("jobs", url=redis_url) as queue:
        queue.push(b"v")
        assert queue.capabilities().backend == "stream"
    assert raw.type("queue:jobs") == b"stream"


def test_a_pop_of_an_empty_queue_returns_nothing(queue: Any) -> None:
    assert queue.pop(block=False) == queue.pop(timeout=0.02) == queue.recover(0) == []
    assert queue.inspect() == queue.pending() == queue.push() == queue.ack() == queue.heartbeat() == []
    assert queue.ack(b"1-1") == []
    assert counts(queue) == (0, 0, 0, 0)
    with pytest.raises(QueueEmptyError), queue.take(block=False):
        pass


def test_acknowledging_a_message_too_late_is_an_error(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"v")

    def lose() -> None:
        age(100)
        queue.ack(*queue.recover(60))

    with pytest.raises(ItemLostError, match="done twice"), queue.take():
        lose()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"backend": "kafka"}, "backend"),
        ({"max_deliveries": 0}, "max_deliveries"),
        ({"codec": "xml"}, "codec"),
    ],
)
def test_contradictory_options_are_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        ReliableQueue("jobs", **options)


def test_arguments_are_checked_before_anything_is_sent(queue: Any, raw: redis.Redis) -> None:
    calls: list[tuple[str, Callable[[], object]]] = [
        ("count", lambda: queue.pop(0)),
        ("timeout", lambda: queue.pop(timeout=-1)),
        ("min_idle", lambda: queue.recover(-1)),
        ("count", lambda: queue.inspect(count=0)),
        ("delay", lambda: queue.push(b"v", delay=-1)),
        ("heartbeat", lambda: queue.work(print, min_idle=1, heartbeat=2)),
    ]
    for what, call in calls:
        with pytest.raises(ValueError, match=what):
            call()
    assert raw.keys() == []


def test_two_clients_recover_no_message_twice(
    make: Make, task: StartTask, age: Callable[[float], None]
) -> None:
    items = [b"%d" % number for number in range(60)]
    first = make()
    first.push(*items)
    first.pop(60)
    age(100)
    begin = threading.Barrier(4)

    def recover(queue: Any) -> list[bytes]:
        begin.wait()
        return datas(queue.recover(60, 60))

    recovering = [task(lambda queue=queue: recover(queue)) for queue in [make() for _ in range(4)]]  # type: ignore[misc]
    found = [data for each in recovering for data in each.result()]
    assert sorted(found) == sorted(items)


@pytest.mark.parametrize("count", [20, 50])
def test_a_recovery_without_an_idle_time_delivers_each_message_once(make: Make, count: int) -> None:
    """It takes several steps, and what the first has delivered has been idle for no less than 0 s."""
    queue = make()
    numbers = [b"%d" % number for number in range(20)]
    queue.push(*numbers)
    assert len(queue.pop(20)) == 20
    again = queue.recover(0, count)
    assert [(each.data, each.deliveries) for each in again] == [(each, 2) for each in numbers]
    assert [each.message.deliveries for each in queue.pending(0, 50)] == [2] * 20


def test_a_recovery_that_finds_dead_letters_delivers_the_rest_once(make: Make) -> None:
    queue = make(max_deliveries=2)
    queue.push(b"1", b"2", b"3")
    first, second, third = queue.pop(3)
    assert [each.data for each in queue.recover(0, 1)] == [b"1"]
    assert sorted((each.data, each.deliveries) for each in queue.recover(0, 3)) == [(b"2", 2), (b"3", 2)]
    assert [each.message.data for each in queue.dead()] == [b"1"]
    assert queue.ack(second, third) == [second.id, third.id]
    assert not queue.ack(first)
