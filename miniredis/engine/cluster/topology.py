"""The nodes of a cluster, and which of them has which slot. All nodes of one process share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from ..config import Config
from .slots import SLOTS

if TYPE_CHECKING:
    from ..engine import Engine
    from ..replication.replication import Replication

__all__ = ["Node", "Topology", "TopologyListener"]

FORGOTTEN_FOR: Final = 60_000
"""Milliseconds for which a node hears nothing of one that it was told to forget."""


class Node:
    """A server of a cluster, as all others know it.

    Args:
        name: forty hexadecimal digits.
        config: the server's, which knows its port.

    Attributes:
        host: the address that clients are sent to; empty where the node does not know its own, as in Redis
            for a node that has met no other: clients use the address that they are connected to.
        epoch: the version of what the node says about its slots.
        primary: whose replica it is; None for a primary.
        has_failed: the other nodes know that it is down.
        successor: who took its slots while it was down; None otherwise.
        replication: how far its data are; None if nobody knows.
        shard: the name of its shard as long as it is a primary.
        since: when it became a node of this cluster, in milliseconds of the Unix epoch.
        forgotten_by: the nodes that were told to forget it (CLUSTER FORGET), each with the time in
            milliseconds until which it listens to nobody who knows this one.
    """

    def __init__(self, name: bytes, config: Config) -> None:
        self.name = name
        self.config = config
        self.host = b""
        self.epoch = 0
        self.primary: Node | None = None
        self.has_failed = False
        self.successor: Node | None = None
        self.replication: Replication | None = None
        self.shard = name[::-1]
        self.since = 0
        self.forgotten_by: dict[Node, int] = {}

    @property
    def port(self) -> int:
        """The TCP port."""
        return self.config.integer("port")

    @property
    def bus_port(self) -> int:
        """Where a redis-server would talk to its peers. Nobody listens there."""
        return self.port + 10000

    @property
    def address(self) -> bytes:
        """The address as redirections show it."""
        return b"%b:%d" % (self.host, self.port)

    @property
    def served_epoch(self) -> int:
        """The epoch of the slots that it serves; a replica serves those of its primary."""
        return (self.primary or self).epoch

    @property
    def shard_id(self) -> bytes:
        """The name of its shard; a replica is in that of its primary."""
        return (self.primary or self).shard

    @property
    def offset(self) -> int:
        """How many bytes of its shard's history it has."""
        return self.replication.history.offset if self.replication else 0

    @property
    def is_loading(self) -> bool:
        """Whether it is a replica that has no data of its primary yet."""
        if self.primary is None or self.replication is None:
            return False
        link = self.replication.upstream.link
        return link.session is None and link.down_since is None

    @property
    def health(self) -> bytes:
        """How it is, in the words of CLUSTER SHARDS."""
        if self.has_failed:
            return b"fail"
        return b"loading" if self.is_loading else b"online"


class TopologyListener(Protocol):
    """Whoever runs the nodes of a topology."""

    def changed(self) -> None:
        """Slots have other owners now, or nodes another state: each node calls ``Membership.align`` soon."""

    def fail_over(self, replica: Node, *, is_forced: bool) -> None:
        """Begins to make a replica the primary of its shard; unless forced, it has all data first."""

    def meet(self, node: Node, host: str, port: int) -> None:
        """Joins the cluster of a node and that of the server at an address, if it runs that one, too."""

    def tell(self, node: Node, act: Callable[[Engine], object]) -> None:
        """Does something with another node's engine soon, unless that one is down."""


class Topology:
    """Nodes and their slots.

    Args:
        nodes: share all slots equally, in this order.

    Attributes:
        owners: the node of each slot; None for a slot that no node has.
        epoch: the highest that there was.
        listener: who runs the nodes; None where the one node runs by itself.
        is_uncovered: whether a slot has no node, or one that is down.
        lacks_majority: whether most nodes that have slots are down.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = list(nodes)
        per_node = SLOTS / len(nodes)
        bounds = [
            round(per_node * number) for number in range(len(nodes) + 1)
        ]  # as redis-cli --cluster create
        self.owners: list[Node | None] = []
        for node, start, end in zip(nodes, bounds, bounds[1:], strict=False):
            self.owners += [node] * (end - start)
        self.epoch = max(node.epoch for node in nodes)
        self.listener: TopologyListener | None = None
        self.is_uncovered = self.lacks_majority = False

    @classmethod
    def without_slots(cls, node: Node, listener: TopologyListener | None) -> Topology:
        """That of a node that knows no other, and has no slots."""
        topology = cls([node])
        topology.owners = [None] * SLOTS
        topology.listener = listener
        return topology

    # Asking

    def known_to(self, viewer: Node, now: int) -> list[Node]:
        """The nodes that one of them knows: all but those that it was told to forget."""
        return [node for node in self.nodes if not self._is_forgotten(node, viewer, now)]

    def _is_forgotten(self, node: Node, viewer: Node, now: int) -> bool:
        until = node.forgotten_by.get(viewer)
        return until is not None and (
            now < until or all(each in node.forgotten_by for each in self.nodes if each is not node)
        )

    @property
    def serving(self) -> set[Node]:
        """The nodes that have slots."""
        owners = set(self.owners)
        return {owner for owner in owners if owner is not None}

    def replicas_of(self, primary: Node) -> list[Node]:
        """The replicas of a node."""
        return [node for node in self.nodes if node.primary is primary]

    # Changing

    def assign(self, slots: Iterable[int], node: Node | None) -> None:
        """Gives slots to a node, or to none."""
        for slot in slots:
            self.owners[slot] = node
        self.changed()

    def forget(self, node: Node, viewer: Node, now: int) -> None:
        """One of the nodes is told to forget another one."""
        node.forgotten_by[viewer] = now + FORGOTTEN_FOR

    def leave(self, node: Node, new_name: bytes | None) -> None:
        """A node forgets all others, and gives up its slots.

        Args:
            node: the others still know it.
            new_name: what it is called from now on; then the others know the former one, which is down.
        """
        node.primary = node.successor = None
        for slot, owner in enumerate(self.owners):
            if owner is node:
                self.owners[slot] = None
        if new_name is not None:
            former = Node(node.name, node.config)
            former.host, former.epoch, former.has_failed = node.host, node.epoch, True
            former.forgotten_by = node.forgotten_by
            self.nodes[self.nodes.index(node)] = former
            for replica in self.replicas_of(node):
                replica.primary = former
            node.name, node.epoch, node.forgotten_by = new_name, 0, {}
        self.changed()

    def take_in(self, other: Topology) -> None:
        """The nodes of another cluster join this one; of two owners of a slot, the higher epoch counts."""
        self.nodes += [node for node in other.nodes if node not in self.nodes]
        for slot, owner in enumerate(other.owners):
            mine = self.owners[slot]
            if owner is not None and (mine is None or mine.epoch < owner.epoch):
                self.owners[slot] = owner
        self.epoch = max(self.epoch, other.epoch)
        primaries = [node for node in self.nodes if node.primary is None]
        taken: set[int] = set()
        for node in sorted(primaries, key=lambda each: each.name, reverse=True):
            if node.epoch in taken:
                self.epoch += 1
                node.epoch = self.epoch
            taken.add(node.epoch)
        self.changed()

    def bump(self, node: Node) -> bool:
        """What a node says about its slots counts more than what all others say; tells whether it did not."""
        if node.epoch and node.epoch == self.epoch:
            return False
        self.epoch += 1
        node.epoch = self.epoch
        return True

    def promote(self, replica: Node) -> None:
        """A replica takes the place of its primary, which becomes its replica, as do the others.

        A primary that is down stays one without slots until it comes back.
        """
        former = replica.primary
        assert former is not None
        replica.primary, replica.shard = None, former.shard
        self.follow(former, replica)
        if former.has_failed:
            former.primary, former.successor = None, replica
        self.epoch += 1
        replica.epoch = self.epoch
        self.assign([slot for slot, owner in enumerate(self.owners) if owner is former], replica)

    def follow(self, node: Node, primary: Node) -> None:
        """A node and its replicas are replicas of another node from now on."""
        for each in (node, *self.replicas_of(node)):
            each.primary = primary

    def come_back(self, node: Node) -> None:
        """A node is up again; if another one has taken its slots, it is the replica of that one."""
        node.has_failed = False
        if node.successor is not None:
            self.follow(node, node.successor.primary or node.successor)
            node.successor = None
        self.changed()

    def changed(self) -> None:
        """Slots have other owners now, or nodes another state."""
        serving = self.serving
        failed = sum(node.has_failed for node in serving)
        self.is_uncovered = bool(failed) or None in self.owners
        self.lacks_majority = len(serving) - failed < len(serving) // 2 + 1
        if self.listener is not None:
            self.listener.changed()
