"""A real redis-server as a replica of miniredis: it gets all data, and stays the same."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from tests.cases import exhaustive_but
from tests.servers import start_redis
from tests.waiting import until

from ..loops import started
from .replicas import (
    address_of,
    connect,
    expect_same,
    info,
    real_replica,
    wait_until_caught_up,
    wait_until_up,
)

LIBRARY = "#!lua name=lib\nredis.register_function('f', function() return 1 end)"


@pytest.fixture(params=exhaustive_but(["poll"], ["poll", "streams"]))
def server(request: pytest.FixtureRequest, redis_7_0_program: Path) -> Iterator[miniredis.EmbeddedServer]:
    with started(request.param, enable_debug_command="yes", repl_ping_replica_period="1") as server:
        yield server


@pytest.fixture
def master(server: miniredis.EmbeddedServer) -> Iterator[Any]:
    with connect((server.host, server.port)) as client:
        yield client


def fill(client: Any) -> None:
    """All types, in each of their forms; several databases, deadlines and a library."""
    client.set("string", b"\x00\r\n" * 10)
    client.set("long", b"x" * 300_000)
    client.set("number", 12345)
    client.set("soon", 1, px=10_000_000)
    client.rpush("list", *range(500))
    for size in (3, 1000):
        client.sadd(f"integers:{size}", *range(size))
        client.sadd(f"set:{size}", *(f"member {each}" for each in range(size)))
        client.hset(f"hash:{size}", mapping={f"field {each}": each for each in range(size)})
        client.zadd(f"sorted:{size}", {f"member {each}": each / 3 for each in range(size)})
        for each in range(size):
            client.xadd(f"stream:{size}", {"field": each})
        client.xgroup_create(f"stream:{size}", "group", "0")
        client.xreadgroup("group", "consumer", {f"stream:{size}": ">"}, count=2)
    client.pfadd("distinct", *range(100))
    client.geoadd("places", (13.361389, 38.115556, "Palermo"))
    with connect(address_of(client), db=9) as other:
        other.set("elsewhere", "yes")
    client.execute_command("FUNCTION", "LOAD", "REPLACE", LIBRARY)


def test_a_replica_has_all_that_was_there_before_it(master: Any, tmp_path: Path) -> None:
    fill(master)
    with real_replica(tmp_path, address_of(master)) as replica:
        wait_until_up(replica)
        expect_same(master, replica)


def test_a_replica_has_all_that_comes_after_it(master: Any, tmp_path: Path) -> None:
    with real_replica(tmp_path, address_of(master)) as replica:
        wait_until_up(replica)
        for number in range(20):
            master.set("k", number)
        until(lambda: replica.get("k") == b"19", "the replica has the last write")
        fill(master)
        master.set("short", 1, px=1)
        until(lambda: not master.exists("short"), "the key has expired")
        with master.pipeline() as pipe:
            pipe.set("a", 1)
            pipe.incrbyfloat("a", 0.5)
            pipe.spop("set:1000", 3)
            pipe.execute()
        master.eval("for i = 1, 3 do redis.call('RPUSH', KEYS[1], i) end", 1, "list")
        master.swapdb(0, 9)
        expect_same(master, replica)
        master.flushall()
        expect_same(master, replica)


def test_what_a_blocked_client_got_is_popped_on_the_replica(master: Any, tmp_path: Path) -> None:
    with real_replica(tmp_path, address_of(master)) as replica, connect(address_of(master)) as other:
        wait_until_up(replica)
        connection = other.connection_pool.get_connection()
        connection.send_command("BLPOP", "jobs", 0)
        until(lambda: master.info("clients")["blocked_clients"] == 1)
        master.rpush("jobs", "first", "second")
        assert connection.read_response() == [b"jobs", b"first"]
        expect_same(master, replica)
        assert replica.lrange("jobs", 0, -1) == [b"second"]


def test_a_message_is_heard_by_those_who_listen_at_the_replica(master: Any, tmp_path: Path) -> None:
    with real_replica(tmp_path, address_of(master)) as replica, replica.pubsub() as listener:
        wait_until_up(replica)
        listener.subscribe("news")
        until(lambda: listener.get_message(timeout=1), "it is subscribed")
        assert master.publish("news", "hello") == 0
        heard = until(lambda: listener.get_message(timeout=1), "the message has come")
        assert heard["data"] == b"hello"


def test_both_tell_the_same_of_the_link(master: Any, tmp_path: Path) -> None:
    with real_replica(tmp_path, address_of(master)) as replica:
        wait_until_up(replica)
        until(lambda: info(master)["slave0"]["state"] == "online")
        master.set("k", "v")
        assert master.wait(1, 30_000) == 1
        ours, port = info(master), address_of(replica)[1]
        assert ours["connected_slaves"] == 1
        assert (ours["slave0"]["ip"], ours["slave0"]["port"]) == ("127.0.0.1", port)
        assert ours["master_replid"] == info(replica)["master_replid"]
        assert master.info("clients")["connected_clients"] == 1
        assert [each["flags"] for each in master.client_list(_type="replica")] == ["S"]
        (role, _, replicas) = master.execute_command("ROLE")
        assert (role, replicas[0][:2]) == (b"master", [b"127.0.0.1", b"%d" % port])


def test_a_replica_whose_link_is_cut_goes_on_where_it_was(master: Any, tmp_path: Path) -> None:
    with real_replica(tmp_path, address_of(master)) as replica:
        wait_until_up(replica)
        for turn in range(3):
            master.set("turn", turn)
            wait_until_caught_up(master, replica)
            assert master.execute_command("CLIENT", "KILL", "TYPE", "replica") == 1
            master.set("while cut", turn)
            expect_same(master, replica)
        stats = master.info("stats")
        assert (stats["sync_full"], stats["sync_partial_ok"]) == (1, 3)


def test_a_replica_that_missed_more_than_is_kept_gets_all_data_again(master: Any, tmp_path: Path) -> None:
    master.config_set("repl-backlog-size", 1 << 14)
    with real_replica(tmp_path, address_of(master)) as replica:
        wait_until_up(replica)
        before = master.info("stats")
        with master.pipeline() as pipe:  # in one tick
            pipe.execute_command("CLIENT", "KILL", "TYPE", "replica")
            pipe.set("long", b"x" * 100_000)
            pipe.execute()
        expect_same(master, replica)
        stats = master.info("stats")
        for counted in ("sync_full", "sync_partial_err"):
            assert stats[counted] == before[counted] + 1


def test_a_replica_that_was_killed_comes_back(master: Any, tmp_path: Path) -> None:
    for turn in range(2):
        folder = tmp_path / str(turn)
        folder.mkdir()
        with real_replica(folder, address_of(master)) as replica:
            wait_until_up(replica)
            master.set("turn", turn)
            expect_same(master, replica)
    until(lambda: info(master)["connected_slaves"] == 0)


def test_a_replica_that_has_its_data_on_disk_goes_on_where_it_was(master: Any, tmp_path: Path) -> None:
    with real_replica(tmp_path, address_of(master)) as replica:
        wait_until_up(replica)
        master.set("before", 1)
        wait_until_caught_up(master, replica)
        replica.save()
        before = master.info("stats")
    master.set("after", 1)
    with real_replica(
        tmp_path, address_of(master), "--replicaof", " ".join(map(str, address_of(master)))
    ) as again:
        wait_until_up(again)
        expect_same(master, again)
    stats = master.info("stats")
    for counted, more in (("sync_full", 0), ("sync_partial_ok", 1)):
        assert stats[counted] == before[counted] + more


def test_a_replica_of_the_replica_is_the_same(master: Any, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with (
        real_replica(tmp_path, address_of(master)) as first,
        real_replica(tmp_path / "second", address_of(first)) as second,
    ):
        wait_until_up(first)
        wait_until_up(second)
        fill(master)
        expect_same(master, first)
        expect_same(master, second)


def test_a_promoted_replica_has_a_history_that_others_can_go_on_with(master: Any, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with (
        real_replica(tmp_path, address_of(master)) as first,
        real_replica(tmp_path / "second", address_of(master)) as second,
    ):
        wait_until_up(first)
        wait_until_up(second)
        master.set("k", "v")
        expect_same(master, first)
        expect_same(master, second)
        first.execute_command("REPLICAOF", "NO", "ONE")
        second.replicaof(*address_of(first))
        wait_until_up(second)
        assert first.info("stats")["sync_partial_ok"] == 1


def test_writes_need_enough_replicas(master: Any, tmp_path: Path) -> None:
    master.config_set("min-replicas-to-write", 1)
    with pytest.raises(redis.ResponseError, match="NOREPLICAS"):
        master.set("k", 1)
    assert master.get("k") is None
    with real_replica(tmp_path, address_of(master)) as replica:
        wait_until_up(replica)
        until(lambda: info(master)["min_slaves_good_slaves"] == 1)
        assert master.set("k", 1)
    until(lambda: info(master)["connected_slaves"] == 0)
    with pytest.raises(redis.ResponseError, match="NOREPLICAS"):
        master.set("k", 2)


def test_redis_cli_saves_the_data_of_a_master(master: Any, redis_7_0_program: Path, tmp_path: Path) -> None:
    fill(master)
    tool = redis_7_0_program.with_name("redis-cli")
    if not tool.exists():
        pytest.skip("needs redis-cli")
    subprocess.run(
        [tool, "-p", str(address_of(master)[1]), "--rdb", str(tmp_path / "dump.rdb")],
        check=True, capture_output=True, timeout=600,
    )  # fmt: skip
    with (
        start_redis(tmp_path, "--enable-debug-command", "yes") as real,
        connect(("127.0.0.1", real.port)) as other,
    ):
        assert other.dbsize() == master.dbsize()
