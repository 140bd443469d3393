"""A cluster of one node that has all slots answers as a redis-server with ``cluster-enabled yes``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest
import redis

import miniredis
from conformance.targets import Address, real_redis
from miniredis.engine import Config
from miniredis.engine.cluster.topology import Node, Topology
from miniredis.testing.real_servers import CLUSTER_NODE
from tests.cases import check_each

from .talk import replies, without_names

LOAD = (
    "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function() return redis.call('get', 'b') end)"
    "redis.register_function{function_name='g', callback=function() return 1 end, flags={'no-cluster'}}"
    "redis.register_function{function_name='h', callback=function() return redis.call('get', 'b') end, "
    "flags={'allow-cross-slot-keys'}}\""
)

CONVERSATIONS = {
    "slots": """
        CLUSTER KEYSLOT foo{bar}x
        CLUSTER KEYSLOT {}a
        CLUSTER KEYSLOT a{}{b}
        CLUSTER KEYSLOT {
        CLUSTER KEYSLOT ""
        CLUSTER KEYSLOT {a}{b}
        CLUSTER KEYSLOT }a{b}
        CLUSTER KEYSLOT a{b
        CLUSTER KEYSLOT 123456789
    """,
    "topology": """
        CLUSTER SLOTS
        CLUSTER SHARDS
        CLUSTER NODES
        CLUSTER INFO
        CLUSTER LINKS
        CLUSTER MYID
        HELLO 3
        CLUSTER SLOTS
        CLUSTER SHARDS
        CLUSTER NODES
        CLUSTER INFO
        CLUSTER LINKS
        INFO cluster
    """,
    "mistakes": """
        CLUSTER
        CLUSTER nonsense
        CLUSTER KEYSLOT
        CLUSTER NODES x
        CLUSTER REPLICAS x
        CLUSTER SLAVES x
        CLUSTER COUNT-FAILURE-REPORTS x
        CLUSTER COUNTKEYSINSLOT 16384
        CLUSTER COUNTKEYSINSLOT -1
        CLUSTER COUNTKEYSINSLOT x
        CLUSTER GETKEYSINSLOT 16384 1
        CLUSTER GETKEYSINSLOT -1 1
        CLUSTER GETKEYSINSLOT 1 -1
        CLUSTER GETKEYSINSLOT x 1
        CLUSTER GETKEYSINSLOT 1 x
        ASKING x
    """,
    "keys of a slot": """
        SET a 1
        SET {a}2 2
        SET b 2
        SET {a}3 3
        SET a 4
        CLUSTER COUNTKEYSINSLOT 15495
        CLUSTER GETKEYSINSLOT 15495 10
        CLUSTER GETKEYSINSLOT 15495 2
        CLUSTER GETKEYSINSLOT 15495 0
        DEL {a}2
        CLUSTER GETKEYSINSLOT 15495 10
        FLUSHALL
        CLUSTER COUNTKEYSINSLOT 15495
    """,
    "several slots": """
        MSET {a}1 1 {a}2 2
        MGET {a}1 {a}2
        MGET a b
        MSET a 1 b 2
        DEL a b
        COPY a b
        SINTERCARD 2 a b
        XREAD STREAMS a b 0 0
        WATCH a b
        SSUBSCRIBE a b
        SORT a STORE b
        EVAL "return 1" 2 a b
        EVAL "return 1" x a b
        EVAL "return 1" 5 a b
        BITOP AND a b c
        GEOSEARCHSTORE a b FROMLONLAT 0 0 BYRADIUS 1 m
        PING
    """,
    "transactions": """
        MULTI
        SET a 1
        SET b 2
        EXEC
        PING
        EXEC
        MULTI
        MGET a b
        EXEC
        MULTI
        SET a 1
        GET {a}2
        EXEC
        MULTI
        SELECT 1
        EXEC
        MULTI
        CLUSTER KEYSLOT a
        PING
        EXEC
    """,
    "one database": """
        SELECT 0
        SELECT 1
        SELECT 99
        SELECT x
        SWAPDB 0 0
        SWAPDB x 0
        SET a 1
        MOVE a 1
        MOVE a x
        COPY a {a}3 DB 1
        COPY a {a}3 DB x
        COPY a {a}3 DB 0
        REPLICAOF NO ONE
        REPLICAOF 127.0.0.1 1
        SLAVEOF NO ONE
        FAILOVER
        FAILOVER x
        FLUSHALL
    """,
    "SORT": """
        RPUSH l 2 1
        SORT l BY nosort
        SORT l BY x_*
        SORT l BY {l}*
        SORT l BY x GET y
        SORT l GET #
        SORT_RO l BY x*
        SORT l
        FLUSHALL
    """,
    "scripts": f"""
        SET a 1
        SET b 2
        EVAL "return redis.call('get', KEYS[1])" 1 a
        EVAL "return redis.call('get', 'b')" 1 a
        EVAL "return {{redis.call('get', 'b'), redis.call('get', 'a')}}" 0
        EVAL "return redis.call('mget', 'b', 'a')" 0
        EVAL "return redis.pcall('mset', 'b', '1', 'a', '2')" 0
        EVAL "#!lua\\nreturn redis.call('get', 'b')" 1 a
        EVAL "#!lua\\nreturn redis.call('get', '{{a}}2')" 1 a
        EVAL "#!lua\\nreturn {{redis.call('get', 'b'), redis.call('get', 'a')}}" 0
        EVAL "#!lua flags=allow-cross-slot-keys\\nreturn redis.call('get', 'b')" 1 a
        EVAL "#!lua flags=no-cluster\\nreturn 1" 1 a
        EVAL "return redis.call('select', 1)" 0
        {LOAD}
        FCALL f 1 a
        FCALL f 1 b
        FCALL f 0
        FCALL f 2 a b
        FCALL g 1 a
        FCALL h 1 a
        FLUSHALL
    """,
    "the connection": """
        READONLY
        READWRITE
        ASKING
        GET a
        HELLO 2
    """,
}


def requests_of(conversation: str) -> list[list[bytes]]:
    lines = conversation.strip().splitlines()
    return [[word.replace("\\n", "\n").encode() for word in shlex.split(line)] for line in lines]


@pytest.fixture(scope="module")
def node() -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start(cluster_enabled="yes") as server:
        yield server


@pytest.fixture(scope="module")
def real_node(redis_7_0: Address) -> Iterator[tuple[str, int]]:
    """A redis-server that has been given all slots, and has noticed that it is ready."""
    with (
        real_redis(*CLUSTER_NODE) as address,
        redis.Redis.from_url(address.url) as client,
    ):
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        while client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            pass
        yield address.host, address.port


def test_one_node_answers_as_a_real_one(node: miniredis.EmbeddedServer, real_node: tuple[str, int]) -> None:
    def compare(conversation: str) -> None:
        requests = requests_of(conversation)
        ours = map(without_names, replies((node.host, node.port), requests))
        theirs = map(without_names, replies(real_node, requests))
        for words, mine, real in zip(requests, ours, theirs, strict=True):
            assert mine == real, words

    check_each(CONVERSATIONS, compare)


def test_a_server_without_cluster_answers_as_a_real_one(
    embedded_address: tuple[str, int], redis_7_0_address: tuple[str, int]
) -> None:
    lines = (
        "CLUSTER INFO,CLUSTER KEYSLOT a,CLUSTER HELP,CLUSTER FOO,CLUSTER,ASKING,READONLY,READWRITE,MGET a b"
    )
    requests = [line.encode().split() for line in lines.split(",")]
    assert replies(embedded_address, requests) == replies(redis_7_0_address, requests)


def test_readonly_shows_in_client_list_until_reset(node: miniredis.EmbeddedServer) -> None:
    with redis.Redis(node.host, node.port, single_connection_client=True) as client:
        for command, flags in [("READONLY", "r"), ("READWRITE", "N"), ("READONLY", "r"), ("RESET", "N")]:
            client.execute_command(command)
            assert client.client_info()["flags"] == flags


def test_clients_without_sockets_are_checked_as_well(node: miniredis.EmbeddedServer) -> None:
    with node.client() as client, pytest.raises(redis.exceptions.ClusterCrossSlotError):
        client.mget("a", "b")
    with node.client() as client, pytest.raises(redis.exceptions.ClusterCrossSlotError):
        client.pipeline().set("a", 1).set("b", 2).execute()


def test_redis_cluster_works_with_one_node(node: miniredis.EmbeddedServer) -> None:
    with redis.RedisCluster(node.host, node.port) as cluster:
        assert cluster.set("a", 1)
        assert cluster.mget_nonatomic("a", "b") == [b"1", None]
        assert cluster.cluster_keyslot("a") == 15495
        assert cluster.flushall()


def test_slots_of_other_nodes_and_of_none_are_not_served() -> None:
    """No server has several nodes yet; the bytes are those of redis-server."""
    with miniredis.start(cluster_enabled="yes") as server:
        membership = server._runner.engine.cluster
        assert membership is not None
        other = Node(b"1" * 40, Config({"port": "7001"}))
        membership.topology = Topology([membership.node, other])
        membership.topology.owners[0] = None
        address = (server.host, server.port)
        key, elsewhere, nowhere = b"{bar}", b"{foo}", b"{06S}"  # slots 5061, 12182 and 0
        assert replies(
            address,
            [[b"SET", key, b"v"], [b"SET", elsewhere, b"v"], [b"GET", nowhere], [b"MGET", elsewhere, b"{b}"]],
        ) == [
            b"+OK\r\n",
            b"-MOVED 12182 :7001\r\n",
            b"-CLUSTERDOWN Hash slot not served\r\n",
            b"-CROSSSLOT Keys in request don't hash to the same slot\r\n",
        ]
