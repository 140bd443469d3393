"""``ClusterNode``, the handle of one node of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .server_groups import GroupedServer

if TYPE_CHECKING:
    from ..engine.cluster.membership import Membership
    from ..engine.cluster.topology import Node
    from .clusters import Cluster

__all__ = ["ClusterNode"]


class ClusterNode(GroupedServer):
    """A node of a ``Cluster``: a ``Server`` that can be killed and restarted.

    Attributes:
        cluster: whose node it is.
        number: its place in ``cluster.nodes``.
        member: what the topology knows of it.
    """

    member: Node

    def __init__(self, cluster: Cluster, number: int) -> None:
        super().__init__(cluster, number)
        self.cluster = cluster

    @property
    def id(self) -> str:
        """Its node id, forty hexadecimal digits, as CLUSTER MYID answers it."""
        return self.member.name.decode()

    @property
    def primary(self) -> ClusterNode | None:
        """The primary whose replica it is; None for a primary."""
        primary = self.member.primary
        return None if primary is None else self.cluster._node(primary)

    @property
    def master(self) -> ClusterNode | None:
        """The same."""
        return self.primary

    @property
    def slots(self) -> list[int]:
        """The slots that it has; none for a replica."""
        return [slot for slot, owner in enumerate(self.membership.owners) if owner is self.member]

    @property
    def membership(self) -> Membership:
        """What it knows of the cluster."""
        membership = self._runner.engine.cluster
        assert membership is not None
        return membership
