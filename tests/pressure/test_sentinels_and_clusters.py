"""Queues on servers found by sentinels and in clusters, in every flavour, through a failover."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
import redis
import redis.asyncio.sentinel
import redis.sentinel

import miniredis
from conformance.clients.flavours import FLAVOURS as CLIENTS
from pressure import (
    ConnectionFailedError,
    OutcomeUnknownError,
    Queue,
    QueueDoesNotExistError,
    ServerReplyError,
)
from pressure.cli import main
from pressure.protocol import Context, exists

from .conftest import Server, Task, execute, free_port, until, waiting
from .runs import in_and_out, refused
from .sentinels_and_clusters import SERVICE, Cluster, Sentinel, Watched, after_failover, answers, watched

T = TypeVar("T")
Run = Callable[..., Any]
FLAVOURS: dict[str, Any] = {**CLIENTS}


pytestmark = pytest.mark.usefixtures("redis_server")


# Sentinels


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("watched")) as servers:
        yield servers


def test_a_queue_is_found_by_sentinels(run: Run, watch: Watched) -> None:
    in_and_out(run, url=watch.url)
    in_and_out(run, url=f"{watch.url}/3?protocol=3")
    run(lambda queue: queue.create(), url=f"{watch.url}/3")
    with redis.Redis(port=watch.servers[0].port, db=3) as raw:
        assert raw.exists("__pressure__:jobs:bound")
    run(lambda queue: queue.delete(), url=f"{watch.url}/3")


def test_a_client_made_by_sentinels_can_be_given(run: Run, watch: Watched) -> None:
    hosts = [("127.0.0.1", sentinel.port) for sentinel in watch.sentinels]
    kinds: Any = redis.sentinel.Sentinel, redis.asyncio.sentinel.Sentinel
    theirs, asynchronous = (kind(hosts) for kind in kinds)
    in_and_out(run, client=theirs.master_for(SERVICE))
    if run.__name__ != "sync":
        in_and_out(run, client=asynchronous.master_for(SERVICE))


def test_an_unreachable_sentinel_is_skipped(run: Run, watch: Watched) -> None:
    in_and_out(run, url=f"redis+sentinel://127.0.0.1:1,{watch.hosts}/{SERVICE}")
    refused(run, "knows no master of the name 'other'", url=f"redis+sentinel://{watch.hosts}/other")
    refused(run, "127.0.0.1:1", url=f"redis+sentinel://127.0.0.1:1,127.0.0.1:2/{SERVICE}")


def test_server_and_sentinel_can_have_different_passwords(
    run: Run, start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server("--requirepass", "secret")
    words = ("requirepass sesame", f"sentinel auth-pass {SERVICE} secret")
    sentinel = Sentinel(tmp_path / "sentinel", server.port, *words)
    try:
        until(lambda: answers(sentinel.port, password="sesame"), "did the sentinel start")  # noqa: S106
        way = f"127.0.0.1:{sentinel.port}/{SERVICE}"
        in_and_out(run, url=f"redis+sentinel://:secret@{way}?sentinel_password=sesame")
        refused(run, "cannot use", url=f"redis+sentinel://:wrong@{way}?sentinel_password=sesame")
    finally:
        sentinel.stop()


def test_after_a_failover_queue_objects_go_on_with_the_new_master(
    tmp_path: Path, task: Callable[[Callable[[], Any]], Task]
) -> None:
    """Who waits is told, nobody goes on with the old master, and the same objects go on with the new one."""
    with ExitStack() as stack:
        servers = stack.enter_context(watched(tmp_path))
        queues = {name: make(name, url=servers.url) for name, make in FLAVOURS.items()}
        for queue in queues.values():
            stack.callback(queue.disconnect)
            queue.create(5)
            queue.put(b"before")
        waits = {name: make(f"wait-{name}", url=servers.url) for name, make in FLAVOURS.items()}
        gets = {}
        for name, queue in waits.items():
            stack.callback(queue.disconnect)
            queue.create(5)
            gets[name] = task(queue.get)
        with redis.Redis(port=servers.servers[0].port) as old:
            waiting(old, len(gets))
            acknowledged = execute(old, "WAIT", 1, 10_000)
            assert acknowledged == 1
        servers.fail_over()
        for get in gets.values():
            with pytest.raises((OutcomeUnknownError, ServerReplyError)):
                get.result()
        for queue in queues.values():
            assert after_failover(queue.get) == b"before"
            queue.put(b"after")
        for queue in waits.values():
            queue.repair(force=True)
            queue.put(b"v")
            assert queue.get() == b"v"
        with redis.Redis(port=servers.servers[1].port) as new:
            assert new.info("replication")["role"] == "master"
            assert all(new.llen(f"__pressure__:{name}") == 1 for name in queues)


# Clusters


def test_a_queue_works_by_any_node_of_a_cluster(run: Run, nodes: Cluster) -> None:
    names = ["{jobs}", "{a}", "{b}"]
    assert {nodes.home(name) for name in ("jobs", "a", "b")} == {0, 1, 2}
    for name in names:
        for node in nodes.nodes:
            in_and_out(run, name=name, url=node.url)
            in_and_out(run, name=name, url=f"{node.url}?protocol=3", scripts=False)
    in_and_out(run, name="jobs", url=nodes.nodes[0].url, prefix="{tag}")


def test_a_cluster_url_can_list_nodes_that_are_unreachable(run: Run, nodes: Cluster) -> None:
    hosts = ",".join(f"127.0.0.1:{port}" for port in (1, *(node.port for node in nodes.nodes)))
    in_and_out(run, name="{a}", url=f"redis+cluster://{hosts}")
    refused(run, "cannot use", url="redis+cluster://127.0.0.1:1,127.0.0.1:2")


def test_the_command_line_asks_the_node_that_has_a_queue(
    nodes: Cluster, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    names = ["{jobs}", "{a}", "{b}"]
    for name in names:
        with Queue(name, url=nodes.nodes[0].url) as queue:
            queue.create()
    for node in nodes.nodes:
        for name in names:
            assert main(["--url", node.url, "doctor", name]) == 0
        assert main(["--url", f"redis+cluster://127.0.0.1:{node.port}", "top", "--once", *names]) == 0
        assert b"unreadable" not in capsysbinary.readouterr().out
    for name in names:
        with Queue(name, url=nodes.nodes[0].url) as queue:
            queue.delete()


@pytest.mark.parametrize("call", ["exists", "create", "get", "delete", "doctor"])
def test_a_cluster_refuses_a_name_without_a_hash_tag(run: Run, nodes: Cluster, call: str) -> None:
    for node in nodes.nodes:
        with pytest.raises(ServerReplyError, match=r"needs a hash tag, such as '\{jobs\}'"):
            run(lambda queue: getattr(queue, call)(), url=node.url)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_after_a_slot_has_moved_one_operation_fails_and_the_next_succeeds(
    nodes: Cluster, flavour: str
) -> None:
    """The operation that finds out says so, the next one goes to the other node."""
    name = f"moves-{flavour}"
    home = nodes.home(name)
    away = (home + 1) % 3
    queue = FLAVOURS[flavour]("{" + name + "}", url=nodes.nodes[away].url)
    try:
        assert not queue.exists()
        nodes.give(nodes.slot(name), away)
        with pytest.raises(ServerReplyError, match="MOVED") as caught:
            queue.create(1)
        assert caught.value.code == "MOVED"
        queue.create(1)
        queue.put(b"v")
        assert queue.get() == b"v"
        queue.delete()
        with pytest.raises(QueueDoesNotExistError):
            queue.get_nowait()
    finally:
        queue.disconnect()


def test_all_connections_to_a_node_that_lost_the_slot_are_dropped(nodes: Cluster) -> None:
    home = nodes.home("idle")
    with Queue("{idle}", url=nodes.nodes[home].url) as queue:
        checkouts = [queue._driver.checkout() for _ in range(3)]
        for checkout in checkouts:
            checkout.run(exists(Context(queue.keys, time.monotonic)))
        for checkout in checkouts:
            checkout.close()
        nodes.give(nodes.slot("idle"), (home + 1) % 3)
        with pytest.raises(ServerReplyError, match="MOVED"):
            queue.exists()
        assert not queue.exists()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_queue_survives_slots_that_move_and_nodes_that_die(flavour: str) -> None:
    """Two queue objects, which hear of it by one error each at most; each value comes once, in order."""
    with miniredis.cluster(3, replicas=1) as cluster, ExitStack() as stack:
        puts, gets = (FLAVOURS[flavour]("{bar}", url=cluster.cluster_url) for _ in range(2))
        for queue in (puts, gets):
            stack.callback(queue.disconnect)
        puts.create()
        puts.put(b"0")
        for number, disturb in enumerate(
            [move, cluster.failover, kill, move, kill, cluster.failover], start=1
        ):
            disturb(cluster.node_of("{bar}"))
            after_redirection(partial(puts.put, b"%d" % number))
            assert after_redirection(gets.get) == b"%d" % (number - 1)


def move(home: miniredis.ClusterNode) -> None:
    """The slot of {bar} moves to the next primary."""
    cluster = home.cluster
    cluster.move_slots(
        [cluster.slot_of("{bar}")], next(each for each in cluster.primaries if each is not home)
    )


def kill(home: miniredis.ClusterNode) -> None:
    """The node dies, its replica takes over, and it comes back."""
    home.cluster.wait_for_replicas()
    home.cluster.kill(home)
    home.cluster.failover(home)
    home.cluster.restart(home)


def after_redirection(work: Callable[[], T]) -> T:
    """At most one error: the queue object asks the former node, or over a connection that is gone."""
    try:
        return work()
    except ServerReplyError as error:
        if error.code != "MOVED":
            raise
    except ConnectionFailedError:
        pass
    return work()


def test_a_cluster_that_is_down_is_an_error(run: Run, start_server: Callable[..., Server]) -> None:
    server = start_server("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    refused(run, "CLUSTERDOWN", name="{jobs}", url=server.url)
