"""Looking into a server without a client, and waiting for what happens in it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
import trio

import miniredis
from miniredis import faults
from miniredis.testing.inspection import BlockedClient, ConnectedClient
from tests.miniredis.engine.effects import commands_in

from ...waiting import until


@pytest.fixture
def server(held: miniredis.EmbeddedServer) -> miniredis.EmbeddedServer:
    return held


@pytest.fixture
def client(server: miniredis.EmbeddedServer) -> Iterator[Any]:
    with server.client() as client:
        yield client


def fill(client: Any) -> dict[bytes, Any]:
    """One key of each type; returns what they hold."""
    client.set("string", "v")
    client.append("longer", "a")
    client.append("longer", "b")
    client.rpush("list", "a", "b")
    client.sadd("set", "a", "b")
    client.hset("hash", mapping={"f": "v"})
    client.zadd("zset", {"a": 1, "b": 2.5})
    client.xadd("stream", {"f": "v", "g": "w"}, id="1-2")
    client.execute_command("MQ.PUSH", "queue", "message")
    return {
        b"string": b"v",
        b"longer": b"ab",
        b"list": [b"a", b"b"],
        b"set": {b"a", b"b"},
        b"hash": {b"f": b"v"},
        b"zset": {b"a": 1.0, b"b": 2.5},
        b"stream": [(b"1-2", [b"f", b"v", b"g", b"w"])],
        b"queue": [b"message"],
    }


def test_all_keys_are_shown_with_what_they_hold(server: Any, client: Any) -> None:
    expected = fill(client)
    assert server.dump() == expected
    assert {key: server.content(key) for key in expected} == expected
    assert server.content("list") == [b"a", b"b"]
    assert server.content("nothing") is None


def test_what_is_shown_does_not_change_with_the_keys(server: Any, client: Any) -> None:
    expected = fill(client)
    shown = server.dump()
    client.rpush("list", "c")
    client.hset("hash", "f", "other")
    assert shown == expected


def test_expired_keys_and_other_databases_are_not_shown(server: Any, client: Any) -> None:
    client.set("short", "v", ex=1)
    client.execute_command("SELECT", 1)
    client.set("there", "v")
    assert server.dump(1) == {b"there": b"v"}
    server.fast_forward(2)
    assert server.dump() == {}
    assert server.content("there") is None
    assert server.content("there", database=1) == b"v"
    with pytest.raises(ValueError, match="databases 0 to 15, and not 16"):
        server.dump(16)


def test_a_snapshot_brings_back_all_keys_any_number_of_times(server: Any, client: Any) -> None:
    expected = fill(client)
    client.expire("string", 100)
    snapshot = server.snapshot()
    for _ in range(2):
        client.flushall()
        client.rpush("list", "other")
        client.set("more", "v", ex=5)
        server.restore(snapshot)
        assert server.dump() == expected
        assert client.ttl("string") == 100
        client.rpush("list", "c")
        client.hset("hash", "f", "other")
    server.fast_forward(101)
    assert server.content("string") is None


USES = """
APPEND longer c
SETBIT longer 0 1
RPUSH list c
LSET list 0 z
LMOVE list list LEFT RIGHT
SORT list ALPHA DESC STORE list
RENAME list other; RPUSH other c
SADD set c
SMOVE set other a
HSET hash f other
HINCRBY hash n 1
HDEL hash f
ZADD zset 0 c
ZPOPMIN zset
ZREMRANGEBYRANK zset 0 0
COPY zset other; ZADD other 0 c
MOVE zset 1
XADD stream 2-2 f w
XDEL stream 1-2
XSETID stream 9-9
XTRIM stream MAXLEN 0
XACK stream group 1-2
XCLAIM stream group bob 0 1-2
XREADGROUP GROUP group bob STREAMS stream >
XGROUP DESTROY stream group
MQ.PUSH queue other
MQ.POP 1 queue
FLUSHALL; RPUSH list c
SWAPDB 0 1; RPUSH list c
"""
"""Requests that change keys."""


def test_what_is_done_to_restored_keys_changes_no_snapshot(server: Any, client: Any) -> None:
    """The server shares the values of a snapshot until they are first used, whatever uses them first."""
    fill(client)
    client.xgroup_create("stream", "group", id="0")
    client.xreadgroup("group", "ann", {"stream": ">"})
    client.xadd("stream", {"f": "x"}, id="1-3")

    def keys() -> dict[bytes, bytes]:
        return {key: client.dump(key) for key in client.scan_iter()}

    snapshot, before = server.snapshot(), keys()
    for use in USES.strip().splitlines():
        server.restore(snapshot)
        for request in use.split("; "):
            client.execute_command(*request.split())
        assert keys() != before, use
        server.restore(snapshot)
        assert keys() == before, use


def test_a_snapshot_of_restored_keys_is_one_of_its_own(server: Any, client: Any) -> None:
    client.zadd("zset", {"a": 1, "b": 2})
    server.restore(server.snapshot())
    again = server.snapshot()
    client.zadd("zset", {"c": 0})
    server.restore(again)
    assert client.zrange("zset", 0, -1) == [b"a", b"b"]


def test_fields_of_a_restored_hash_expire() -> None:
    with miniredis.start(version="8.0", clock="held") as server, server.client() as client:
        client.hset("hash", mapping={"a": "1", "b": "2"})
        client.execute_command("HEXPIRE", "hash", 10, "FIELDS", 1, "a")
        snapshot = server.snapshot()
        client.flushall()
        server.restore(snapshot)
        server.fast_forward(11)
        assert server.content("hash") == {b"b": b"2"}


def test_a_snapshot_can_be_restored_on_another_server(server: Any, client: Any) -> None:
    expected = fill(client)
    with miniredis.start() as other:
        other.restore(server.snapshot())
        assert other.dump() == expected
    with (
        miniredis.start(databases=2) as smaller,
        pytest.raises(ValueError, match="another number of databases"),
    ):
        smaller.restore(server.snapshot())


def test_a_condition_that_is_no_function_and_a_snapshot_that_is_none_are_refused(server: Any) -> None:
    with pytest.raises(TypeError, match=r"wait_until\(\) takes a function, .*, not bool"):
        server.wait_until(True)
    with pytest.raises(TypeError, match=r"restore\(\) takes what snapshot\(\) returned, not dict"):
        server.restore({})


def test_a_restored_key_serves_the_client_that_waits_for_it(server: Any, client: Any) -> None:
    client.rpush("jobs", "a", "b")
    snapshot = server.snapshot()
    client.delete("jobs")
    got: list[Any] = []
    with server.client() as other:
        thread = threading.Thread(target=lambda: got.append(other.blpop("jobs", 30)))
        thread.start()
        server.wait_until(lambda: server.blocked_clients("jobs"))
        server.restore(snapshot)
        thread.join()
    assert got == [(b"jobs", b"a")]
    assert server.content("jobs") == [b"b"]


def test_a_transaction_that_watches_a_restored_key_fails(server: Any, client: Any) -> None:
    client.set("k", "v")
    snapshot = server.snapshot()
    client.delete("k")
    with client.pipeline() as pipe:
        pipe.watch("k")
        server.restore(snapshot)
        pipe.multi()
        pipe.set("other", "v")
        with pytest.raises(redis.WatchError):
            pipe.execute()


def test_what_was_restored_is_on_the_disk(tmp_path: Path) -> None:
    with miniredis.start(dir=str(tmp_path)) as server, server.client() as client:
        expected = fill(client)
        snapshot = server.snapshot()
        client.flushall()
        client.set("more", "v")
        server.restore(snapshot)
    with miniredis.start(dir=str(tmp_path)) as server:
        assert server.dump() == expected


def test_a_restore_is_one_unit_of_effects(server: Any, client: Any) -> None:
    client.set("k", "v", px=5000)
    snapshot = server.snapshot()
    engine = server._runner.engine
    engine.recording.start()
    server.restore(snapshot)
    names = [effect[0] for effect in commands_in(engine.recording.take())]
    assert names == [b"SELECT", b"MULTI", b"FLUSHALL", b"RESTORE", b"EXEC"]


def test_blocked_clients_are_told_in_the_order_in_which_they_wait(server: Any, client: Any) -> None:
    threads, clients = [], []
    for name, keys in (("one", ["a", "b"]), ("two", ["b"])):
        clients.append(server.client(client_name=name))
        threads.append(threading.Thread(target=clients[-1].blpop, args=(keys, 5)))
        threads[-1].start()
        server.wait_until(lambda name=name: any(each.name == name for each in server.blocked_clients()))
    first, second = server.blocked_clients("b")
    assert first == BlockedClient(first.id, "one", "blpop", (b"a", b"b"), 0)
    assert (second.name, second.keys) == ("two", (b"b",))
    assert server.blocked_clients("a") == [first]
    server.fast_forward(6)
    for thread, each in zip(threads, clients, strict=True):
        thread.join()
        each.close()
    assert server.blocked_clients() == []


def test_a_request_that_a_fault_delays_is_shown(server: Any) -> None:
    server.faults.add(command="set", then=faults.delay(5))
    with server.client() as other:
        thread = threading.Thread(target=other.set, args=("k", "v"))
        thread.start()
        server.wait_until(server.blocked_clients)
        assert [(each.command, each.keys) for each in server.blocked_clients()] == [("set", ())]
        server.fast_forward(6)
        thread.join()


@pytest.mark.parametrize("loop", ["poll", "streams"])
def test_a_wait_ends_when_something_over_a_socket_has_made_it_true(loop: Any) -> None:
    with miniredis.start(loop=loop) as server, redis.Redis(port=server.port) as client:
        client.ping()
        thread = threading.Thread(target=client.rpush, args=("jobs", "a"))
        threading.Timer(0, thread.start).start()
        server.wait_until(lambda: server.content("jobs") == [b"a"])
        until(lambda: not thread.is_alive())


@pytest.mark.parametrize("loop", ["poll", "streams"])
def test_connections_are_waited_for_that_send_nothing(loop: Any) -> None:
    with miniredis.start(loop=loop) as server:

        def wait_for(count: int, act: Callable[[], Any]) -> Any:
            """Does something once a wait for so many clients has begun; returns when it is over."""
            is_so = partial(server.wait_until, lambda: len(server.connected_clients()) == count, 10_000)
            thread = threading.Thread(target=is_so)
            thread.start()
            until(lambda: server._runner._observers == 1)
            done = act()
            until(lambda: not thread.is_alive())
            return done

        connect = partial(socket.create_connection, (server.host, server.port))
        one, two = wait_for(1, connect), wait_for(2, connect)
        wait_for(1, one.close)
        wait_for(0, two.close)


def test_connected_clients_are_told_in_the_order_in_which_they_came(server: Any) -> None:
    with server.client(client_name="ann") as ann, redis.Redis(port=server.port, db=3) as other:
        assert server.connected_clients() == []
        ann.set("k", "v")
        other.get("k")
        first, second = server.connected_clients()
        assert first == ConnectedClient(ann.client_id(), "ann", "set", 0)
        assert second == ConnectedClient(other.client_id(), "", "get", 3)


def test_a_wait_on_the_thread_of_an_event_loop_says_why_it_was_in_vain(server: Any) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError, match=r"stood still meanwhile; use await asyncio.to_thread"):
            server.wait_until(lambda: False, timeout=0.01)
        await asyncio.to_thread(server.wait_until, lambda: True)

    asyncio.run(main())


def test_a_wait_that_ends_in_vain_tells_who_is_there(server: Any, client: Any) -> None:
    client.ping()
    with pytest.raises(TimeoutError, match=r"waited 0.01 s; 1 clients are connected; blocked: none"):
        server.wait_until(lambda: False, timeout=0.01)
    assert not server._runner._observers


def test_a_wait_ends_with_an_error_when_the_server_stops() -> None:
    with miniredis.start() as server:
        threading.Timer(0, server.stop).start()
        with pytest.raises(RuntimeError, match="the server has stopped"):
            server.wait_until(lambda: False)


def test_a_wait_on_the_servers_own_thread_is_refused() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            with pytest.raises(RuntimeError, match="on another thread"):
                server.wait_until(lambda: True)
            await trio.to_thread.run_sync(lambda: server.wait_until(lambda: True))
            server.stop()

    trio.run(main)
