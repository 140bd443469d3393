"""A cancelled or interrupted operation with coroutines stops waiting, gives its role back and loses no value."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis
import trio

import pressure.aio
import pressure.trio
from pressure import Queue
from pressure.aio import connection

from ..waiting import until
from .conftest import JOBS, invariant, server_fixture, wait_long
from .coroutines import COROUTINES, AnyQueue, blocked, cancelled_while_blocked, running

server_address = server_fixture("embedded_server", "real_server")


@pytest.fixture(params=COROUTINES)
def flavour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# Cancellation


async def nothing() -> None:
    """Does nothing."""


#: What waits -> the key whose element it waits for, and the call.
WAITS: dict[str, tuple[str, Callable[[AnyQueue], Awaitable[Any]]]] = {
    "get": ("none", lambda queue: queue.get()),
    "put": ("not_full", lambda queue: queue.put(b"v")),
    "role": ("producer_free", lambda queue: queue.shutdown()),
    "wait_closed": ("none", lambda queue: queue.wait_closed()),
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_cancelled_wait_ends_at_once_and_leaves_no_role_held(
    play: Callable[..., None], raw: redis.Redis, wait: str
) -> None:
    async def main(queue: AnyQueue) -> None:
        await queue.create(1)
        key, call = WAITS[wait]
        taken = raw.rpop(f"{JOBS}:{key}")
        wait_long(queue)
        assert await cancelled_while_blocked(raw, lambda: call(queue), nothing) is None
        # On a busy machine the client may have hung up, and the server not have seen it: it would get the element.
        until(lambda: not raw.info("clients")["blocked_clients"])
        if taken is not None:
            raw.lpush(f"{JOBS}:{key}", 0)
        invariant(raw)
        await queue.put(b"w")
        assert await queue.get() == b"w"

    play(main)


def test_a_value_that_arrives_with_the_cancellation_is_returned(
    play: Callable[..., None], raw: redis.Redis, redis_url: str
) -> None:
    async def put() -> None:  # without giving the other task its turn
        with Queue("jobs", url=redis_url) as other:
            other.put(b"v")

    async def main(queue: AnyQueue) -> None:
        await queue.create(1)
        wait_long(queue)
        assert await cancelled_while_blocked(raw, queue.get, put) == b"v"
        invariant(raw)

    play(main)


def test_a_cancellation_ends_the_pause_of_a_repair(play: Callable[..., None], raw: redis.Redis) -> None:
    async def main(queue: AnyQueue) -> None:
        await queue.create(1)
        raw.rpop(f"{JOBS}:consumer_free")
        if running() == "aio":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await queue.repair()
        else:
            with trio.move_on_after(0.05) as scope:
                await queue.repair()
            assert scope.cancelled_caught

    play(main)


def test_two_tasks_that_wait_are_both_cancelled(play: Callable[..., None], raw: redis.Redis) -> None:
    async def both(queue: AnyQueue) -> None:
        if running() == "aio":
            # gather would wait for one of them only
            async with asyncio.timeout(0.1), asyncio.TaskGroup() as group:
                group.create_task(queue.get())
                group.create_task(queue.put(b"2"))
        else:
            with trio.fail_after(0.1):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(queue.get)
                    nursery.start_soon(queue.put, b"2")

    async def main(queue: AnyQueue) -> None:
        await queue.create(1)
        raw.delete(f"{JOBS}:not_full")
        wait_long(queue)
        with pytest.raises((TimeoutError, trio.TooSlowError)):
            await both(queue)
        raw.lpush(f"{JOBS}:not_full", 0)
        invariant(raw)

    play(main)


def test_ctrl_c_ends_a_wait_like_a_cancellation(play: Callable[..., None], raw: redis.Redis) -> None:
    async def main(queue: AnyQueue) -> None:
        await queue.create(1)

        async def interrupt() -> None:
            await blocked(raw)
            os.kill(os.getpid(), signal.SIGINT)

        if running() == "aio":
            task = asyncio.create_task(interrupt())
            await queue.get()
            await task
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(interrupt)
                await queue.get()

    with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)) as caught:
        play(main)
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    assert isinstance(error, KeyboardInterrupt)
    invariant(raw)


def test_a_get_that_still_waits_when_asyncio_shuts_down_leaves_no_role_held(
    redis_url: str, raw: redis.Redis
) -> None:
    tasks = []

    async def main() -> None:
        queue = pressure.aio.Queue("jobs", url=redis_url)
        await queue.create(1)

        async def wait() -> None:
            async with queue:
                await queue.get()

        tasks.append(asyncio.create_task(wait()))
        await blocked(raw)
        await queue.disconnect()

    asyncio.run(main())
    assert tasks[0].cancelled()
    invariant(raw)


def test_a_cancellation_that_was_held_back_is_raised_later(redis_url: str, raw: redis.Redis) -> None:
    """Not where asyncio.timeout() took it back, and not lost where nobody did."""
    said: list[str] = []

    async def lose_no_cancellation(queue: AnyQueue) -> None:
        said.append((await queue.get()).decode())
        await asyncio.sleep(10)

    async def main() -> None:
        async with pressure.aio.Queue("jobs", url=redis_url) as queue:
            await queue.create()
            task = asyncio.create_task(lose_no_cancellation(queue))
            await blocked(raw)
            with Queue("jobs", url=redis_url) as other:
                other.put(b"v")
            task.cancel("enough")
            with pytest.raises(asyncio.CancelledError):
                await task
            async with asyncio.timeout(20):
                await asyncio.sleep(0)  # no cancellation is left over here

    asyncio.run(main())
    assert said == ["v"]


def test_the_time_limit_of_a_connection_that_is_opened_again_does_not_cancel_the_operation(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``asyncio.timeout`` cancels the task, and takes that back when its block ends."""
    in_time = connection.exchange

    async def too_late(through: Any, data: bytes, count: int) -> Any:
        async with asyncio.timeout(0):
            for _ in range(5):
                await asyncio.sleep(0)
        return await in_time(through, data, count)

    async def main() -> None:
        async with pressure.aio.Queue("jobs", url=redis_url) as queue:
            await queue.create()
            monkeypatch.setattr("pressure.aio.driver.exchange", too_late)
            with pytest.raises(pressure.QueueEmptyError):
                await queue.get(timeout=0.5)

    asyncio.run(main())
