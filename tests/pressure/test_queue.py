"""The operations of a queue, key by key (pressure protocol 0.15); Close and Delete are in test_closing."""

from __future__ import annotations

import math
import queue as standard
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
import redis

from pressure import (
    Queue,
    QueueAlreadyExistsError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
)
from pressure.keys import Keys

from .conftest import JOBS, OPERATIONS, StartTask, invariant, roles_free, waiting

Make = Callable[..., Queue]


@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_works_on_a_queue_that_was_not_created(queue: Queue, raw: redis.Redis, name: str) -> None:
    assert queue.exists() is False
    with pytest.raises(QueueDoesNotExistError, match="queue 'jobs' does not exist"):
        OPERATIONS[name](queue)
    assert raw.keys() == []


def test_create_writes_the_bound_and_fills_three_lists(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    assert raw.get(f"{JOBS}:bound") == b"3"
    lists = {f"{JOBS}:{which}".encode() for which in ("producer_free", "consumer_free", "not_full")}
    assert set(raw.keys()) == lists | {f"{JOBS}:bound".encode()}
    assert [raw.llen(key) for key in lists] == [1, 1, 1]
    invariant(raw)


def test_create_without_a_bound_saves_0(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    assert raw.get(f"{JOBS}:bound") == b"0"


@pytest.mark.parametrize("bound", [-1, 1.0, True, None, "5"])
def test_a_bound_is_an_integer_of_0_or_more(queue: Queue, raw: redis.Redis, bound: Any) -> None:
    with pytest.raises(ValueError, match="bound must be"):
        queue.create(bound)
    assert raw.keys() == []


def test_creating_twice_is_an_error(queue: Queue) -> None:
    queue.create(3)
    with pytest.raises(QueueAlreadyExistsError, match="'jobs' already exists"):
        queue.create(3)


@pytest.mark.parametrize("key", Keys.of("jobs").twelve)
def test_create_is_refused_if_any_key_exists(queue: Queue, raw: redis.Redis, key: bytes) -> None:
    raw.lpush(key, "x")
    with pytest.raises(QueueAlreadyExistsError):
        queue.create()
    assert raw.keys() == [key]


@pytest.mark.parametrize("suffix", [":closed", ":bound", ":stats:produced_bytes", ":unacked"])
@pytest.mark.parametrize("order", [1, -1])
def test_create_is_refused_beside_a_queue_that_would_share_a_key(make: Make, suffix: str, order: int) -> None:
    first, second = [make("jobs"), make("jobs" + suffix)][::order]
    first.create()
    with pytest.raises(QueueAlreadyExistsError, match=r"share a key|has left it"):
        second.create()
    assert first.length() == 0


def test_values_come_out_in_order_and_the_counters_count(queue: Queue, raw: redis.Redis) -> None:
    queue.create(5)
    for value in (b"a", "b\u00e9", bytearray(b"c"), memoryview(b"dd")):
        queue.put(value)
    assert raw.llen(JOBS) == queue.length() == queue.qsize() == 4
    invariant(raw)
    assert [queue.get() for _ in range(3)] == [b"a", b"b\xc3\xa9", b"c"]
    invariant(raw)
    stats = {key: raw.get(f"{JOBS}:stats:{key}") for key in ("produced_messages", "produced_bytes")}
    assert stats == {"produced_messages": b"4", "produced_bytes": b"7"}
    stats = {key: raw.get(f"{JOBS}:stats:{key}") for key in ("consumed_messages", "consumed_bytes")}
    assert stats == {"consumed_messages": b"3", "consumed_bytes": b"5"}


@pytest.mark.parametrize("value", [b"", b"\0\r\n\xff", b"x" * 3_000_000])
def test_values_are_any_bytes(queue: Queue, value: bytes) -> None:
    queue.create()
    queue.put(value)
    assert queue.get() == value


@pytest.mark.parametrize("value", [1, None, 1.5, ["x"]])
def test_other_values_are_type_errors_before_any_key_is_touched(
    queue: Queue, raw: redis.Redis, value: Any
) -> None:
    with pytest.raises(TypeError):
        queue.put(value)
    assert raw.keys() == []


@pytest.mark.parametrize("name", ["", b"\xff\0 \r\n", "a:b", "\u00fc", "{t}x"])
def test_names_are_any_bytes(make: Make, raw: redis.Redis, name: Any) -> None:
    queue = make(name)
    queue.create(1)
    queue.put(b"v")
    assert queue.get() == b"v"
    encoded = name if isinstance(name, bytes) else name.encode()
    assert raw.exists(b"__pressure__:" + encoded + b":bound")
    queue.delete()
    assert raw.keys() == []


def test_each_role_key_names_its_own_role(make: Make, raw: redis.Redis, task: StartTask) -> None:
    queue = make()
    queue.create()
    queue.put(b"v")
    assert raw.exists(f"{JOBS}:producer", f"{JOBS}:consumer") == 1
    assert raw.get(f"{JOBS}:producer")
    task(queue.get).result()
    assert raw.get(f"{JOBS}:consumer") != raw.get(f"{JOBS}:producer")


def test_a_put_waits_for_room(queue: Queue, raw: redis.Redis, task: StartTask) -> None:
    queue.create(1)
    queue.put(b"1")
    invariant(raw)
    put = task(lambda: queue.put(b"2"))
    waiting(raw)
    assert queue.get() == b"1"
    put.result()
    invariant(raw)
    assert queue.get() == b"2"
    invariant(raw)


def test_a_get_waits_for_a_value(queue: Queue, raw: redis.Redis, task: StartTask) -> None:
    queue.create(1)
    get = task(queue.get)
    waiting(raw)
    queue.put(b"1")
    assert get.result() == b"1"
    invariant(raw)


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_an_operation_waits_for_its_role(queue: Queue, raw: redis.Redis, task: StartTask, role: str) -> None:
    queue.create()
    queue.put(b"0")
    raw.rpop(f"{JOBS}:{role}_free")
    operation = task((lambda: queue.put(b"1")) if role == "producer" else queue.get)
    waiting(raw)
    raw.lpush(f"{JOBS}:{role}_free", 0)
    operation.result()
    invariant(raw)


@pytest.mark.parametrize(
    ("call", "role"),
    [
        (lambda q: q.put_nowait(b"v"), "producer"),
        (lambda q: q.put(b"v", timeout=0.05), "producer"),
        (lambda q: q.put(b"v", timeout=0), "producer"),
        (lambda q: q.shutdown(timeout=0.05), "producer"),
        (lambda q: q.delete(timeout=0.05), "producer"),
        (lambda q: q.get_nowait(), "consumer"),
        (lambda q: q.get(timeout=0.05), "consumer"),
        (lambda q: q.get(timeout=0.0001), "consumer"),
        (lambda q: q.delete(timeout=0.05), "consumer"),
    ],
)
def test_a_held_role_is_reported_with_its_holder(
    queue: Queue, raw: redis.Redis, call: Callable[[Queue], object], role: str
) -> None:
    queue.create()
    raw.rpop(f"{JOBS}:{role}_free")
    raw.set(f"{JOBS}:{role}", "somebody")
    with pytest.raises(QueueInUseError, match=f"'jobs': the {role} role is held by somebody") as caught:
        call(queue)
    assert (caught.value.role, caught.value.holder) == (role, b"somebody")
    assert raw.llen(f"{JOBS}:{role}_free") == 0


@pytest.mark.parametrize("timeout", [0, 0.0001, 0.05])
def test_a_short_timeout_ends_in_empty_or_full_and_leaves_no_role_held(
    queue: Queue, raw: redis.Redis, timeout: float
) -> None:
    queue.create(1)
    with pytest.raises(QueueEmptyError, match="'jobs' is empty") as empty:
        queue.get(timeout=timeout)
    assert isinstance(empty.value, standard.Empty)
    invariant(raw)
    queue.put(b"1", timeout=timeout)
    with pytest.raises(QueueFullError, match="'jobs' is full") as full:
        queue.put(b"2", timeout=timeout)
    assert isinstance(full.value, standard.Full)
    invariant(raw)
    assert queue.get(timeout=timeout) == b"1"


def test_without_waiting_full_and_empty_are_errors(queue: Queue, raw: redis.Redis) -> None:
    queue.create(1)
    with pytest.raises(QueueEmptyError):
        queue.get_nowait()
    queue.put_nowait(b"1")
    with pytest.raises(QueueFullError):
        queue.put_nowait(b"2")
    invariant(raw)
    assert queue.get_nowait() == b"1"
    invariant(raw)


def test_a_get_from_an_empty_queue_writes_no_key_but_those_of_the_role(
    queue: Queue, raw: redis.Redis
) -> None:
    queue.create(1)
    raw.delete(f"{JOBS}:not_full")
    with pytest.raises(QueueEmptyError):
        queue.get_nowait()
    assert not raw.exists(f"{JOBS}:not_full", f"{JOBS}:stats:consumed_messages", f"{JOBS}:closed")
    assert roles_free(raw)


@pytest.mark.parametrize("timeout", [-1, -0.001, math.nan])
def test_a_negative_timeout_is_a_value_error(queue: Queue, timeout: float) -> None:
    for call in (queue.get, queue.wait_closed, queue.delete, queue.shutdown, lambda **t: queue.put(b"", **t)):
        with pytest.raises(ValueError, match="timeout"):
            call(timeout=timeout)


def test_an_overfilling_put_takes_the_token_if_there_is_one(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    queue.put(b"1", overfill=True)
    queue.put(b"2", overfill=True)
    with pytest.raises(QueueFullError):
        queue.put_nowait(b"no room")
    queue.put(b"3", overfill=True)
    queue.put_nowait(b"4", overfill=True)
    assert queue.length() == 4
    assert queue.full()
    assert raw.llen(f"{JOBS}:not_full") == 0


def test_an_overfilled_queue_drains_to_its_bound_first(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    for value in b"12345":
        queue.put(bytes([value]), overfill=True)
    for _ in range(3):
        queue.get()
        with pytest.raises(QueueFullError):
            queue.put_nowait(b"no room")
    queue.get()
    invariant(raw)
    queue.put_nowait(b"room")


@pytest.mark.parametrize("left", [b"", b"x" * 5])
def test_surplus_tokens_of_other_clients_are_trimmed_to_one(
    queue: Queue, raw: redis.Redis, left: bytes
) -> None:
    queue.create(9)
    raw.lpush(f"{JOBS}:not_full", *[left] * 4)
    queue.put(b"1")
    assert raw.llen(f"{JOBS}:not_full") == 1
    raw.lpush(f"{JOBS}:not_full", *[left] * 4)
    queue.get()
    assert raw.llen(f"{JOBS}:not_full") == 1


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
