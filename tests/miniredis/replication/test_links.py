"""A replica whose master is a raw socket of the test: miniredis, and a real redis-server to compare it with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from conformance.wire import RawConnection, encode
from tests.servers import find_redis_7_0, start_redis
from tests.waiting import until

from .masters import MARK, NAME, OTHER_NAME, RawMaster, role, snapshot_of

NO_NAME = "0" * 40


@pytest.fixture(params=["miniredis", "redis"])
def port(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    """Of a server that has no master yet."""
    if request.param == "miniredis":
        with miniredis.start() as server:
            yield server.port
        return
    with start_redis(tmp_path, program=find_redis_7_0) as real:
        yield real.port


@pytest.fixture
def replica(port: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=port, single_connection_client=True) as client:
        yield client


@pytest.fixture
def raw(port: int) -> Iterator[RawConnection]:
    with RawConnection("127.0.0.1", port) as connection:
        yield connection


@pytest.fixture
def master() -> Iterator[RawMaster]:
    with RawMaster() as master:
        yield master


def follow(replica: redis.Redis, master: RawMaster) -> None:
    replica.replicaof("127.0.0.1", str(master.port))


def told(client: redis.Redis, *fields: str) -> list[Any]:
    """Fields of INFO replication; None for those that are not there."""
    found: dict[str, Any] = client.info("replication")
    return [found.get(field) for field in fields]


def link(client: redis.Redis) -> list[Any]:
    """What INFO and ROLE say of the link."""
    return [
        *told(client, "role", "master_link_status", "master_sync_in_progress", "slave_repl_offset"),
        *role(client)[3:],
    ]


def wait_until_up(replica: redis.Redis) -> None:
    until(lambda: told(replica, "master_link_status") == ["up"], "the link is up")


def stream_of(*commands: tuple[str, ...]) -> bytes:
    return b"".join(encode(*each) for each in commands)


# What a replica says


def test_a_replica_says_who_it_is_and_what_it_has(replica: redis.Redis, port: int, master: RawMaster) -> None:
    name, here = told(replica, "master_replid")[0].encode(), str(port).encode()
    follow(replica, master)
    assert master.shake_hands() == [
        [b"PING"],
        [b"REPLCONF", b"listening-port", here],
        [b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"],
        [b"PSYNC", name, b"1"],
    ]


def test_a_replica_logs_in_and_announces_the_address_it_was_given(
    replica: redis.Redis, master: RawMaster
) -> None:
    announced = {"replica-announce-ip": "example.org", "replica-announce-port": "1234"}
    for directive, value in {"masteruser": "me", "masterauth": "secret", **announced}.items():
        replica.config_set(directive, value)
    follow(replica, master)
    assert master.shake_hands()[:4] == [
        [b"PING"],
        [b"AUTH", b"me", b"secret"],
        [b"REPLCONF", b"listening-port", b"1234"],
        [b"REPLCONF", b"ip-address", b"example.org"],
    ]


def test_a_replica_goes_on_where_a_master_wants_a_password_or_does_not_know_an_option(
    replica: redis.Redis, master: RawMaster
) -> None:
    follow(replica, master)
    master.accept()
    master.hear()
    master.say(b"-NOAUTH Authentication required.\r\n")
    for _ in range(2):
        assert master.hear()[0] == b"REPLCONF"
    master.say(b"-ERR what\r\n-ERR what\r\n")
    assert master.hear()[0] == b"PSYNC"


@pytest.mark.parametrize(
    "answers",
    [
        [b"-ERR no\r\n"],
        [b"+PONG\r\n", b"-WRONGPASS no\r\n"],
        [b"+PONG\r\n", b"+OK\r\n+OK\r\n+OK\r\n", b"-NOMASTERLINK Can't SYNC now\r\n"],
        [b"+PONG\r\n", b"+OK\r\n+OK\r\n+OK\r\n", b"-LOADING wait\r\n"],
        [b"+PONG\r\n", b"+OK\r\n+OK\r\n+OK\r\n", b"+FULLRESYNC %b 1\r\n" % NAME, b"-ERR cannot save\r\n"],
        [b"+PONG\r\n", b"+OK\r\n+OK\r\n+OK\r\n", b"+FULLRESYNC %b 1\r\n" % NAME, b"what\r\n"],
    ],
    ids=["ping", "password", "no link", "loading", "no snapshot", "garbage"],
)
def test_a_replica_that_is_refused_tries_again(
    replica: redis.Redis, master: RawMaster, answers: list[bytes]
) -> None:
    replica.config_set("masterauth", "secret")
    follow(replica, master)
    master.accept()
    for number, answer in enumerate(answers):
        if number < 3:
            master.hear()
        if number == 1 and len(answers) > 2:
            master.hear()
            master.hear()
        master.say(answer)
    master.hear_end()
    master.synchronize(snapshot_of({b"k": b"v"}))
    wait_until_up(replica)
    assert replica.get("k") == b"v"


@pytest.mark.parametrize("host", [b"a..b", b"a" * 64, b"\xff", "\N{SNOWMAN}".encode(), b"a\0b"])
def test_a_server_outlives_a_master_whose_name_no_host_can_have(host: bytes, raw: RawConnection) -> None:
    assert raw.command("REPLICAOF", host, "1") == b"+OK\r\n"
    until(lambda: b"connect\r\n" in raw.command("ROLE"))  # the first attempt has failed
    assert raw.command("REPLICAOF", "NO", "ONE") == b"+OK\r\n"
    assert raw.command("SET", "k", "v") == b"+OK\r\n"


@pytest.mark.parametrize("answer", [b"-ERR unknown command 'PSYNC'\r\n", b"+WHAT\r\n"])
def test_a_master_that_does_not_know_psync_is_asked_with_sync(
    replica: redis.Redis, master: RawMaster, answer: bytes
) -> None:
    follow(replica, master)
    master.shake_hands()
    master.say(answer)
    assert master.link.recv(100) == b"SYNC\r\n"
    content = snapshot_of({b"k": b"v"})
    master.say(b"$%d\r\n" % len(content), content)
    wait_until_up(replica)
    master.do("SET", "other", "w")
    until(lambda: replica.get("other") == b"w")
    assert replica.get("k") == b"v"


# The snapshot


def test_a_snapshot_comes_behind_its_length_or_before_a_mark_cut_anywhere(
    replica: redis.Redis, master: RawMaster
) -> None:
    content = snapshot_of({b"k": b"v", b"other": b"m" * 39})
    by_mark = b"$EOF:" + MARK + b"\r\n" + content + MARK
    for frame in (b"\n\n$%d\r\n" % len(content) + content, b"\n" + by_mark):
        replica.replicaof("NO", "ONE")
        follow(replica, master)
        master.shake_hands()
        master.say(b"\n+FULLRESYNC %b 5\r\n" % NAME)
        for at in range(len(frame)):
            master.say(frame[at : at + 1])
        wait_until_up(replica)
        master.hear_ack(5)
        assert replica.mget("k", "other") == [b"v", b"m" * 39]


def test_the_link_is_told_of_in_each_state(replica: redis.Redis, master: RawMaster) -> None:
    content = snapshot_of({b"k": b"v"})
    follow(replica, master)
    master.accept()
    master.hear()
    assert link(replica) == ["slave", "down", 0, 0, b"handshake", -1]
    assert told(replica, "master_host", "master_port", "master_link_down_since_seconds") == [
        "127.0.0.1", master.port, -1
    ]  # fmt: skip
    master.say(b"+PONG\r\n")
    for _ in range(2):
        master.hear()
    master.say(b"+OK\r\n+OK\r\n")
    master.hear()
    master.say(b"+FULLRESYNC %b 100\r\n" % NAME)
    until(lambda: link(replica) == ["slave", "down", 1, 0, b"sync", -1])
    assert told(replica, "master_sync_total_bytes", "master_sync_read_bytes", "master_sync_perc") == [
        -1,
        0,
        -0.0,
    ]
    master.say(b"$%d\r\n" % len(content), content[:20])
    progress = [len(content), 20, len(content) - 20]
    until(
        lambda: (
            told(replica, *(f"master_sync_{each}_bytes" for each in ("total", "read", "left"))) == progress
        )
    )
    assert told(replica, "master_link_status", "master_repl_offset") == ["down", 0]
    master.say(content[20:])
    until(lambda: link(replica) == ["slave", "up", 0, 100, b"connected", 100])
    assert told(
        replica, "master_replid", "master_replid2", "master_repl_offset", "second_repl_offset",
        "repl_backlog_active", "repl_backlog_first_byte_offset", "repl_backlog_histlen", "master_sync_total_bytes",
        "master_link_down_since_seconds", "slave_priority", "slave_read_only", "replica_announced",
    ) == [NAME.decode(), 0, 100, -1, 1, 101, 0, None, None, 100, 1, 1]  # fmt: skip
    (told_of,) = replica.client_list(_type="master")
    assert (told_of["flags"], told_of["addr"], told_of["user"]) == (
        "M",
        f"127.0.0.1:{master.port}",
        "(superuser)",
    )
    assert replica.config_get("replicaof") == {"replicaof": f"127.0.0.1 {master.port}"}


def test_what_was_there_before_is_gone(replica: redis.Redis, master: RawMaster) -> None:
    replica.set("old", "v")
    follow(replica, master)
    master.synchronize(snapshot_of({b"k": b"v"}, database=2))
    wait_until_up(replica)
    assert replica.exists("old") == 0
    assert replica.info("keyspace").keys() == {"db2"}


# The stream


def test_the_offset_counts_bytes_once_they_are_applied(replica: redis.Redis, master: RawMaster) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}), offset=100)
    wait_until_up(replica)
    first = stream_of(("SELECT", "3"), ("SET", "k", "1"), ("ping",))
    master.say(first)
    offset = 100 + len(first)
    until(lambda: told(replica, "slave_repl_offset") == [offset])
    ask = master.do("REPLCONF", "GETACK", "*")
    master.hear_ack(offset)
    offset += len(ask)
    half = encode("SET", "k", "x" * 100_000)
    master.say(half[:50_000])
    until(lambda: told(replica, "slave_read_repl_offset") == [offset + 50_000])
    assert told(replica, "slave_repl_offset", "master_repl_offset") == [offset, offset]
    master.say(half[50_000:])
    offset += len(half)
    until(lambda: told(replica, "slave_repl_offset", "slave_read_repl_offset") == [offset, offset])
    assert told(replica, "repl_backlog_histlen") == [offset - 100]


def test_info_counts_the_bytes_of_snapshot_and_stream(replica: redis.Redis, master: RawMaster) -> None:
    content = snapshot_of({b"k": b"v"})
    follow(replica, master)
    master.synchronize(content)
    wait_until_up(replica)
    stream = master.do("SET", "k", "w")
    until(lambda: replica.get("k") == b"w")
    stats: dict[str, int] = replica.info("stats")
    counted = len(b"$%d\r\n" % len(content)) + len(content) + len(stream)
    assert stats["total_net_repl_input_bytes"] == counted
    assert stats["total_net_input_bytes"] > counted
    assert stats["total_net_repl_output_bytes"] == 0


def test_a_transaction_counts_when_it_is_over_and_nobody_sees_half_of_it(
    replica: redis.Redis, master: RawMaster
) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}))
    wait_until_up(replica)
    before = stream_of(("INCR", "n"))
    begun = stream_of(("MULTI",), ("INCR", "n"), ("REPLCONF", "GETACK", "*"))
    master.say(before + begun)
    until(lambda: told(replica, "slave_read_repl_offset") == [len(before + begun)])
    assert told(replica, "slave_repl_offset") == [len(before)]
    assert replica.get("n") == b"1"
    rest = stream_of(("INCR", "n"), ("EXEC",))
    master.say(rest)
    master.hear_ack(len(before))
    master.hear_ack(len(before + begun + rest))
    assert replica.get("n") == b"3"


def test_a_link_that_breaks_in_a_transaction_or_command_goes_on_before_it(
    replica: redis.Redis, master: RawMaster
) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}))
    wait_until_up(replica)
    whole = stream_of(("SELECT", "5"), ("INCR", "n"))
    offset = len(whole)
    master.say(whole, stream_of(("MULTI",), ("INCR", "n")), encode("INCR", "n")[:-3])
    until(lambda: told(replica, "slave_read_repl_offset")[0] > offset)
    master.hang_up()
    assert master.shake_hands()[-1] == [b"PSYNC", NAME, b"%d" % (offset + 1)]
    assert link(replica) == ["slave", "down", 0, offset, b"handshake", -1]
    master.say(b"+CONTINUE\r\n")
    wait_until_up(replica)
    rest = stream_of(("MULTI",), ("INCR", "n"), ("EXEC",))
    master.say(rest)
    until(lambda: told(replica, "slave_repl_offset") == [offset + len(rest)])
    replica.select(5)  # as the stream had it
    assert replica.get("n") == b"2"


def test_a_master_may_go_on_under_another_name(replica: redis.Redis, master: RawMaster) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}), offset=10)
    wait_until_up(replica)
    master.hang_up()
    master.shake_hands()
    master.say(b"+CONTINUE %b\r\n" % OTHER_NAME)
    wait_until_up(replica)
    names = ["master_replid", "master_replid2", "master_repl_offset", "second_repl_offset"]
    assert told(replica, *names) == [OTHER_NAME.decode(), NAME.decode(), 10, 11]
    master.hang_up()
    assert master.shake_hands()[-1] == [b"PSYNC", OTHER_NAME, b"11"]


@pytest.mark.parametrize("garbage", [b"*1\r\n!garbage\r\n", b"\n\r\nSET k v\r\n"])
def test_what_is_no_command_ends_the_link_and_nothing_is_taken_for_known(
    garbage: bytes, replica: redis.Redis, master: RawMaster
) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}))
    wait_until_up(replica)
    master.say(garbage)
    master.hear_end()
    assert master.shake_hands()[-1] == [b"PSYNC", b"?", b"-1"]
    assert replica.exists("k") == 0


def test_commands_that_fail_are_passed_over_and_answered_by_nothing(
    replica: redis.Redis, master: RawMaster
) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({b"k": b"v"}))
    wait_until_up(replica)
    sent = stream_of(("LPUSH", "k", "x"), ("NOSUCH", "x"), ("SET", "k"), ("GET", "k"), ("SET", "k", "w"))
    master.say(sent)
    master.hear_ack(len(sent))
    assert replica.get("k") == b"w"


def test_those_who_wait_listen_or_track_hear_of_what_the_master_does(
    replica: redis.Redis, raw: RawConnection, port: int, master: RawMaster
) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}))
    wait_until_up(replica)
    with RawConnection("127.0.0.1", port) as tracker, RawConnection("127.0.0.1", port) as listener:
        raw.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
        tracker.command("HELLO", "3")
        tracker.command("CLIENT", "TRACKING", "ON")
        tracker.command("GET", "k")
        listener.command("SUBSCRIBE", "news")
        until(lambda: replica.info("clients")["blocked_clients"] == 1)
        master.do("XADD", "s", "1-1", "f", "v")
        master.do("SET", "k", "v")
        master.do("PUBLISH", "news", "hello")
        assert raw.reply() == b"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"
        assert tracker.reply() == b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"
        assert listener.reply() == b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n"


def test_a_pause_holds_the_stream_up(replica: redis.Redis, master: RawMaster) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}))
    wait_until_up(replica)
    replica.client_pause(1_000_000, all=False)
    sent = stream_of(("INCR", "n"), ("INCR", "n"))
    master.say(sent)
    until(lambda: told(replica, "slave_read_repl_offset") == [len(sent)])
    assert (replica.get("n"), told(replica, "slave_repl_offset")) == (None, [0])
    replica.client_unpause()
    until(lambda: told(replica, "slave_repl_offset") == [len(sent)])
    assert replica.get("n") == b"2"


# What clients may do


READ_ONLY = b"-READONLY You can't write against a read only replica.\r\n"


def test_clients_may_read_and_not_write(replica: redis.Redis, raw: RawConnection, master: RawMaster) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({b"k": b"v"}))
    wait_until_up(replica)
    for words in [
        ("SET", "k", "w"), ("BLPOP", "l", "0"), ("SWAPDB", "0", "1"), ("FLUSHALL",), ("FUNCTION", "FLUSH"),
        ("DEL", "no such key"), ("EVAL", "#!lua\nreturn 1", "0"), ("RESTORE", "a", "0", "x"),
    ]:  # fmt: skip
        assert raw.command(*words) == READ_ONLY, words
    assert raw.command("EVAL", "return redis.call('SET', 'k', 'w')", "0").startswith(READ_ONLY[:-2])
    assert raw.command("EVAL", "#!lua flags=no-writes\nreturn redis.call('GET', 'k')", "0") == b"$1\r\nv\r\n"
    assert raw.command("WAIT", "0", "0").startswith(b"-ERR WAIT cannot be used with replica instances.")
    assert raw.command("PUBLISH", "news", "x") == b":0\r\n"
    assert raw.command("MULTI") == b"+OK\r\n"
    assert raw.command("SET", "k", "w") == READ_ONLY
    assert raw.command("EXEC").startswith(b"-EXECABORT")
    assert raw.command("SET", "k") == b"-ERR wrong number of arguments for 'set' command\r\n"
    assert raw.command("GET", "k") == b"$1\r\nv\r\n"


def test_a_transaction_that_was_begun_before_is_refused_too(
    replica: redis.Redis, raw: RawConnection, master: RawMaster
) -> None:
    raw.command("MULTI")
    raw.command("SET", "k", "w")
    follow(replica, master)
    assert raw.command("EXEC") == b"-EXECABORT Transaction discarded because of: " + READ_ONLY[1:]


def test_a_replica_that_may_be_written_keeps_that_to_itself(replica: redis.Redis, master: RawMaster) -> None:
    replica.config_set("replica-read-only", "no")
    follow(replica, master)
    master.synchronize(snapshot_of({}), offset=7)
    wait_until_up(replica)
    replica.set("k", "v")
    assert told(replica, "master_repl_offset", "slave_read_only") == [7, 0]
    replica.config_set("replica-read-only", "yes")
    with pytest.raises(redis.ReadOnlyError):
        replica.set("k", "w")
    assert replica.get("k") == b"v"


def test_keys_that_expire_go_by_themselves_where_clients_of_a_replica_have_set_them(
    replica: redis.Redis, master: RawMaster
) -> None:
    replica.config_set("replica-read-only", "no")
    follow(replica, master)
    master.synchronize(snapshot_of({b"other": b"v"}, deadlines={b"other": 1000}))
    wait_until_up(replica)
    master.do("SET", "another", "v", "PXAT", "1000")
    for key in ("k", "l"):
        replica.set(key, "v", px=1)
    until(lambda: replica.dbsize() == 2 and replica.info("stats")["expired_keys"] == 2)
    assert replica.keys() == []


def test_stale_data_are_not_read_where_that_is_forbidden(
    replica: redis.Redis, raw: RawConnection, master: RawMaster
) -> None:
    replica.config_set("replica-serve-stale-data", "no")
    follow(replica, master)
    down = b"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n"
    for words in [
        ("GET", "k"),
        ("PING",),
        ("EVAL", "return 1", "0"),
        ("EVAL", "#!lua flags=no-writes\nreturn 1", "0"),
    ]:
        assert raw.command(*words) == down, words
    reads = "#!lua flags=allow-stale,no-writes\nreturn redis.call('GET', 'k')"
    assert raw.command("EVAL", reads, "0").startswith(b"-ERR Can not execute the command on a stale replica")
    assert raw.command("EVAL", "#!lua flags=allow-stale,no-writes\nreturn 1", "0") == b":1\r\n"
    assert raw.command("SET", "k", "v") == READ_ONLY
    assert raw.command("CONFIG", "GET", "port").startswith(b"*2")
    raw.command("MULTI")
    assert raw.command("GET", "k") == down
    raw.command("DISCARD")
    master.synchronize(snapshot_of({b"k": b"v"}))
    wait_until_up(replica)
    assert raw.command("GET", "k") == b"$1\r\nv\r\n"


def test_blocked_clients_are_sent_away_when_a_server_becomes_a_replica(
    replica: redis.Redis, raw: RawConnection, master: RawMaster
) -> None:
    raw.send("BLPOP", "jobs", "0")
    until(lambda: replica.info("clients")["blocked_clients"] == 1)
    follow(replica, master)
    assert raw.reply() == (
        b"-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)\r\n"
    )


def test_expired_keys_are_hidden_until_the_master_lets_them_go(
    replica: redis.Redis, raw: RawConnection, master: RawMaster
) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({b"k": b"v", b"other": b"v"}, deadlines={b"k": 1000}))
    wait_until_up(replica)
    master.do("SET", "soon", "v", "PXAT", "1000")
    master.do("PEXPIREAT", "other", "1000")
    sent = master.do("INCR", "n")
    until(lambda: replica.get("n") == b"1")
    for key in ("k", "soon", "other"):
        assert raw.command("GET", key) == b"$-1\r\n"
        assert raw.command("EXISTS", key) == b":0\r\n"
        assert raw.command("TTL", key) == b":-2\r\n"
    assert sorted(replica.keys()) == [b"n"]
    assert replica.info("stats")["expired_keys"] == 0
    master.do("APPEND", "k", "w")  # for the master it was there
    master.do("PERSIST", "k")
    master.do("PERSIST", "other")
    master.do("DEL", "soon")
    master.say(sent)
    until(lambda: replica.get("n") == b"2")
    assert replica.mget("k", "other", "soon") == [b"vw", b"v", None]


def test_replicas_of_a_replica_are_told_when_its_link_is_down(
    replica: redis.Redis, raw: RawConnection, master: RawMaster
) -> None:
    follow(replica, master)
    assert (
        raw.command("PSYNC", "?", "-1") == b"-NOMASTERLINK Can't SYNC while not connected with my master\r\n"
    )


# REPLICAOF


def test_replicaof_refuses_what_it_does_not_understand(raw: RawConnection) -> None:
    for words in (("127.0.0.1", "x"), ("127.0.0.1", "65536"), ("no", "two"), ("127.0.0.1", "-1")):
        assert raw.command("REPLICAOF", *words) == b"-ERR Invalid master port\r\n"
        assert raw.command("SLAVEOF", *words) == b"-ERR Invalid master port\r\n"


def test_replicaof_the_same_master_changes_nothing(
    replica: redis.Redis, raw: RawConnection, master: RawMaster
) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}))
    wait_until_up(replica)
    again = raw.command("REPLICAOF", "127.0.0.1", str(master.port))
    assert again == b"+OK Already connected to specified master\r\n"
    assert link(replica) == ["slave", "up", 0, 0, b"connected", 0]


def test_a_replica_that_becomes_a_master_keeps_its_data_and_its_place(
    replica: redis.Redis, raw: RawConnection, master: RawMaster
) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({b"k": b"v"}), offset=50)
    wait_until_up(replica)
    assert raw.command("REPLICAOF", "NO", "ONE") == b"+OK\r\n"
    assert raw.command("REPLICAOF", "NO", "ONE") == b"+OK\r\n"
    master.hear_end()
    fields = ["role", "master_host", "master_replid2", "master_repl_offset", "second_repl_offset"]
    assert told(replica, *fields) == ["master", None, NAME.decode(), 50, 51]
    assert told(replica, "master_replid") != [NAME.decode()]
    assert role(replica) == [b"master", 50, []]
    assert replica.config_get("replicaof") == {"replicaof": ""}
    assert (replica.get("k"), replica.set("k", "w")) == (b"v", True)


def test_a_replica_asks_another_master_for_the_rest(replica: redis.Redis, master: RawMaster) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({b"k": b"v"}), offset=50)
    wait_until_up(replica)
    with RawMaster() as other:
        follow(replica, other)
        assert other.shake_hands()[-1] == [b"PSYNC", NAME, b"51"]
        other.say(b"+CONTINUE %b\r\n" % OTHER_NAME)
        wait_until_up(replica)
        assert replica.get("k") == b"v"
        assert told(replica, "master_port", "master_replid") == [other.port, OTHER_NAME.decode()]


def test_a_killed_link_is_made_again_at_once(replica: redis.Redis, master: RawMaster) -> None:
    follow(replica, master)
    master.synchronize(snapshot_of({}), offset=50)
    wait_until_up(replica)
    assert replica.client_kill_filter(_type="master") == 1
    assert master.shake_hands()[-1] == [b"PSYNC", NAME, b"51"]
