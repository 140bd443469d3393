"""MIGRATE between servers without a cluster, ours and real ones, in all pairs."""

from __future__ import annotations

import re
import shlex
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import product
from typing import Any

import pytest
import redis

import miniredis
from conformance.targets import Address, real_redis
from tests.cases import check_each

from ..topologies.talk import replies

LINES = """
    MIGRATE 127.0.0.1 TARGET a 0 1000
    MSET a 1 b 2 c 3
    RPUSH l x y
    PEXPIRE b 100000
    MIGRATE 127.0.0.1
    MIGRATE 127.0.0.1 TARGET a 0 x
    MIGRATE 127.0.0.1 TARGET a x 1000
    MIGRATE 127.0.0.1 TARGET a 0 1000 FOO
    MIGRATE 127.0.0.1 TARGET a 0 1000 AUTH
    MIGRATE 127.0.0.1 TARGET a 0 1000 AUTH2 x
    MIGRATE 127.0.0.1 TARGET a 0 1000 KEYS a
    MIGRATE 127.0.0.1 TARGET "" 0 1000 KEYS
    MIGRATE 127.0.0.1 TARGET "" 0 1000 KEYS nothing
    MIGRATE 127.0.0.1 1 a 0 1000
    MIGRATE 127.0.0.1 x a 0 1000
    MIGRATE 127.0.0.1 TARGET a 99 1000
    MIGRATE 127.0.0.1 TARGET a 0 1000 AUTH wrong
    MIGRATE 127.0.0.1 TARGET a 0 1000 AUTH2 nobody wrong
    EXISTS a
    MIGRATE 127.0.0.1 TARGET a 0 1000 COPY
    EXISTS a
    MIGRATE 127.0.0.1 TARGET a 0 1000
    MIGRATE 127.0.0.1 TARGET "" 0 1000 KEYS a c
    EXISTS a c
    MIGRATE 127.0.0.1 TARGET a 0 0 replace
    MULTI
    MIGRATE 127.0.0.1 TARGET "" 3 1000 COPY KEYS b l
    MIGRATE 127.0.0.1 TARGET b 0 1000
    EXEC
    EVAL "return redis.call('migrate', '127.0.0.1', 'TARGET', 'l', '0', '1000', 'copy')" 0
    EVAL "return redis.pcall('migrate', '127.0.0.1', 'TARGET', 'l', '0', '1000')" 0
    EXISTS a b c l
    MIGRATE 127.0.0.1 SOURCE l 0 50
    COMMAND GETKEYSANDFLAGS MIGRATE h 1 "" 0 10 KEYS a b
    COMMAND GETKEYSANDFLAGS MIGRATE h 1 a 0 10
    COMMAND GETKEYSANDFLAGS MIGRATE h 1 a 0 10 KEYS a b
    COMMAND GETKEYSANDFLAGS MIGRATE h 1 "" 0 10 AUTH KEYS KEYS a b
    COMMAND GETKEYS MIGRATE h 1 "" 0 10
    RESTORE-ASKING
    RESTORE-ASKING x 0 x
"""


@pytest.fixture(scope="module")
def servers(redis_7_0: Address) -> Iterator[dict[str, Any]]:
    """Two servers of each kind."""
    with ExitStack() as stack:
        yield {
            "ours": [stack.enter_context(miniredis.start()) for _ in range(2)],
            "real": [stack.enter_context(real_redis()) for _ in range(2)],
        }


def told(source: Any, target: Any) -> list[bytes]:
    """What a server answers that sends its keys to another one, and what that one has then."""
    for server in (source, target):
        replies((server.host, server.port), [[b"FLUSHALL"]])
    lines = LINES.replace("TARGET", str(target.port)).replace("SOURCE", str(source.port))
    requests = [[word.encode() for word in shlex.split(line)] for line in lines.strip().splitlines()]
    after = [b"MGET a b c", b"TTL b", b"EXISTS l", b"SELECT 3", b"GET b", b"TTL b", b"LRANGE l 0 -1"]
    return [
        *replies((source.host, source.port), requests),
        *map(rounded, replies((target.host, target.port), [line.split() for line in after])),
    ]


def rounded(reply: bytes) -> bytes:
    """A reply in which a time of about 100 seconds, some of which may have passed, is 100."""
    return re.sub(rb"^:[5-9]\d\r\n", b":100\r\n", reply)


def test_keys_go_to_another_server_as_with_a_real_one(servers: dict[str, Any]) -> None:
    expected = told(*servers["real"])

    def compare(kinds: tuple[str, str]) -> None:
        (source, _), (_, target) = (servers[kind] for kind in kinds)
        assert told(source, target) == expected

    pairs = {" to ".join(kinds): kinds for kinds in product(servers, servers)}
    check_each(pairs, compare)


def test_the_password_for_the_other_server_is_logged_nowhere(servers: dict[str, Any]) -> None:
    for source, target in servers.values():
        with redis.Redis(source.host, source.port) as client:
            client.set("k", "v")
            client.config_set("slowlog-log-slower-than", 0)
            with pytest.raises(redis.ResponseError):
                client.migrate(target.host, target.port, "k", 0, 1000, auth="secret")
            assert client.slowlog_get(1)[0]["command"].endswith(b" AUTH (redacted) KEYS k")


def test_replicas_drop_the_keys_that_are_gone() -> None:
    with (
        miniredis.start() as source,
        miniredis.start() as target,
        miniredis.start(replicaof=f"{source.host} {source.port}") as replica,
        source.client() as client,
    ):
        client.mset({"a": 1, "b": 2, "c": 3})
        assert client.wait(1, 5000) == 1
        assert replica.content("a") == b"1"
        client.migrate(target.host, target.port, ["a", "b"], 0, 1000)
        assert client.wait(1, 5000) == 1
        assert [replica.content(key) for key in "abc"] == [None, None, b"3"]
        assert target.content("b") == b"2"


def test_a_reply_without_an_end_is_not_read_for_ever() -> None:
    megabytes, sent = 64, []
    with socket.create_server(("127.0.0.1", 0)) as target, miniredis.start() as source:

        def answer() -> None:
            connection, _ = target.accept()
            with connection, suppress(OSError):
                for _ in range(megabytes):
                    connection.sendall(b"+" * (1 << 20))
                    sent.append(1)

        thread = threading.Thread(target=answer)
        thread.start()
        with source.client() as client:
            client.set("k", "v")
            with pytest.raises(redis.ResponseError, match="IOERR error or timeout reading"):
                client.migrate("127.0.0.1", target.getsockname()[1], "k", 0, 1000)
            thread.join()
            assert client.get("k") == b"v"
    assert len(sent) < megabytes
