"""Close, delete and waiting for a close, key by key (pressure protocol 0.15)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
import redis

from pressure import (
    Queue,
    QueueAlreadyExistsError,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueInUseError,
    protocol,
)
from pressure.protocol import Context, Deadline
from tests.tools.simulation import Simulation, operation

from .conftest import JOBS, OPERATIONS, StartTask, invariant, until, waiting

Make = Callable[..., Queue]


def test_close_pushes_two_marks_and_a_second_close_is_an_error(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    assert queue.closed() is False
    queue.shutdown()
    assert queue.closed() is True
    assert raw.llen(f"{JOBS}:closed") == 2
    with pytest.raises(QueueClosedError, match="'jobs' is closed"):
        queue.shutdown()
    invariant(raw)


@pytest.mark.parametrize("overfill", [False, True])
def test_a_put_on_a_closed_queue_fails_at_once(queue: Queue, raw: redis.Redis, overfill: bool) -> None:
    queue.create()
    queue.shutdown()
    with pytest.raises(QueueClosedError):
        queue.put(b"v", overfill=overfill)
    invariant(raw)
    raw.rpop(f"{JOBS}:producer_free")
    with pytest.raises(QueueClosedError):  # before the role
        queue.put(b"v", overfill=overfill)


def test_a_put_that_waits_for_its_role_sees_the_close(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create()
    raw.rpop(f"{JOBS}:producer_free")
    put = task(lambda: queue.put(b"v"))
    waiting(raw)
    raw.lpush(f"{JOBS}:closed", 0, 0)
    raw.lpush(f"{JOBS}:producer_free", 0)
    with pytest.raises(QueueClosedError):
        put.result()
    invariant(raw)


def test_a_closed_queue_delivers_the_values_it_still_has(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put(b"1")
    queue.put(b"2")
    queue.shutdown()
    assert list(queue) == [b"1", b"2"]
    for call in (queue.get, queue.get_nowait, lambda: queue.get(timeout=1)):
        with pytest.raises(QueueClosedError):
            call()
    invariant(raw)


def test_a_waiting_get_sees_the_close_and_leaves_both_marks(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create()
    get = task(queue.get)
    waiting(raw)
    queue.shutdown()
    with pytest.raises(QueueClosedError):
        get.result()
    invariant(raw)
    assert queue.closed()


@pytest.mark.parametrize("value_first", [True, False])
def test_a_waiting_get_loses_no_value_when_the_queue_is_closed(
    queue: Queue, raw: redis.Redis, task: StartTask, value_first: bool
) -> None:
    queue.create()
    get = task(queue.get)
    waiting(raw)
    pushes: list[tuple[str, bytes | int]] = [(JOBS, b"v"), (f"{JOBS}:closed", 0)]
    with raw.pipeline(transaction=True) as together:
        for key, value in pushes if value_first else pushes[::-1]:
            together.lpush(key, value)
        together.lpush(f"{JOBS}:closed", 0)
        together.execute()
    assert get.result() == b"v"
    assert raw.llen(f"{JOBS}:closed") == 2
    with pytest.raises(QueueClosedError):
        queue.get()


@pytest.mark.parametrize("name", ["put", "get", "close", "wait_closed"])
def test_a_waiting_operation_ends_when_the_queue_is_deleted(
    make: Make, raw: redis.Redis, task: StartTask, name: str
) -> None:
    queue = make()
    queue.create(1)
    if name == "put":
        queue.put(b"full")
    if name == "close":
        raw.rpop(f"{JOBS}:producer_free")
    operation = task(lambda: OPERATIONS[name](queue))
    waiting(raw)
    delete = task(lambda: make().delete())
    if name == "close":
        until(lambda: not queue.exists())
        raw.lpush(f"{JOBS}:producer_free", 0)
    with pytest.raises(QueueDoesNotExistError):
        operation.result()
    delete.result()
    assert raw.keys() == []


@pytest.mark.parametrize("name", ["put", "get", "close"])
def test_a_wait_for_a_role_ends_when_the_queue_is_deleted(
    queue: Queue, raw: redis.Redis, task: StartTask, name: str
) -> None:
    queue.create()
    raw.delete(f"{JOBS}:producer_free", f"{JOBS}:consumer_free")
    operation = task(lambda: OPERATIONS[name](queue))
    waiting(raw)
    raw.flushall()
    with pytest.raises(QueueDoesNotExistError):
        operation.result()
    assert raw.keys() == []


def test_delete_removes_every_key(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    queue.put(b"1")
    queue.put(b"2")
    queue.get()
    queue.shutdown()
    raw.lpush(f"{JOBS}:unacked", "in flight")
    queue.delete()
    assert raw.keys() == []
    queue.create()
    assert queue.empty()


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_a_delete_that_timed_out_is_finished_by_another(queue: Queue, raw: redis.Redis, role: str) -> None:
    queue.create()
    queue.put(b"v")
    raw.rpop(f"{JOBS}:{role}_free")
    raw.set(f"{JOBS}:{role}", "somebody")
    with pytest.raises(QueueInUseError, match="held by somebody"):
        queue.delete(timeout=0.05)
    assert not queue.exists()
    with pytest.raises(QueueDoesNotExistError):
        queue.put(b"v")
    with pytest.raises(QueueAlreadyExistsError, match="an unfinished delete has left it"):
        queue.create()
    raw.lpush(f"{JOBS}:{role}_free", 0)
    queue.delete()
    assert raw.keys() == []


def test_two_deletes_at_once_leave_no_key(make: Make, raw: redis.Redis, task: StartTask) -> None:
    queue = make()
    queue.create()
    raw.rpop(f"{JOBS}:producer_free")
    raw.set(f"{JOBS}:producer", "somebody")
    deletes = [task(lambda: make().delete()) for _ in range(2)]
    waiting(raw, 2)
    raw.lpush(f"{JOBS}:producer_free", 0)
    for delete in deletes:
        delete.result()
    assert raw.keys() == []


def test_a_delete_spares_a_queue_that_was_created_again_after_another_delete() -> None:
    """Whatever the slower of two deletes has done before, and what it does when the new queue has a message."""
    forever: Callable[[Context], Deadline] = lambda context: Deadline.of(context)  # noqa: E731
    for first, steps in product(range(9), range(2, 9)):  # after two, it has removed the bound
        simulation = Simulation(lambda _: 0)
        simulation.do(operation(protocol.create, 0))
        fast, slow = (simulation.actor(name).will(operation(protocol.delete, forever)) for name in "ab")
        for actor, number in ((fast, first), (slow, steps)):
            for _ in range(number):
                if actor.can_go_on:
                    actor.go_on()
        while simulation.ask("KEYS", "*"):
            if fast.can_go_on:
                fast.go_on()
            else:
                simulation.pass_time(0.1)
        simulation.do(operation(protocol.create, 2))
        simulation.do(operation(protocol.put, b"v", forever))
        simulation.run()
        assert None in slow.results or None in fast.results
        keys = simulation.keys
        lists = (keys.queue, keys.producer_free, keys.consumer_free, keys.not_full)
        assert [simulation.ask("LRANGE", key, 0, -1) for key in lists] == [[b"v"], [b"0"], [b"0"], [b"0"]]


def test_wait_closed_waits_until_the_queue_is_closed_or_the_timeout_ends(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create()
    assert queue.wait_closed(timeout=0.05) is False
    assert queue.wait_closed(timeout=0) is False
    waits = [task(queue.wait_closed) for _ in range(3)]
    waiting(raw, 3)
    queue.shutdown()
    assert [wait.result() for wait in waits] == [True] * 3
    assert queue.wait_closed() is True
    invariant(raw)


def test_wait_closed_sees_the_close_although_other_clients_pop_the_marks(
    queue: Queue, raw: redis.Redis, task: StartTask, redis_url: str
) -> None:
    queue.create()
    wait = task(queue.wait_closed)
    waiting(raw)

    def eat() -> None:
        with redis.Redis.from_url(redis_url) as other:
            other.brpop([f"{JOBS}:closed"], timeout=10)

    eaters = [task(eat) for _ in range(2)]
    waiting(raw, 3)
    queue.shutdown()
    assert wait.result() is True
    for eater in eaters:
        eater.result()
