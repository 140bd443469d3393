"""``for message in queue.messages()``: each message is acknowledged when the next is asked for."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis
import trio

import pressure
from pressure import Queue

from .conftest import invariant


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
