"""``FailureSchedule``: nodes of a cluster die, come back and take over, as a seed decides."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from ..engine.cluster.slots import SLOTS

if TYPE_CHECKING:
    from .cluster_nodes import ClusterNode
    from .clusters import Cluster

__all__ = ["FailureSchedule", "ScheduleStep"]

MOST_MOVED: Final = 200
"""How many slots move at a time, at most."""


class ScheduleStep(NamedTuple):
    """One thing that a schedule did.

    Attributes:
        what: ``kill``, ``failover``, ``restart`` or ``move``.
        number: of the node, as in ``cluster.nodes``: which died, came back, took over or got slots.
    """

    what: str
    number: int


class FailureSchedule:
    """What goes wrong in a cluster; ``Cluster.schedule`` makes it.

    A shard has a node down only while another one of it is up. No node of a shard comes back before a replica
    has replaced the primary that died, so the data of each shard is always on a node.

    Args:
        cluster: the cluster.
        seed: decides what happens; the same things happen again for the same seed.
    """

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, Random(seed)  # noqa: S311  (no secret)

    def step(self) -> ScheduleStep:
        """Does one thing that can happen now, and says what.

        Replicas have all that their primaries have before a primary dies; what clients write meanwhile may be
        lost with it.

        Raises:
            ValueError: nothing can happen: the cluster has one primary and no replica.
        """
        cluster = self._cluster
        possible = sorted(self._possible(), key=lambda each: (each.what, each.number))
        if not possible:
            raise ValueError(f"nothing can happen in {cluster!r}: it has one primary and no replica")
        what = self._random.choice(sorted({each.what for each in possible}))
        step = self._random.choice([each for each in possible if each.what == what])
        self._do(step)
        return step

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

    def _possible(self) -> Iterator[ScheduleStep]:
        for node in self._cluster.nodes:
            for what in self._possible_of(node):
                yield ScheduleStep(what, node.number)

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

    def _do(self, step: ScheduleStep) -> None:
        cluster, node = self._cluster, self._cluster.nodes[step.number]
        if step.what == "kill":
            cluster.wait_for_replicas()
            cluster.kill(node)
        elif step.what == "failover":
            cluster.failover(node)
        elif step.what == "restart":
            cluster.restart(node)
        else:
            slots = self._random.choice(self._sources(node)).slots
            count = self._random.randint(1, MOST_MOVED)
            first = self._random.randrange(SLOTS)
            cluster.move_slots([slots[(first + each) % len(slots)] for each in range(count)], node)
