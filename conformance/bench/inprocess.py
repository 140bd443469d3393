"""redis-py without sockets: commands per second of one thread, on miniredis and on a peer in its process.

To compare with another peer, add how its client is made to ``PEERS``, and rows to ``rows.py``.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable, Generator, Mapping
from time import perf_counter
from typing import Any, Final

import miniredis
from pressure.extras import how_to_install

from .turns import MissingError, Pair
from .workbench import Measure, Workbench

__all__ = ["in_process_async_rates", "in_process_rates"]

VALUE: Final = "x" * 10
PIPELINE: Final = 100
"""Commands in a pipeline."""

PEERS: Final[Mapping[str, tuple[str, str]]] = {
    "fakeredis.FakeRedis": ("fakeredis", "FakeRedis"),
    "fakeredis.FakeAsyncRedis": ("fakeredis", "FakeAsyncRedis"),
    "burner_redis.BurnerRedis": ("burner_redis", "BurnerRedis"),
}
"""The module and the class of each peer's client."""


def peer(name: str) -> Any:
    """A client of a peer, which is an extra.

    Raises:
        MissingError: it is not installed.
    """
    module, client = PEERS[name]
    if importlib.util.find_spec(module) is None:
        raise MissingError(f"{module} is not installed: {how_to_install('bench')}")
    return getattr(importlib.import_module(module), client)()


def in_process_rates(load: str, name: str) -> Measure:
    """Commands per second of a load: by ``server.client()`` of miniredis, and by a peer."""
    work = LOADS[load]

    def measure(bench: Workbench) -> Generator[Pair]:
        theirs = peer(name)
        with miniredis.start() as server, server.client() as ours:
            for _ in bench.turns():
                yield Pair(*(rate(lambda: work(client), bench.effort.seconds) for client in (ours, theirs)))  # noqa: B023

    return measure


def in_process_async_rates(load: str, name: str) -> Measure:
    """The same by ``server.async_client()``."""
    work = ASYNC_LOADS[load]

    def measure(bench: Workbench) -> Generator[Pair]:
        with miniredis.start() as server, asyncio.Runner() as runner:
            ours, theirs = server.async_client(), peer(name)
            try:
                for _ in bench.turns():
                    yield Pair(
                        *(runner.run(async_rate(work, each, bench.effort.seconds)) for each in (ours, theirs))
                    )
            finally:
                runner.run(ours.aclose())

    return measure


def rate(work: Callable[[], int], seconds: float) -> float:
    """Commands per second."""
    begin, commands = perf_counter(), 0
    while (now := perf_counter()) < begin + seconds:
        commands += work()
    return commands / (now - begin)


async def async_rate(work: Callable[[Any], Awaitable[int]], client: Any, seconds: float) -> float:
    """Commands per second."""
    begin, commands = perf_counter(), 0
    while (now := perf_counter()) < begin + seconds:
        commands += await work(client)
    return commands / (now - begin)


# Each load makes some commands, waits for them, and returns how many they were.


def five(client: Any) -> int:
    client.set("key", VALUE)
    client.get("key")
    client.incr("number")
    client.lpush("list", VALUE)
    client.rpop("list")
    return 5


def queue(client: Any) -> int:
    client.rpush("list", VALUE)
    client.lpop("list")
    return 2


def queue_in_pipelines(client: Any) -> int:
    fill_pipeline(client.pipeline(transaction=False)).execute()
    return PIPELINE


async def async_five(client: Any) -> int:
    await client.set("key", VALUE)
    await client.get("key")
    await client.incr("number")
    await client.lpush("list", VALUE)
    await client.rpop("list")
    return 5


async def async_queue(client: Any) -> int:
    await client.rpush("list", VALUE)
    await client.lpop("list")
    return 2


async def async_queue_in_pipelines(client: Any) -> int:
    await fill_pipeline(client.pipeline(transaction=False)).execute()
    return PIPELINE


def fill_pipeline(pipeline: Any) -> Any:
    for _ in range(PIPELINE // 2):
        pipeline.rpush("list", VALUE)
        pipeline.lpop("list")
    return pipeline


LOADS: Final = {"five": five, "queue": queue, "pipelines": queue_in_pipelines}
ASYNC_LOADS: Final = {"five": async_five, "queue": async_queue, "pipelines": async_queue_in_pipelines}
