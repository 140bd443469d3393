"""Delivery, acknowledgement and recovery of messages, with every backend."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import redis

from pressure import Capabilities, ItemLostError, QueueEmptyError, ReliableQueue

from ...conftest import StartTask, execute, waiting
from ..conftest import Make
from .conftest import SETTINGS, MishapError, counts, datas


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


def test_messages_are_delivered_in_order_and_acknowledged(queue: Any) -> None:
    ids = queue.push(b"1", "2", b"3")
    assert counts(queue) == (3, 0, 0, 0)
    first = queue.pop()[0]
    assert (first.id, first.data, first.value, first.deliveries) == (ids[0], b"1", b"1", 1)
    rest = queue.pop(5)
    assert datas(rest) == [b"2", b"3"]
    assert counts(queue) == (0, 3, 0, 0)
    assert queue.ack(first, rest[0].id) == [ids[0], ids[1]]
    assert queue.ack(first, rest[1]) == [ids[2]]
    assert counts(queue) == (0, 0, 0, 0)
    assert queue.info().last_id == ids[2]


def test_a_pop_of_an_empty_queue_returns_nothing(queue: Any) -> None:
    assert queue.pop(block=False) == queue.pop(timeout=0.02) == queue.recover(0) == []
    assert queue.inspect() == queue.pending() == queue.push() == queue.ack() == queue.heartbeat() == []
    assert queue.ack(b"1-1") == []
    assert counts(queue) == (0, 0, 0, 0)
    with pytest.raises(QueueEmptyError), queue.take(block=False):
        pass


def test_a_pop_waits_for_a_message(queue: Any, make: Make, raw: redis.Redis, task: StartTask) -> None:
    for _ in range(2):  # the second time there is a group
        working = task(lambda: queue.pop(3, timeout=15))
        waiting(raw)
        make().push(b"v")
        (message,) = working.result()
        assert message.data == b"v"
        queue.ack(message)


def test_a_block_acknowledges_its_message_unless_it_raises(queue: Any) -> None:
    queue.push(b"1", b"2")
    with queue.take() as message:
        assert message.data == b"1"
    with pytest.raises(MishapError), queue.take():
        raise MishapError
    assert counts(queue) == (0, 1, 0, 0)
    (left,) = queue.pending()
    assert left.message.data == b"2"


def test_recover_redelivers_messages_that_are_not_acknowledged_in_time(
    queue: Any, age: Callable[[float], None]
) -> None:
    queue.push(b"1", b"2", b"3")
    queue.pop(2)
    assert queue.recover(60, 5) == []
    age(100)
    (third,) = queue.pop()
    again = queue.recover(60, 5)
    assert [(each.data, each.deliveries) for each in again] == [(b"1", 2), (b"2", 2)]
    assert queue.recover(60, 5) == []
    assert [each.deliveries for each in queue.recover(0, 3)].count(3) == 2
    assert len(queue.ack(third, *again)) == 3


def test_acknowledging_a_message_too_late_is_an_error(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"v")

    def lose() -> None:
        age(100)
        queue.ack(*queue.recover(60))

    with pytest.raises(ItemLostError, match="done twice"), queue.take():
        lose()


def test_pending_lists_delivered_messages_with_their_idle_times(
    queue: Any, age: Callable[[float], None], raw: redis.Redis
) -> None:
    queue.push(*(b"%d" % number for number in range(5)))
    queue.pop(4)
    age(100)
    found = queue.pending(1, 2)
    assert [(each.message.data, each.message.deliveries) for each in found] == [(b"1", 1), (b"2", 1)]
    assert 100 <= found[0].idle < 120
    assert abs(found[0].since + found[0].idle - float(execute(raw, "TIME")[0])) < 20
    assert [each.message.data for each in queue.pending(-2, 10)] == [b"2", b"3"]
    assert queue.pending(9, 1) == queue.pending(-9, 1) == []


def test_inspect_lists_messages_not_delivered_yet(queue: Any) -> None:
    queue.push(*(b"%d" % number for number in range(5)))
    assert datas(queue.inspect(3, 10)) == [b"3", b"4"]
    queue.pop(2)
    assert datas(queue.inspect(0, 2)) == [b"2", b"3"]
    assert datas(queue.inspect(-2, 1)) == [b"3"]
    assert queue.inspect()[0].deliveries == 0
    assert queue.inspect(9, 1) == queue.inspect(-9, 1) == []


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
