"""redis-py without sockets: commands per second of one thread, on miniredis and on fakeredis."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Generator
from time import perf_counter
from typing import Any

import miniredis
from pressure.extras import how_to_install

from .timing import samples
from .turns import MissingError, Pair
from .workbench import Workbench

__all__ = ["in_process_async_rates", "in_process_rates"]


def in_process_rates(bench: Workbench) -> Generator[Pair]:
    """Commands per second: ``server.client()`` of miniredis, and ``fakeredis.FakeRedis()``.

    SET, GET, INCR, LPUSH and RPOP in turn, each waited for.
    """
    fakeredis = peer()
    with miniredis.start() as server, server.client() as ours, fakeredis.FakeRedis() as theirs:
        for _ in bench.turns():
            yield Pair(rate(ours, bench.effort.seconds), rate(theirs, bench.effort.seconds))


def in_process_async_rates(bench: Workbench) -> Generator[Pair]:
    """The same by ``server.async_client()``, and by ``fakeredis.FakeAsyncRedis()``."""
    fakeredis = peer()
    with miniredis.start() as server, asyncio.Runner() as runner:
        ours, theirs = server.async_client(), fakeredis.FakeAsyncRedis()
        try:
            for _ in bench.turns():
                yield Pair(*(runner.run(async_rate(each, bench.effort.seconds)) for each in (ours, theirs)))
        finally:
            for each in (ours, theirs):
                runner.run(each.aclose())


def peer() -> Any:
    """The package fakeredis, an extra."""
    if importlib.util.find_spec("fakeredis") is None:
        raise MissingError(f"fakeredis is not installed: {how_to_install('bench')}")
    return importlib.import_module("fakeredis")


def rate(client: Any, seconds: float) -> float:
    """Commands per second."""

    def once() -> float:
        begin = perf_counter()
        client.set("key", "xxx")
        client.get("key")
        client.incr("number")
        client.lpush("list", "xxx")
        client.rpop("list")
        return perf_counter() - begin

    times = samples(once, seconds)
    return 5 * len(times) / sum(times)


async def async_rate(client: Any, seconds: float) -> float:
    """Commands per second."""
    begin, rounds = perf_counter(), 0
    while (now := perf_counter()) < begin + seconds:
        await client.set("key", "xxx")
        await client.get("key")
        await client.incr("number")
        await client.lpush("list", "xxx")
        await client.rpop("list")
        rounds += 1
    return 5 * rounds / (now - begin)
