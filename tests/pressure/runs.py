"""Calls one method of a queue in each flavour, on a queue object made and disconnected for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import trio

import pressure
import pressure.aio
import pressure.trio


def sync(main: Callable[[Any], Any], name: str = "jobs", **options: Any) -> Any:
    with pressure.Queue(name, **options) as queue:
        return main(queue)


def aio(main: Callable[[Any], Any], name: str = "jobs", **options: Any) -> Any:
    async def whole() -> Any:
        async with pressure.aio.Queue(name, **options) as queue:
            return await main(queue)

    return asyncio.run(whole())


def on_trio(main: Callable[[Any], Any], name: str = "jobs", **options: Any) -> Any:
    async def whole() -> Any:
        async with pressure.trio.Queue(name, **options) as queue:
            return await main(queue)

    return trio.run(whole)


RUNS = {"sync": sync, "aio": aio, "trio": on_trio}


def in_and_out(run: Callable[..., Any], **options: Any) -> None:
    run(lambda queue: queue.create(1), **options)
    run(lambda queue: queue.put(b"v"), **options)
    assert run(lambda queue: queue.get(), **options) == b"v"
    run(lambda queue: queue.delete(), **options)


def refused(run: Callable[..., Any], match: str, **options: Any) -> None:
    with pytest.raises(pressure.ConnectionFailedError, match=match):
        run(lambda queue: queue.exists(), **options)
