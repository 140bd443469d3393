"""Messages that are due are delivered on time although others wait, with every backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from ...conftest import StartTask
from ..conftest import Make
from .conftest import JOBS, counts, datas

BACKLOG = [b"%d" % number for number in range(20)]


def test_a_due_message_is_delivered_before_the_backlog(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"due", delay=60)
    queue.push(*BACKLOG)
    assert datas(queue.pop()) == [b"0"]
    age(61)
    seen = datas(queue.pop()) + datas(queue.pop())
    assert b"due" in seen


def test_a_new_client_delivers_what_is_due_first(make: Make, age: Callable[[float], None]) -> None:
    make().push(b"due", delay=60)
    make().push(*BACKLOG)
    age(61)
    assert datas(make().pop()) == [b"due"]


def test_a_retry_under_a_backlog_comes_when_it_is_due(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"bad", *BACKLOG)
    (message,) = queue.pop()
    queue.retry(message, 60)
    assert b"bad" not in datas(queue.pop(2))
    age(61)
    (again,) = [each for each in queue.pop(2) + queue.pop(2) if each.data == b"bad"]
    assert again.deliveries == 2
    assert again.id.startswith(message.id + b"@")
    assert queue.ack(again) == [again.id]


def test_due_messages_come_in_the_order_of_their_times_and_then_of_their_pushes(
    queue: Any, age: Callable[[float], None]
) -> None:
    queue.push(b"late", delay=90)
    queue.push(b"a", b"b", b"c", b"d", b"e", delay=60)
    queue.push(b"soon", delay=30)
    age(100)
    assert datas(queue.pop(9) + queue.pop(9, block=False)) == [b"soon", b"a", b"b", b"c", b"d", b"e", b"late"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_neither_the_backlog_nor_what_is_due_starves(
    queue: Any, age: Callable[[float], None], count: int
) -> None:
    queue.push(*(b"due" for _ in range(40)), delay=60)
    queue.push(*(b"waits" for _ in range(40)))
    age(61)
    seen: list[bytes] = []
    while len(seen) < 30:
        seen += datas(queue.pop(count))
    assert 9 <= seen.count(b"due") <= 21


def test_what_is_due_can_be_acknowledged_recovered_and_kept_alive_like_the_rest(
    queue: Any, age: Callable[[float], None]
) -> None:
    queue.push(b"due", delay=60)
    age(61)
    queue.push(b"now")
    due, now = queue.pop(2)
    assert (due.data, now.data) == (b"due", b"now")
    assert counts(queue) == (0, 2, 0, 0)
    assert [each.message.data for each in queue.pending()] == [b"due", b"now"]
    assert [each.message.data for each in queue.pending(-1)] == [b"now"]
    assert [each.message.id for each in queue.pending(0, 1)] == [due.id]
    age(100)
    assert queue.heartbeat(due, now.id) == [due.id, now.id]
    assert queue.recover(60, 5) == []
    age(100)
    again = queue.recover(60, 5)
    assert [(each.id, each.data, each.deliveries) for each in again] == [
        (due.id, b"due", 2),
        (now.id, b"now", 2),
    ]
    assert queue.ack(*again) == [due.id, now.id]
    assert counts(queue) == (0, 0, 0, 0)
    assert queue.ack(*again) == []


def test_a_message_keeps_its_id_over_delays_and_retries(queue: Any, age: Callable[[float], None]) -> None:
    (pushed,) = queue.push(b"v", delay=60)
    found = []
    for _ in range(3):
        age(61)
        (message,) = queue.pop(block=False)
        found.append(message)
        queue.retry(message, 60)
    assert {each.id.partition(b"@")[0] for each in found} == {pushed}
    assert len({each.id for each in found}) == 3
    assert found[0].first == found[2].first


def test_a_cancelled_message_is_not_delivered(queue: Any, age: Callable[[float], None]) -> None:
    first, second, third = queue.push(b"1", b"2", b"3", delay=60)
    assert queue.cancel(second)
    assert not queue.cancel(second)
    assert counts(queue) == (0, 0, 2, 0)
    age(61)
    assert datas(queue.pop(5)) == [b"1", b"3"]
    assert not queue.cancel(first)
    assert not queue.cancel(third)


def test_only_what_is_delayed_can_be_cancelled(queue: Any) -> None:
    (waiting,) = queue.push(b"v")
    assert not queue.cancel(waiting)
    assert not queue.cancel(b"nonsense")
    with pytest.raises(TypeError, match="cancel takes an id"):
        queue.cancel("1-1")
    assert counts(queue) == (1, 0, 0, 0)


def test_what_is_due_is_delivered_after_the_server_has_lost_all_keys(
    queue: Any, raw: redis.Redis, age: Callable[[float], None]
) -> None:
    for _ in range(2):
        queue.push(b"v", delay=30)
        age(31)
        assert datas(queue.pop(block=False)) == [b"v"]
        raw.flushall()


def test_a_pop_that_waits_for_an_unknown_queue_creates_nothing(queue: Any, raw: redis.Redis) -> None:
    assert queue.pop(timeout=0.02) == queue.pop(block=False) == []
    assert raw.keys() == []


def test_a_message_that_is_due_wakes_a_client_that_waits_on_several_queues(
    make: Make, task: StartTask
) -> None:
    first, second = make("first"), make("second")
    second.push(b"v", delay=0.3)
    assert [each.data for _, each in task(lambda: first.pop_any(second, timeout=15)).result()] == [b"v"]


def test_what_others_delayed_is_delivered_when_it_is_due(queue: Any, raw: redis.Redis) -> None:
    old = b"0" * 32 + b":3:old:format"
    raw.zadd(f"{JOBS}:delayed", {b"theirs": 1, old: 2})
    assert [(each.data, each.deliveries) for each in queue.pop(5)] == [(b"theirs", 1), (b"old:format", 4)]
