"""Schedules: servers die, come back and take over, as a seed decides.

``FailureSchedule`` chooses; a subclass for each kind of group says what can happen, and does it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..engine.cluster.slots import SLOTS

if TYPE_CHECKING:
    from .cluster_nodes import ClusterNode
    from .clusters import Cluster
    from .sentinels import Sentinels, WatchedServer

__all__ = ["ClusterSchedule", "FailureSchedule", "ScheduleStep", "SentinelSchedule"]

MOST_MOVED: Final = 200
"""How many slots move at a time, at most."""


class ScheduleStep(NamedTuple):
    """One thing that a schedule did.

    Attributes:
        what: ``kill``, ``failover`` or ``restart``; in a cluster ``move``; with sentinels ``cut_off`` or
            ``reconnect``.
        number: of the server, as in ``cluster.nodes`` or ``sentinels.servers``: which died, came back, took
            over, got slots, or lost its primary.
    """

    what: str
    number: int


class FailureSchedule(ABC):
    """What goes wrong in a group of servers; its ``schedule`` makes it.

    Args:
        group: the servers.
        servers: those to which it happens, by their numbers.
        seed: decides what happens; the same things happen again for the same seed.
    """

    def __init__(self, group: Cluster | Sentinels, servers: list[Any], seed: int) -> None:
        self._group, self._servers = group, servers
        self._random = Random(seed)  # noqa: S311  (no secret)

    def step(self) -> ScheduleStep:
        """Does one thing that can happen now, and says what.

        Replicas have all that their primaries have before a primary dies, but for those that are cut off.
        What clients write meanwhile may be lost with it.

        Raises:
            ValueError: nothing can happen: there is one primary and no replica.
        """
        possible = [
            ScheduleStep(what, number)
            for number, server in enumerate(self._servers)
            for what in self._possible_of(server)
        ]
        if not possible:
            raise ValueError(f"nothing can happen in {self._group!r}: it has one primary and no replica")
        what = self._random.choice(sorted({each.what for each in possible}))
        step = self._random.choice([each for each in possible if each.what == what])
        server = self._servers[step.number]
        if step.what in {"kill", "failover"}:
            self._group.wait_for_replicas()
        if step.what == "kill":
            self._group.kill(server)
        elif step.what == "restart":
            self._group.restart(server)
        else:
            self._do(step.what, server)
        return step

    @abstractmethod
    def finish(self) -> None:
        """Lets all recover: replicas take over from dead primaries, and all dead servers come back."""

    @abstractmethod
    def _possible_of(self, server: Any) -> Iterator[str]:
        """What can happen to a server now."""

    @abstractmethod
    def _do(self, what: str, server: Any) -> None:
        """Does what only this kind of group knows."""


class ClusterSchedule(FailureSchedule):
    """What goes wrong in a cluster; ``Cluster.schedule`` makes it.

    A shard has a node down only while another one of it is up. No node of a shard comes back before a replica
    has replaced the primary that died, so the data of each shard is always on a node.

    Args:
        cluster: the cluster.
        seed: as in the base.
    """

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster, cluster.nodes, seed)
        self._cluster = cluster

    def finish(self) -> None:
        """Lets the cluster recover: replicas take over from dead primaries, and all dead nodes come back."""
        for node in self._cluster.nodes:
            if not node.is_up and self._leads(node):
                self._cluster.failover(node)
        for node in self._cluster.nodes:
            if not node.is_up:
                self._cluster.restart(node)

    def _leads(self, node: ClusterNode) -> bool:
        """Whether it has slots: a dead primary that was replaced has none, and comes back as a replica."""
        return node.member in self._cluster._topology.serving

    def _possible_of(self, node: ClusterNode) -> Iterator[str]:
        primary, leads = node.primary, self._leads(node)
        if not node.is_up:
            if leads:
                yield "failover"
            elif primary is None or primary.is_up:  # else it would come back without data
                yield "restart"
            return
        if primary is not None:
            yield from ("kill", "failover") if primary.is_up else ()
            return
        if any(each.is_up for each in self._cluster.replicas if each.primary is node):
            yield "kill"
        if self._sources(node):
            yield "move"

    def _sources(self, node: ClusterNode) -> list[ClusterNode]:
        """The primaries that a node can get slots from: they keep some."""
        others = (each for each in self._cluster.primaries if each is not node and each.is_up)
        return [each for each in others if len(each.slots) > MOST_MOVED]

    def _do(self, what: str, node: ClusterNode) -> None:
        if what == "failover":
            self._cluster.failover(node)
            return
        slots = self._random.choice(self._sources(node)).slots
        count = self._random.randint(1, MOST_MOVED)
        first = self._random.randrange(SLOTS)
        self._cluster.move_slots([slots[(first + each) % len(slots)] for each in range(count)], node)


class SentinelSchedule(FailureSchedule):
    """What goes wrong with servers that sentinels watch; ``Sentinels.schedule`` makes it.

    A server is up at any time. None comes back before a replica has replaced the primary that died. So only
    what was written while all replicas that are up were cut off can be lost; ``Sentinels.lost`` has it then.

    Args:
        sentinels: the servers.
        seed: as in the base.
    """

    def __init__(self, sentinels: Sentinels, seed: int) -> None:
        super().__init__(sentinels, sentinels.servers, seed)
        self._sentinels = sentinels

    def finish(self) -> None:
        """Lets all recover: a replica takes over from a dead primary, and all are up and connected."""
        if not self._sentinels.primary.is_up:
            self._sentinels.failover()
        for server in self._sentinels.servers:
            if not server.is_up:
                self._sentinels.restart(server)
            elif server.is_cut_off:
                self._sentinels.reconnect(server)

    def _possible_of(self, server: WatchedServer) -> Iterator[str]:
        primary = self._sentinels.primary
        if server is primary:
            if any(each.is_up for each in self._sentinels.replicas):
                yield from ("failover", "kill") if server.is_up else ("failover",)
        elif primary.is_up:
            if not server.is_up:
                yield "restart"
                return
            yield from ("kill", "reconnect" if server.is_cut_off else "cut_off")

    def _do(self, what: str, server: WatchedServer) -> None:
        if what == "failover":
            self._sentinels.failover()
        else:
            getattr(self._sentinels, what)(server)
