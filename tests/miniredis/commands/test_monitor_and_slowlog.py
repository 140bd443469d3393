"""MONITOR and SLOWLOG on both servers, apart from the times they print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack

import hiredis
import pytest

from conformance.wire import RawConnection, encode

TIME_AND_PORT = re.compile(rb"\+[0-9]+\.[0-9]{6} \[([0-9]+) 127\.0\.0\.1:[0-9]+\]")


@pytest.fixture
def clients(empty_address: tuple[str, int]) -> Iterator[tuple[RawConnection, RawConnection]]:
    with ExitStack() as stack:
        a, b, control = (stack.enter_context(RawConnection(*empty_address)) for _ in range(3))
        yield a, b
        control.command("CONFIG", "SET", "slowlog-log-slower-than", "10000", "slowlog-max-len", "128")
        control.command("SLOWLOG", "RESET")


def seen(monitor: RawConnection, count: int) -> list[bytes]:
    """The next lines of MONITOR, with the database in place of when and where from."""
    return [TIME_AND_PORT.sub(rb"\1", monitor.reply()).removesuffix(b"\r\n") for _ in range(count)]


@pytest.mark.usefixtures("as_redis_7_0")
def test_monitor_shows_only_the_commands_that_run(clients: tuple[RawConnection, RawConnection]) -> None:
    client, monitor = clients
    assert monitor.command("MONITOR") == b"+OK\r\n"
    for words in (
        ["PING"], ["NOSUCH"], ["GET"], ["CONFIG", "GET", "port"], ["SLOWLOG", "LEN"], ["SELECT", "2"],
        ["MULTI"], ["SET", "k", "v"], ["EXEC"], ["LPUSH", "k", "x"], ["AUTH", "default", "secret"],
        ["HELLO", "2", "AUTH", "default", "secret", "SETNAME", "me"], ["CLIENT", "REPLY", "SKIP"],
    ):  # fmt: skip
        client.send(*words)
    client.socket.sendall(encode(b'a"\\\n\r\t\a\b\0\xff~ z', "b"))
    client.send("ECHO", 'a"\\\n\r\t\a\b\0~ z')
    assert seen(monitor, 10) == [
        b'0 "PING"',
        b'2 "SELECT" "2"',
        b'2 "MULTI"',
        b'2 "SET" "k" "v"',
        b'2 "EXEC"',
        b'2 "LPUSH" "k" "x"',
        b'2 "AUTH" "(redacted)" "(redacted)"',
        b'2 "HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "me"',
        b'2 "CLIENT" "REPLY" "SKIP"',
        rb'2 "ECHO" "a\"\\\n\r\t\a\b\x00~ z"',
    ]


@pytest.mark.usefixtures("as_redis_7_0")
def test_a_refused_exec_is_shown_and_counted_as_an_aborted_transaction(
    clients: tuple[RawConnection, RawConnection],
) -> None:
    client, monitor = clients
    monitor.command("CONFIG", "RESETSTAT")
    monitor.command("MONITOR")
    assert client.command("EXEC", "x").startswith(b"-EXECABORT Transaction discarded because of: ")
    assert seen(monitor, 1) == [b'0 "EXEC" "x"']
    counted = client.command("INFO", "errorstats")
    assert b"errorstat_EXECABORT:count=1" in counted
    assert b"errorstat_ERR" not in counted


def test_errors_are_counted_in_the_order_of_their_names(clients: tuple[RawConnection, RawConnection]) -> None:
    client, _ = clients
    client.command("CONFIG", "RESETSTAT")
    for request in (["RPUSH", "texts", "a"], ["GET", "texts"], ["EVALSHA", "x", "0"], ["NOTHING"]):
        client.command(*request)
    lines = client.command("INFO", "errorstats").decode().splitlines()
    names = [line.split(":")[0] for line in lines if line.startswith("errorstat_")]
    assert names == ["errorstat_ERR", "errorstat_NOSCRIPT", "errorstat_WRONGTYPE"]


def test_monitor_shows_a_command_when_it_blocks(clients: tuple[RawConnection, RawConnection]) -> None:
    client, monitor = clients
    monitor.command("MONITOR")
    client.send("BLPOP", "k", "0")
    assert seen(monitor, 1) == [b'0 "BLPOP" "k" "0"']


@pytest.mark.usefixtures("as_redis_7_0")
def test_a_monitor_cannot_read_or_write_keys(clients: tuple[RawConnection, RawConnection]) -> None:
    client, monitor = clients
    monitor.command("MONITOR")
    refusal = b"-ERR Replica can't interact with the keyspace\r\n"
    assert monitor.command("GET", "k") == monitor.command("SET", "k", "v") == refusal
    assert monitor.command("PING") == b"+PONG\r\n"
    assert seen(monitor, 1) == [b'0 "PING"']
    assert b" flags=O " in client.command("CLIENT", "LIST")
    assert seen(monitor, 0) == []


def test_a_monitor_sees_its_own_commands_between_its_replies(
    clients: tuple[RawConnection, RawConnection],
) -> None:
    monitor = clients[1]
    monitor.command("MONITOR")
    monitor.send("MULTI")
    monitor.send("PING")
    monitor.send("ECHO", "x")
    monitor.send("EXEC")
    data = b""
    while b'"EXEC"\r\n' not in data:
        data += monitor.socket.recv(65536)
    assert TIME_AND_PORT.sub(rb"\1", data) == (
        b'+OK\r\n0 "MULTI"\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+PONG\r\n0 "PING"\r\n$1\r\nx\r\n0 "ECHO" "x"\r\n0 "EXEC"\r\n'
    )


def test_reset_ends_monitoring(clients: tuple[RawConnection, RawConnection]) -> None:
    client, monitor = clients
    monitor.command("MONITOR")
    assert monitor.command("RESET") == b"+RESET\r\n"
    client.command("SET", "k", "v")
    assert monitor.command("GET", "k") == b"$1\r\nv\r\n"


def entries(client: RawConnection) -> list[list[object]]:
    reader = hiredis.Reader()
    reader.feed(client.command("SLOWLOG", "GET", "-1"))
    found: list[list[object]] = reader.gets()
    return found


@pytest.mark.usefixtures("as_redis_7_0")
def test_slowlog_keeps_the_newest_entries(clients: tuple[RawConnection, RawConnection]) -> None:
    client, other = clients
    client.command("CONFIG", "SET", "slowlog-max-len", "4", "slowlog-log-slower-than", "0")
    client.command("CLIENT", "SETNAME", "me")
    for words in (["GET"], ["NOSUCH"], ["MULTI"], ["PING"], ["EXEC"], ["LPUSH", "k", *map(str, range(40))],
                  ["ECHO", "x" * 200], ["AUTH", "default", "secret"]):  # fmt: skip
        client.command(*words)
    log = entries(client)
    assert [entry[3] for entry in log] == [
        [b"AUTH", b"(redacted)", b"(redacted)"],
        [b"ECHO", b"x" * 128 + b"... (72 more bytes)"],
        [b"LPUSH", b"k", *(b"%d" % number for number in range(29)), b"... (11 more arguments)"],
        [b"PING"],
    ]
    numbers = [int(str(entry[0])) for entry in log]
    assert numbers == list(range(numbers[0], numbers[0] - 4, -1))
    assert all(entry[5] == b"me" and entry[4].startswith(b"127.0.0.1:") for entry in log)  # type: ignore[attr-defined]
    assert other.command("SLOWLOG", "LEN") == b":4\r\n"
    assert other.command("SLOWLOG", "RESET") == b"+OK\r\n"
    assert other.command("CONFIG", "SET", "slowlog-log-slower-than", "-1") == b"+OK\r\n"
    assert other.command("SLOWLOG", "LEN") == b":1\r\n"


def test_slowlog_records_a_blocking_command_when_it_is_served(
    clients: tuple[RawConnection, RawConnection],
) -> None:
    client, other = clients
    other.command("SLOWLOG", "RESET")
    other.command("CONFIG", "SET", "slowlog-log-slower-than", "0")
    client.send("BLPOP", "k", "0")
    while b" flags=b " not in other.command("CLIENT", "LIST"):
        pass
    assert [b"BLPOP", b"k", b"0"] not in [entry[3] for entry in entries(other)]
    other.command("RPUSH", "k", "v")
    assert client.reply() == b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n"
    assert [b"BLPOP", b"k", b"0"] in [entry[3] for entry in entries(other)]
