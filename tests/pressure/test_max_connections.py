"""A queue object has so many connections at most, however many operations wait; and none for long when idle."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import redis
import trio
from trio.lowlevel import enable_ki_protection

import miniredis
import pressure.trio
from pressure import ConnectionFailedError, Queue, QueueEmptyError, QueueInUseError, ServerReplyError
from pressure.connections.arguments import settings
from pressure.execution.execution import watches_after
from pressure.execution.polling import as_poll, replies_to_wait
from pressure.protocol.commands import blocking
from pressure.protocol.operation import Wait
from tests.cases import for_each

from .conftest import JOBS, StartTask, invariant, server_fixture, waiting
from .conftest import until as come
from .loops import Stopped, cancelled, live, others_had_turns, ours, play, together, until

server_address = server_fixture("embedded_server", "real_server")


@pytest.mark.parametrize("limit", [1, 3])
def test_more_waiting_operations_than_connections_all_come_to_their_end(
    flavour: str, redis_url: str, raw: redis.Redis, limit: int
) -> None:
    count, seen = 20, []

    async def main(queue: Any) -> None:
        await queue.create()

        async def put() -> None:
            await until(lambda: len(ours(raw)) >= limit, "were there connections")
            for number in range(count):
                await queue.put(b"%d" % number)
                seen.append(len(ours(raw)))

        *got, _ = await together(*[queue.get] * count, put)
        assert sorted(got) == sorted(b"%d" % number for number in range(count))

    play(flavour, main, url=f"{redis_url}?max_connections={limit}")
    assert max(seen) == limit
    invariant(raw)


def test_the_block_of_a_message_never_keeps_its_own_process_from_the_queue(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(b"1")
        async with queue.receive() as message:
            await queue.put(message.data + b"2")
            assert await queue.length() == 1
            assert len(ours(raw)) == 1
        assert await queue.get() == b"12"

    play(flavour, main, url=f"{redis_url}?max_connections=1")
    invariant(raw)


def test_a_timeout_is_kept_by_those_that_share_a_connection(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        results = await together(*[partial(queue.get, timeout=0.2)] * 8, partial(queue.get, block=False))
        assert {type(each) for each in results} <= {QueueEmptyError, QueueInUseError}

    play(flavour, main, url=f"{redis_url}?max_connections=2")
    invariant(raw)


@pytest.mark.parametrize("limit", [1, 100])
def test_a_cancelled_wait_leaves_no_role_held(
    flavour: str, redis_url: str, raw: redis.Redis, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pressure.queue.SLICE", 1000.0)

    async def main(queue: Any) -> None:
        await queue.create()
        get = partial(queue.get, timeout=100)  # so that its first wait is its last
        assert await cancelled(get, lambda: not raw.llen(f"{JOBS}:consumer_free")) == "cancelled"
        invariant(raw)
        await queue.put(b"v")
        assert await queue.get() == b"v"

    play(flavour, main, url=f"{redis_url}?max_connections={limit}")


def test_an_operation_that_waits_for_its_turn_can_be_cancelled(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        connections = (queue.queue if flavour == "sync" else queue)._driver.connections
        member = connections.pool.take()
        if flavour == "sync":
            member.lock.acquire(lambda: None)
        else:
            await member.lock.acquire()
        assert await cancelled(queue.length, lambda: member.users == 2) == "cancelled"
        member.lock.release()
        assert await queue.length() == 0
        if flavour == "sync":
            connections.give_back(member)
        else:
            await connections.give_back(member)

    play(flavour, main, url=f"{redis_url}?max_connections=1")


def test_a_block_that_ends_waits_for_its_turn_even_if_it_is_cancelled(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    """Its connection stays open for the others, so no other process would ever find that its hold is dead."""
    began, is_taken, was_told = threading.Event(), threading.Event(), threading.Event()

    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(b"v")
        made = queue.queue if flavour == "sync" else queue
        pool = made._driver.connections.pool

        def tell() -> Stopped:
            was_told.set()
            return Stopped()

        def waits() -> bool:
            if not is_taken.is_set():
                return False
            turn = pool._shared.lock
            waiting = turn.statistics().tasks_waiting if flavour == "trio" else turn._waiters
            if waiting:
                was_told.set()
            return bool(waiting)

        async def consume() -> None:
            async with queue.receive():
                began.set()
                await until(is_taken.is_set, "is it the turn of another")
                made.interrupt = tell

        async def use_connection() -> None:
            await until(began.is_set, "was it received")
            turn = pool._shared.lock
            await turn.acquire() if flavour != "sync" else turn.acquire(lambda: None)
            is_taken.set()
            await until(was_told.is_set, "was it told")
            await others_had_turns()
            turn.release()

        stop = consume if flavour == "sync" else partial(cancelled, consume, waits)
        await together(stop, use_connection)
        made.interrupt = None

    play(flavour, main, url=f"{redis_url}?max_connections=1")
    assert not raw.exists(JOBS, f"{JOBS}:unacked")
    invariant(raw)


def test_a_block_that_is_cancelled_before_its_turn_ends_so_although_the_server_is_gone_then() -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(b"v")
        turns: list[Any] = []

        async def consume() -> None:
            async with queue.receive():
                turns.append(queue._driver.connections.pool._shared.lock)
                await turns[0].acquire()

        consumer = asyncio.create_task(consume())
        await until(lambda: turns and turns[0]._waiters, "does it wait")
        consumer.cancel()
        await others_had_turns()
        server.stop()
        turns[0].release()
        await asyncio.wait([consumer])
        assert consumer.cancelled()

    with miniredis.start() as server:
        play("aio", main, url=f"{server.url}?max_connections=1")


@pytest.mark.parametrize("ends_block", [True, False])
def test_ctrl_c_while_trio_waits_for_its_turn_leaves_no_role_held(
    redis_url: str, raw: redis.Redis, ends_block: bool
) -> None:
    is_taken = trio.Event()

    @enable_ki_protection
    async def use_connection(queue: pressure.trio.Queue) -> None:
        await until(
            lambda: raw.exists(f"{JOBS}:bound") and not raw.llen(f"{JOBS}:consumer_free"),
            "is there a consumer",
        )
        turn = queue._driver.connections.pool._shared.lock  # type: ignore[union-attr]
        await turn.acquire()
        is_taken.set()
        await until(lambda: turn.statistics().tasks_waiting, "does it wait")
        signal.raise_signal(signal.SIGINT)
        await others_had_turns()
        turn.release()

    async def main(queue: pressure.trio.Queue) -> None:
        await queue.create()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(use_connection, queue)
            if ends_block:
                await queue.put(b"v")
                async with queue.receive():
                    await is_taken.wait()
            else:
                await queue.get()
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as caught:
        play("trio", main, url=f"{redis_url}?max_connections=1")
    assert [type(each) for each in caught.value.exceptions] == [KeyboardInterrupt]
    assert not raw.exists(f"{JOBS}:unacked")
    invariant(raw)


def test_without_scripts_an_operation_that_cannot_share_a_connection_gets_an_error(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    async def main(queue: Any) -> None:
        await queue.create(1)
        await queue.put(b"full")
        with pytest.raises(
            ConnectionFailedError, match=r"all connections .* are in use \(max_connections=1\)"
        ):
            await queue.put(b"more")
        invariant(raw)
        assert await queue.get() == b"full"

    play(flavour, main, url=f"{redis_url}?max_connections=1", scripts=False)


def test_a_connection_that_others_use_and_lose_is_lost_for_all(
    flavour: str, redis_url: str, raw: redis.Redis
) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        before = set(live())

        async def kill() -> None:
            await until(lambda: len(live() - before) == 2, "do both wait")
            (one,) = ours(raw)
            raw.client_kill_filter(_id=one["id"])

        *got, _ = await together(queue.get, queue.get, kill)
        assert all(isinstance(each, ConnectionError) for each in got)
        await queue.repair(force=True)
        await queue.put(b"v")
        assert await queue.get() == b"v"

    play(flavour, main, url=f"{redis_url}?max_connections=1")


def test_an_operation_that_is_broken_off_does_not_give_up_the_turn_of_another(
    redis_url: str, task: StartTask
) -> None:
    """The replies on a connection that two operations use at once would go to the wrong one."""
    queue = Queue("jobs", url=redis_url, max_connections=1)
    queue.create()
    getting = task(queue.get)
    pool = queue._driver.connections.pool
    come(lambda: pool._shared is not None, "does it share")
    turn = pool._shared.lock  # type: ignore[union-attr]
    turn.acquire(lambda: None)
    come(lambda: turn._waiting, "does it wait")
    (first,) = turn._waiting
    looking = task(queue.length)
    come(lambda: len(turn._waiting) == 2, "do both wait")

    def interrupt() -> None:
        if threading.current_thread() is getting._thread:
            raise SystemExit

    queue.interrupt = interrupt
    come(
        lambda: first not in turn._waiting and (looking.done() or len(turn._waiting) == 2),
        "was it broken off",
    )
    assert not looking.done()
    turn.release()
    assert looking.result() == 0
    with pytest.raises(SystemExit):
        getting.result()
    queue.interrupt = None
    queue.close()


def test_idle_connections_are_closed_after_a_while(
    flavour: str, redis_url: str, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(queue: Any) -> None:
        await queue.create()

        async def close() -> None:
            await until(lambda: raw.info("clients")["blocked_clients"] == 4, "do all wait")
            assert len(ours(raw)) == 4
            with Queue("jobs", url=redis_url) as other:
                other.shutdown()

        calls: list[Callable[[], Awaitable[Any]]] = [queue.wait_closed] * 4
        await together(*calls, close)
        await until(lambda: len(ours(raw)) == 4, "has the other one left")
        await queue.length()
        assert len(ours(raw)) == 4
        monkeypatch.setattr("pressure.connections.pool.IDLE_TIMEOUT", 0.0)
        await queue.length()
        await until(lambda: len(ours(raw)) == 1, "were the others closed")

    play(flavour, main, url=redis_url)


@for_each(
    ("arguments", "expected"),
    [
        ({}, 100),
        ({"url": "redis://h?max_connections=5"}, 5),
        ({"url": "redis://h?max_connections=5", "max_connections": 7}, 7),
        ({"client": redis.Redis(max_connections=9)}, 9),
        ({"client": redis.Redis()}, 100),
        ({"max_connections": 1}, 1),
    ],
)
def test_the_limit_comes_from_the_argument_the_url_or_the_client(
    arguments: dict[str, Any], expected: int
) -> None:
    assert settings(**arguments, environ={}).max_connections == expected


@pytest.mark.parametrize("url", ["redis://h?max_connections=0", "redis://h?max_connections=-1"])
def test_a_limit_below_1_is_a_value_error(url: str) -> None:
    with pytest.raises(ValueError, match="max_connections must be 1 or more"):
        Queue("jobs", url=url)


POP = blocking(b"BRPOP", b"BLOCK", b"k", seconds=1, then=((b"LLEN", b"k"),))
READ = Wait(((b"XREADGROUP", b"GROUP", b"g", b"me", b"BLOCK", 900, b"STREAMS", b"s", b">"), (b"TIME",)), 0.9)
NO = ServerReplyError("NOPERM no")


def test_a_wait_becomes_a_look_that_does_not_wait() -> None:
    assert as_poll(POP).commands == (
        (b"MULTI",),
        (b"BRPOP", b"BLOCK", b"k", b"0.001"),
        (b"EXEC",),
        (b"LLEN", b"k"),
    )
    assert as_poll(READ).commands == (
        (b"XREADGROUP", b"GROUP", b"g", b"me", b"STREAMS", b"s", b">"),
        (b"TIME",),
    )


@pytest.mark.parametrize(
    ("wait", "replies", "expected"),
    [
        (POP, [b"OK", b"QUEUED", [[b"k", b"v"]], 3], [[b"k", b"v"], 3]),
        (POP, [b"OK", b"QUEUED", [None], 0], [None, 0]),
        (POP, [NO, [b"k", b"v"], NO, 3], [[b"k", b"v"], 3]),
        (POP, [b"OK", NO, ServerReplyError("EXECABORT"), 3], [NO, 3]),
        (READ, [None, 3], [None, 3]),
    ],
    ids=["popped", "nothing", "no transactions", "refused", "another command"],
)
def test_the_replies_to_a_look_are_those_to_the_wait(
    wait: Wait, replies: list[Any], expected: list[Any]
) -> None:
    assert replies_to_wait(wait, replies) == expected


def test_keys_are_watched_from_watch_to_the_end_of_a_transaction() -> None:
    assert watches_after(((b"WATCH", b"k"), (b"GET", b"k")), before=False)
    assert watches_after(((b"GET", b"k"),), before=True)
    assert not watches_after(((b"MULTI",), (b"EXEC",)), before=True)
    assert not watches_after(((b"UNWATCH",), (b"GET", b"k")), before=True)


def test_a_wait_on_a_connection_of_its_own_is_a_real_one(
    redis_url: str, raw: redis.Redis, task: Callable[..., Any]
) -> None:
    with Queue("jobs", url=f"{redis_url}?max_connections=2") as queue:
        queue.create()
        get = task(queue.get)
        waiting(raw)
        queue.put(b"v")
        assert get.result() == b"v"
