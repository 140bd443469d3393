"""The other kinds of queues on servers found by sentinels and in clusters, in every flavour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.clients.flavours import MAKERS
from pressure import ClusterError, ConnectionFailedError
from tests.pressure.sentinels_and_clusters import Cluster, after_failover, watched

KINDS = ("BackupQueue", "RingQueue", "ReliableQueue")
Work = Callable[[Any], Any]

#: How a queue of each kind is used, from the push until nothing is left.
TAKE: dict[str, Work] = {
    "BackupQueue": lambda queue: queue.claim(block=False),
    "RingQueue": lambda queue: queue.claim_next(60),
    "ReliableQueue": lambda queue: queue.pop(1, block=False)[0],
}
FINISH: dict[str, Callable[[Any, Any], Any]] = {
    "BackupQueue": lambda queue, item: queue.complete(item),
    "RingQueue": lambda queue, item: queue.complete(item),
    "ReliableQueue": lambda queue, item: queue.ack(item),
}

WAITING: dict[str, Work] = {
    "BackupQueue": lambda queue: queue.length(),
    "RingQueue": lambda queue: queue.length(),
    "ReliableQueue": lambda queue: queue.info().undelivered,
}


def in_and_out(queue: Any, kind: str) -> None:
    with disconnecting(queue):
        queue.push(b"v")
        item = TAKE[kind](queue)
        assert item.value == b"v"
        FINISH[kind](queue, item)


@contextmanager
def disconnecting(queue: Any) -> Iterator[None]:
    try:
        yield
    finally:
        queue.disconnect()


pytestmark = pytest.mark.usefixtures("redis_program")


@pytest.fixture(params=MAKERS)
def flavour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_works_on_every_node_of_a_cluster(nodes: Cluster, flavour: str, kind: str) -> None:
    hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes.nodes)
    homes = set()
    for tag in ("jobs", "a", "b"):
        homes.add(nodes.home(tag))
        in_and_out(MAKERS[flavour](kind, "{" + tag + "}" + kind, url=nodes.nodes[0].url), kind)
        in_and_out(MAKERS[flavour](kind, "{" + tag + "}" + kind, url=f"redis+cluster://{hosts}"), kind)
    assert homes == {0, 1, 2}


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_refuses_a_name_without_a_hash_tag(nodes: Cluster, flavour: str, kind: str) -> None:
    for node in nodes.nodes:
        queue = MAKERS[flavour](kind, "jobs", url=node.url)
        with disconnecting(queue), pytest.raises(ClusterError, match=r"such as '\{jobs\}'"):
            queue.push(b"v")


@pytest.mark.parametrize("kind", KINDS)
def test_operations_find_the_node_to_which_a_slot_has_moved(nodes: Cluster, flavour: str, kind: str) -> None:
    name = f"moves-{kind}-{flavour}"
    away = (nodes.home(name) + 1) % 3
    queue = MAKERS[flavour](kind, "{" + name + "}", url=nodes.nodes[away].url)
    with disconnecting(queue):
        assert WAITING[kind](queue) == 0
        nodes.give(nodes.slot(name), away)
        in_and_out(queue, kind)


def test_queues_found_by_sentinels_go_on_after_a_failover(tmp_path: Path) -> None:
    """The same objects go on with the new master, after one error at most."""
    with watched(tmp_path) as servers:
        queues = {
            (flavour, kind): MAKERS[flavour](kind, f"{flavour}-{kind}", url=servers.url)
            for flavour in MAKERS
            for kind in KINDS
        }
        with ExitStack() as stack:
            for (_, kind), queue in queues.items():
                stack.callback(queue.disconnect)
                in_and_out(queue, kind)
            servers.fail_over()
            for (_, kind), queue in queues.items():
                assert after_failover(partial(WAITING[kind], queue)) == 0
                after_failover(partial(in_and_out, queue, kind))


def test_an_unreachable_sentinel_is_named_in_the_error(flavour: str) -> None:
    queue = MAKERS[flavour]("BackupQueue", "jobs", url="redis+sentinel://127.0.0.1:1/name")
    with disconnecting(queue), pytest.raises(ConnectionFailedError, match=r"127\.0\.0\.1:1"):
        queue.length()
