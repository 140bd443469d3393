"""A node of a cluster answers as a real one of its version: what CLUSTER has beyond 7.0, and CLUSTERSCAN.

What real nodes of 6.0, 6.2, 7.2, 7.4, 8.0, Valkey 8.1 and 9.1 said is in ``cluster_versions.json``; ``python -m
tests.miniredis.versions.test_cluster_versions NAME=PATH...`` asks such servers anew.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Final

import pytest
import redis

import miniredis
from conformance.wire import RawConnection
from miniredis.engine.cluster.slots import SLOTS, key_slot, slot_tag
from miniredis.testing.real_servers import CLUSTER_NODE, program
from tests.miniredis.topologies.talk import replies, without_names
from tests.waiting import until

FILE: Final = Path(__file__).with_name("cluster_versions.json")
RECORDED: Final[dict[str, dict[str, str]]] = json.loads(FILE.read_text()) if FILE.exists() else {}

REQUESTS: Final = """
    CONFIG SET cluster-require-full-coverage no
    COMMAND INFO asking readonly readwrite clusterscan
    ASKING
    READONLY
    READWRITE x
    CLUSTER MYSHARDID
    CLUSTER MYSHARDID x
    CLUSTER INFO
    CLUSTER SLOTS
    CLUSTER SHARDS
    CLUSTER NODES
    CLUSTER LINKS
    CLUSTER KEYSLOT
    CLUSTER FOO
    CLUSTER COUNTKEYSINSLOT x
    SET foo bar
    MSET {06S}a 1 {06S}b 2 {06S}c 3
    CLUSTERSCAN
    CLUSTERSCAN 0
    CLUSTERSCAN 0-{06S}-0
    CLUSTERSCAN 0-{06S}-0 COUNT 3
    CLUSTERSCAN 0-{06S}-0 COUNT 3 TYPE hash
    CLUSTERSCAN 0-{06S}-0 COUNT 100 TYPE hash
    CLUSTERSCAN 0-{06S}-0 TYPE string TYPE hash
    CLUSTERSCAN 0-{06S}-0 SLOT 0
    CLUSTERSCAN 0-{06S}-0 SLOT 3
    CLUSTERSCAN 0-{foo}-0 COUNT 1
    CLUSTERSCAN 0-{}-0
    CLUSTERSCAN 0-{06S-0
    CLUSTERSCAN x-{foo}-31879
    CLUSTERSCAN 0-{foo}-00
    CLUSTERSCAN 0-{foo}-+1
    CLUSTERSCAN "0-{foo}- 1"
    CLUSTERSCAN 0-{foo}--1
    CLUSTERSCAN 0-{foo}-1-1
    CLUSTERSCAN 0-{foo}-
    CLUSTERSCAN 0-{foo}
    CLUSTERSCAN 0-{foo}-18446744073709551615
    CLUSTERSCAN 0-{foo}-18446744073709551616
    CLUSTERSCAN --0
    CLUSTERSCAN 00
    CLUSTERSCAN +0
    CLUSTERSCAN abc
    CLUSTERSCAN ""
    CLUSTERSCAN abc TYPE x
    CLUSTERSCAN abc SLOT 3 MATCH foo
    CLUSTERSCAN 0 SLOT 12182
    CLUSTERSCAN 0 SLOT 16383
    CLUSTERSCAN 0 SLOT 16384
    CLUSTERSCAN 0 SLOT -1
    CLUSTERSCAN 0 SLOT x
    CLUSTERSCAN 0 SLOT
    CLUSTERSCAN 0 SLOT 1 SLOT 2
    CLUSTERSCAN 0 COUNT 0
    CLUSTERSCAN 0 COUNT x
    CLUSTERSCAN 0 COUNT
    CLUSTERSCAN 0 COUNT 0 TYPE x
    CLUSTERSCAN 0 TYPE x COUNT 0
    CLUSTERSCAN 0 TYPE x FOO
    CLUSTERSCAN 0 FOO
    CLUSTERSCAN 0 NOVALUES
    CLUSTERSCAN 0 NOSCORES
    CLUSTERSCAN 0 MATCH foo
    CLUSTERSCAN 0 MATCH {foo}*
    CLUSTERSCAN 0 MATCH a{b}?
    CLUSTERSCAN 0 MATCH {}b
    CLUSTERSCAN 0 MATCH {}b*
    CLUSTERSCAN 0 MATCH f*
    CLUSTERSCAN 0 MATCH \\\\f
    CLUSTERSCAN 0 MATCH {foo}* SLOT 12182
    CLUSTERSCAN 0 MATCH {foo}* SLOT 12181
    CLUSTERSCAN 0-{06S}-0 MATCH foo
    CLUSTERSCAN 0-{foo}-0 MATCH foo
    CLUSTERSCAN 0-{9Le}-0 MATCH {06S}*
    CLUSTERSCAN 0-{9Le}-0 MATCH {06S}* SLOT 12182
    CLUSTERSCAN 0-{06S}-0 MATCH {06S}* COUNT 100
    CLUSTERSCAN 0-{06S}-0 MATCH *a COUNT 100
    CLUSTERSCAN 0-{06S}-0 SLOT 3 TYPE x
    EVAL "return redis.call('clusterscan', '0')" 0
    COMMAND GETKEYS CLUSTERSCAN 0-{06S}-0
    HELLO 3
    CLUSTERSCAN 0-{foo}-0
    CLUSTER SHARDS
    CLUSTER INFO
    CLUSTER SLOT-STATS SLOTSRANGE 0 1
    HELLO 2
    CLUSTER SLOT-STATS
    CLUSTER SLOT-STATS SLOTSRANGE 0 1
    CLUSTER SLOT-STATS SLOTSRANGE 0
    CLUSTER SLOT-STATS SLOTSRANGE 0 1 2
    CLUSTER SLOT-STATS SLOTSRANGE x 1
    CLUSTER SLOT-STATS SLOTSRANGE 0 16384
    CLUSTER SLOT-STATS SLOTSRANGE 5 3
    CLUSTER SLOT-STATS FOO 0
    CLUSTER SLOT-STATS ORDERBY
    CLUSTER SLOT-STATS ORDERBY cpu-usec
    CLUSTER SLOT-STATS ORDERBY key-count LIMIT 3
    CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT 2 asc
    CLUSTER SLOT-STATS ORDERBY key-count DESC LIMIT 2
    CLUSTER SLOT-STATS ORDERBY key-count LIMIT 0
    CLUSTER SLOT-STATS ORDERBY key-count LIMIT x
    CLUSTER SLOT-STATS ORDERBY key-count LIMIT
    CLUSTER SLOT-STATS ORDERBY key-count FOO
    CLUSTER SLOT-STATS ORDERBY key-count LIMIT 1 LIMIT 2
    CLUSTER SLOT-STATS ORDERBY key-count DESC ASC
    CLUSTER FLUSHSLOT
    CLUSTER FLUSHSLOT x
    CLUSTER FLUSHSLOT 16384
    CLUSTER FLUSHSLOT 0 FOO
    CLUSTER FLUSHSLOT 0 SYNC x
    CLUSTER FLUSHSLOT 12182 sync
    CLUSTER FLUSHSLOT 1 ASYNC
    DBSIZE
    CLUSTER GETSLOTMIGRATIONS
    CLUSTER GETSLOTMIGRATIONS x
    CLUSTER CANCELSLOTMIGRATIONS
    CLUSTER DELSLOTS 5
    CLUSTER SLOT-STATS SLOTSRANGE 4 6
    CLUSTERSCAN 0-{06S}-0 COUNT 100
    CLUSTERSCAN 0-{06S}-0 COUNT 100 SLOT 0
    CLUSTERSCAN 0 SLOT 5
    CLUSTERSCAN 0-{460}-0
    CLUSTER INFO x
    CLUSTER SLOTS x
"""
"""What each version is asked; the fingerprint in a cursor of CLUSTERSCAN is of each process."""


def told(address: tuple[str, int]) -> dict[str, str]:
    """What a node with all slots replies."""
    requests = [line.strip() for line in REQUESTS.strip().splitlines()]
    found = replies(address, [[word.encode() for word in shlex.split(line)] for line in requests])
    pairs = enumerate(zip(requests, found, strict=True))
    return {f"{at}: {line}": comparable(line, reply) for at, (line, reply) in pairs if line[:5] != "HELLO"}


def comparable(request: str, reply: bytes) -> str:
    reply = re.sub(rb"\$\d+\r\n[^-\r\n]{2,}(-\{\w+\}-\d+\r\n)", rb"<fingerprint>\1", without_names(reply))
    if request.startswith(("COMMAND INFO", "CLUSTERSCAN")):
        reply = b"\n".join(sorted(reply.split(b"\r\n")))  # flags and the keys of a slot have no order
    return reply.decode("latin-1")


@pytest.mark.parametrize("version", RECORDED)
def test_a_node_replies_as_a_real_one_of_its_version(version: str) -> None:
    with miniredis.start(version=version, cluster_enabled="yes") as server:
        ours = told((server.host, server.port))
    assert {line: reply for line, reply in ours.items() if reply != RECORDED[version][line]} == {}
    assert ours == RECORDED[version]


def test_each_slot_has_a_tag_of_digits_and_letters() -> None:
    assert [slot_tag(slot) for slot in (0, 1, 5, 12182, 15495, 16383)] == [
        b"06S",
        b"Qi",
        b"460",
        b"9Le",
        b"a",
        b"6ZJ",
    ]
    assert all(key_slot(slot_tag(slot)) == slot for slot in range(0, SLOTS, 251))


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_clusterscan_returns_each_key_of_a_cluster_once(count: int) -> None:
    keys = {b"key:%d" % number for number in range(50)} | {b"{a}%d" % number for number in range(20)}
    with miniredis.cluster(version="valkey-9.1") as cluster, cluster.client() as client:
        for key in keys:
            client.set(key, "v")
        found: list[bytes] = []
        cursor = b"0"
        while True:
            slot = key_slot(cursor)
            owner = next(node for node in cluster.nodes if slot in node.slots)
            with redis.Redis(owner.host, owner.port) as at:
                cursor, some = at.execute_command("CLUSTERSCAN", cursor, "COUNT", count)
            assert len(some) <= count
            found += some
            if cursor == b"0":
                break
    assert sorted(found) == sorted(keys)


def test_clusterscan_refuses_a_position_that_python_would_not_parse() -> None:
    with miniredis.start(version="valkey-9.1", cluster_enabled="yes") as server, server.client() as client:
        with pytest.raises(redis.ResponseError, match="Invalid cursor"):
            client.execute_command("CLUSTERSCAN", "0-{foo}-" + "1" * 5000)
        padded = "0-{foo}-" + "1".zfill(5000)
        assert client.execute_command("CLUSTERSCAN", padded, "SLOT", 12182) == [b"0", []]


def test_the_nodes_of_a_shard_tell_its_name_also_after_a_failover() -> None:
    with miniredis.cluster(nodes=2, replicas=1, version="8.0") as cluster:
        names = [shard_of(node) for node in cluster.nodes]
        assert names[0] != names[1]
        assert names[:2] == names[2:]
        cluster.failover(cluster.nodes[2])
        assert [shard_of(node) for node in cluster.nodes] == names


def shard_of(node: miniredis.ClusterNode) -> object:
    with node.client() as client:
        return client.cluster("myshardid")


def record(servers: list[str]) -> None:
    """Asks real servers, each given as VERSION=PATH, and keeps what they say."""
    recorded: dict[str, dict[str, str]] = {}
    for each in servers:
        version, _, path = each.partition("=")
        flags = [flag for flag in CLUSTER_NODE if version[0] != "6" or flag in {"--cluster-enabled", "yes"}]
        with program(lambda path=path: Path(path), *flags) as at, RawConnection(at.host, at.port) as client:  # type: ignore[misc]
            client.command("CLUSTER", "ADDSLOTS", *map(str, range(SLOTS)))
            until(lambda client=client: b"state:ok" in client.command("CLUSTER", "INFO"))  # type: ignore[misc]
            recorded[version] = told((at.host, at.port))
    FILE.write_text(json.dumps(recorded, indent=0) + "\n")


if __name__ == "__main__":
    record(sys.argv[1:])
