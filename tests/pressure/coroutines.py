"""Runs coroutine functions of tests on the loop of a flavour, and cancels them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import redis
import trio

import pressure.aio
import pressure.trio

#: The flavours with coroutines.
COROUTINES: dict[str, Any] = {"aio": pressure.aio.Queue, "trio": pressure.trio.Queue}
AnyQueue = pressure.aio.Queue[bytes] | pressure.trio.Queue[bytes]
Main = Callable[[AnyQueue], Awaitable[None]]


@pytest.fixture
def play(flavour: str, redis_url: str) -> Callable[..., None]:
    """Runs a coroutine function on the flavour's loop, with a queue of the flavour."""

    def run(main: Main, **options: Any) -> None:
        async def whole() -> None:
            async with COROUTINES[flavour]("jobs", **{"url": redis_url, **options}) as queue:
                await main(queue)

        if flavour == "aio":
            asyncio.run(whole())
        else:
            trio.run(whole)

    return run


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
