"""What one node knows of its cluster: the other nodes, and which of them has which slot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from .topology import Node, Topology

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["ClusterView"]


class ClusterView:
    """The shared ``Topology`` as one node knows it.

    Attributes:
        engine: the server's.
        node: the server, as others know it.
        topology: all nodes, and whose the slots are.
        unassigned: the slots that have no owner for this node alone (CLUSTER DELSLOTS). Of its own slots it
            forgets them until CLUSTER ADDSLOTS; of others it hears again soon.
    """

    engine: Engine
    node: Node
    topology: Topology
    unassigned: set[int]

    # Nodes

    @property
    def known(self) -> list[Node]:
        """The nodes that this one knows, itself among them."""
        return self.topology.known_to(self.node, self.engine.now.milliseconds)

    def find(self, name: bytes) -> Node | None:
        """The node of that name, if this one knows it."""
        return next((node for node in self.known if node.name == name), None)

    def replicas_of(self, primary: Node) -> list[Node]:
        """The replicas of a node, as far as this one knows them."""
        return [node for node in self.known if node.primary is primary]

    # Slots

    @property
    def owners(self) -> list[Node | None]:
        """The node of each slot, as this one knows it; None for a slot that no node has."""
        return [None if slot in self.unassigned else owner for slot, owner in enumerate(self.topology.owners)]

    def owner_of(self, slot: int) -> Node | None:
        """The node of a slot, as this one knows it."""
        return None if slot in self.unassigned else self.topology.owners[slot]

    def ranges(self) -> Iterator[tuple[int, int, Node | None]]:
        """First slot, last slot and owner of each run of slots that one node has, in order."""
        slot = 0
        for owner, run in groupby(self.owners):
            end = slot + len(list(run))
            yield slot, end - 1, owner
            slot = end

    def ranges_of(self, node: Node) -> list[tuple[int, int]]:
        """First and last slot of each run of slots that a node has."""
        return [(start, end) for start, end, owner in self.ranges() if owner is node]

    @property
    def is_down(self) -> bool:
        """Whether the cluster as a whole serves no keys."""
        topology = self.topology
        needs_all = self.engine.config["cluster-require-full-coverage"] == "yes"
        return topology.lacks_majority or (self.is_uncovered and needs_all)

    @property
    def is_uncovered(self) -> bool:
        """Whether a slot has no node, or one that is down, as far as this one knows."""
        return self.topology.is_uncovered or bool(self.unassigned)
