"""Starts groups of servers for tests: a master with a replica and sentinels, a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import redis

import miniredis
from conformance.targets import find_real_redis
from miniredis.testing.real_servers import CLUSTER_NODE, at_free_port
from pressure import ServerReplyError
from tests.servers import answers, start_redis

from .conftest import execute, until

T = TypeVar("T")

SERVICE = "jobs-master"


class Sentinel:
    """A sentinel on a free port, which asks for a password if it is given one."""

    def __init__(self, folder: Path, master: int, *extra: str) -> None:
        folder.mkdir()
        file = folder / "sentinel.conf"
        lines = [
            "bind 127.0.0.1", f"dir {folder}",
            f"sentinel monitor {SERVICE} 127.0.0.1 {master} 1",
            f"sentinel down-after-milliseconds {SERVICE} 60000",  # only what a test asks for happens
            f"sentinel failover-timeout {SERVICE} 5000",
            *extra,
        ]  # fmt: skip

        def command(port: int) -> list[str]:
            file.write_text("\n".join([f"port {port}", *lines]))
            return [str(find_real_redis()), str(file), "--sentinel"]

        with ExitStack() as stack:
            _, self.port = stack.enter_context(at_free_port("a sentinel", command))
            self.stop = stack.pop_all().close


class Watched:
    """A master, its replica, and two sentinels that watch them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.servers = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            server = start_redis(folder / name, "--repl-diskless-sync-delay", "0")
            self.servers.append(stack.enter_context(server))
        one, two = self.servers
        with redis.Redis(port=two.port) as client:
            execute(client, "REPLICAOF", "127.0.0.1", one.port)
            until(lambda: client.info("replication")["master_link_status"] == "up", "did it follow")
        self.sentinels = [Sentinel(folder / f"sentinel{number}", one.port) for number in (1, 2)]
        for sentinel in self.sentinels:
            stack.callback(sentinel.stop)
            until(partial(answers, sentinel.port), "did the sentinel start")
            until(partial(self.knows_all, sentinel.port), "do the sentinels know all")

    @staticmethod
    def knows_all(port: int) -> bool:
        """Whether a sentinel knows the other one and the replica, and would promote it."""
        with redis.Redis(port=port) as client:
            told: Any = client.sentinel_masters()
            replicas: Any = client.sentinel_slaves(SERVICE)
        follows = [each["master-link-status"] == "ok" and each["flags"] == "slave" for each in replicas]
        return follows == [True] and bool(told[SERVICE]["num-other-sentinels"])

    @property
    def hosts(self) -> str:
        return ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)

    @property
    def url(self) -> str:
        return f"redis+sentinel://{self.hosts}/{SERVICE}"

    def fail_over(self) -> None:
        """Has the replica promoted, and waits until both sentinels say so; the old master follows it."""
        first = self.sentinels[0].port
        with redis.Redis(port=first) as client:
            execute(client, "SENTINEL", "FAILOVER", SERVICE)
        wanted = self.servers[1].port
        for sentinel in self.sentinels:
            until(partial(self.names, sentinel.port, wanted), "was the replica promoted")
        with redis.Redis(port=self.servers[0].port) as old:  # a sentinel does so too, but takes its time
            execute(old, "REPLICAOF", "127.0.0.1", wanted)

    @staticmethod
    def names(port: int, master: int) -> bool:
        """Whether a sentinel says that this is the master."""
        with redis.Redis(port=port) as client:
            found: Any = execute(client, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return int(found[1]) == master


@contextmanager
def watched(folder: Path) -> Iterator[Watched]:
    with ExitStack() as stack:
        yield Watched(folder, stack)


def after_failover(work: Callable[[], T]) -> T:
    """At most one error: of a connection that was kept to the old master, now a replica."""
    try:
        return work()
    except ServerReplyError as error:
        if error.code != "READONLY":
            raise
        return work()


class Cluster:
    """Nodes that share the slots."""

    def __init__(self, folder: Path, stack: ExitStack, size: int) -> None:
        self.nodes: list[Any] = []
        for number in range(size):
            (folder / f"node{number}").mkdir()
            node = start_redis(folder / f"node{number}", *CLUSTER_NODE)
            self.nodes.append(stack.enter_context(node))
        share = 16384 // size
        for number in range(size):
            last = 16383 if number == size - 1 else (number + 1) * share - 1
            self.ask(number, "CLUSTER", "ADDSLOTSRANGE", number * share, last)
            self.ask(number, "CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for number in range(1, size):
            self.ask(
                0,
                "CLUSTER",
                "MEET",
                "127.0.0.1",
                self.nodes[number].port,
                self.nodes[number].setting("cluster-port"),
            )
        until(lambda: all(map(self.is_whole, range(size))), "is the cluster up")

    def ask(self, number: int, *words: str | int) -> Any:
        """A node's reply."""
        with redis.Redis(port=self.nodes[number].port, decode_responses=True) as client:
            return execute(client, *words)

    def is_whole(self, number: int) -> bool:
        """Whether a node says that the cluster is up."""
        state = re.search(r"cluster_state\W+ok", repr(self.ask(number, "CLUSTER", "INFO")))
        return bool(state) and len(self.ask(number, "CLUSTER", "SLOTS")) == len(self.nodes)

    def slot(self, name: str) -> int:
        return int(self.ask(0, "CLUSTER", "KEYSLOT", name))

    def home(self, name: str) -> int:
        """The number of the node that has a name's slot, as the slots were shared at first."""
        return self._first_owner(self.slot(name))

    def _first_owner(self, slot: int) -> int:
        return min(slot // (16384 // len(self.nodes)), len(self.nodes) - 1)

    def give(self, slot: int, to: int) -> None:
        """Hands a slot without keys from its first owner to another node, and tells all.

        Who imports a slot gets a newer epoch with it, so that no gossip of its first owner's takes it back.
        """
        source, owner = (self.ask(number, "CLUSTER", "MYID") for number in (self._first_owner(slot), to))
        self.ask(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", source)
        for number in sorted(range(len(self.nodes)), key=lambda number: number != to):
            self.ask(number, "CLUSTER", "SETSLOT", slot, "NODE", owner)


class OurCluster(Cluster):
    """The same in this process."""

    def __init__(self, cluster: miniredis.Cluster) -> None:
        self.nodes: list[Any] = list(cluster.nodes)
        self.handle = cluster

    def give(self, slot: int, to: int) -> None:
        """Hands a slot to another node."""
        self.handle.move_slots([slot], self.handle.nodes[to])


@contextmanager
def cluster(folder: Path, size: int) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(folder, stack, size)


@contextmanager
def our_cluster(size: int) -> Iterator[OurCluster]:
    with miniredis.cluster(size) as nodes:
        yield OurCluster(nodes)
