"""Files and the stream to replicas are those of 7.0 in every version: servers of other versions take them."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from tests.cases import exhaustive
from tests.waiting import until

VERSIONS = ("6.2", "7.0", "8.0", "valkey-9.1")
CHOSEN = [("7.0", "6.2"), ("8.0", "7.0"), ("valkey-9.1", "8.0")]
PAIRS = [exhaustive(*pair, when=pair not in CHOSEN) for pair in (*permutations(VERSIONS, 2), ("6.2", "6.2"))]


def fill(server: miniredis.EmbeddedServer) -> None:
    """A key of each type whose dump has changed since 6.2, and one that a client has restored."""
    with redis.Redis(port=server.port) as client:
        client.rpush("list", "a", "5")
        client.hset("hash", "field", "value")
        client.zadd("sorted", {"member": 1.5})
        client.xadd("stream", {"field": "value"})
        client.set("string", "value")
        client.restore("restored", 0, client.dump("string"), replace=True)


def keys_of(server: miniredis.EmbeddedServer) -> dict[bytes, object]:
    """The keys and what they have, as every version says it."""
    with redis.Redis(port=server.port) as client:
        read = {
            b"list": lambda key: client.lrange(key, 0, -1),
            b"hash": client.hgetall,
            b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
            b"stream": client.xrange,
            b"string": client.get,
        }
        return {key: read[client.type(key)](key) for key in client.scan_iter()}


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_a_server_of_another_version_opens_the_files(before: str, after: str, tmp_path: Path) -> None:
    files: dict[str, Any] = {"dir": tmp_path, "appendonly": "yes", "aof_use_rdb_preamble": "no"}
    with miniredis.start(version=before, **files) as server:
        fill(server)
        with redis.Redis(port=server.port) as client:  # the data as a base of commands
            client.bgrewriteaof()
            until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
        server.restore(server.snapshot())  # and as effects behind it
        fill(server)
        kept = keys_of(server)
    with miniredis.start(version=after, **files) as server:
        assert keys_of(server) == kept


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_replica_of_another_version_gets_what_its_primary_restores(ours: str, theirs: str) -> None:
    with (
        miniredis.start(version=ours, repl_diskless_sync_delay=0) as primary,
        miniredis.start(version=theirs, replicaof=f"127.0.0.1 {primary.port}") as replica,
        redis.Redis(port=primary.port) as client,
        redis.Redis(port=replica.port) as reader,
    ):
        until(lambda: reader.info("replication")["master_link_status"] == "up")
        fill(primary)
        primary.restore(primary.snapshot())
        client.set("last", 1)
        until(lambda: reader.get("last"))
        assert keys_of(replica) == keys_of(primary)


@pytest.mark.parametrize(("version", "newest"), [("6.2", 9), ("7.0", 10)])
def test_a_client_cannot_restore_a_payload_of_a_newer_version(version: str, newest: int) -> None:
    with miniredis.start(version="8.0") as newer, redis.Redis(port=newer.port) as client:
        client.set("k", "v")
        payload = client.dump("k")
    with miniredis.start(version=version) as server, redis.Redis(port=server.port) as client:
        client.set("k", "v")
        assert client.dump("k")[-10] == newest
        with pytest.raises(redis.ResponseError, match="version or checksum are wrong"):
            client.restore("new", 0, payload)
