"""The names of fakeredis on miniredis: what a test that comes over by its import relies on."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from functools import partial
from typing import Any

import pytest
import redis

from miniredis.compat import fakeredis
from miniredis.compat.fakeredis import FakeAsyncRedis, FakeRedis, FakeServer, FakeStrictRedis
from tests.cases import for_each


def test_a_client_that_names_no_server_has_data_of_its_own() -> None:
    one, other = FakeRedis(), FakeStrictRedis()
    one.set("k", "v")
    assert one.get("k") == b"v"
    assert other.get("k") is None


def test_clients_of_one_server_share_its_data() -> None:
    server = FakeServer()
    one, other = FakeRedis(server=server), FakeRedis(server=server, decode_responses=True)
    one.rpush("jobs", "a")
    assert other.blpop("jobs", timeout=1) in (("jobs", "a"), ["jobs", "a"])
    assert FakeRedis(server=server, db=1).dbsize() == 0


def test_clients_of_one_address_share_its_data() -> None:
    FakeRedis(host="redis.example", port=7).set("k", "v")
    assert FakeRedis("redis.example", 7).get("k") == b"v"
    assert FakeRedis.from_url("redis://redis.example:7/0").get("k") == b"v"
    assert FakeRedis.from_url("redis://redis.example:7/1").get("k") is None
    assert FakeRedis(host="redis.example", port=8).get("k") is None


def test_a_server_can_be_unreachable_and_come_back() -> None:
    server = FakeServer()
    client = FakeRedis(server=server)
    client.set("k", "v")
    server.connected = False
    for each in (client, FakeRedis(server=server), FakeRedis(connected=False)):
        with pytest.raises(redis.ConnectionError, match="not connected"):
            each.get("k")
    server.connected = True
    assert client.get("k") == b"v"


def test_a_pool_of_ones_own_leads_to_a_server() -> None:
    server = FakeServer()
    FakeRedis(server=server).set("k", "v")
    pool = redis.ConnectionPool(connection_class=fakeredis.FakeConnection, server=server)
    assert redis.Redis(connection_pool=pool).get("k") == b"v"
    assert FakeRedis(connection_pool=pool).get("k") == b"v"


def test_pipelines_locks_scripts_and_pubsub_work() -> None:
    client: Any = FakeRedis(decode_responses=True)
    with client.pipeline() as pipe:
        assert pipe.set("k", "1").incrby("k", 2).execute() == [True, 3]
    with client.lock("door", timeout=5):
        assert not client.lock("door").acquire(blocking=False)
    if client.eval("return 7", 0) != 7:
        pytest.fail("a script ran wrong")
    with client.pubsub() as listener:
        listener.subscribe("news")
        assert listener.get_message(timeout=1)["type"] == "subscribe"
        client.publish("news", "hello")
        assert listener.get_message(timeout=1)["data"] == "hello"


def test_asyncio_clients_share_data_with_the_others() -> None:
    server = FakeServer()
    FakeRedis(server=server).set("k", "v")

    async def main() -> Any:
        async with FakeAsyncRedis(server=server) as client:
            found = await client.get("k")
            server.connected = False
            with pytest.raises(redis.ConnectionError, match="not connected"):
                await client.get("k")
            return found

    assert asyncio.run(main()) == b"v"


def test_the_names_of_fakeredis_for_asyncio_are_the_same_clients() -> None:
    aioredis = fakeredis.aioredis
    server = aioredis.FakeServer()

    async def main() -> Any:
        pool = redis.asyncio.ConnectionPool(connection_class=aioredis.FakeConnection, server=server)
        await aioredis.FakeRedis(connection_pool=pool).set("k", "v")
        await pool.disconnect()

    asyncio.run(main())
    assert FakeRedis(server=server).get("k") == b"v"


@pytest.mark.parametrize(
    "options",
    [
        {"version": (5,)},
        {"version": "8.9"},
        {"server_type": "dragonfly"},
        {"server_type": "valkey", "version": (8, 0)},
        {"lua_modules": {"socket"}},
    ],
)
def test_what_is_not_here_is_refused(options: dict[str, Any]) -> None:
    makers: list[Any] = [FakeRedis, partial(FakeRedis.from_url, "redis://refused.example")]
    for make in makers:
        with pytest.raises(NotImplementedError, match="not"):
            make(**options)


@for_each(
    ("asked", "expected"),
    [
        ({}, "7.0.15"),
        ({"version": 6}, "6.2.14"),
        ({"version": "6.0"}, "6.0.16"),
        ({"version": (7,)}, "7.0.15"),
        ({"version": "7.4.1"}, "7.4.1"),
        ({"version": (8,)}, "8.0.2"),
        ({"server_type": "valkey"}, "8.1.1"),
        ({"server_type": "valkey", "version": (9, 1)}, "9.1.2"),
    ],
)
def test_a_server_is_of_the_version_that_is_asked_for(asked: dict[str, Any], expected: str) -> None:
    pool = redis.ConnectionPool(connection_class=fakeredis.FakeConnection, **asked)
    clients: list[Any] = [
        FakeRedis(**asked),
        FakeRedis(server=FakeServer(**asked)),
        FakeRedis.from_url("redis://one.example", **asked),
        FakeRedis(connection_pool=pool),
    ]
    for client in clients:
        told = client.info("server")
        assert told.get("valkey_version", told["redis_version"]) == expected


def test_clients_of_one_address_that_ask_for_different_versions_have_different_servers() -> None:
    FakeRedis(host="both.example", version=(8,)).set("k", "v")
    assert FakeRedis(host="both.example", version="8.0").get("k") == b"v"
    assert FakeRedis(host="both.example").get("k") is None
    FakeRedis(unix_socket_path="/one").set("k", "v")
    assert FakeRedis(unix_socket_path="/other").get("k") is None
    assert FakeRedis(unix_socket_path="/one").get("k") == b"v"


def test_what_is_asked_for_and_is_here_is_accepted() -> None:
    assert FakeRedis(version=(7,), server_type="redis", lua_modules={"cjson"}).ping()
    server = FakeServer(version=7, config={b"hash-max-listpack-entries": b"1"})
    client = FakeRedis(server=server)
    client.hset("h", mapping={"a": 1, "b": 2})
    assert client.object("encoding", "h") == b"hashtable"


ENDS = """
import gc, threading
from miniredis.compat.fakeredis import FakeRedis
client = FakeRedis()
client.ping()
[thread] = (each for each in threading.enumerate() if each.name == "miniredis")
del client
gc.collect()
thread.join(10)
print(thread.is_alive())
"""


def test_a_server_that_nobody_refers_to_ends() -> None:
    """In a process of its own: here, servers of other tests begin and end meanwhile."""
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_clients_of_valkey_are_clients_of_the_same_servers() -> None:
    valkey = pytest.importorskip("valkey", reason="valkey is not installed")
    server = FakeServer()
    one = fakeredis.FakeValkey(server=server, decode_responses=True)
    assert isinstance(one, valkey.Valkey)
    one.rpush("jobs", "a", "b")
    assert FakeRedis(server=server).lpop("jobs") == b"a"
    assert fakeredis.FakeStrictValkey(server=server).blpop("jobs", timeout=1) == (b"jobs", b"b")
    with one.pipeline() as pipe:
        assert pipe.set("k", "v").get("k").execute() == [True, "v"]
    assert fakeredis.FakeValkey().info("server")["valkey_version"] == "8.1.1"
    assert fakeredis.FakeValkey.from_url("valkey://v.example:7/1").set("k", "v")
    assert fakeredis.FakeValkey(host="v.example", port=7, db=1).get("k") == b"v"
    server.connected = False
    with pytest.raises(valkey.ConnectionError, match="not connected"):
        one.get("k")


def test_valkeys_asynchronous_client_works_too() -> None:
    pytest.importorskip("valkey", reason="valkey is not installed")

    async def main() -> Any:
        async with fakeredis.FakeAsyncValkey() as client:
            await client.set("k", "v")
            return await client.get("k")

    assert asyncio.run(main()) == b"v"


def test_a_tcp_server_serves_until_it_is_closed() -> None:
    with fakeredis.TcpFakeServer(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with redis.Redis(*server.server_address) as client:
            client.set("k", "v")
        assert FakeRedis(server=server.fake_server).get("k") == b"v"
        server.shutdown()
        thread.join()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.server_address)
    with fakeredis.TcpFakeServer(("127.0.0.1", 0), server_version=(8, 0)) as server:
        info: Any = FakeRedis(server=server.fake_server).info("server")
        assert info["redis_version"] == "8.0.2"


def test_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(AttributeError, match="no attribute 'FakeMemcached'"):
        _ = fakeredis.FakeMemcached
