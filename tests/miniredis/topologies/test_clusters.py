"""What a program does with a cluster in its process: slots move, nodes die and come back, time passes."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import redis
import redis.asyncio

import miniredis
from conformance.targets import NoRealRedisError
from miniredis.testing.real_programs import found
from tests.waiting import until

SLOT = 5061
"""That of {bar}, which the first node has."""


@pytest.fixture
def cluster() -> Iterator[miniredis.Cluster]:
    with miniredis.cluster(3, replicas=1) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: miniredis.Cluster) -> Iterator[redis.RedisCluster]:
    with cluster.client() as client:
        yield client


def keys_of(node: miniredis.ClusterNode) -> set[bytes]:
    return set(node.dump())


def redis_cli() -> Path:
    """The program; skips the test where there is none."""
    try:
        return found("redis-cli")
    except NoRealRedisError as missing:
        pytest.skip(str(missing))


# Nodes that come and go


def test_a_node_that_is_added_takes_slots(cluster: miniredis.Cluster, client: redis.RedisCluster) -> None:
    client.set("{bar}", "v")
    node = cluster.add_node()
    assert node.slots == []
    with redis.Redis(port=node.port) as raw, pytest.raises(redis.exceptions.MovedError):
        raw.get("{bar}")
    cluster.move_slots([SLOT], node)
    assert cluster.node_of("{bar}") is node
    assert client.get("{bar}") == b"v"
    cluster.kill(node)
    cluster.restart(node)
    assert node.slots == [SLOT]


def test_a_node_that_was_reset_is_no_part_of_the_cluster_until_it_is_met(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    last = cluster.nodes[5]
    with redis.Redis(port=last.port) as raw:
        former = last.id
        assert raw.execute_command("CLUSTER RESET", "HARD")
        assert last.id != former
        assert last.primary is None
        assert keys_of(last) == set()
        with pytest.raises(ValueError, match=r"CLUSTER RESET\), and takes no slots"):
            cluster.move_slots([SLOT], last)
        client.set("{bar}", "v")
        cluster.kill(last)
        cluster.restart(last)
    with redis.Redis(port=last.port) as raw:
        assert len(raw.cluster("nodes")) == 1
        raw.execute_command("CLUSTER MEET", "127.0.0.1", cluster.nodes[0].port)
        cluster.move_slots([SLOT], last)
        assert raw.get("{bar}") == b"v"


def test_a_forgotten_node_is_heard_of_again_after_a_minute() -> None:
    with miniredis.cluster(3, clock="held") as cluster:
        first, second, third = cluster.nodes
        with redis.Redis(port=first.port) as one, redis.Redis(port=second.port) as other:
            one.execute_command("CLUSTER FORGET", third.id)
            assert (len(one.cluster("nodes")), len(other.cluster("nodes"))) == (2, 3)
            cluster.fast_forward(59)
            assert len(one.cluster("nodes")) == 2
            cluster.fast_forward(2)
            assert len(one.cluster("nodes")) == 3
            for client in (one, other):
                client.execute_command("CLUSTER FORGET", third.id)
            cluster.fast_forward(100)
            assert (len(one.cluster("nodes")), len(other.cluster("nodes"))) == (2, 2)


def test_redis_cli_reshards_and_removes_and_adds_nodes(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    for number in range(200):
        client.set(f"k{number}", number)
    first, _, _, replica, *_ = cluster.nodes
    added, there = cluster.add_node(), f"127.0.0.1:{first.port}"

    def run(command: str, *words: str) -> None:
        done = subprocess.run(
            [redis_cli(), "--cluster", command, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    run(
        *("reshard", there, "--cluster-from", first.id, "--cluster-to", added.id, "--cluster-yes"),
        *("--cluster-slots", "200"),
    )
    assert len(added.slots) == 200
    assert keys_of(added)
    run("del-node", there, replica.id)
    run("add-node", f"127.0.0.1:{replica.port}", there, "--cluster-slave", "--cluster-master-id", added.id)
    run("check", there)
    assert replica.primary is added
    assert all(client.get(f"k{number}") == b"%d" % number for number in range(200))


# Slots that move


def test_slots_move_with_their_keys(cluster: miniredis.Cluster, client: redis.RedisCluster) -> None:
    first, second = cluster.nodes[:2]
    client.set("{bar}s", "v", px=100_000)
    client.rpush("{bar}l", "a", "b")
    client.set("{b}", "stays")
    assert cluster.move_slots([SLOT, 6000], second) == 2
    assert keys_of(first) == {b"{b}"}
    assert keys_of(second) == {b"{bar}s", b"{bar}l"}
    assert client.lrange("{bar}l", 0, -1) == [b"a", b"b"]
    assert 0 < client.pttl("{bar}s") <= 100_000
    assert cluster.node_of("{bar}") is second
    assert SLOT in second.slots
    assert SLOT not in first.slots
    cluster.wait_for_replicas()
    assert keys_of(cluster.nodes[3]) == {b"{b}"}
    assert keys_of(cluster.nodes[4]) == {b"{bar}s", b"{bar}l"}


def test_a_key_that_has_expired_does_not_move() -> None:
    with miniredis.cluster(2, clock="held") as cluster, cluster.client() as client:
        client.set("{bar}", "v", px=1)
        cluster._clock.advance(2000)
        assert cluster.move_slots([SLOT], cluster.nodes[1]) == 1
        assert not keys_of(cluster.nodes[0]) | keys_of(cluster.nodes[1])


def test_nothing_is_lost_while_clients_write_and_slots_move(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    """Keys that are there and new ones, single ones and counters, while all slots go round."""
    for number in range(300):
        client.set(f"k{number}", number)
    is_over = threading.Event()
    counts = [0, 0]
    failures: list[Exception] = []

    def work(index: int) -> None:
        with cluster.client() as own:
            while not is_over.is_set():
                try:
                    counts[index] += 1
                    own.incr(f"counter{index}")
                    own.set(f"new{index}-{counts[index]}", counts[index])
                except Exception as failure:
                    failures.append(failure)
                    return

    workers = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for worker in workers:
        worker.start()
    for source, target in itertools.pairwise([0, 1, 2, 0]):
        primaries = cluster.nodes[:3]
        slots = primaries[source].slots
        cluster.move_slots(slots[len(slots) // 2 :], primaries[target])
    until(lambda: min(counts) > 20)
    is_over.set()
    for worker in workers:
        worker.join()
    assert not failures
    assert all(client.get(f"k{number}") == b"%d" % number for number in range(300))
    for index, count in enumerate(counts):
        assert client.get(f"counter{index}") == b"%d" % count
        assert all(client.get(f"new{index}-{each}") for each in range(1, count + 1))


def test_a_move_can_stop_between_two_keys(cluster: miniredis.Cluster, client: redis.RedisCluster) -> None:
    first, second = cluster.nodes[:2]
    client.mset({"{bar}1": 1, "{bar}2": 2})
    move = cluster.begin_move([SLOT], second)
    assert move.step() == 1
    assert (len(keys_of(first)), len(keys_of(second))) == (1, 1)
    assert (client.get("{bar}1"), client.get("{bar}2")) == (b"1", b"2")  # it follows ASK
    with pytest.raises(redis.exceptions.TryAgainError), redis.Redis(port=first.port) as raw:
        raw.mget("{bar}1", "{bar}2")
    assert move.finish() == 1
    assert move.finish() == 0
    assert client.mget("{bar}1", "{bar}2") == [b"1", b"2"]


def test_a_move_to_a_node_that_has_died_keeps_the_keys(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    first, second = cluster.nodes[:2]
    client.mset({"{bar}1": 1, "{bar}2": 2})
    move = cluster.begin_move([SLOT], second)
    assert move.step() == 1
    cluster.kill(second)
    with pytest.raises(ValueError, match="is down; the keys that it has not got yet stay at"):
        move.finish()
    assert len(keys_of(first)) == 1


def test_a_slot_that_its_node_gives_up_has_no_node(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    """The other nodes still know the owner, and one that was told to forget it hears of it again."""
    owner, other, *_ = cluster.primaries
    slot = cluster.slot_of("{bar}")
    with owner.client() as at_owner, other.client() as at_other:
        assert at_owner.cluster("delslots", slot)
        with pytest.raises(LookupError, match="no node has slot 5061"):
            cluster.node_of("{bar}")
        with pytest.raises(ValueError, match="slot 5061 has no node"):
            cluster.move_slots([slot], other)
        with pytest.raises(redis.exceptions.ClusterDownError):
            at_owner.get("{bar}")
        assert slot not in owner.slots
        assert at_other.cluster("delslots", slot)
        until(lambda: error_of(at_other) is redis.exceptions.MovedError)
        assert at_owner.cluster("addslots", slot)
    assert client.set("{bar}", "v")
    assert cluster.node_of("{bar}") is owner


def error_of(client: redis.Redis) -> type[Exception]:
    with pytest.raises(redis.exceptions.RedisError) as error:
        client.get("{bar}")
    return error.type


def test_a_primary_without_slots_becomes_a_replica(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    first, second = cluster.nodes[:2]
    client.set("{bar}", "v")
    cluster.move_slots(first.slots, second)
    cluster.wait_for_replicas()
    for node in (first, cluster.nodes[3]):
        assert node.primary is second
        assert keys_of(node) == {b"{bar}"}


def test_what_cannot_be_moved_is_refused(cluster: miniredis.Cluster) -> None:
    first, second, third, replica, *_ = cluster.nodes
    with pytest.raises(ValueError, match="is a replica, and takes no slots"):
        cluster.move_slots([1], replica)
    with pytest.raises(ValueError, match="from 0 to 16383, not 16384"):
        cluster.move_slots([16384], second)
    cluster.kill(third)
    with pytest.raises(ValueError, match="is down, and takes no slots"):
        cluster.move_slots([1], third)
    with pytest.raises(ValueError, match="slot 16383 has no node that is up"):
        cluster.move_slots([1, 16383], second)
    assert not first.membership.migrating


# Nodes that fail


def test_a_replica_takes_over_from_a_primary_that_is_up(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    first, replica = cluster.nodes[0], cluster.nodes[3]
    client.set("{bar}", "v")
    assert cluster.failover(replica) is replica
    assert (replica.primary, first.primary) == (None, replica)
    assert keys_of(replica) == {b"{bar}"}
    assert client.get("{bar}") == b"v"
    client.set("{bar}", "w")
    cluster.wait_for_replicas()
    assert first.content("{bar}") == b"w"
    assert first.runner.engine.replication.upstream.link.session is not None
    assert replica.runner.engine.replication.replicas.full_syncs == 0  # it went on from where it was
    assert cluster.failover(replica) is first
    assert client.get("{bar}") == b"w"


def test_no_write_is_lost_when_a_replica_takes_over_while_clients_write(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    is_over, count = threading.Event(), 0
    failures: list[Exception] = []

    def work() -> None:
        nonlocal count
        try:
            with cluster.client() as own:
                while not is_over.is_set():
                    assert own.incr("{bar}") == count + 1
                    count += 1
        except Exception as failure:
            failures.append(failure)

    worker = threading.Thread(target=work)
    worker.start()
    for wanted in (5, 10, 15, 20):
        until(partial(lambda least: count > least or failures, wanted))
        cluster.failover(cluster.node_of("{bar}"))
    is_over.set()
    worker.join()
    assert not failures
    assert client.get("{bar}") == b"%d" % count


def test_a_cluster_without_a_node_is_down_until_its_replica_takes_over(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    first, second, _, replica, *_ = cluster.nodes
    client.set("{bar}", "v")
    cluster.wait_for_replicas()
    cluster.kill(first)
    with redis.Redis(port=second.port) as raw:
        with pytest.raises(redis.exceptions.ClusterDownError, match="The cluster is down"):
            raw.get("{foo}")
        assert raw.cluster("info")["cluster_state"] == "fail"
        assert raw.cluster("info")["cluster_slots_fail"] == "5461"
        assert raw.ping()
    assert not first.is_up
    cluster.kill(first)
    assert cluster.failover(first) is replica
    assert client.get("{bar}") == b"v"
    cluster.restart(first)
    assert first.primary is replica
    assert first.content("{bar}") == b"v"
    assert cluster.failover(first) is first
    assert client.get("{bar}") == b"v"


def test_a_primary_that_comes_back_has_what_was_on_disk(tmp_path: object) -> None:
    with miniredis.cluster(2, replicas=1, dir=str(tmp_path)) as cluster, cluster.client() as client:
        client.set("{bar}", "v")
        first, name = cluster.nodes[0], cluster.nodes[0].id
        port = first.port
        cluster.kill(first)
        cluster.restart(first)
        assert (first.id, first.port) == (name, port)
        assert client.get("{bar}") == b"v"
        assert cluster.nodes[2].content("{bar}") == b"v"


def test_without_full_coverage_other_slots_are_served() -> None:
    with miniredis.cluster(3, cluster_require_full_coverage=False) as cluster:
        cluster.kill(cluster.nodes[0])
        with redis.Redis(port=cluster.nodes[2].port) as raw:
            assert raw.set("{foo}", "v")
            with pytest.raises(redis.exceptions.MovedError):
                raw.get("{bar}")
            cluster.kill(cluster.nodes[1])  # with that, most are down
            with pytest.raises(redis.exceptions.ClusterDownError):
                raw.get("{foo}")


def test_reads_can_be_allowed_while_the_cluster_is_down() -> None:
    with miniredis.cluster(3, cluster_allow_reads_when_down=True) as cluster:
        cluster.kill(cluster.nodes[0])
        with redis.Redis(port=cluster.nodes[2].port) as raw:
            assert raw.get("{foo}") is None
            with pytest.raises(redis.exceptions.ClusterDownError, match="only accepts read commands"):
                raw.set("{foo}", "v")


def test_a_node_without_a_replica_that_is_up_has_no_failover(cluster: miniredis.Cluster) -> None:
    first, replica = cluster.nodes[0], cluster.nodes[3]
    cluster.kill(replica)
    with pytest.raises(ValueError, match="has no replica that is up"):
        cluster.failover(first)
    with pytest.raises(ValueError, match="is down"):
        cluster.failover(replica)
    with pytest.raises(ValueError, match="is up; kill it first"):
        cluster.restart(first)


@pytest.mark.parametrize("kind", ["", "FORCE", "TAKEOVER"])
def test_a_client_can_ask_a_replica_to_take_over(cluster: miniredis.Cluster, kind: str) -> None:
    replica = cluster.nodes[3]
    with redis.Redis(port=replica.port) as raw:
        assert raw.execute_command("CLUSTER FAILOVER", *kind.split())
        until(lambda: raw.info("replication")["role"] == "master")
    until(lambda: cluster.nodes[0].runner.engine.replication.upstream.link.session is not None)
    assert cluster.nodes[0].primary is replica


@pytest.mark.parametrize("lags", [False, True])
def test_clients_cannot_end_a_cluster_by_failovers(
    cluster: miniredis.Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, lags: bool
) -> None:
    replica = cluster.nodes[3]
    if lags:
        monkeypatch.setattr("miniredis.topologies.server_groups.PATIENCE", 0.01)
        monkeypatch.setattr(miniredis.ClusterNode, "lags", True)
    with redis.Redis(port=replica.port) as raw, raw.pipeline(transaction=False) as pipe:
        assert pipe.execute_command("CLUSTER FAILOVER").execute_command("CLUSTER FAILOVER").execute()
        role = "slave" if lags else "master"
        until(lambda: raw.info("replication")["role"] == role and (not lags or caplog.messages))
    assert all(node.is_up for node in cluster.nodes)
    assert any("a failover was given up" in each for each in caplog.messages) == lags


# Time, and the rest


def test_all_nodes_have_one_clock() -> None:
    with miniredis.cluster(2, replicas=1, clock="held") as cluster, cluster.client() as client:
        for key in ("{bar}", "{foo}"):
            client.set(key, "v", ex=3600)
        before = cluster.now
        cluster.nodes[1].set_time(cluster.now + dt.timedelta(seconds=3600))
        cluster.fast_forward(dt.timedelta(seconds=1))
        assert {(node.now - before).total_seconds() for node in cluster.nodes} == {3601}
        assert not any(map(keys_of, cluster.nodes))
        client.set("{bar}", "v")  # the replicas are still there
        cluster.wait_for_replicas()
        assert keys_of(cluster.nodes[2]) == {b"{bar}"}


def test_reset_empties_all_nodes_and_keeps_their_slots(
    cluster: miniredis.Cluster, client: redis.RedisCluster
) -> None:
    for key in ("{bar}", "{foo}"):
        client.set(key, "v")
    cluster.move_slots([SLOT], cluster.nodes[1])
    cluster.reset()
    assert not any(map(keys_of, cluster.nodes))
    assert cluster.node_of("{bar}") is cluster.nodes[1]


def test_the_client_for_asyncio_follows_slots_and_roles(cluster: miniredis.Cluster) -> None:
    async def work() -> None:
        async with cluster.async_client() as client:
            await client.set("{bar}", "v")
            await asyncio.to_thread(cluster.move_slots, [SLOT], cluster.nodes[1])
            assert await client.get("{bar}") == b"v"
            await asyncio.to_thread(cluster.failover, cluster.nodes[1])
            assert await client.get("{bar}") == b"v"

    asyncio.run(work())


def test_redis_cli_follows_redirections(cluster: miniredis.Cluster) -> None:
    program = redis_cli()
    move = cluster.begin_move([SLOT], cluster.nodes[1])
    requests = "set {bar} v\nget {bar}\nset {foo} w\nget {bar}\n"
    told = subprocess.run(
        [program, "-c", "-p", str(cluster.nodes[4].port)],
        input=requests, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [line for line in told.stdout.split("\n") if line[:2] != "->"] == ["OK", "v", "OK", "v", ""]
    move.finish()
    assert cluster.nodes[1].content("{bar}") == b"v"


def test_a_cluster_that_has_stopped_says_so() -> None:
    with miniredis.cluster(1) as cluster:
        node = cluster.nodes[0]
    cluster.stop()
    assert not node.is_up
    for act in (cluster.kill, cluster.restart, cluster.failover):
        with pytest.raises(ValueError, match="'x' is no server of this cluster"):
            act("x")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="the cluster has stopped"):
        cluster.kill(node)


def test_wrong_arguments_are_refused() -> None:
    for arguments, kind, words in (
        ({"nodes": 0}, ValueError, "nodes must be from 1"),
        ({"nodes": "3"}, TypeError, "nodes must be an int, not str"),
        ({"replicas": -1}, ValueError, "replicas must be from 0"),
        ({"port": 6379}, ValueError, "port is different for each server"),
        ({"databases": "x"}, miniredis.ConfigurationError, "databases"),
        ({"prot": 1}, TypeError, "prot"),
        ({"primaries": 3}, TypeError, "it takes nodes, replicas, clock, loop, version, and redis-server's"),
        ({"clock": "x"}, ValueError, "clock"),
        ({"version": "5"}, ValueError, "5"),
        ({"bind": "192.0.2.1"}, OSError, "could not listen"),
    ):
        options: dict[str, object] = dict(arguments)
        with pytest.raises(kind, match=words):
            miniredis.cluster(**options)  # type: ignore[arg-type]
