"""Popping from several queues in the order of their priority, with every backend."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import redis

from ...conftest import StartTask, waiting
from ..conftest import Make
from .conftest import counts


@pytest.fixture
def three(make: Make) -> list[Any]:
    """Queues, the first of which goes first."""
    return [make(name) for name in ("urgent", "normal", "idle")]


def told(found: Any) -> list[tuple[bytes, bytes]]:
    """The queues' names, and the messages."""
    return [(queue.name, message.data) for queue, message in found]


def test_messages_of_earlier_queues_are_popped_first(three: list[Any]) -> None:
    urgent, normal, idle = three
    idle.push(b"5")
    normal.push(b"3", b"4")
    urgent.push(b"1", b"2")
    assert told(urgent.pop_any(normal, idle, count=3)) == [
        (b"urgent", b"1"),
        (b"urgent", b"2"),
        (b"normal", b"3"),
    ]
    urgent.push(b"new")
    assert told(urgent.pop_any(normal, idle)) == [(b"urgent", b"new")]
    assert told(urgent.pop_any(normal, idle, count=9)) == [(b"normal", b"4"), (b"idle", b"5")]
    assert urgent.pop_any(normal, idle, count=9, block=False) == []
    assert [counts(each)[:2] for each in three] == [(0, 3), (0, 2), (0, 1)]


def test_each_message_is_acknowledged_in_the_queue_it_came_from(three: list[Any]) -> None:
    urgent, normal, _ = three
    normal.push(b"v")
    ((queue, message),) = urgent.pop_any(normal)
    by_name = {each.name: each for each in three}
    assert urgent.ack(message) == []
    assert by_name[queue.name].ack(message) == [message.id]
    assert counts(normal)[:2] == (0, 0)


def test_pop_any_works_with_a_single_queue(three: list[Any]) -> None:
    three[0].push(b"v")
    assert told(three[0].pop_any(count=2)) == [(b"urgent", b"v")]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_pop_any_waits_for_a_message_in_any_queue(
    three: list[Any], make: Make, raw: redis.Redis, task: StartTask, number: int
) -> None:
    urgent, *others = three
    for _ in range(2):  # the second time there are groups, and something that was delivered
        working = task(lambda: urgent.pop_any(*others, count=2, timeout=15))
        waiting(raw)
        make(three[number].name).push(b"v")
        assert told(working.result()) == [(three[number].name, b"v")]


def test_due_messages_of_any_queue_are_delivered(three: list[Any], age: Callable[[float], None]) -> None:
    urgent, normal, idle = three
    normal.push(b"later", delay=60)
    assert urgent.pop_any(normal, idle, block=False) == []
    age(61)
    assert told(urgent.pop_any(normal, idle, block=False)) == [(b"normal", b"later")]


def test_pop_any_waits_for_a_delayed_message_in_any_queue(three: list[Any]) -> None:
    urgent, normal, idle = three
    idle.push(b"v", delay=0.2)
    assert told(urgent.pop_any(normal, idle, timeout=15)) == [(b"idle", b"v")]


def test_pop_any_counts_earlier_deliveries(three: list[Any]) -> None:
    urgent, normal, _ = three
    normal.push(b"v")
    ((_, message),) = urgent.pop_any(normal)
    normal.retry(message, 0)
    ((_, again),) = urgent.pop_any(normal)
    assert (again.data, again.deliveries) == (b"v", 2)


def test_pop_any_refuses_queues_of_another_server_or_backend(
    three: list[Any], make: Make, raw: redis.Redis
) -> None:
    urgent, normal, _ = three
    elsewhere = make("normal", url="redis://127.0.0.1:1")
    with pytest.raises(ValueError, match="one server"):
        urgent.pop_any(elsewhere)
    other = "stream" if urgent.capabilities().backend == "module" else "module"
    with pytest.raises(ValueError, match="the same backend"):
        urgent.pop_any(make("normal", backend=other))
    with pytest.raises(ValueError, match="count"):
        urgent.pop_any(normal, count=0)
    assert raw.keys() == []
    gc.collect()  # a connection that nobody has any more would be told of here
