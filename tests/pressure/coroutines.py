"""Runs coroutine functions of tests on the loop of a flavour."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
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
