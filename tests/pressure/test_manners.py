"""A queue follows the conventions of ``queue.Queue``, of files and of other queues."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Any

import pytest
import redis
import trio

import pressure
from pressure import Queue, QueueAlreadyExistsError
from tests.cases import for_each

from .conftest import JOBS, invariant

Make = Callable[..., Queue]


# Creating


def test_create_with_exist_ok_leaves_a_queue_of_that_bound_alone(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3, exist_ok=True)
    queue.put(b"v")
    queue.create(3, exist_ok=True)
    assert queue.length() == 1
    with pytest.raises(
        QueueAlreadyExistsError, match=r"'jobs' already exists; with exist_ok, create accepts it"
    ):
        queue.create(3)
    invariant(raw)


def test_create_with_exist_ok_refuses_a_queue_of_another_bound(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    with pytest.raises(
        QueueAlreadyExistsError,
        match="already exists, with bound 3 instead of 0, and a bound cannot be changed",
    ):
        queue.create(exist_ok=True)
    invariant(raw)


def test_create_with_exist_ok_refuses_to_share_a_key_with_another_queue(make: Make, queue: Queue) -> None:
    queue.create()
    with pytest.raises(QueueAlreadyExistsError, match="would share a key"):
        make("jobs:closed").create(exist_ok=True)


# Arguments


@for_each("flavour", [pressure, pressure.aio, pressure.trio])
@for_each("kind", ["Queue", "BackupQueue", "RingQueue", "ReliableQueue"])
def test_the_error_about_an_unknown_argument_names_the_class_that_the_caller_wrote(
    flavour: Any, kind: str
) -> None:
    with pytest.raises(TypeError, match=rf"^{kind}.__init__\(\) got an unexpected keyword argument 'ulr'"):
        getattr(flavour, kind)("jobs", ulr="redis://localhost")


def test_the_error_about_an_unknown_argument_of_a_method_names_the_method(queue: Queue) -> None:
    with pytest.raises(TypeError, match=r"^Queue.put\(\) got an unexpected keyword argument 'timeot'"):
        queue.put(b"v", timeot=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("values", ["abc", b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_put_many_refuses_a_single_value(queue: Queue, values: Any) -> None:
    queue.create()
    with pytest.raises(TypeError, match="put_many takes several values, not one"):
        queue.put_many(values)
    assert queue.length() == 0


def test_a_queue_of_asyncio_in_trio_and_one_of_trio_in_asyncio_name_the_right_package(redis_url: str) -> None:
    with pytest.raises(RuntimeError, match=r"for Trio there is pressure\.trio"):
        trio.run(pressure.aio.Queue("jobs", url=redis_url).length)
    with pytest.raises(RuntimeError, match=r"for asyncio there is pressure\.aio"):
        asyncio.run(pressure.trio.Queue("jobs", url=redis_url).length())


# Closing


def test_closing_a_queue_object_leaves_the_queue_open(queue: Queue, make: Make) -> None:
    with contextlib.closing(make()) as mine:
        mine.create()
        mine.put(b"v")
    assert not queue.closed()
    assert queue.get() == b"v"
    mine.put(b"w")  # and the object is of use again


@pytest.mark.parametrize("kind", [pressure.BackupQueue, pressure.RingQueue, pressure.ReliableQueue])
def test_every_kind_can_be_closed_by_contextlib(kind: Any, redis_url: str) -> None:
    with contextlib.closing(kind("jobs", url=redis_url)) as queue:
        queue.push(b"v")


# Timeouts


@for_each(
    ("call", "error", "text"),
    [
        (lambda q: q.put(b"v", block=False, timeout=2), ValueError, "block=False does not wait"),
        (lambda q: q.get(False, 2), ValueError, "so it takes no timeout, such as 2"),
        (lambda q: q.receive(False, 0), ValueError, "block=False"),
        (lambda q: q.messages(block=False, timeout=2), ValueError, "block=False"),
        (lambda q: q.get(5), TypeError, "block must be True or False, not 5"),
        (lambda q: q.put(b"v", None), TypeError, "block must be True or False, not None"),
        (lambda q: q.create(""), ValueError, "bound must be an integer"),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(
    call: Callable[[Any], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call(Queue("jobs", port=1))


@pytest.mark.parametrize("call", [lambda q: q.claim(block=False, timeout=1), lambda q: q.take(False, 1)])
def test_the_other_kinds_refuse_a_timeout_without_waiting(call: Callable[[Any], object]) -> None:
    with pytest.raises(ValueError, match="block=False"):
        call(pressure.BackupQueue("jobs", port=1))


def test_every_kind_that_waits_can_be_told_not_to(redis_url: str) -> None:
    with pressure.BackupQueue("backup", url=redis_url) as backup:
        assert backup.claim_nowait() is None
        backup.push(b"v")
        item = backup.claim_nowait()
        assert item is not None
        assert item.value == b"v"
    with pressure.ReliableQueue("reliable", url=redis_url) as reliable:
        assert reliable.pop_nowait() == []
        reliable.push(b"v", b"w")
        assert [message.value for message in reliable.pop_nowait(5)] == [b"v", b"w"]


# Messages, each acknowledged when the next is asked for


def put(queue: Queue, *values: bytes) -> None:
    queue.create()
    queue.put_many(values)


# Forks


@pytest.fixture
def in_a_child() -> Callable[[Callable[[], object]], None]:
    """Runs a function in a forked child, and waits for its end."""

    def run(function: Callable[[], object]) -> None:
        child = os.fork()
        if child == 0:
            try:
                function()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    return run


def test_a_forked_child_that_leaves_a_block_leaves_the_message_to_its_parent(
    redis_url: str, raw: redis.Redis, in_a_child: Callable[[Callable[[], object]], None]
) -> None:
    with Queue("jobs", url=redis_url) as queue:
        queue.create()
        queue.put(b"v")
        block = queue.receive()
        with block:
            in_a_child(lambda: block.__exit__(None, None, None))
            assert queue.stats().unacknowledged == 1
            assert raw.llen(f"{JOBS}:consumer_free") == 0
        assert queue.stats().unacknowledged == 0
    invariant(raw)


def test_a_forked_child_that_leaves_a_block_does_not_complete_the_item(
    redis_url: str, raw: redis.Redis, in_a_child: Callable[[Callable[[], object]], None]
) -> None:
    with pressure.BackupQueue("jobs", url=redis_url) as queue:
        queue.push(b"v")
        block = queue.take()
        with block:
            in_a_child(lambda: block.__exit__(None, None, None))
            assert raw.lrange("queue:jobs:processing", 0, -1) == [b"v"]
        assert raw.lrange("queue:jobs:processing", 0, -1) == []
