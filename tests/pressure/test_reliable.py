"""receive(), beyond what the clauses of ``conformance`` say: a message is removed when its block ends, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis
import trio

import pressure.aio
import pressure.trio
from pressure import (
    Queue,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
    protocol,
)
from pressure.protocol import Context, Deadline
from pressure.protocol.repair import repair
from tests.tools.simulation import Simulation, held, operation

from .conftest import JOBS, StartTask, execute, invariant, until, waiting


class MishapError(Exception):
    """What goes wrong in a block."""


def contents(raw: redis.Redis) -> tuple[list[bytes], list[bytes]]:
    """The values, oldest first, and what is not acknowledged."""
    values: Any = raw.lrange(JOBS, 0, -1)
    unacked: Any = raw.lrange(f"{JOBS}:unacked", 0, -1)
    return values[::-1], unacked


def test_receive_waits_for_its_role(queue: Queue, raw: redis.Redis, task: StartTask) -> None:
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
def test_receive_from_an_empty_queue_is_an_error_without_waiting_or_after_the_timeout(
    queue: Queue, raw: redis.Redis, options: dict[str, Any]
) -> None:
    queue.create()
    with pytest.raises(QueueEmptyError), queue.receive(**options):
        pass
    invariant(raw)


def test_receive_takes_the_remaining_messages_of_a_closed_queue(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put(b"v")
    queue.shutdown()
    with queue.receive() as message:
        assert message.data == b"v"
    with pytest.raises(QueueClosedError), queue.receive():
        pass
    invariant(raw)


def test_a_delete_waits_for_the_block(
    queue: Queue, make: Callable[..., Queue], raw: redis.Redis, task: StartTask
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


def test_an_acknowledgement_spares_the_message_that_a_fenced_consumer_was_waiting_for(
    queue: Queue, make: Callable[..., Queue], raw: redis.Redis, task: StartTask
) -> None:
    """The wait of a consumer whose role was freed may still be under way, and is then the first served."""
    queue.create()
    stray = task(lambda: raw.blmove(JOBS, f"{JOBS}:unacked", 0, "RIGHT", "LEFT"))
    waiting(raw, 1)

    def receive() -> list[bytes]:
        got = []
        for _ in range(2):
            with make().receive() as message:
                got.append(message.data)
        return got

    received = task(receive)
    waiting(raw, 2)
    execute(raw, "EVAL", f"redis.call('LPUSH', '{JOBS}', 'x', 'y')", 0)
    assert (stray.result(), received.result()) == (b"x", [b"x", b"y"])
    assert contents(raw) == ([], [])


@pytest.mark.parametrize("most", [0, 1])
def test_a_get_takes_what_a_dead_consumer_has_received_first(
    queue: Queue, raw: redis.Redis, most: int
) -> None:
    """Or several: the messages for which fenced consumers were still waiting."""
    queue.create()
    values = [b"1", b"2", b"3", b"4"]
    queue.put_many(values)
    for _ in range(2):
        raw.lmove(JOBS, f"{JOBS}:unacked", "RIGHT", "LEFT")
    assert (queue.get_many(4) if most else [queue.get() for _ in values]) == values
    invariant(raw)


def test_a_get_that_waits_takes_what_comes_to_a_fenced_consumer(
    queue: Queue, make: Callable[..., Queue], raw: redis.Redis, task: StartTask
) -> None:
    queue.create()
    stray = task(lambda: raw.blmove(JOBS, f"{JOBS}:unacked", 0, "RIGHT", "LEFT"))
    waiting(raw, 1)
    queue._context = replace(queue._context, slice=0.02)
    got = task(queue.get)
    until(lambda: queue.holder("consumer"))
    make().put(b"v")
    assert (stray.result(), got.result()) == (b"v", b"v")
    assert contents(raw) == ([], [])
    invariant(raw)


def test_a_message_that_goes_back_into_a_full_queue_leaves_no_room(queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    queue.put(b"1")
    block = queue.receive()
    block.__enter__()
    queue.put(b"2")
    block.__exit__(MishapError, MishapError(), None)
    with pytest.raises(QueueFullError):
        queue.put_nowait(b"3")
    assert queue.get() == b"1"
    block = queue.receive()
    block.__enter__()
    queue.put(b"3")
    queue.repair(force=True)
    with pytest.raises(QueueInUseError):
        block.__exit__(None, None, None)
    with pytest.raises(QueueFullError):
        queue.put_nowait(b"4")
    assert contents(raw) == ([b"2", b"3"], [])
    invariant(raw)


def test_a_fenced_consumer_does_not_put_back_what_the_next_one_has_acknowledged() -> None:
    a_while: Callable[[Context], Deadline] = lambda context: Deadline.of(context, timeout=30)  # noqa: E731
    simulation = Simulation(lambda _: 0)
    simulation.do(operation(protocol.create, 0))
    fenced = simulation.actor("fenced").will(operation(protocol.receive, a_while))
    while fenced.can_go_on:
        fenced.go_on()
    simulation.do(operation(repair, force=True))
    simulation.do(operation(protocol.put, b"v", a_while))
    done = operation(protocol.settle, held, protocol.Settlement.ACKNOWLEDGED, 1)
    following = simulation.actor("next").will(operation(protocol.receive, a_while), done)
    while not following.is_done:
        following.go_on()
    simulation.run()
    assert isinstance(fenced.results[0], QueueInUseError)
    assert simulation.ask("LRANGE", simulation.keys.queue, 0, -1) == []


def test_a_lost_connection_loses_no_message(queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put(b"v")
    with queue.receive():
        execute(raw, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert contents(raw) == ([], [])
    invariant(raw)


def test_a_block_whose_queue_is_gone_at_its_end_says_so(queue: Queue, raw: redis.Redis) -> None:
    """As after a restart of a server that keeps no data."""
    queue.create()
    queue.put(b"v")
    with pytest.raises(QueueDoesNotExistError), queue.receive():
        raw.flushall()
    assert raw.keys() == []


@pytest.mark.parametrize("flavour", ["aio", "trio"])
def test_the_coroutine_flavours_of_receive_behave_the_same(
    redis_url: str, raw: redis.Redis, flavour: str, scripts: bool
) -> None:
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
