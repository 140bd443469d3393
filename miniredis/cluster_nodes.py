"""``ClusterNode``, the handle of one node of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

import trio

from .server import Server

if TYPE_CHECKING:
    from .clusters import Cluster
    from .engine import Engine, Instant
    from .engine.cluster.membership import Membership
    from .engine.cluster.topology import Node
    from .listeners import Listener
    from .tick_runner import TickRunner

__all__ = ["ClusterNode"]


class ClusterNode(Server):
    """A node of a ``Cluster``: a ``Server`` that can be killed and restarted.

    Attributes:
        cluster: whose node it is.
        number: its place in ``cluster.nodes``.
    """

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.number = number
        self.cluster = cluster
        self._member: Node | None = None
        self._ended = trio.Event()

    # For its users

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
    def slots(self) -> list[int]:
        """The slots that it has; none for a replica."""
        owners = self.cluster._topology.owners
        return [slot for slot, owner in enumerate(owners) if owner is self._member]

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self._member is not None and self._runner.is_open

    def fast_forward(self, seconds: float | Decimal) -> None:
        """The same as ``Cluster.fast_forward``: all nodes have one clock."""
        self.cluster.fast_forward(seconds)

    def stop(self) -> None:
        """The same as ``Cluster.kill``."""
        self.cluster.kill(self)

    # For its cluster

    @property
    def member(self) -> Node:
        """What the topology knows of it."""
        assert self._member is not None
        return self._member

    @property
    def has_run(self) -> bool:
        """Whether it has started before."""
        return self._member is not None

    @property
    def membership(self) -> Membership:
        """What it knows of the cluster."""
        membership = self._runner.engine.cluster
        assert membership is not None
        return membership

    @property
    def ended(self) -> trio.Event:
        """Set when it has ended."""
        return self._ended

    @property
    def runner(self) -> TickRunner:
        """Runs its ticks."""
        return self._runner

    @property
    def lags(self) -> bool:
        """Whether it is a replica that does not have all data of its primary, though both are up."""
        primary = self.primary
        if primary is None or not (primary.is_up and self.is_up):
            return False
        replication, theirs = self._runner.engine.replication, primary._runner.engine.replication
        return replication.upstream.is_down or replication.history.offset < theirs.history.offset

    def begin(self, engine: Engine, runner: TickRunner, listeners: list[Listener]) -> ClusterNode:
        """It starts, or starts again."""
        Server.__init__(self, runner, listeners)
        self._ended = trio.Event()
        if self._member is None:
            assert engine.cluster is not None
            self._member = engine.cluster.node
        return self

    def end(self) -> None:
        """Ends it; ``ended`` is set soon."""
        super().stop()

    def act(self, act: Callable[[], object]) -> None:
        """Does something in a tick of its own."""

        def tick(now: Instant) -> None:
            engine = self._runner.engine
            engine.advance(now)
            engine.attempt(None, act)

        self._runner.tick_with(tick)

    def read_arrived(self) -> None:
        """Runs all requests that have arrived."""
        for loop in self._runner.loops:
            loop.read_arrived()
