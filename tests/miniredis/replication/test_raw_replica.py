"""A replica on a raw socket gets the same replies and the same stream from miniredis and a real Redis."""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import miniredis
from miniredis.engine import Instant, Session
from miniredis.engine.rdb.strings import string_or_integer
from miniredis.network.connection import ClientConnection
from tests.servers import find_redis_7_0, start_redis
from tests.waiting import until

from .replicas import Address, RawReplica, connect, info

END = [b"SET", b"end", b"1"]


NEVER = 100_000
"""Seconds."""


@contextmanager
def started(name: str, folder: Path) -> Iterator[Address]:
    """A master that has had no replica yet, and hangs up on none because it is silent."""
    if name == "miniredis":
        with miniredis.start(repl_timeout=NEVER) as server:
            yield server.host, server.port
        return
    flags = ("--repl-diskless-sync", "no", "--repl-timeout", str(NEVER))
    with start_redis(folder, *flags, program=find_redis_7_0) as real:
        yield "127.0.0.1", real.port


@pytest.fixture(scope="module", params=["miniredis", "redis-server"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    with started(request.param, tmp_path_factory.mktemp("redis")) as address:
        yield address


@pytest.fixture
def master(shared: Address) -> Iterator[Address]:
    """Where a master is that has no replica, and no data."""
    yield shared
    with connect(shared) as client:
        client.client_unpause()
        client.execute_command("CLIENT", "KILL", "TYPE", "replica")
        until(lambda: info(client)["connected_slaves"] == 0)
        client.flushall()
        client.config_resetstat()
        client.config_set("repl-backlog-size", 1 << 20)
        client.config_set("client-output-buffer-limit", "replica 256mb 64mb 60")


@pytest.fixture
def client(master: Address) -> Iterator[Any]:
    with connect(master, single_connection_client=True) as client:
        yield client


@pytest.fixture
def replica(master: Address) -> Iterator[RawReplica]:
    replica = RawReplica(master, "listening-port", "1234", "capa", "eof", "capa", "psync2")
    yield replica
    replica.close()


def stream_of(replica: RawReplica, client: Any) -> list[list[bytes]]:
    """What the stream has by now."""
    client.execute_command("SET", "end", 1)
    return replica.commands(END)[:-1]


def test_info_counts_the_bytes_of_snapshot_and_stream(client: Any, replica: RawReplica) -> None:
    client.config_set("repl-ping-replica-period", NEVER)
    client.config_resetstat()
    replica.synchronize()
    client.set("k", "v")
    replica.commands([b"SET", b"k", b"v"])
    stats = client.info("stats")
    counted = len(b"$%d\r\n" % len(replica.snapshot)) + len(replica.snapshot) + replica.taken
    assert stats["total_net_repl_output_bytes"] == counted
    assert stats["total_net_output_bytes"] > counted
    assert stats["total_net_repl_input_bytes"] == 0
    client.config_set("repl-ping-replica-period", 10)


ANSWERS = {
    "listening-port 1": b"+OK",
    "LISTENING-PORT x": b"-ERR value is not an integer or out of range",
    "ip-address 1.2.3.4": b"+OK",
    f"ip-address {'x' * 255}": b"+OK",
    f"ip-address {'x' * 256}": b"-ERR REPLCONF ip-address provided by replica instance is too long: 256 bytes",
    "capa unheard-of": b"+OK",
    "capa": b"-ERR syntax error",
    "": b"+OK",
    "foo bar": b"-ERR Unrecognized REPLCONF option: foo",
    "version 7": b"-ERR Unrecognized REPLCONF option: version",
    "rdb-only 2": b"-ERR value is out of range, value must between 0 and 1",
    "rdb-only x": b"-ERR value is not an integer or out of range",
    "rdb-filter-only functions": b"+OK",
    'rdb-filter-only "functions"': b"+OK",
    "rdb-filter-only 'functions": b"-ERR Missing rdb-filter-only values",
    "rdb-filter-only keys": b"-ERR Unsupported rdb-filter-only option: keys",
}


@pytest.mark.parametrize("options", ANSWERS, ids=lambda options: options[:30])
def test_replconf_answers(options: str, master: Address) -> None:
    replica = RawReplica(master)
    assert replica.ask("REPLCONF", *options.split()) == ANSWERS[options]
    replica.close()


def test_acks_of_who_is_no_replica_are_not_answered(master: Address) -> None:
    replica = RawReplica(master)
    replica.say("REPLCONF", "ACK", "5")
    replica.say("REPLCONF", "GETACK", "*")
    assert replica.ask("PING") == b"+PONG"
    replica.close()


@pytest.mark.parametrize("name", ["miniredis", "redis-server"])
def test_a_first_replica_begins_a_history(name: str, tmp_path: Path) -> None:
    with started(name, tmp_path) as address, connect(address) as client:
        before = info(client)
        assert (before["repl_backlog_active"], before["repl_backlog_first_byte_offset"]) == (0, 0)
        replica = RawReplica(address, "listening-port", "1234")
        assert replica.synchronize() == b"+FULLRESYNC %b 0" % replica.name
        after = info(client)
        assert after["master_replid"] == replica.name.decode() != before["master_replid"]
        assert (after["repl_backlog_active"], after["repl_backlog_first_byte_offset"]) == (1, 1)
        assert (after["slave0"]["state"], after["slave0"]["port"]) == ("online", 1234)
        replica.close()


def test_a_snapshot_says_where_in_the_history_it_is(replica: RawReplica, client: Any) -> None:
    client.set("k", "v")
    replica.synchronize()
    fields = re.findall(rb"\xfa.(repl-[a-z-]+|aof-base)(.*?)(?=\xfa|\xfe)", replica.snapshot, re.DOTALL)
    assert fields == [
        (b"repl-stream-db", b"\xc0\x00"),
        (b"repl-id", b"(" + replica.name),
        (b"repl-offset", string_or_integer(b"%d" % replica.offset)),
        (b"aof-base", b"\xc0\x00"),
    ]


def test_the_stream_has_what_commands_did(replica: RawReplica, client: Any) -> None:
    replica.synchronize()
    said = client.execute_command
    said("SELECT", 3)
    said("SET", "x", 1, "PXAT", 9_000_000_000_000)
    said("GET", "x")
    said("PUBLISH", "c", "m")
    said("SPUBLISH", "c", "m")
    said("SCRIPT", "LOAD", "return 1")
    for command in ("MULTI", "PUBLISH a 1", "PUBLISH b 2", "EXEC", "MULTI", "SET y 1", "PUBLISH b 2", "EXEC"):
        said(*command.split())
    said("SELECT", 5)
    said("EVAL", "redis.call('set', 'a', 1) return redis.call('publish', 'c', 'd')", 0)
    said("EVAL", "return redis.call('publish', 'c', 'd')", 0)
    said("SELECT", 0)
    for command in ("FUNCTION FLUSH", "FLUSHALL ASYNC", "FLUSHDB", "SWAPDB 0 1", "SCRIPT FLUSH", "DEL none"):
        said(*command.split())
    assert [b" ".join(command) for command in stream_of(replica, client)] == [
        b"SELECT 3",
        b"SET x 1 PXAT 9000000000000",
        b"PUBLISH c m",
        b"SPUBLISH c m",
        b"MULTI", b"PUBLISH a 1", b"PUBLISH b 2", b"EXEC",
        b"MULTI", b"SET y 1", b"PUBLISH b 2", b"EXEC",
        b"SELECT 5",
        b"MULTI", b"set a 1", b"publish c d", b"EXEC",
        b"publish c d",
        b"SELECT 0",
        b"FUNCTION FLUSH", b"FLUSHALL ASYNC", b"FLUSHDB", b"SWAPDB 0 1",
    ]  # fmt: skip


def test_a_replica_is_sent_a_write_before_the_client_is_sent_its_reply(
    held: miniredis.EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent_to: list[Session] = []

    def noted(connection: ClientConnection, now: Instant, flush: Any = ClientConnection.flush) -> None:
        sent_to.append(connection._session)
        flush(connection, now)

    replica = RawReplica((held.host, held.port))
    replica.synchronize()
    with connect((held.host, held.port)) as client:
        client.ping()
        monkeypatch.setattr(ClientConnection, "flush", noted)
        client.set("k", "v")
        assert [session.replica is not None for session in sent_to] == [True, False]
    replica.close()


def test_a_second_replica_has_the_database_named_to_all(
    replica: RawReplica, master: Address, client: Any
) -> None:
    replica.synchronize()
    client.set("k", 1)
    second = RawReplica(master)
    second.synchronize()
    assert stream_of(second, client) == [[b"SELECT", b"0"]]
    assert stream_of(replica, client)[:3] == [[b"SELECT", b"0"], [b"SET", b"k", b"1"], [b"SELECT", b"0"]]
    second.close()


@pytest.mark.parametrize("capability", ["psync2", "eof"])
def test_a_replica_goes_on_behind_what_it_has(
    capability: str, replica: RawReplica, master: Address, client: Any
) -> None:
    replica.synchronize()
    stream_of(replica, client)
    replica.close()
    client.set("missed", 1)
    again = RawReplica(master, "capa", capability)
    name = replica.name.upper()
    expected = b"+CONTINUE" + (b" " + replica.name if capability == "psync2" else b"")
    assert again.synchronize(name, replica.offset + replica.taken + 1) == expected
    assert stream_of(again, client) == [[b"SET", b"missed", b"1"]]
    assert client.info("stats")["sync_partial_ok"] == 1
    again.close()


@pytest.mark.parametrize("wrong", ["name", "future"])
def test_a_replica_with_another_history_gets_all_data(
    wrong: str, replica: RawReplica, master: Address, client: Any
) -> None:
    replica.synchronize()
    stream_of(replica, client)
    again = RawReplica(master)
    name, start = (b"9" * 40, 1) if wrong == "name" else (replica.name, 10_000)
    assert again.synchronize(name, start).startswith(b"+FULLRESYNC " + replica.name)
    stats = client.info("stats")
    assert (stats["sync_full"], stats["sync_partial_err"]) == (2, 1)
    again.close()


def test_sync_gets_the_data_without_a_word(master: Address, client: Any) -> None:
    old = RawReplica(master)
    old.say("SYNC")
    old.take_snapshot()
    assert old.snapshot.startswith(b"REDIS0010")
    assert stream_of(old, client) == [[b"SELECT", b"0"]]
    old.close()


REFUSALS = {
    "PSYNC ? x": b"-ERR value is not an integer or out of range",
    "PSYNC ?": b"-ERR wrong number of arguments for 'psync' command",
    "SYNC now": b"-ERR wrong number of arguments for 'sync' command",
    "PSYNC a 1 failover": b"-ERR PSYNC FAILOVER can't be sent to a master.",
}


@pytest.mark.parametrize("command", REFUSALS)
def test_synchronization_is_refused(command: str, master: Address) -> None:
    replica = RawReplica(master)
    assert replica.ask(*command.split()) == REFUSALS[command]
    replica.close()


def test_no_replica_in_a_transaction_or_behind_a_reply(master: Address) -> None:
    replica = RawReplica(master)
    replica.socket.sendall(b"PING\r\nPSYNC ? -1\r\n")
    assert replica.line() == b"+PONG"
    assert replica.line() == b"-ERR SYNC and PSYNC are invalid with pending output"
    assert replica.ask("MULTI") == b"+OK"
    assert replica.ask("SYNC") == b"-ERR Command not allowed inside a transaction"
    replica.close()


@pytest.mark.parametrize(
    "command",
    ["GET x", "SET x 1", "PING", "PUBLISH a b", "SUBSCRIBE x", "MULTI", "REPLCONF capa x", "NOSUCH"],
)
def test_a_replica_that_asks_for_a_reply_is_disconnected(
    command: str, replica: RawReplica, client: Any
) -> None:
    replica.synchronize()
    replica.say(*command.split())
    assert replica.is_disconnected()
    until(lambda: info(client)["connected_slaves"] == 0)
    assert client.get("x") is None


@pytest.mark.parametrize("command", ["PSYNC ? -1", "SYNC", "REPLCONF GETACK *", "MONITOR"])
def test_a_replica_stays_one_whatever_else_it_says(command: str, replica: RawReplica, client: Any) -> None:
    replica.synchronize()
    replica.say(*command.split())
    assert stream_of(replica, client) == [[b"SELECT", b"0"]]
    assert client.client_list(_type="replica")[0]["flags"] == "S"


def test_a_monitor_does_not_become_a_replica(master: Address, client: Any) -> None:
    replica = RawReplica(master)
    assert replica.ask("MONITOR") == b"+OK"
    replica.say("PSYNC", "?", "-1")
    client.ping()
    assert replica.line().endswith(b'"PING"')
    assert info(client)["connected_slaves"] == 0
    replica.close()


def test_wait_asks_for_acknowledgements_and_counts_them(
    replica: RawReplica, master: Address, client: Any
) -> None:
    replica.synchronize()
    client.set("k", 1)
    with connect(master) as other:
        assert client.wait(0, 1) == 0
        connection = client.connection
        assert connection is not None
        connection.send_command("WAIT", 1, 0)
        replica.commands([b"REPLCONF", b"GETACK", b"*"])
        assert other.info("clients")["blocked_clients"] == 1
        replica.acknowledge(replica.offset + replica.taken)
        assert connection.read_response() == 1
        told = info(other)
        assert told["slave0"]["offset"] == replica.offset + replica.taken == told["master_repl_offset"]
        assert other.execute_command("ROLE") == [
            b"master", told["master_repl_offset"], [[b"127.0.0.1", b"1234", b"%d" % told["slave0"]["offset"]]],
        ]  # fmt: skip


def test_wait_in_a_transaction_and_unblocked_tells_how_many_there_are(
    replica: RawReplica, master: Address, client: Any
) -> None:
    replica.synchronize()
    client.set("k", 1)
    for command in ("MULTI", "WAIT 1 0"):
        client.execute_command(*command.split())
    assert client.execute_command("EXEC") == [0]
    number = client.client_id()
    connection = client.connection
    assert connection is not None
    connection.send_command("WAIT", 2, 0)
    with connect(master) as other:
        until(lambda: other.info("clients")["blocked_clients"] == 1)
        replica.acknowledge(replica.offset + 1000)
        until(lambda: info(other)["slave0"]["offset"] == replica.offset + 1000)
        replica.close()  # and so there are none any more
        until(lambda: info(other)["connected_slaves"] == 0)
        assert other.client_unblock(number)
        assert connection.read_response() == 0


def test_a_pause_of_writes_holds_up_no_ack(replica: RawReplica, client: Any) -> None:
    replica.synchronize()
    client.set("k", 1)
    replica.commands([b"SET", b"k", b"1"])
    client.execute_command("CLIENT", "PAUSE", 100_000, "WRITE")
    replica.acknowledge(replica.offset + replica.taken)
    until(lambda: info(client)["slave0"]["offset"] == replica.offset + replica.taken)


def test_a_snapshot_may_be_larger_than_what_a_replica_may_leave_unread(master: Address, client: Any) -> None:
    client.config_set("repl-backlog-size", 1 << 14)
    client.config_set("client-output-buffer-limit", "replica 1mb 0 0")
    client.set("big", random.Random(0).randbytes(20_000_000))  # noqa: S311
    replica = RawReplica(master)
    replica.ask("PSYNC", "?", "-1")
    until(lambda: info(client)["slave0"]["state"] == "send_bulk", "the snapshot is on its way")
    client.set("small", 1)
    replica.take_snapshot()
    assert stream_of(replica, client)[-1] == [b"SET", b"small", b"1"]
    replica.close()


def test_a_replica_that_reads_nothing_is_disconnected(master: Address, client: Any) -> None:
    client.config_set("repl-backlog-size", 1 << 14)
    client.config_set("client-output-buffer-limit", "replica 1mb 0 0")
    replica = RawReplica(master)
    replica.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
    replica.synchronize()
    for _ in range(100):
        client.set("long", b"x" * 500_000)
        if info(client)["connected_slaves"] == 0:
            break
    assert info(client)["connected_slaves"] == 0
    replica.close()
