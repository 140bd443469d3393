"""FAILOVER: a miniredis and a real redis-server change places, in both directions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from tests.servers import find_redis_7_0, start_redis
from tests.waiting import until

from .masters import RawMaster
from .replicas import RawReplica, address_of, connect, expect_same, info, real_replica, wait_until_up

REFUSALS = {
    "FAILOVER": b"FAILOVER requires connected replicas.",
    "FAILOVER ABORT": b"No failover in progress.",
    "FAILOVER ABORT x": b"syntax error",
    "FAILOVER x": b"syntax error",
    "FAILOVER TO a": b"syntax error",
    "FAILOVER TIMEOUT": b"syntax error",
    "FAILOVER TO a b": b"value is not an integer or out of range",
    "FAILOVER TIMEOUT 0": b"FAILOVER timeout must be greater than 0",
    "FAILOVER TIMEOUT 5 TIMEOUT 5": b"syntax error",
    "FAILOVER FORCE": b"FAILOVER requires connected replicas.",
}

WITH_A_REPLICA = {
    "FAILOVER FORCE": b"FAILOVER with force option requires both a timeout and target HOST and IP.",
    "FAILOVER TO 127.0.0.1 1 FORCE": (
        b"FAILOVER with force option requires both a timeout and target HOST and IP."
    ),
    "FAILOVER TO 127.0.0.1 1": b"FAILOVER target HOST and PORT is not a replica.",
}


@pytest.fixture
def master() -> Iterator[Any]:
    with (
        miniredis.start(enable_debug_command="yes", repl_ping_replica_period="1") as server,
        connect((server.host, server.port)) as client,
    ):
        yield client


@pytest.fixture(params=["miniredis", "redis-server"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A client of a master."""
    if request.param == "miniredis":
        yield request.getfixturevalue("master")
        return
    with (
        start_redis(tmp_path, "--repl-diskless-sync", "no", program=find_redis_7_0) as real,
        connect(("127.0.0.1", real.port)) as client,
    ):
        yield client


@pytest.fixture
def replica(master: Any, tmp_path: Path) -> Iterator[Any]:
    """A client of a redis-server that has all data of the master."""
    with real_replica(tmp_path, address_of(master)) as client:
        wait_until_up(client)
        until(lambda: info(master)["slave0"]["state"] == "online")
        yield client


def refusal(client: Any, command: str) -> bytes:
    with pytest.raises(redis.ResponseError) as caught:
        client.execute_command(*command.split())
    return str(caught.value).encode()


def test_a_failover_is_refused(either: Any) -> None:
    assert {command: refusal(either, command) for command in REFUSALS} == REFUSALS
    raw = RawReplica(address_of(either), "listening-port", "7")
    raw.synchronize()
    assert {command: refusal(either, command) for command in WITH_A_REPLICA} == WITH_A_REPLICA
    raw.close()


def test_writes_wait_for_a_failover_which_can_be_aborted(either: Any) -> None:
    raw = RawReplica(address_of(either), "listening-port", "7")
    raw.synchronize()
    either.set("k", "before")
    assert either.execute_command("FAILOVER", "TO", "127.0.0.1", 7)
    assert info(either)["master_failover_state"] == "waiting-for-sync"
    assert refusal(either, "FAILOVER") == b"FAILOVER already in progress."
    other = RawReplica(address_of(either))
    assert other.ask("PSYNC", "?", "-1") == b"-NOMASTERLINK Can't SYNC while failing over"
    other.close()
    with connect(address_of(either)) as writer:
        thread = threading.Thread(target=writer.set, args=("k", "after"))
        thread.start()
        until(lambda: either.info("clients")["blocked_clients"] == 1)
        either.execute_command("CLIENT", "UNPAUSE")
        assert either.get("k") == b"before"
        assert either.execute_command("FAILOVER", "ABORT")
        thread.join()
    assert either.get("k") == b"after"
    assert info(either)["master_failover_state"] == "no-failover"
    raw.close()


def test_a_forced_failover_takes_place_at_the_end_of_its_time_whatever_the_replica_has(either: Any) -> None:
    with RawMaster() as target:
        raw = RawReplica(address_of(either), "listening-port", str(target.port))
        raw.synchronize()
        either.set("k", 1)  # which is not acknowledged
        before = info(either)
        assert either.execute_command("FAILOVER", "TO", "127.0.0.1", target.port, "TIMEOUT", 10, "FORCE")
        asked = target.shake_hands()[-1]
        start = before["master_repl_offset"] + 1
        assert asked == [b"PSYNC", before["master_replid"].encode(), b"%d" % start, b"FAILOVER"]
        target.say(b"+CONTINUE\r\n")
        wait_until_up_as_replica(either)
        raw.close()


def test_the_end_of_a_failover_does_not_end_the_pause_of_a_client(either: Any) -> None:
    raw = RawReplica(address_of(either), "listening-port", "7")
    raw.synchronize()
    assert either.execute_command("CLIENT", "PAUSE", 100_000, "WRITE")
    with connect(address_of(either)) as writer:
        thread = threading.Thread(target=writer.set, args=("k", 1))
        thread.start()
        until(lambda: either.info("clients")["blocked_clients"] == 1)
        assert either.execute_command("FAILOVER", "TO", "127.0.0.1", 7)
        assert either.execute_command("FAILOVER", "ABORT")
        assert either.info("clients")["blocked_clients"] == 1
        assert either.execute_command("CLIENT", "UNPAUSE")
        thread.join()
    raw.close()


def test_a_failover_that_takes_too_long_is_over(either: Any) -> None:
    raw = RawReplica(address_of(either), "listening-port", "7")
    raw.synchronize()
    either.set("k", 1)
    assert either.execute_command("FAILOVER", "TIMEOUT", 10)
    assert either.set("k", 2)
    assert (info(either)["role"], info(either)["master_failover_state"]) == ("master", "no-failover")
    raw.close()


def test_both_servers_change_places_and_back_again(master: Any, replica: Any) -> None:
    master.set("k", 1)
    assert master.execute_command("FAILOVER")
    wait_until_up_as_replica(master)
    assert info(replica)["role"] == "master"
    assert replica.info("stats")["sync_partial_ok"] == 1
    assert refusal(master, "SET k 2") == b"You can't write against a read only replica."
    replica.set("k", 3)
    expect_same(replica, master)
    assert replica.execute_command("FAILOVER", "TO", *address_of(master))
    wait_until_up_as_replica(replica)
    assert info(master)["role"] == "master"
    assert master.info("stats")["sync_partial_ok"] == 1
    master.set("k", 4)
    expect_same(master, replica)


def wait_until_up_as_replica(client: Any) -> None:
    until(lambda: info(client).get("master_link_status") == "up", "it is a replica, and its link is up")
    assert info(client)["master_failover_state"] == "no-failover"


def test_a_write_that_waits_hears_that_this_is_no_master_any_more(master: Any, replica: Any) -> None:
    sleeper = replica.connection_pool.get_connection()
    sleeper.send_command("DEBUG", "SLEEP", 1)  # so long it acknowledges nothing
    master.set("k", 0)
    master.execute_command("FAILOVER")
    heard: list[str] = []

    def write() -> None:
        with connect(address_of(master)) as writer:
            try:
                writer.set("k", 1)
            except redis.ReadOnlyError as error:
                heard.append(str(error))

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    sleeper.disconnect()
    assert heard == ["You can't write against a read only replica."]


def test_a_replica_that_does_not_want_to_be_the_master_ends_the_failover(master: Any) -> None:
    """Another server listens where the replica says that it is."""
    with miniredis.start() as stranger:
        raw = RawReplica(address_of(master), "listening-port", str(stranger.port))
        raw.synchronize()
        master.set("k", 1)
        raw.acknowledge(info(master)["master_repl_offset"])
        assert master.execute_command("FAILOVER")
        until(lambda: info(master)["master_failover_state"] == "no-failover")
        assert info(master)["role"] == "master"
        assert master.set("k", 2)
        raw.close()
