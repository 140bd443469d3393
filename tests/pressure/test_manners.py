"""A queue behaves as ``queue.Queue``, files and other queues have taught people to expect."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis
import trio

import pressure
from pressure import Queue, QueueAlreadyExistsError, QueueDoesNotExistError

from .conftest import PREFIX, Task, invariant, waiting

JOBS = PREFIX + "jobs"
Start = Callable[[Callable[[], Any]], Task]
Make = Callable[..., Queue]


# Creating


def test_create_with_exist_ok_leaves_a_queue_of_that_bound_alone(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3, exist_ok=True)
    queue.put(b"v")
    queue.create(3, exist_ok=True)
    assert queue.length() == 1
    with pytest.raises(QueueAlreadyExistsError, match=r"'jobs' already exists$"):
        queue.create(3)
    invariant(raw)


def test_create_with_exist_ok_refuses_a_queue_of_another_bound(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    with pytest.raises(QueueAlreadyExistsError, match="already exists, with bound 3 instead of 0"):
        queue.create(exist_ok=True)
    invariant(raw)


def test_create_with_exist_ok_refuses_to_share_a_key_with_another_queue(make: Make, queue: Queue) -> None:
    queue.create()
    with pytest.raises(QueueAlreadyExistsError, match="would share a key"):
        make("jobs:closed").create(exist_ok=True)


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


@pytest.mark.parametrize(
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


# Joining


def test_join_waits_until_everything_is_taken_and_finished(queue: Queue, task: Start) -> None:
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
    assert queue.join(timeout=0.05) is True


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
    make: Make, task: Start, get: Callable[[Queue], Any]
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


def test_join_does_not_wait_for_a_get_that_waits(queue: Queue, task: Start, raw: redis.Redis) -> None:
    queue.create()
    getting = task(queue.get)
    waiting(raw)
    assert queue.join(timeout=0) is True
    queue.shutdown()
    with pytest.raises(pressure.QueueClosedError):
        getting.result()


def test_join_ends_when_the_queue_is_deleted(queue: Queue, make: Make, task: Start) -> None:
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


def test_messages_are_acknowledged_one_by_one(queue: Queue, raw: redis.Redis) -> None:
    put(queue, b"1", b"2", b"3")
    queue.shutdown()
    seen = []
    for message in queue.messages():
        seen.append(message.value)
        assert queue.stats().unacknowledged == 1
        assert queue.length() == 3 - len(seen)
    assert seen == [b"1", b"2", b"3"]
    invariant(raw)


def test_a_body_that_raises_puts_its_message_back(queue: Queue, raw: redis.Redis) -> None:
    put(queue, b"1", b"2", b"3")

    def fail_at_the_second() -> None:
        for message in queue.messages():
            if message.value == b"2":
                raise KeyError

    with pytest.raises(KeyError):
        fail_at_the_second()
    invariant(raw)
    assert queue.peek_many(9) == [b"2", b"3"]


def test_a_loop_that_is_left_puts_its_message_back(queue: Queue, raw: redis.Redis) -> None:
    put(queue, b"1", b"2")
    for _ in queue.messages():
        break
    invariant(raw)
    with contextlib.closing(queue.messages()) as messages:
        next(messages)
        assert queue.stats().unacknowledged == 1
    invariant(raw)
    assert queue.peek_many(9) == [b"1", b"2"]


def test_a_message_of_a_loop_can_be_rejected(queue: Queue) -> None:
    put(queue, b"1", b"2")
    for message in queue.messages(timeout=0.05):
        if message.value == b"1":
            message.reject()
    assert (queue.rejected(9), queue.length()) == ([b"1"], 0)


def test_messages_without_waiting_end_when_the_queue_is_empty(queue: Queue, raw: redis.Redis) -> None:
    put(queue, b"1", b"2")
    assert [message.data for message in queue.messages(block=False)] == [b"1", b"2"]
    assert list(queue.messages(timeout=0.05)) == []
    invariant(raw)


FLAVOURS = {"aio": pressure.aio.Queue, "trio": pressure.trio.Queue}


@pytest.fixture(params=FLAVOURS)
def play(request: pytest.FixtureRequest, redis_url: str) -> Callable[..., None]:
    """Runs a coroutine function with a queue of a flavour, in which are the values 1, 2 and 3."""

    def run(main: Callable[[Any], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with FLAVOURS[request.param]("jobs", url=redis_url) as queue:
                await queue.create()
                await queue.put_many([b"1", b"2", b"3"])
                await main(queue)
                await queue.delete()

        asyncio.run(whole()) if request.param == "aio" else trio.run(whole)

    return run


def test_coroutines_acknowledge_messages_one_by_one(play: Callable[..., None]) -> None:
    async def main(queue: Any) -> None:
        seen = []
        async for message in queue.messages(block=False):
            seen.append(message.value)
            stats = await queue.stats()
            assert (stats.unacknowledged, stats.length) == (1, 3 - len(seen))
        assert seen == [b"1", b"2", b"3"]
        assert await queue.join(timeout=1)

    play(main)


def test_a_loop_of_coroutines_that_is_closed_puts_its_message_back(play: Callable[..., None]) -> None:
    async def main(queue: Any) -> None:
        async with contextlib.aclosing(queue.messages()) as messages:
            async for _ in messages:
                break
        with contextlib.suppress(KeyError):
            async with contextlib.aclosing(queue.messages()) as messages:
                async for _ in messages:
                    raise KeyError
        assert await queue.peek_many(9) == [b"1", b"2", b"3"]
        assert await queue.holder("consumer") is None

    play(main)


def test_asyncio_puts_the_message_back_of_a_loop_that_was_left(redis_url: str) -> None:
    async def main() -> None:
        async with pressure.aio.Queue("jobs", url=redis_url) as queue:
            await queue.create()
            await queue.put(b"v")
            async for _ in queue.messages():
                break
            gc.collect()
            async with asyncio.timeout(10):
                while await queue.length() == 0:
                    await asyncio.sleep(0.001)
            await queue.delete()

    asyncio.run(main())


def test_an_iteration_of_coroutines_may_be_left_at_any_value(play: Callable[..., None]) -> None:
    async def main(queue: Any) -> None:
        async for value in queue:
            assert value == b"1"
            break
        gc.collect()  # Trio warns of a generator that nobody closed
        await queue.shutdown()
        assert [value async for value in queue] == [b"2", b"3"]
        for _ in range(3):
            queue.task_done()

    play(main)


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
