"""The asyncio and Trio flavours: the same queue as the synchronous one, and what cancellation leaves behind."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable

import pytest
import redis

import pressure.aio
import pressure.trio
from pressure import QueueEmptyError

from .conftest import JOBS, invariant, server_fixture, until
from .coroutines import COROUTINES, AnyQueue, cancelled_while_blocked

server_address = server_fixture("embedded_server", "real_server")


@pytest.fixture(params=COROUTINES)
def flavour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


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
        COROUTINES[flavour]("jobs", client=object())


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


@pytest.mark.parametrize("kind", [pressure.Queue, pressure.aio.ReliableQueue, pressure.trio.RingQueue])
def test_a_queue_object_says_why_it_cannot_be_pickled(kind: type) -> None:
    with pytest.raises(TypeError, match="make one in each process, of the same name and URL"):
        pickle.dumps(kind("jobs"))
