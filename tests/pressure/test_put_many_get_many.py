"""put_many and get_many: to other clients the same as one put or get after the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from pressure import (
    PressureWarning,
    Queue,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
)
from pressure.protocol import scripts

from .conftest import JOBS, StartTask, invariant, roles_free, waiting


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_put_many_without_values_sends_nothing(queue: Queue, raw: redis.Redis) -> None:
    queue.put_many([])
    queue.create()
    queue.put_many(iter(()))
    assert not raw.exists(f"{JOBS}:producer")


def test_put_many_splits_values_that_do_not_fit_into_one_script(
    queue: Queue, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "_MOST_VALUES", 3)
    monkeypatch.setattr(scripts, "_MOST_PUT_BYTES", 10)
    values = [b"x" * size for size in (1, 1, 1, 1, 30, 5, 5, 1, 9, 9, 0)]
    queue.create()
    queue.put_many(values)
    invariant(raw)
    assert queue.get_many(100) == values


def test_no_other_producer_puts_between_the_values_of_put_many(
    queue: Queue, make: Callable[..., Queue], raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    many = task(lambda: queue.put_many([b"1", b"2", b"3"]))
    waiting(raw)
    one = task(lambda: make().put(b"other"))
    waiting(raw, 2)
    assert [queue.get() for _ in range(4)] == [b"1", b"2", b"3", b"other"]
    many.result()
    one.result()
    invariant(raw)


def test_the_error_for_a_full_queue_says_how_many_values_were_put(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    for options in ({"block": False}, {"timeout": 0.05}, {"timeout": 0}):
        with pytest.raises(QueueFullError) as caught:
            queue.put_many(numbers(5), **options)
        assert caught.value.done == 3
        assert "3 of 5 values were put" in caught.value.__notes__[0]
        invariant(raw)
        assert queue.get_many(9) == numbers(3)
    queue.put_many(numbers(5), overfill=True)
    assert queue.length() == 5
    assert raw.llen(f"{JOBS}:not_full") == 0


def test_a_delete_during_put_many_is_an_error_that_says_how_many_were_put(
    queue: Queue, make: Callable[..., Queue], raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    put = task(lambda: queue.put_many(numbers(3)))
    waiting(raw)
    task(make().delete).result()
    with pytest.raises(QueueDoesNotExistError) as caught:
        put.result()
    assert caught.value.done == 1
    assert raw.keys() == []


def test_a_role_lost_during_put_many_is_an_error_that_says_how_many_were_put(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    put = task(lambda: queue.put_many(numbers(3)))
    waiting(raw)
    raw.set(f"{JOBS}:producer", "another")
    raw.rpop(JOBS)
    raw.lpush(f"{JOBS}:not_full", 0)
    with pytest.raises(QueueInUseError, match="held by another") as caught:
        put.result()
    assert caught.value.done == 1
    assert raw.lrange(JOBS, 0, -1) == []
    assert raw.llen(f"{JOBS}:producer_free") == 0


def test_an_empty_or_closed_queue_is_an_error_for_get_many_and_put_many(
    queue: Queue, raw: redis.Redis
) -> None:
    queue.create()
    for options in ({"block": False}, {"timeout": 0.05}):
        with pytest.raises(QueueEmptyError):
            queue.get_many(2, **options)
        invariant(raw)
    queue.put_many([b"1"])
    queue.shutdown()
    assert queue.get_many(2) == [b"1"]
    with pytest.raises(QueueClosedError):
        queue.get_many(2)
    with pytest.raises(QueueClosedError) as caught:
        queue.put_many([b"1"])
    assert caught.value.done == 0
    invariant(raw)


@pytest.mark.parametrize("most", [0, -1])
def test_a_count_below_1_is_a_value_error(queue: Queue, most: int) -> None:
    with pytest.raises(ValueError, match="max must be 1 or more"):
        queue.get_many(most)


def test_values_are_put_although_a_counter_is_malformed(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    raw.set(f"{JOBS}:stats:produced_bytes", "no number")
    with pytest.warns(PressureWarning, match="the value is stored"):
        queue.put_many(numbers(2))
    assert roles_free(raw)
    assert queue.get_many(2) == numbers(2)


def test_put_many_and_get_many_handle_more_values_than_one_script_takes(
    queue: Queue, raw: redis.Redis
) -> None:
    queue.create()
    queue.put_many(numbers(12_345))
    assert queue.get_many(20_000) == numbers(12_345)
    invariant(raw)
