"""Checks clauses on queues in a cluster whose slots move, and behind sentinels that fail over.

Before each operation of a client that is judged, the slot of its queue moves to another node, or a replica takes
over from the primary. Operations that wait on other threads are in the middle of it when a slot moves; a failover
comes only while there is none, since one that is cut off may have been done: ``OutcomeUnknownError`` tells so.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import redis

import miniredis
from conformance.clients.judged import Client
from conformance.judging.environment import Environment, Unsupported
from conformance.targets import Address

__all__ = ["ONE_SERVER", "SUITES", "BehindSentinels", "InCluster", "Topological"]

SUITES: Final = frozenset(("protocol-0.1", "protocol-0.15", "decisions", "distributed-queues"))
"""The suites about queues; the others are about a server."""

ONE_SERVER: Final = frozenset(
    ("decided.reliable-unseen", "decided.textbook", "decided.textbook-first", "decided.textbook-moves")
)
"""Clauses with a client beside ours that knows one server only."""


class Several(Address):
    """The address of several servers, for checks that need no single one."""

    @property
    def host(self) -> str:
        """There is no single one."""
        raise Unsupported("needs the address of one server")

    port = db = host  # type: ignore[assignment]

    def at(self, host: str, port: int) -> Address:
        """There is no way to them that can be cut."""
        raise Unsupported("needs a way to one server that can be cut")


class Disturbed:
    """A queue before whose operations something happens."""

    def __init__(self, queue: Any, happen: Any) -> None:
        self._queue, self._happen = queue, happen

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._queue, name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            self._happen()
            return found(*args, **options)

        return call


class Topological(Environment):
    """What a check works with: its keys are in one slot, and only its own thread lets things happen.

    Args:
        servers: where the queues are.
        client: makes the clients that are judged.

    Attributes:
        happened: how often a slot has moved or a replica has taken over.
    """

    def __init__(self, servers: Any, client: Client, first: miniredis.Server, url: str) -> None:
        super().__init__(Address(first.url, "one of several"), client)
        self.redis.close()
        self.address = Several(url, "several")
        self.prefix = f"{{{self.prefix}}}"
        self.servers = servers
        self.happened = 0
        self._thread = threading.get_ident()

    def connect(self) -> Any:
        """Not in a topology."""
        raise Unsupported("sends raw bytes to one server")

    def gated(self, name: str = "jobs") -> Any:
        """Not in a topology."""
        raise Unsupported("needs a way to one server that can be held up")

    def gated_kind(self, kind: str, **options: Any) -> Any:
        """Not in a topology."""
        raise Unsupported("needs a way to one server that can be held up")

    def queue(self, name: str = "jobs") -> Any:
        """A client that is judged, disturbed."""
        return Disturbed(super().queue(name), self._disturb)

    def ours(self, name: str | bytes, **settings: object) -> Any:
        """A client with settings of its own, disturbed."""
        return Disturbed(super().ours(name, **settings), self._disturb)

    def kind(self, kind: str, name: str = "jobs", **options: Any) -> Any:
        """A queue of another kind, disturbed."""
        return Disturbed(super().kind(kind, name, **options), self._disturb)

    def _disturb(self) -> None:
        if threading.get_ident() == self._thread and self.happen():
            self.happened += 1

    def happen(self) -> bool:
        """Lets it happen; tells whether it has."""
        raise NotImplementedError


class Looking(redis.RedisCluster):
    """A client of a cluster that looks for keys on all primaries, whatever it knows of them."""

    cluster: miniredis.Cluster

    def keys(self, pattern: Any = "*", **_: Any) -> Any:
        """The names of all keys."""
        found: list[Any] = []
        for node in self.cluster.primaries:
            with redis.Redis(port=node.port) as client:
                found += client.keys(pattern)
        return found


class InCluster(Topological):
    """A cluster of two nodes, between which the slot goes to and fro."""

    def __init__(self, cluster: miniredis.Cluster, client: Client) -> None:
        super().__init__(cluster, client, cluster.nodes[0], cluster.cluster_url)
        looking: Any = Looking.from_url(cluster.url, protocol=2)
        looking.cluster = cluster
        self.redis = looking

    def _blocked(self) -> int:
        return sum(blocked_on(node) for node in self.servers.primaries)

    def happen(self) -> bool:
        """Moves the slot."""
        source = self.servers.node_of(self.prefix)
        target = next(node for node in self.servers.primaries if node is not source)
        self.servers.move_slots([self.servers.slot_of(self.prefix)], target)
        return True


class BehindSentinels(Topological):
    """A primary and a replica, which change places; nothing is lost, since the replica has all before."""

    def __init__(self, servers: miniredis.Sentinels, client: Client) -> None:
        super().__init__(servers, client, servers.primary, servers.url)
        self.redis = servers.client(protocol=2)

    def _blocked(self) -> int:
        return blocked_on(self.servers.primary)

    def happen(self) -> bool:
        """Lets the replica take over, unless another thread is at work."""
        if self.blocked() or not all(each.done() for each in self._running):
            return False
        self.servers.wait_for_replicas()
        self.servers.failover()
        return True


def blocked_on(server: miniredis.Server) -> int:
    with redis.Redis(port=server.port) as client:
        told: Any = client.info("clients")
    return int(told["blocked_clients"])
