"""Reliable get: a message is gone when its block has ended well, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import redis
import trio

import pressure.aio
import pressure.trio
from conformance.textbook import Textbook
from pressure import (
    Queue,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueInUseError,
)

from .conftest import PREFIX, Task, execute, invariant, roles_free, until, waiting

JOBS = PREFIX + "jobs"
Start = Callable[[Callable[[], Any]], Task]
DEAD = b"host:1/MainThread/01234567"


class MishapError(Exception):
    """What goes wrong in a block."""


def contents(raw: redis.Redis) -> tuple[list[bytes], list[bytes]]:
    """The values, oldest first, and what is not acknowledged."""
    values: Any = raw.lrange(JOBS, 0, -1)
    unacked: Any = raw.lrange(f"{JOBS}:unacked", 0, -1)
    return values[::-1], unacked


def test_a_message_is_gone_when_its_block_has_ended_well(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    queue.put_many([b"1", b"2"])
    with queue.receive() as message:
        assert (message.data, message.value) == (b"1", b"1")
        assert contents(raw) == ([b"2"], [b"1"])
        assert raw.llen(f"{JOBS}:consumer_free") == 0
        assert raw.llen(f"{JOBS}:not_full") == 0
        assert raw.get(f"{JOBS}:stats:consumed_messages") is None
        assert queue.stats().unacknowledged == 1
    assert contents(raw) == ([b"2"], [])
    assert raw.get(f"{JOBS}:stats:consumed_bytes") == b"1"
    invariant(raw)


def test_a_message_comes_again_when_its_block_has_not(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    queue.put_many([b"1", b"2"])
    with pytest.raises(MishapError), queue.receive():
        raise MishapError
    assert contents(raw) == ([b"1", b"2"], [])
    invariant(raw)
    assert raw.get(f"{JOBS}:stats:consumed_messages") is None


def test_it_waits_for_a_message(queue: Queue, raw: redis.Redis, task: Start) -> None:
    queue.create()

    def work() -> bytes:
        with queue.receive() as message:
            return message.data

    working = task(work)
    waiting(raw)
    queue.put(b"v")
    assert working.result() == b"v"
    invariant(raw)


def test_it_waits_for_its_role(queue: Queue, raw: redis.Redis, task: Start) -> None:
    queue.create()
    queue.put(b"v")
    raw.rpop(f"{JOBS}:consumer_free")

    def work() -> bytes:
        with queue.receive() as message:
            return message.data

    working = task(work)
    waiting(raw)
    raw.lpush(f"{JOBS}:consumer_free", 0)
    assert working.result() == b"v"
    invariant(raw)


@pytest.mark.parametrize("options", [{"block": False}, {"timeout": 0}, {"timeout": 0.05}])
def test_nothing_there_is_an_error(queue: Queue, raw: redis.Redis, options: dict[str, Any]) -> None:
    queue.create()
    with pytest.raises(QueueEmptyError), queue.receive(**options):
        pass
    invariant(raw)


def test_nobody_else_consumes_meanwhile(queue: Queue) -> None:
    queue.create()
    queue.put_many([b"1", b"2"])
    with queue.receive():
        with pytest.raises(QueueInUseError):
            queue.get_nowait()
        with pytest.raises(QueueInUseError), queue.receive(block=False):
            pass


def test_a_close_ends_its_wait(queue: Queue, raw: redis.Redis, task: Start) -> None:
    queue.create()

    def work() -> None:
        with queue.receive():
            pass

    working = task(work)
    waiting(raw)
    queue.close()
    with pytest.raises(QueueClosedError):
        working.result()
    assert raw.llen(f"{JOBS}:closed") == 2
    invariant(raw)


def test_a_closed_queue_is_emptied_first(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put(b"v")
    queue.close()
    with queue.receive() as message:
        assert message.data == b"v"
    with pytest.raises(QueueClosedError), queue.receive():
        pass
    invariant(raw)


def test_a_delete_waits_for_the_block(
    queue: Queue, make: Callable[..., Queue], raw: redis.Redis, task: Start
) -> None:
    queue.create()
    queue.put_many([b"1", b"2"])
    with queue.receive():
        deleting = task(make().delete)
        until(lambda: not queue.exists())
        assert not deleting.done()
    deleting.result()
    assert raw.keys() == []
    with pytest.raises(QueueDoesNotExistError), queue.receive():
        pass


def test_a_full_queue_has_room_when_the_message_is_done_with(
    queue: Queue, make: Callable[..., Queue], raw: redis.Redis, task: Start
) -> None:
    queue.create(1)
    queue.put(b"1")
    putting = task(lambda: make().put(b"2"))
    waiting(raw)
    with queue.receive():
        assert not putting.done()
    putting.result()
    invariant(raw)


def test_what_a_dead_consumer_left_comes_first(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put_many([b"1", b"2", b"3", b"4"])
    for _ in range(2):
        raw.lmove(JOBS, f"{JOBS}:unacked", "RIGHT", "LEFT")
    got = []
    for _ in range(4):
        with queue.receive() as message:
            got.append(message.data)
    assert got == [b"1", b"2", b"3", b"4"]
    assert contents(raw) == ([], [])


def dead_consumer(raw: redis.Redis) -> None:
    raw.rpop(f"{JOBS}:consumer_free")
    raw.set(f"{JOBS}:consumer", DEAD)
    raw.lmove(JOBS, f"{JOBS}:unacked", "RIGHT", "LEFT")


def test_repair_puts_back_what_a_dead_consumer_left(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    queue.put_many([b"1", b"2"])
    dead_consumer(raw)
    report = queue.repair(force=True)
    assert report.done == (
        "put back a message that was not acknowledged",
        "freed the consumer role, held by host:1/MainThread/01234567",
    )
    assert contents(raw) == ([b"1", b"2"], [])
    invariant(raw)
    assert str(queue.repair()) == "nothing to repair"


def test_repair_puts_back_what_is_left_while_nobody_consumes(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    queue.put_many([b"1", b"2", b"3"])
    for _ in range(2):
        raw.lmove(JOBS, f"{JOBS}:unacked", "RIGHT", "LEFT")
    assert queue.repair().done == ("put back 2 messages that were not acknowledged",)
    assert contents(raw) == ([b"1", b"2", b"3"], [])


def test_repair_leaves_the_message_of_a_live_consumer_alone(queue: Queue, raw: redis.Redis) -> None:
    queue.create(1)
    queue.put(b"v")
    with queue.receive():
        report = queue.repair()
        assert (report.done, len(report.left)) == ((), 1)
        assert contents(raw) == ([], [b"v"])
    invariant(raw)


def test_who_lost_its_role_meanwhile_is_told(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put(b"v")
    with pytest.raises(QueueInUseError), queue.receive():
        queue.repair(force=True)
    assert contents(raw) == ([b"v"], [])
    assert roles_free(raw)


def test_a_lost_connection_is_no_lost_message(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put(b"v")
    with queue.receive():
        execute(raw, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert contents(raw) == ([], [])
    invariant(raw)


def test_a_client_from_the_documents_sees_a_get_that_takes_long(
    queue: Queue, raw: redis.Redis, redis_url: str, task: Start
) -> None:
    queue.create(1)
    with Textbook(redis_url, JOBS) as producer, Textbook(redis_url, JOBS) as consumer:
        producer.put(b"1")
        putting = task(lambda: producer.put(b"2"))
        waiting(raw)
        with queue.receive() as message:
            getting = task(consumer.get)
            waiting(raw, 2)
            assert message.data == b"1"
        putting.result()
        assert getting.result() == b"2"
    invariant(raw)


@pytest.mark.parametrize("flavour", ["aio", "trio"])
def test_coroutines_do_the_same(redis_url: str, raw: redis.Redis, flavour: str, scripts: bool) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put_many([b"1", b"2"])
        async with queue.receive() as message:
            assert message.data == b"1"
        with pytest.raises(MishapError):
            async with queue.receive():
                raise MishapError
        assert contents(raw) == ([b"2"], [])

    async def cancelled_in_the_block(queue: Any) -> None:
        if flavour == "aio":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05), queue.receive():
                    await asyncio.sleep(10)
        else:
            with trio.move_on_after(0.05) as scope:
                async with queue.receive():
                    await trio.sleep(10)
            assert scope.cancelled_caught
        assert contents(raw) == ([b"2"], [])
        assert await queue.get() == b"2"

    async def whole() -> None:
        kind: Any = pressure.aio.Queue if flavour == "aio" else pressure.trio.Queue
        async with kind("jobs", url=redis_url, scripts=scripts) as queue:
            await main(queue)
            await cancelled_in_the_block(queue)

    if flavour == "aio":
        asyncio.run(whole())
    else:
        trio.run(whole)
    invariant(raw)
