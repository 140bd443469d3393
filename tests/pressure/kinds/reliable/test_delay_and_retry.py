"""Delayed messages, retries and dead letters, with every backend."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import redis

from pressure import ReliableQueue, exponential

from ...conftest import StartTask
from ..conftest import Make
from .conftest import JOBS, counts, datas


def test_a_delayed_message_is_delivered_when_due(queue: Any, age: Callable[[float], None]) -> None:
    assert len(queue.push(b"later", delay=60)) == 1
    queue.push(b"now")
    assert counts(queue) == (1, 0, 1, 0)
    assert datas(queue.pop(5)) == [b"now"]
    assert queue.pop(block=False) == []
    age(61)
    assert datas(queue.pop(5, block=False)) == [b"later"]
    assert counts(queue) == (0, 2, 0, 0)


def test_a_pop_that_waits_gets_a_delayed_message_when_it_is_due(queue: Any) -> None:
    queue.push(b"v", delay=0.2)
    assert datas(queue.pop(timeout=15)) == [b"v"]


def test_move_due_moves_all_due_messages_into_the_queue(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(*(b"%d" % number for number in range(150)), delay=60)
    assert queue.move_due() == 0
    age(61)
    assert queue.move_due() == 150
    assert counts(queue) == (150, 0, 0, 0)


def test_a_retry_keeps_the_delivery_count(queue: Any, age: Callable[[float], None]) -> None:
    queue.push(b"a:b")
    (message,) = queue.pop()
    assert queue.retry(message, 60)
    assert counts(queue) == (0, 0, 1, 0)
    assert not queue.retry(message, 60)
    assert counts(queue) == (0, 0, 1, 0)
    age(61)
    (again,) = queue.pop(block=False)
    assert (again.data, again.deliveries) == (b"a:b", 2)
    age(100)
    (third,) = queue.recover(60)
    assert third.deliveries == 3
    assert queue.pending()[0].message.deliveries == 3
    queue.retry(third)
    age(2.5)
    assert queue.pop(block=False) == []
    age(1.6)
    assert queue.pop(block=False)[0].deliveries == 4


def test_a_message_delivered_too_often_goes_to_the_dead_letter_queue(
    make: Make, age: Callable[[float], None]
) -> None:
    queue, dead = make(max_deliveries=2), make("jobs:dead")
    queue.push(b"1", b"2", b"3")
    for message in queue.pop(2):
        queue.retry(message, 0)
    age(0.001)
    due = queue.pop(3)
    assert datas(due) == [b"1", b"2", b"3"]
    for message in due[:2]:
        assert queue.retry(message, 0)
    assert counts(queue) == (0, 1, 0, 2)
    for _ in range(2):
        age(100)
        queue.recover(60, 5)
    assert counts(queue) == (0, 0, 0, 3)
    assert sorted(datas(dead.pop(5))) == [b"1", b"2", b"3"]


def test_recover_returns_messages_although_a_dead_one_cannot_be_moved(
    make: Make, age: Callable[[float], None], raw: redis.Redis
) -> None:
    queue = make(max_deliveries=2)
    queue.push(b"dead", b"good")
    queue.pop()
    age(9)
    assert datas(queue.recover(5)) == [b"dead"]
    queue.pop()
    age(9)
    raw.set("queue:jobs:dead", "of another program")
    assert datas(queue.recover(5, 2)) == [b"good"]
    age(9)
    raw.delete("queue:jobs:dead")
    queue.recover(5, 2)
    queue.move_due()  # it may have got as far as the delayed messages
    assert b"dead" in datas(make("jobs:dead").pop(5, timeout=0)) + datas(queue.pop(5, timeout=0))


def test_recover_moves_every_dead_message_even_when_it_is_asked_for_one(
    make: Make, age: Callable[[float], None]
) -> None:
    queue = make(max_deliveries=1)
    queue.push(b"1")
    queue.pop()
    other = make()
    other.push(b"2")
    other.pop()
    age(100)
    assert queue.recover(60, 1) == []
    assert counts(queue) == (0, 0, 0, 2)


def test_an_exponential_backoff_doubles_up_to_its_maximum() -> None:
    assert [exponential(2, 10)(deliveries) for deliveries in (1, 2, 3, 4, 99)] == [2, 4, 8, 10, 10]


def test_messages_that_other_programs_added_are_delivered(redis_url: str, raw: redis.Redis) -> None:
    raw.xadd(JOBS, {"job": "theirs"})
    raw.zadd(f"{JOBS}:delayed", {"odd": 1})
    with ReliableQueue("jobs", url=redis_url, backend="stream") as queue:
        queue.move_due()
        assert datas(queue.pop(5)) == [b"theirs", b"odd"]


def test_two_clients_move_no_message_twice(make: Make, task: StartTask, age: Callable[[float], None]) -> None:
    items = [b"%d" % number for number in range(60)]
    first = make()
    first.push(*items, delay=60)
    age(61)
    begin = threading.Barrier(4)

    def move(queue: Any) -> int:
        begin.wait()
        return int(queue.move_due())

    moving = [task(lambda queue=queue: move(queue)) for queue in [make() for _ in range(4)]]  # type: ignore[misc]
    assert sum(each.result() for each in moving) == 60
    assert sorted(datas(first.pop(100))) == sorted(items)
