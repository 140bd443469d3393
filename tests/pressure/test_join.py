"""``join`` and ``task_done``, as those of ``queue.Queue``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import redis

import pressure
from pressure import Queue, QueueDoesNotExistError

from .conftest import StartTask, waiting

Make = Callable[..., Queue]


def test_join_waits_until_everything_is_taken_and_finished(queue: Queue, task: StartTask) -> None:
    queue.create()
    queue.put_many([b"1", b"2"])
    joining = task(queue.join)
    assert queue.get() == b"1"
    assert queue.get_many(5) == [b"2"]
    assert queue.join(timeout=0.05) is False
    queue.task_done()
    assert queue.join(timeout=0.05) is False
    queue.task_done()
    assert joining.result() is True


def test_join_waits_for_messages_that_another_client_has_not_acknowledged(queue: Queue, make: Make) -> None:
    queue.create()
    queue.put(b"v")
    with make().receive():
        assert queue.join(timeout=0.05) is False
    assert queue.join(timeout=20) is True


def test_join_does_not_wait_for_what_another_object_took_by_get(queue: Queue, make: Make) -> None:
    queue.create()
    queue.put(b"v")
    other = make()
    assert other.get() == b"v"
    assert queue.join() is True
    assert other.join(timeout=0.05) is False


class SlowToDecode:
    """A codec that decodes when it is told to."""

    def __init__(self) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def encode(self, value: bytes) -> bytes:
        return value

    def decode(self, data: bytes) -> bytes:
        self.begun.set()
        assert self.may_go_on.wait(20)
        return data


@pytest.mark.parametrize("get", [Queue.get, lambda queue: queue.get_many(2)], ids=["get", "get_many"])
def test_join_waits_for_a_value_that_is_on_its_way_to_the_caller(
    make: Make, task: StartTask, get: Callable[[Queue], Any]
) -> None:
    codec = SlowToDecode()
    queue = make(codec=codec)
    queue.create()
    queue.put(b"v")
    getting = task(lambda: get(queue))
    assert codec.begun.wait(20)
    assert queue.join(timeout=0.05) is False
    codec.may_go_on.set()
    assert getting.result() in (b"v", [b"v"])
    assert queue.join(timeout=0.05) is False
    queue.task_done()
    assert queue.join(timeout=5) is True


def test_join_does_not_wait_for_a_get_that_waits(queue: Queue, task: StartTask, raw: redis.Redis) -> None:
    queue.create()
    getting = task(queue.get)
    waiting(raw)
    assert queue.join(timeout=0) is True
    queue.shutdown()
    with pytest.raises(pressure.QueueClosedError):
        getting.result()


def test_join_ends_when_the_queue_is_deleted(queue: Queue, make: Make, task: StartTask) -> None:
    queue.create()
    queue.put(b"v")
    joining = task(queue.join)
    make().delete()
    with pytest.raises(QueueDoesNotExistError):
        joining.result()


def test_task_done_for_more_than_was_taken_is_a_value_error(queue: Queue) -> None:
    queue.create()
    with pytest.raises(ValueError, match="too many times"):
        queue.task_done()
    queue.put(b"v")
    for _ in queue.messages(block=False):  # acknowledged by itself
        pass
    with pytest.raises(ValueError, match="too many times"):
        queue.task_done()


def test_task_done_of_many_threads_is_counted_exactly(queue: Queue) -> None:
    queue.create()
    queue.put_many([b"v"] * 200)

    def work() -> None:
        for _ in range(50):
            queue.get(timeout=20)
            queue.task_done()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert queue.join(timeout=20)
    for thread in threads:
        thread.join()
    with pytest.raises(ValueError, match="too many times"):
        queue.task_done()


# Messages, each acknowledged when the next is asked for
def put(queue: Queue, *values: bytes) -> None:
    queue.create()
    queue.put_many(values)
