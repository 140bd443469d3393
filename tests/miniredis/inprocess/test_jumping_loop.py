"""An event loop of asyncio in the time of a server: hours pass at once, and all happens in its order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest
import redis.asyncio

import miniredis
from miniredis import faults


@pytest.fixture
def server() -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start(clock="held") as server:
        yield server


@pytest.fixture
def run(server: miniredis.EmbeddedServer) -> Iterator[Callable[[Coroutine[Any, Any, None]], None]]:
    with asyncio.Runner(loop_factory=server.new_event_loop) as runner:
        yield runner.run


Run = Callable[[Coroutine[Any, Any, None]], None]


def test_what_happens_within_hours_happens_in_its_order(server: miniredis.EmbeddedServer, run: Run) -> None:
    begin = server.now
    seen: list[tuple[str, float]] = []

    def note(what: str) -> None:
        seen.append((what, (server.now - begin).total_seconds()))

    async def push(client: Any) -> None:
        await asyncio.sleep(7200)
        note("slept two hours")
        await client.rpush("jobs", "one")

    async def sleep_longer() -> None:
        await asyncio.sleep(14400)
        note("slept four hours")

    async def main() -> None:
        async with server.async_client(socket_timeout=None) as client, server.async_client() as other:
            await client.set("session", "ann", ex=5400)
            sleeping = [asyncio.create_task(each) for each in (sleep_longer(), push(other))]
            assert await client.blpop(["jobs"], timeout=3600) is None
            note("timed out")
            assert await client.blpop(["jobs"], timeout=7200) == (b"jobs", b"one")
            note("served")
            assert await client.get("session") is None
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.blpop(["other"]), 1800.5)
            note("gave up")
            await asyncio.gather(*sleeping)

    run(main())
    assert seen == [
        ("timed out", 3600),
        ("slept two hours", 7200),
        ("served", 7200),
        ("gave up", 9000.5),
        ("slept four hours", 14400),
    ]


def test_a_delay_and_a_pause_pass_at_once(server: miniredis.EmbeddedServer, run: Run) -> None:
    begin = server.now

    async def main() -> None:
        async with server.async_client(socket_timeout=None) as client:
            with server.faults.add(command="GET", then=faults.delay(60)):
                assert await client.get("k") is None
            await client.client_pause(60_000)
            await client.set("k", "v")

    run(main())
    assert (server.now - begin).total_seconds() == 120


def test_clients_with_sockets_and_threads_have_time_to_answer(server: miniredis.EmbeddedServer) -> None:
    async def main() -> None:
        async with redis.asyncio.Redis.from_url(server.url, socket_timeout=60) as client:
            assert await client.set("k", "v")
            assert await asyncio.to_thread(server.content, "k") == b"v"

    with asyncio.Runner(loop_factory=partial(server.new_event_loop, threshold=10)) as runner:
        runner.run(main())


def test_tasks_go_on_when_the_server_has_stopped(server: miniredis.EmbeddedServer, run: Run) -> None:
    async def main() -> None:
        server.stop()
        await asyncio.sleep(3600)

    run(main())
