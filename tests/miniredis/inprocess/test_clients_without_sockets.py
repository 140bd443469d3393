"""redis-py's clients, sync and asyncio, connected to a server of this process without sockets."""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import pytest
import redis
import redis.asyncio
import trio
from redis.backoff import NoBackoff
from redis.retry import Retry

import miniredis
from miniredis.inprocess.clients import AsyncLocalConnection
from miniredis.inprocess.local import LocalSocket

from ...waiting import PATIENCE, until


@pytest.fixture
def server() -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start() as server:
        yield server


@pytest.fixture
def client(server: miniredis.EmbeddedServer) -> Iterator[redis.Redis]:
    with server.client(decode_responses=True) as client:
        yield client


def push(client: redis.Redis) -> None:
    until(lambda: blocked(client) == 1)
    client.rpush("l", "b")


def blocked(client: redis.Redis) -> int:
    return int(client.info("clients")["blocked_clients"])


def test_commands_get_their_replies(client: redis.Redis) -> None:
    assert client.set("k", "v", ex=100)
    assert client.get("k") == "v"
    assert client.rpush("l", *"abc") == 3
    assert client.lrange("l", 0, -1) == ["a", "b", "c"]
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        client.incr("l")
    assert client.get("none") is None


def test_clients_with_and_without_sockets_share_one_server(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    with redis.Redis(port=server.port, decode_responses=True) as other:
        client.set("k", "v")
        assert other.get("k") == "v"
        assert next(each["addr"] for each in other.client_list()).startswith("127.0.0.1:")
        assert len({each["addr"] for each in other.client_list()}) == 2


def test_a_command_runs_on_the_thread_of_the_client_that_sends_it(
    server: miniredis.EmbeddedServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    from miniredis.engine.declarations.registry import LOOKUP

    ran_on: list[int] = []
    handler: Any = LOOKUP[b"llen"].handler

    def noted(*arguments: Any) -> Any:
        ran_on.append(threading.get_ident())
        return handler(*arguments)

    monkeypatch.setattr(LOOKUP[b"llen"], "handler", noted)
    with server._runner.lock:  # another thread would do it if that had the lock just then
        client.llen("k")
    assert ran_on == [threading.get_ident()]


@pytest.mark.parametrize("protocol", [2, 3])
def test_resp2_and_resp3_clients_get_their_database_and_name(
    server: miniredis.EmbeddedServer, protocol: int
) -> None:
    with server.client(protocol=protocol, db=3, client_name="me") as client:
        info = client.client_info()
        assert (info["resp"], info["db"], info["name"]) == (str(protocol), 3, "me")


def test_a_pipeline_of_2000_commands_gets_all_replies(client: redis.Redis) -> None:
    with client.pipeline() as pipeline:
        for number in range(2000):
            pipeline.rpush("l", "x" * 100, number)
        assert pipeline.execute() == list(range(2, 4002, 2))


def test_a_change_of_a_watched_key_aborts_the_transaction(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    with client.pipeline() as pipeline:
        pipeline.watch("k")  # type: ignore[no-untyped-call]
        with server.client() as other:
            other.set("k", "v")
        pipeline.multi()
        pipeline.get("k")
        with pytest.raises(redis.WatchError):
            pipeline.execute()


# Waiting


def test_a_blocked_client_is_served_by_another_thread(client: redis.Redis) -> None:
    with ThreadPoolExecutor() as pool:
        waits = [pool.submit(client.blpop, "l", PATIENCE) for _ in range(3)]
        until(lambda: blocked(client) == 3)
        client.rpush("l", "a", "b", "c")
        assert sorted(dict([wait.result()])["l"] for wait in waits) == ["a", "b", "c"]  # type: ignore[list-item]


def test_clients_with_and_without_sockets_serve_each_other(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    with redis.Redis(port=server.port) as far, ThreadPoolExecutor() as pool:
        near_waits = pool.submit(client.blpop, "l", PATIENCE)
        until(lambda: blocked(client) == 1)
        far.rpush("l", "from afar")
        assert near_waits.result() == ("l", "from afar")
        far_waits = pool.submit(far.blpop, "l", PATIENCE)
        until(lambda: blocked(client) == 1)
        client.rpush("l", "from near")
        assert far_waits.result() == (b"l", b"from near")


def test_a_blocking_pop_times_out(client: redis.Redis) -> None:
    assert client.blpop("l", timeout=0.01) is None


def test_a_blocking_pop_times_out_when_the_held_clock_is_moved() -> None:
    with (
        miniredis.start(clock="held") as server,
        server.client() as client,
        ThreadPoolExecutor() as pool,
        server.client() as control,
    ):
        wait = pool.submit(client.blpop, "l", 60)
        until(lambda: blocked(control) == 1)
        server.fast_forward(60)
        assert wait.result(PATIENCE) is None


def test_a_blocked_client_disconnects_at_its_socket_timeout(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    with server.client(socket_timeout=0.02) as hasty:
        with pytest.raises(redis.TimeoutError):
            hasty.execute_command("BLPOP", "l", "0")
        until(lambda: blocked(client) == 0)  # the connection went with it
        client.rpush("l", "v")
        assert client.llen("l") == 1


def test_a_blocked_client_gets_a_connection_error_when_the_server_stops(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    with ThreadPoolExecutor() as pool:
        wait = pool.submit(client.execute_command, "BLPOP", "l", "0")
        until(lambda: blocked(client) == 1)
        server.stop()
        with pytest.raises(redis.ConnectionError):
            wait.result(PATIENCE)
    with pytest.raises(redis.ConnectionError, match="the server has stopped"):
        client.ping()


def test_no_command_is_lost_when_many_threads_share_a_client(client: redis.Redis) -> None:
    def work(number: int) -> None:
        for _ in range(200):
            client.rpush("l", number)
            client.incr("count")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert (client.llen("l"), client.get("count")) == (1600, "1600")


def test_blocking_on_the_servers_own_thread_is_refused() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            with server.client() as client:
                client.rpush("l", "v")
                assert client.blpop("l") == (b"l", b"v")
                with pytest.raises(RuntimeError, match="runs on this very thread"):
                    client.blpop("l")
                assert client.ping()
                wait = partial(client.blpop, "l", timeout=PATIENCE)
                nursery.start_soon(served_meanwhile, server)
                assert await trio.to_thread.run_sync(wait) == (b"l", b"late")
            server.stop()

    async def served_meanwhile(server: miniredis.Server) -> None:
        with server.client() as client:
            while not blocked(client):
                await trio.lowlevel.checkpoint()
            client.rpush("l", "late")

    trio.run(main)


# Connections


def test_connections_of_a_pool_are_reused(server: miniredis.EmbeddedServer) -> None:
    with server.client(max_connections=2) as client:
        first = client.client_id()
        assert [client.client_id() for _ in range(5)] == [first] * 5
        with client.pipeline() as pipeline:
            pipeline.watch("k")  # holds one
            assert client.client_id() == client.client_id() != first
            with client.pipeline() as another:
                another.watch("k")
                with pytest.raises(redis.ConnectionError, match="Too many"):
                    client.ping()
        assert client.ping()


def test_a_closed_client_is_disconnected_and_can_reconnect(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    other = server.client()
    first = other.client_id()
    other.close()
    assert len(client.client_list()) == 1
    assert other.client_id() > first
    other.close()


def test_a_killed_connection_is_replaced(server: miniredis.EmbeddedServer, client: redis.Redis) -> None:
    with server.client() as other:
        first = other.client_id()
        assert client.client_kill_filter(_id=first) == 1
        assert other.client_id() > first


def test_a_connection_with_an_unread_reply_is_replaced(server: miniredis.EmbeddedServer) -> None:
    with server.client() as client:
        connection = client.connection_pool.get_connection()
        connection.send_command("PING")
        client.connection_pool.release(connection)
        assert client.get("k") is None


def test_a_client_without_references_is_disconnected(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    sock = LocalSocket(server._runner)
    sock.sendall(b"BLPOP k 0\r\n")
    assert blocked(client) == 1
    del sock
    gc.collect()
    assert blocked(client) == 0
    assert len(client.client_list()) == 1


def in_the_middle_of_llen(patch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Something happens on the thread that runs LLEN, while it runs."""
    from miniredis.engine.declarations.registry import LOOKUP

    handler: Any = LOOKUP[b"llen"].handler

    def interrupted(*arguments: Any) -> Any:
        act()
        return handler(*arguments)

    patch.setattr(LOOKUP[b"llen"], "handler", interrupted)


def test_a_client_closed_during_a_command_of_another_leaves_after_that_command(
    server: miniredis.EmbeddedServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = LocalSocket(server._runner)
    other.settimeout(PATIENCE)
    sessions = server._runner.engine.sessions
    still_there: list[int] = []

    def close() -> None:
        other.close()
        still_there.append(len(sessions))

    in_the_middle_of_llen(monkeypatch, close)
    with ThreadPoolExecutor() as pool:
        wait = pool.submit(other.recv, 10)
        other.sendall(b"BLPOP l 0\r\n")
        assert client.llen("k") == 0
        assert wait.result() == b""
    assert still_there == [2]  # nothing changed under the command's feet
    until(lambda: len(client.client_list()) == 1)
    assert blocked(client) == 0


@pytest.mark.parametrize("far", [False, True])
def test_a_client_garbage_collected_during_a_command_of_another_is_disconnected(
    server: miniredis.EmbeddedServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch, *, far: bool
) -> None:
    others = [server.client()]
    others[0].ping()

    def drop() -> None:
        others.clear()
        gc.collect()

    in_the_middle_of_llen(monkeypatch, drop)
    with redis.Redis(port=server.port) as by_tcp:
        assert (by_tcp if far else client).llen("k") == 0
    until(lambda: len(client.client_list()) == 1)


def test_a_command_during_another_on_the_same_thread_is_refused(
    server: miniredis.EmbeddedServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[str] = []

    def interrupt() -> None:
        with pytest.raises(RuntimeError) as error:
            other.ping()
        met.append(str(error.value))
        with pytest.raises(RuntimeError, match="in the middle of a command"):
            LocalSocket(server._runner)

    with server.client() as other:
        other.ping()
        in_the_middle_of_llen(monkeypatch, interrupt)
        assert client.llen("k") == 0
        assert "in the middle of a command" in met[0]
        assert other.ping()


def test_a_client_with_configured_retries_runs_a_pipeline(server: miniredis.EmbeddedServer) -> None:
    with server.client(retry=Retry(NoBackoff(), 3), retry_on_error=[redis.ConnectionError]) as client:
        assert type(client) is redis.Redis
        with client.pipeline(transaction=False) as pipeline:
            pipeline.ping()
            assert pipeline.execute() == [True]


def test_a_forked_child_gets_a_connection_error(client: redis.Redis) -> None:
    client.set("k", "parent")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            client.set("k", "child")
        except redis.ConnectionError as error:
            code = 0 if "runs in another process" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert client.get("k") == "parent"


def test_a_client_is_disconnected_when_its_unread_replies_pass_the_hard_limit(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    client.config_set("client-output-buffer-limit", "normal 1mb 0 0")
    client.set("k", "x" * 500_000)
    slow = LocalSocket(server._runner)
    slow.settimeout(PATIENCE)
    for _ in range(2):
        slow.sendall(b"GET k\r\n")
    assert client.ping()
    slow.sendall(b"GET k\r\n")
    assert slow.recv(10) == b""
    with pytest.raises(BrokenPipeError):
        slow.sendall(b"PING\r\n")


def test_a_client_is_disconnected_when_it_stays_over_the_soft_limit_too_long() -> None:
    limit = "normal 0 1mb 10"
    with miniredis.start(clock="held", client_output_buffer_limit=limit) as server, server.client() as client:
        client.set("k", "x" * 2_000_000)
        hasty, slow = LocalSocket(server._runner), LocalSocket(server._runner)
        for each in (hasty, slow):
            each.sendall(b"GET k\r\n")
            assert len(each.recv(500_000)) == 500_000
        assert len(hasty.recv(1_000_000)) == 1_000_000
        server.fast_forward(11)
        hasty.sendall(b"PING\r\n")
        assert hasty.recv(1_000_000).endswith(b"xx\r\n+PONG\r\n")
        assert slow.recv(10) == b""


# asyncio


def run(server: miniredis.Server, main: Callable[[redis.asyncio.Redis], Any], **options: Any) -> None:
    async def with_client() -> None:
        async with server.async_client(decode_responses=True, **options) as client:
            await main(client)

    asyncio.run(with_client())


def test_asyncio_commands_and_pipelines_get_their_replies(server: miniredis.EmbeddedServer) -> None:
    async def main(client: redis.asyncio.Redis) -> None:
        assert await client.set("k", "v")
        assert await client.get("k") == "v"
        async with client.pipeline() as pipeline:
            pipeline.rpush("l", "a", "b")
            pipeline.lrange("l", 0, -1)
            assert await pipeline.execute() == [2, ["a", "b"]]
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            await client.incr("l")

    run(server, main)
    run(server, main_again, protocol=3)


async def main_again(client: redis.asyncio.Redis) -> None:
    assert (await client.client_info())["resp"] == "3"


def test_an_asyncio_pop_is_served_by_its_own_loop_and_by_threads_and_times_out(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    async def main(ours: redis.asyncio.Redis) -> None:
        got, _ = await asyncio.gather(ours.blpop("l", PATIENCE), ours.rpush("l", "a"))
        assert got == ("l", "a")
        got, _ = await asyncio.gather(ours.blpop("l", PATIENCE), asyncio.to_thread(push, client))
        assert got == ("l", "b")
        assert await ours.blpop("l", 0.01) is None

    run(server, main)


def test_an_asyncio_client_gets_a_connection_error_when_the_server_stops(
    server: miniredis.EmbeddedServer,
) -> None:
    async def main(client: redis.asyncio.Redis) -> None:
        await client.ping()
        server.stop()
        with pytest.raises(redis.ConnectionError):
            await client.ping()

    run(server, main)


def test_a_closed_asyncio_client_is_disconnected(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    async def main(ours: redis.asyncio.Redis) -> None:
        await ours.ping()
        assert len(client.client_list()) == 2

    run(server, main)
    assert len(client.client_list()) == 1


@pytest.mark.parametrize("is_far", [True, False])
def test_a_closed_asyncio_loop_is_not_called(
    is_far: bool, server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    from miniredis.inprocess.local_async import AsyncPipe

    async def leave_waiting() -> AsyncPipe:
        pipe = AsyncPipe(server._runner)
        pipe.write(b"BLPOP l 0\r\n")
        return pipe

    pipe = asyncio.run(leave_waiting())
    assert blocked(client) == 1
    with ThreadPoolExecutor() as pool:
        assert (pool.submit(client.rpush, "l", "v").result() if is_far else client.rpush("l", "v")) == 1
    assert len(client.client_list()) == 1
    pipe.close()


def test_an_asyncio_loop_is_woken_although_another_thread_ran_it_first(
    server: miniredis.EmbeddedServer, client: redis.Redis
) -> None:
    asleep = threading.Event()

    class Selector(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> Any:
            if timeout != 0:
                asleep.set()
            return super().select(timeout)

    loop = asyncio.SelectorEventLoop(Selector())
    ours = server.async_client()
    with closing(loop), ThreadPoolExecutor() as pool:
        assert loop.run_until_complete(ours.ping())
        popped = pool.submit(loop.run_until_complete, ours.blpop("l"))
        assert asleep.wait(PATIENCE)
        client.rpush("l", "v")
        try:
            assert popped.result(PATIENCE) == (b"l", b"v")
        finally:
            loop.call_soon_threadsafe(int)
        loop.run_until_complete(ours.aclose())


def test_an_asyncio_client_takes_the_connection_that_belongs_to_the_loop(
    server: miniredis.EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_ready = AsyncLocalConnection.is_ready

    async def main(ours: Any) -> None:
        await ours.ping()
        pool = ours.connection_pool
        (own,) = pool._at_hand
        of_another_thread = AsyncLocalConnection(connect=own._connect_locally)

        def give_back_meanwhile(connection: AsyncLocalConnection) -> bool:
            pool.give_back(of_another_thread)
            return is_ready(connection)

        with monkeypatch.context() as patch:
            patch.setattr(AsyncLocalConnection, "is_ready", give_back_meanwhile)
            taken = pool.ready_connection()
        pool._at_hand = [own]
        assert taken is own

    run(server, main)
