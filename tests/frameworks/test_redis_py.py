"""What other programs use of redis-py: locks (Lua), pipelines, publish and subscribe; with and without asyncio.

These tests need no extra, because redis-py is always installed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.exceptions import LockError, LockNotOwnedError, NoScriptError, WatchError

from conformance.targets import Address

from .programs import PATIENCE, until


@pytest.fixture(params=[2, 3])
def protocol(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def caller(server: Address, protocol: int) -> Iterator[Any]:
    """A client that speaks RESP2 or RESP3."""
    with redis.Redis.from_url(server.url, protocol=protocol) as caller:
        yield caller


def test_a_lock_excludes_others_and_can_be_extended(caller: Any, key: str) -> None:
    lock, other = caller.lock(key, timeout=30), caller.lock(key, timeout=30)
    assert lock.acquire()
    assert not other.acquire(blocking=False)
    assert lock.locked()
    assert not other.owned()
    assert lock.extend(30)
    assert 30_000 < caller.pttl(key) <= 60_000
    assert lock.extend(10, replace_ttl=True)
    assert caller.pttl(key) <= 10_000
    assert lock.reacquire()
    assert 10_000 < caller.pttl(key) <= 30_000
    lock.release()
    with pytest.raises(LockError):
        lock.release()
    assert not caller.exists(key)


def test_an_expired_lock_can_be_taken_by_another_and_no_longer_released(caller: Any, key: str) -> None:
    late = caller.lock(key, timeout=0.01)
    assert late.acquire()
    until(lambda: not caller.exists(key))
    following = caller.lock(key, timeout=30)
    assert following.acquire()
    for use_of_it in (late.reacquire, late.release):
        with pytest.raises(LockNotOwnedError):
            use_of_it()
    assert following.owned()
    following.release()


def test_a_lock_keeps_threads_apart(caller: Any, key: str) -> None:
    def count() -> None:
        for _ in range(20):
            with caller.lock(key, sleep=0.001):
                caller.set(f"{key}:sum", int(caller.get(f"{key}:sum") or 0) + 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert caller.get(f"{key}:sum") == b"80"


def test_a_transaction_fails_when_a_watched_key_changes(caller: Any, key: str) -> None:
    with caller.pipeline() as pipeline:
        pipeline.watch(key)
        caller.set(key, "theirs")
        pipeline.multi()
        pipeline.set(key, "ours")
        with pytest.raises(WatchError):
            pipeline.execute()

    def add(pipeline: Any) -> None:
        pipeline.multi()
        pipeline.append(key, "!")

    assert caller.transaction(add, key) == [7]


def test_registered_scripts_run_in_a_pipeline_after_a_script_flush(caller: Any, key: str) -> None:
    add = caller.register_script("return redis.call('incrby', KEYS[1], ARGV[1])")
    caller.script_flush()
    with pytest.raises(NoScriptError):
        caller.evalsha(add.sha, 1, key, 1)
    with caller.pipeline() as pipeline:
        add(keys=[key], args=[2], client=pipeline)
        add(keys=[key], args=[3], client=pipeline)
        assert pipeline.execute() == [2, 5]


def test_subscribers_to_channels_and_patterns_get_messages(caller: Any, key: str) -> None:
    with caller.pubsub() as listener:
        listener.subscribe(key)
        listener.psubscribe(f"{key}:*")
        assert [listener.get_message(timeout=PATIENCE)["type"] for _ in range(2)] == [
            "subscribe",
            "psubscribe",
        ]
        assert caller.publish(key, "plain") == 1
        assert caller.publish(f"{key}:a", "by pattern") == 1
        heard = [listener.get_message(timeout=PATIENCE) for _ in range(2)]
        assert [each["data"] for each in heard] == [b"plain", b"by pattern"]
        listener.unsubscribe()
        listener.punsubscribe()
    until(lambda: caller.pubsub_numsub(key)[0][1] == 0)


def test_a_listening_thread_gets_published_messages(caller: Any, key: str) -> None:
    heard: list[bytes] = []
    listener = caller.pubsub()
    listener.subscribe(**{key: lambda message: heard.append(message["data"])})
    thread = listener.run_in_thread(sleep_time=0.01)
    until(lambda: caller.pubsub_numsub(key)[0][1] == 1)
    caller.publish(key, "over there")
    until(lambda: heard == [b"over there"])
    thread.stop()
    thread.join(PATIENCE)


def test_the_asyncio_client_runs_commands_pipelines_and_subscriptions(
    server: Address, key: str, protocol: int
) -> None:
    async def main() -> None:
        async with redis.asyncio.Redis.from_url(server.url, protocol=protocol) as caller:
            await in_turns(caller, key)
            await in_bulk(caller, key)
            await hearing(caller, key)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


async def in_turns(caller: Any, key: str) -> None:
    async def count() -> None:
        async with caller.lock(key, timeout=30, sleep=0.001):
            value = int(await caller.get(f"{key}:sum") or 0)
            await caller.set(f"{key}:sum", value + 1)

    await asyncio.gather(*[count() for _ in range(20)])
    assert await caller.get(f"{key}:sum") == b"20"
    lock = caller.lock(key, timeout=30)
    assert await lock.acquire()
    assert await lock.extend(30)
    assert await lock.reacquire()
    await lock.release()


async def in_bulk(caller: Any, key: str) -> None:
    async with caller.pipeline(transaction=True) as pipeline:
        pipeline.rpush(f"{key}:list", *range(5)).llen(f"{key}:list")
        assert await pipeline.execute() == [5, 5]
    waiting = asyncio.create_task(caller.blpop([f"{key}:later"], timeout=PATIENCE))
    while not (await caller.info("clients"))["blocked_clients"]:
        await asyncio.sleep(0)
    await caller.rpush(f"{key}:later", "it")
    assert list(await waiting) == [f"{key}:later".encode(), b"it"]


async def hearing(caller: Any, key: str) -> None:
    async with caller.pubsub() as listener:
        await listener.subscribe(key)
        assert (await listener.get_message(timeout=PATIENCE))["type"] == "subscribe"
        assert await caller.publish(key, "here") == 1
        assert (await listener.get_message(timeout=PATIENCE))["data"] == b"here"
        assert await listener.get_message(timeout=0) is None
