"""The nodes of a cluster, and which of them has which slot. All nodes of one process share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..config import Config
from .slots import SLOTS

__all__ = ["Node", "Topology"]


class Node:
    """A server of a cluster, as all others know it.

    Args:
        name: forty hexadecimal digits.
        config: the server's, which knows its port.

    Attributes:
        host: the address that clients are sent to; empty where the node does not know its own, as in Redis
            for a node that has met no other: clients use the address that they are connected to.
        epoch: the version of what the node says about its slots.
    """

    def __init__(self, name: bytes, config: Config) -> None:
        self.name = name
        self.host = b""
        self.epoch = 0
        self._config = config

    @property
    def port(self) -> int:
        """The TCP port."""
        return self._config.integer("port")

    @property
    def bus_port(self) -> int:
        """Where a redis-server would talk to its peers. Nobody listens there."""
        return self.port + 10000

    @property
    def address(self) -> bytes:
        """The address as redirections show it."""
        return b"%b:%d" % (self.host, self.port)


class Topology:
    """Nodes and their slots.

    Args:
        nodes: share all slots equally, in this order.

    Attributes:
        owners: the node of each slot; None for a slot that no node has.
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

    @property
    def epoch(self) -> int:
        """The highest epoch of a node."""
        return max(node.epoch for node in self.nodes)

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

    def find(self, name: bytes) -> Node | None:
        """The node of that name, if there is one."""
        return next((node for node in self.nodes if node.name == name), None)
