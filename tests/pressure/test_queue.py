"""What the clauses do not ask of a queue's operations: they are our client's own words, names and combinations.

``conformance.documents`` asks the rest, key by key, of every client; test_clauses.py plays it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

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
from pressure.keys import Keys
from pressure.protocol import Context, Deadline
from tests.cases import check_each
from tests.tools.simulation import Simulation, operation

from .conftest import JOBS, OPERATIONS, StartTask, invariant, waiting

Make = Callable[..., Queue]


def test_nothing_works_on_a_queue_that_was_not_created(queue: Queue, raw: redis.Redis) -> None:
    def refused(call: Callable[[Queue], object]) -> None:
        with pytest.raises(QueueDoesNotExistError, match="queue 'jobs' does not exist"):
            call(queue)
        assert raw.keys() == []

    check_each(OPERATIONS, refused)


def test_a_shutdown_ends_a_put_that_waits_for_room(
    queue: Queue, make: Make, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    queue.put(b"1")
    queue._context = replace(queue._context, slice=0.02)
    putting = task(lambda: queue.put(b"2"))
    waiting(raw)
    make().shutdown(timeout=20)
    with pytest.raises(QueueClosedError):
        putting.result()
    assert queue.get_many(5) == [b"1"]
    invariant(raw)


def test_a_shutdown_waits_for_values_of_which_some_are_put(
    queue: Queue, make: Make, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    queue._context = replace(queue._context, slice=0.02)
    putting = task(lambda: queue.put_many([b"1", b"2"]))
    waiting(raw)
    with pytest.raises(QueueInUseError):
        make().shutdown(timeout=0.1)
    assert [queue.get(), queue.get()] == [b"1", b"2"]
    putting.result()
    invariant(raw)


def test_create_is_refused_if_any_key_exists(queue: Queue, raw: redis.Redis) -> None:
    def refused(key: bytes) -> None:
        raw.flushall()
        raw.lpush(key, "x")
        with pytest.raises(QueueAlreadyExistsError):
            queue.create()
        assert raw.keys() == [key]

    check_each({key.decode(): key for key in Keys.of("jobs").twelve}, refused)


@pytest.mark.parametrize("suffix", [":closed", ":bound", ":stats:produced_bytes", ":unacked"])
@pytest.mark.parametrize("order", [1, -1])
def test_create_is_refused_beside_a_queue_that_would_share_a_key(make: Make, suffix: str, order: int) -> None:
    first, second = [make("jobs"), make("jobs" + suffix)][::order]
    first.create()
    with pytest.raises(QueueAlreadyExistsError, match=r"share a key|has left it"):
        second.create()
    assert first.length() == 0


def test_values_are_text_or_bytes_of_any_kind_and_others_touch_no_key(queue: Queue, raw: redis.Redis) -> None:
    others: tuple[Any, ...] = (1, None, 1.5, ["x"])
    for value in others:
        with pytest.raises(TypeError):
            queue.put(value)
    assert raw.keys() == []
    queue.create(5)
    for value in (b"a", "b\u00e9", bytearray(b"c"), memoryview(b"dd")):
        queue.put(value)
    invariant(raw)
    assert [queue.get() for _ in range(4)] == [b"a", b"b\xc3\xa9", b"c", b"dd"]
    assert raw.get(f"{JOBS}:stats:produced_bytes") == raw.get(f"{JOBS}:stats:consumed_bytes") == b"7"


HELD: dict[str, tuple[str, Callable[[Queue], object]]] = {
    "put_nowait": ("producer", lambda q: q.put_nowait(b"v")),
    "put": ("producer", lambda q: q.put(b"v", timeout=0.05)),
    "put, at once": ("producer", lambda q: q.put(b"v", timeout=0)),
    "close": ("producer", lambda q: q.shutdown(timeout=0.05)),
    "get_nowait": ("consumer", lambda q: q.get_nowait()),
    "get": ("consumer", lambda q: q.get(timeout=0.05)),
    "get, almost at once": ("consumer", lambda q: q.get(timeout=0.0001)),
}


def test_a_held_role_is_reported_with_its_holder(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    for role in ("producer", "consumer"):
        raw.rpop(f"{JOBS}:{role}_free")
        raw.set(f"{JOBS}:{role}", "somebody")

    def refused(case: tuple[str, Callable[[Queue], object]]) -> None:
        role, call = case
        with pytest.raises(QueueInUseError, match=f"'jobs': the {role} role is held by somebody") as caught:
            call(queue)
        assert (caught.value.role, caught.value.holder) == (role, b"somebody")
        assert raw.llen(f"{JOBS}:{role}_free") == 0

    check_each(HELD, refused)


@pytest.mark.parametrize("timeout", [-1, -0.001, math.nan])
def test_a_negative_timeout_is_a_value_error(queue: Queue, timeout: float) -> None:
    for call in (queue.get, queue.wait_closed, queue.delete, queue.shutdown, lambda **t: queue.put(b"", **t)):
        with pytest.raises(ValueError, match="timeout"):
            call(timeout=timeout)


def test_full_and_empty_mean_what_the_standard_queue_means(queue: Queue) -> None:
    queue.create(1)
    assert (queue.empty(), queue.full()) == (True, False)
    queue.put(b"1")
    assert (queue.empty(), queue.full()) == (False, True)
    queue.delete()
    queue.create(0)
    queue.put(b"1")
    assert not queue.full()


def put_numbers(queue: Queue, numbers: Iterable[int]) -> None:
    for number in numbers:
        queue.put(b"%d" % number)


def test_threads_share_one_object(queue: Queue, raw: redis.Redis, task: StartTask) -> None:
    queue.create(3)
    producers = [task(partial(put_numbers, queue, range(start, start + 50))) for start in (0, 100, 200)]
    got: list[bytes] = []
    consumers = [task(lambda: got.extend(queue)) for _ in range(2)]
    for producer in producers:
        producer.result()
    queue.shutdown()
    for consumer in consumers:
        consumer.result()
    assert sorted(map(int, got)) == [*range(50), *range(100, 150), *range(200, 250)]
    invariant(raw)


def test_an_operation_can_be_stopped_and_gives_its_role_back(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    class StoppedError(Exception):
        pass

    queue.create(1)
    wish = threading.Event()
    queue.interrupt = lambda: StoppedError() if wish.is_set() else None
    get = task(queue.get)
    waiting(raw)
    wish.set()
    with pytest.raises(StoppedError):
        get.result()
    invariant(raw)


# Close and Delete


def test_a_second_close_names_the_queue(queue: Queue) -> None:
    queue.create()
    queue.shutdown()
    with pytest.raises(QueueClosedError, match="'jobs' is closed"):
        queue.shutdown()


def test_what_an_unfinished_delete_has_left_is_named(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put(b"v")
    raw.rpop(f"{JOBS}:producer_free")
    raw.set(f"{JOBS}:producer", "somebody")
    with pytest.raises(QueueInUseError, match="held by somebody"):
        queue.delete(timeout=0.05)
    with pytest.raises(QueueAlreadyExistsError, match="an unfinished delete has left it"):
        queue.create()
    raw.lpush(f"{JOBS}:producer_free", 0)
    queue.delete()
    assert raw.keys() == []


def test_a_wait_for_a_close_ends_when_the_queue_is_deleted(
    make: Make, raw: redis.Redis, task: StartTask
) -> None:
    queue = make()
    queue.create(1)
    wait = task(queue.wait_closed)
    waiting(raw)
    make().delete()
    with pytest.raises(QueueDoesNotExistError):
        wait.result()
    assert raw.keys() == []


@pytest.mark.parametrize("name", ["get", "close"])
def test_a_wait_for_a_role_ends_when_all_keys_are_gone(
    queue: Queue, raw: redis.Redis, task: StartTask, name: str
) -> None:
    queue.create()
    queue._context = replace(queue._context, slice=0.1)
    raw.delete(f"{JOBS}:producer_free", f"{JOBS}:consumer_free")
    operation = task(lambda: OPERATIONS[name](queue))
    waiting(raw)
    raw.flushall()
    with pytest.raises(QueueDoesNotExistError):
        operation.result()
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
