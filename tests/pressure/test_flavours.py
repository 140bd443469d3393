"""The asyncio and Trio flavours: the same queue as the synchronous one, and what cancellation leaves behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import redis
import trio

import pressure.aio
import pressure.trio
from pressure import Queue, QueueEmptyError

from .conftest import PREFIX, invariant, server_fixture, until, wait_long

JOBS = PREFIX + "jobs"
FLAVOURS: dict[str, Any] = {"aio": pressure.aio.Queue, "trio": pressure.trio.Queue}
#: A queue of either flavour.
AnyQueue = pressure.aio.Queue[bytes] | pressure.trio.Queue[bytes]
Main = Callable[[AnyQueue], Awaitable[None]]


server_address = server_fixture("embedded_server", "real_server")


@pytest.fixture(params=FLAVOURS)
def flavour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def play(flavour: str, redis_url: str) -> Callable[..., None]:
    """Runs a coroutine function on the flavour's loop, with a queue of the flavour."""

    def run(main: Main, **options: Any) -> None:
        async def whole() -> None:
            async with FLAVOURS[flavour]("jobs", **{"url": redis_url, **options}) as queue:
                await main(queue)

        if flavour == "aio":
            asyncio.run(whole())
        else:
            trio.run(whole)

    return run


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import pressure", "trio pressure.aio pressure.trio"),
        ("import pressure; pressure.aio.Queue", "trio pressure.trio"),
        ("import pressure; pressure.trio.Queue", "pressure.aio"),
    ],
)
def test_a_flavour_is_imported_only_when_it_is_used(statement: str, absent: str) -> None:
    code = f"import sys; {statement}; print([name for name in {absent.split()} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'curio'"):
        _ = pressure.curio  # type: ignore[attr-defined]


def test_each_flavour_has_every_operation_from_create_to_delete(
    play: Callable[..., None], raw: redis.Redis
) -> None:
    async def main(queue: AnyQueue) -> None:
        assert (queue.name, await queue.exists()) == (b"jobs", False)
        await queue.create(2)
        assert (await queue.empty(), await queue.full(), await queue.closed()) == (True, False, False)
        await queue.put("1")
        await queue.put_nowait(b"2")
        assert (await queue.qsize(), await queue.full()) == (2, True)
        assert (await queue.peek(), await queue.peek_many(9)) == (b"1", [b"1", b"2"])
        assert str(await queue.repair()) == "nothing to repair"
        assert await queue.get() == b"1"
        invariant(raw)
        await queue.shutdown()
        assert await queue.wait_closed()
        assert [value async for value in queue] == [b"2"]
        await queue.delete()

    play(main)
    assert raw.keys() == []


def test_arguments_are_checked_before_anything_is_sent(play: Callable[..., None], raw: redis.Redis) -> None:
    async def main(queue: AnyQueue) -> None:
        with pytest.raises(ValueError, match="bound must be"):
            await queue.create(-1)
        with pytest.raises(ValueError, match="timeout must be"):
            await queue.get(timeout=-1)
        with pytest.raises(TypeError, match="a value must be"):
            await queue.put(1)  # type: ignore[arg-type]

    play(main)
    assert raw.keys() == []


def test_another_type_of_client_is_a_type_error(flavour: str) -> None:
    with pytest.raises(TypeError, match=r"client must be of class redis\."):
        FLAVOURS[flavour]("jobs", client=object())


# Cancellation


async def blocked(raw: redis.Redis) -> None:
    """Until a client is blocked; lets others run meanwhile."""
    while not raw.info("clients")["blocked_clients"]:
        await (asyncio.sleep(0.001) if "aio" in running() else trio.sleep(0.001))


def running() -> str:
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return "aio"
    return "trio"


async def cancelled_while_blocked(
    raw: redis.Redis, work: Callable[[], Awaitable[Any]], at: Callable[[], Awaitable[Any]]
) -> Any:
    """Starts work, does something once it is blocked, and cancels it; its result, or None."""
    if running() == "aio":

        async def whole() -> Any:
            return await work()

        task = asyncio.create_task(whole())
        await blocked(raw)
        await at()
        task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            return None
    result = None
    async with trio.open_nursery() as nursery:

        async def in_scope(task_status: trio.TaskStatus[trio.CancelScope]) -> None:
            nonlocal result
            with trio.CancelScope() as scope:
                task_status.started(scope)
                result = await work()

        scope = await nursery.start(in_scope)
        await blocked(raw)
        await at()
        scope.cancel()
    return result


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
            async with asyncio.timeout(0.1):
                await asyncio.sleep(0)  # no cancellation is left over here

    asyncio.run(main())
    assert said == ["v"]


# Connections


def test_connections_are_named_kept_and_closed(play: Callable[..., None], raw: redis.Redis) -> None:
    def connected() -> int:
        return sum(f":{os.getpid()}" in client["name"] for client in raw.client_list())

    async def main(queue: AnyQueue) -> None:
        await queue.create(1)
        for _ in range(3):
            await queue.put(b"v")
            await queue.get()
        assert connected() == before + 1
        await queue.disconnect()
        until(lambda: connected() == before, "were the connections closed")
        assert await queue.length() == 0

    before = connected()
    play(main)
    until(lambda: connected() == before, "were the connections closed")


def test_operations_work_again_after_connections_were_killed(
    play: Callable[..., None], raw: redis.Redis
) -> None:
    async def main(queue: AnyQueue) -> None:
        await queue.create(2)
        raw.client_kill_filter(_type="normal", skipme=True)
        await queue.put(b"v")
        assert await queue.get() == b"v"
        raw.client_kill_filter(_type="normal", skipme=True)
        with pytest.raises(QueueEmptyError):
            await queue.get_nowait()

    play(main)


def test_an_unreachable_server_is_named_in_the_error(play: Callable[..., None]) -> None:
    async def main(queue: AnyQueue) -> None:
        with pytest.raises(pressure.ConnectionFailedError, match=r"127\.0\.0\.1:1\b"):
            await queue.length()

    play(main, url="redis://127.0.0.1:1")


def test_a_connection_lost_during_a_wait_is_an_unknown_outcome(
    play: Callable[..., None], raw: redis.Redis
) -> None:
    async def kill() -> None:
        raw.client_kill_filter(_type="normal", skipme=True)

    async def main(queue: AnyQueue) -> None:
        await queue.create(1)

        async def get() -> None:
            with pytest.raises(pressure.OutcomeUnknownError):
                await queue.get()

        await cancelled_while_blocked(raw, get, kill)

    play(main)


@pytest.mark.parametrize("protocol", [2, 3])
def test_each_flavour_works_with_both_versions_of_the_wire_protocol(
    play: Callable[..., None], redis_url: str, raw: redis.Redis, protocol: int
) -> None:
    async def main(queue: AnyQueue) -> None:
        await queue.create(1)
        with pytest.raises(QueueEmptyError):
            await queue.get(timeout=0.05)
        await queue.put(b"v")
        assert await queue.get() == b"v"
        raw.rpop(f"{JOBS}:consumer_free")
        report = await queue.repair(force=True)
        assert len(report.done) == 1

    play(main, url=f"{redis_url}?protocol={protocol}")
