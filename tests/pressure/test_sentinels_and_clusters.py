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
from miniredis.testing.real_servers import CLUSTER_NODE
from pressure import (
    ConnectionFailedError,
    OutcomeUnknownError,
    Queue,
    QueueDoesNotExistError,
    QueueInUseError,
    ServerReplyError,
)
from pressure.cli import main
from pressure.execution import execution
from pressure.protocol import Context, exists
from tests.cases import for_each
from tests.servers import RealServer, answers

from .conftest import StartTask, execute, until, waiting
from .runs import in_and_out, refused
from .sentinels_and_clusters import SERVICE, Cluster, Sentinel, Watched, after_failover, watched

T = TypeVar("T")
Run = Callable[..., Any]
FLAVOURS: dict[str, Any] = {**CLIENTS}


pytestmark = pytest.mark.usefixtures("redis_program")


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
    run: Run, start_server: Callable[..., RealServer], tmp_path: Path
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


def test_after_a_failover_queue_objects_go_on_with_the_new_master(tmp_path: Path, task: StartTask) -> None:
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
def test_operations_find_the_node_to_which_a_slot_has_moved(nodes: Cluster, flavour: str) -> None:
    name = f"moves-{flavour}"
    home = nodes.home(name)
    away = (home + 1) % 3
    queue = FLAVOURS[flavour]("{" + name + "}", url=nodes.nodes[away].url)
    try:
        assert not queue.exists()
        nodes.give(nodes.slot(name), away)
        queue.create(1)
        queue.put(b"v")
        assert queue.get() == b"v"
        queue.delete()
        with pytest.raises(QueueDoesNotExistError):
            queue.get_nowait()
    finally:
        queue.disconnect()


def test_all_connections_find_the_node_to_which_a_slot_has_moved(nodes: Cluster) -> None:
    home = nodes.home("idle")
    with Queue("{idle}", url=nodes.nodes[home].url) as queue, ExitStack() as stack:
        checkouts = [queue._driver.checkout() for _ in range(3)]
        for checkout in checkouts:
            stack.callback(checkout.close)
            assert not checkout.run(exists(Context(queue.keys, time.monotonic)))
        nodes.give(nodes.slot("idle"), (home + 1) % 3)
        for checkout in checkouts:
            assert not checkout.run(exists(Context(queue.keys, time.monotonic)))


@pytest.fixture
def cluster_of_ours() -> Iterator[miniredis.Cluster]:
    with miniredis.cluster(2) as made:
        yield made


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_who_waits_goes_on_at_the_node_to_which_the_slot_moves(
    cluster_of_ours: miniredis.Cluster, flavour: str, task: StartTask
) -> None:
    gets, puts = (FLAVOURS[flavour]("{bar}", url=cluster_of_ours.cluster_url) for _ in range(2))
    try:
        gets.create(1)
        get = task(gets.get)
        home = cluster_of_ours.node_of("{bar}")
        home.wait_until(home.blocked_clients)
        move(home)
        puts.put(b"v")
        assert get.result() == b"v"
        puts.put(b"w")
        put = task(lambda: puts.put(b"x"))
        home = cluster_of_ours.node_of("{bar}")
        home.wait_until(home.blocked_clients)
        move(home)
        assert [gets.get(), gets.get()] == [b"w", b"x"]
        put.result()
    finally:
        gets.disconnect()
        puts.disconnect()


@pytest.mark.parametrize("flavour", sorted(set(FLAVOURS) - {"plain"}))
def test_operations_that_share_a_connection_go_on_together_at_the_other_node(
    cluster_of_ours: miniredis.Cluster, flavour: str, task: StartTask
) -> None:
    url = f"{cluster_of_ours.cluster_url}?max_connections=1"
    queue = FLAVOURS[flavour]("{bar}", url=url)
    try:
        queue.create()
        waits = [task(queue.get) for _ in range(2)]
        home = cluster_of_ours.node_of("{bar}")
        until(lambda: queue.holder("consumer"), "does one of them wait")
        move(home)
        queue.put_many([b"v", b"w"])
        assert {wait.result() for wait in waits} == {b"v", b"w"}
    finally:
        queue.disconnect()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_who_waits_for_a_role_goes_on_at_the_node_to_which_the_slot_moves(
    cluster_of_ours: miniredis.Cluster, flavour: str, task: StartTask
) -> None:
    queue = FLAVOURS[flavour]("{bar}", url=cluster_of_ours.cluster_url)
    try:
        queue.create()
        home = cluster_of_ours.node_of("{bar}")
        with home.client() as client:
            client.delete(queue.keys.producer_free)
        put = task(lambda: queue.put(b"v"))
        home.wait_until(home.blocked_clients)
        move(home)
        with cluster_of_ours.node_of("{bar}").client() as client:
            client.lpush(queue.keys.producer_free, "0")
        put.result()
        assert queue.get() == b"v"
    finally:
        queue.disconnect()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_message_in_work_stays_with_its_consumer_when_the_slot_moves(
    cluster_of_ours: miniredis.Cluster, flavour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", 0.01)
    holder, other = (FLAVOURS[flavour]("{bar}", url=cluster_of_ours.cluster_url) for _ in range(2))
    try:
        holder.create()
        for message in (b"v", b"w"):
            holder.put(message)
        home = cluster_of_ours.node_of("{bar}")
        with holder.receive() as message:
            assert message.data == b"v"
            move(home)
            assert other.doctor().consumer.connected
            assert "its connection is open" in str(other.repair().left)
            with home.faults.add(then=miniredis.faults.refuse_connection()):
                assert "the server does not tell" in str(other.repair().left)
        assert other.doctor().consumed_messages == 1
        block = ExitStack()
        assert block.enter_context(holder.receive()).data == b"w"
        home = cluster_of_ours.node_of("{bar}")
        move(home)
        with home.client() as client:
            client.client_kill_filter(_type="normal", skipme=True)
        assert "put 1 unacknowledged message back" in str(other.repair().done)
        with pytest.raises((QueueInUseError, ConnectionFailedError)):
            block.close()
        assert [other.get(), other.qsize()] == [b"w", 0]
    finally:
        holder.disconnect()
        other.disconnect()


@pytest.mark.parametrize(
    ("full", "work"), [(0, lambda queue: queue.get()), (1, lambda queue: queue.put(b"v"))]
)
def test_who_has_lost_its_role_while_the_slot_moved_is_told(
    cluster_of_ours: miniredis.Cluster,
    full: int,
    work: Callable[[Any], Any],
    task: StartTask,
) -> None:
    """The other node does not know which keys were watched, so the holder is read there."""
    with FLAVOURS["plain"]("{bar}", url=cluster_of_ours.cluster_url) as queue:
        queue.create(1)
        for _ in range(full):
            queue.put(b"before")
        waiting = task(lambda: work(queue))
        home = cluster_of_ours.node_of("{bar}")
        home.wait_until(home.blocked_clients)
        with home.client() as client:
            for holder in (queue.keys.producer, queue.keys.consumer):
                client.set(holder, "another")
        move(home)
        with pytest.raises(QueueInUseError, match="another"):
            waiting.result()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_operation_waits_while_its_slot_moves_but_not_for_ever(
    cluster_of_ours: miniredis.Cluster, flavour: str, task: StartTask
) -> None:
    queue = FLAVOURS[flavour]("{bar}", url=cluster_of_ours.cluster_url)
    hasty = FLAVOURS[flavour]("{bar}", url=f"{cluster_of_ours.cluster_url}?socket_timeout=1")
    try:
        queue.create(5)
        queue.put(b"v")
        home = cluster_of_ours.node_of("{bar}")
        (other,) = (node for node in cluster_of_ours.primaries if node is not home)
        moving = cluster_of_ours.begin_move([cluster_of_ours.slot_of("{bar}")], other)
        moving.step(1)
        with pytest.raises(ServerReplyError) as caught:
            hasty.put(b"hasty")
        assert caught.value.code in {"TRYAGAIN", "ASK"}
        refused_so_far = refusals_of(home)
        put = task(lambda: queue.put(b"w"))
        until(lambda: refusals_of(home) >= refused_so_far + 3, "was the put refused again and again")
        moving.finish()
        put.result()
        assert [queue.get(), queue.get()] == [b"v", b"w"]
    finally:
        queue.disconnect()
        hasty.disconnect()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_nothing_was_changed_where_the_node_to_which_the_slot_has_moved_is_gone(flavour: str) -> None:
    with miniredis.cluster(3, cluster_require_full_coverage=False) as cluster:  # a majority is up
        queue = FLAVOURS[flavour]("{bar}", url=cluster.cluster_url)
        try:
            queue.create(5)
            move(cluster.node_of("{bar}"))
            cluster.kill(cluster.node_of("{bar}"))
            with pytest.raises(ConnectionFailedError):
                queue.put(b"v")
        finally:
            queue.disconnect()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_outcome_is_unknown_where_the_reply_of_the_node_to_which_the_slot_has_moved_is_lost(
    cluster_of_ours: miniredis.Cluster, flavour: str
) -> None:
    queue = FLAVOURS[flavour]("{bar}", url=cluster_of_ours.cluster_url)
    try:
        queue.create(5)
        queue.put(b"v")
        move(cluster_of_ours.node_of("{bar}"))
        command = "RPOP" if flavour == "plain" else "EVALSHA"
        with (
            cluster_of_ours.node_of("{bar}").faults.add(
                command=command, times=1, then=miniredis.faults.lose_reply()
            ),
            pytest.raises(OutcomeUnknownError),
        ):
            queue.put(b"w")
    finally:
        queue.disconnect()


def refusals_of(node: miniredis.ClusterNode) -> int:
    """How many requests a node has refused since their keys are on their way."""
    with node.client() as client:
        errors: Any = client.info("errorstats")
    return sum(errors.get(f"errorstat_{code}", {"count": 0})["count"] for code in ("TRYAGAIN", "ASK"))


MOVED, DELAYED = ServerReplyError("MOVED 1 127.0.0.1:7001"), ServerReplyError("TRYAGAIN")
WRONG, ABORTED, GONE = (ServerReplyError(code) for code in ("WRONGTYPE", "EXECABORT", "UNBLOCKED"))
PUSH, GET, POP = (b"LPUSH", b"k", b"v"), (b"GET", b"k"), (b"BRPOP", b"k", b"1")
MULTI, EXEC = (b"MULTI",), (b"EXEC",)


@for_each(
    ("commands", "replies", "index"),
    [
        ([PUSH], [1], None),
        ([PUSH], [MOVED], 0),
        ([PUSH, PUSH], [MOVED, DELAYED], 0),
        ([PUSH, PUSH], [1, MOVED], 1),
        ([PUSH, PUSH], [DELAYED, 1], None),
        ([PUSH, GET], [DELAYED, b"v"], 0),
        ([GET, PUSH], [b"v", MOVED], 1),
        ([PUSH, PUSH], [WRONG, MOVED], 1),
        ([PUSH], [WRONG], None),
        ([POP, GET, GET], [None, MOVED, MOVED], 1),
        ([POP, GET], [GONE, MOVED], 0),
        ([POP, GET], [GONE, b"v"], None),
        ([MULTI, PUSH, PUSH, EXEC], [b"OK", b"QUEUED", MOVED, ABORTED], 0),
        ([MULTI, PUSH, PUSH, EXEC], [b"OK", b"QUEUED", b"QUEUED", DELAYED], 0),
        ([MULTI, PUSH, EXEC, GET], [b"OK", b"QUEUED", [1], MOVED], 3),
        ([PUSH, MULTI, PUSH, EXEC, GET], [1, b"OK", MOVED, ABORTED, MOVED], 1),
        ([GET, MULTI, PUSH, EXEC], [MOVED, b"OK", b"QUEUED", [1]], None),
        ([MULTI, PUSH, EXEC], [b"OK", b"QUEUED", [1]], None),
        ([MULTI, PUSH, EXEC], [b"OK", WRONG, ABORTED], None),
    ],
)
def test_what_is_sent_again_is_what_was_not_done(commands: list[Any], replies: list[Any], index: int) -> None:
    assert execution.refused_from(tuple(commands), replies) == index


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_queue_survives_slots_that_move_and_nodes_that_die(flavour: str) -> None:
    """Two queue objects; each hears of a node that has died by one error at most. Values come once, in order."""
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
            after_death(partial(puts.put, b"%d" % number))
            assert after_death(gets.get) == b"%d" % (number - 1)


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


def after_death(work: Callable[[], T]) -> T:
    """At most one error: of a connection that is gone."""
    try:
        return work()
    except ConnectionFailedError:
        return work()


def test_a_cluster_that_is_down_is_an_error(run: Run, start_server: Callable[..., RealServer]) -> None:
    server = start_server(*CLUSTER_NODE)
    refused(run, "CLUSTERDOWN", name="{jobs}", url=server.url)
