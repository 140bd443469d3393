"""``SlotMove``: slots that go from one node of a cluster to another, with their keys."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from ..engine.cluster.slots import SLOTS, key_slot
from ..engine.own_requests import run_own
from ..engine.rdb.payload import dump

if TYPE_CHECKING:
    from ..engine import Instant
    from ..engine.cluster.topology import Topology
    from .cluster_nodes import ClusterNode
    from .clusters import Cluster

__all__ = ["SlotMove"]

AT_ONCE: Final = 100
"""How many keys ``finish`` moves before clients have their turn."""


class SlotMove:
    """Slots on their way to a node; ``Cluster.begin_move`` makes it.

    Args:
        cluster: the cluster.
        lock: of all its nodes.
        topology: its slots.
        slots: their numbers.
        to: the node that is to have them.
    """

    def __init__(
        self,
        cluster: Cluster,
        lock: threading.RLock,
        topology: Topology,
        slots: Iterable[int],
        to: ClusterNode,
    ) -> None:
        self._cluster, self._lock, self._topology, self._to = cluster, lock, topology, to
        with lock:
            self._sources = self._checked(list(slots))
            for source, numbers in self._sources.items():
                for slot in numbers:
                    to.membership.importing[slot] = source.member
                    source.membership.migrating[slot] = to.member

    def _checked(self, slots: list[int]) -> dict[ClusterNode, set[int]]:
        """The slots that are to move, by the node that has them."""
        if self._to.primary is not None or not self._to.is_up:
            why = "a replica" if self._to.primary else "down"
            raise ValueError(f"{self._to!r} is {why}, and takes no slots")
        if self._to.membership.topology is not self._topology:
            raise ValueError(f"{self._to!r} knows no other node (CLUSTER RESET), and takes no slots")
        sources: dict[ClusterNode, set[int]] = {}
        for slot in slots:
            if not 0 <= slot < SLOTS:
                raise ValueError(f"slots are numbers from 0 to {SLOTS - 1}, not {slot}")
            owner = self._topology.owners[slot]
            if (
                owner is None
                or owner.has_failed
                or self._cluster._node(owner).membership.owner_of(slot) is None
            ):
                raise ValueError(f"slot {slot} has no node that is up")
            if owner is not self._to.member:
                sources.setdefault(self._cluster._node(owner), set()).add(slot)
        return sources

    def step(self, count: int = 1) -> int:
        """Moves up to some keys; returns how many it has moved: fewer if there are no more."""
        moved = 0
        with self._lock:
            for source, slots in self._sources.items():
                keys = source.runner.engine.keyspace.databases[0].values
                found = [key for key in keys if key_slot(key) in slots]
                moved += self._carry(source, found[: count - moved])
        return moved

    def _carry(self, source: ClusterNode, keys: list[bytes]) -> int:
        """Moves keys: the one node has stored them before the other one drops them."""
        if not keys:
            return 0
        engine, target = source.runner.engine, self._to.runner
        db = engine.keyspace.databases[0]
        source.act(lambda: [db.has_expired(key) for key in keys])  # those that have are gone then
        alive = [key for key in keys if key in db.values]
        restores = [
            [b"RESTORE", key, b"%d" % db.deadlines.get(key, 0), dump(db.values[key]), b"REPLACE", b"ABSTTL"]
            for key in alive
        ]

        def restore(now: Instant) -> None:
            run_own(target.engine, 0, restores, now)

        def drop(now: Instant) -> None:
            run_own(engine, 0, [[b"DEL", *alive]], now)

        if alive:
            if not self._to.is_up:
                raise ValueError(f"{self._to!r} is down; the keys that it has not got yet stay at {source!r}")
            target.act_between_commands(restore)
            if source.is_up:
                source.runner.act_between_commands(drop)
        return len(keys)

    def finish(self) -> int:
        """Moves all keys that are left, and gives the node the slots; returns how many keys it has moved."""
        moved = 0
        while True:
            with self._lock:
                some = self.step(AT_ONCE)
                moved += some
                if some < AT_ONCE:
                    self._hand_over()
                    return moved

    def _hand_over(self) -> None:
        target = self._to.membership
        for source, slots in self._sources.items():
            for slot in slots:
                source.membership.migrating.pop(slot, None)
                target.importing.pop(slot, None)
            self._topology.bump(self._to.member)
            self._topology.assign(slots, self._to.member)
            if source.member not in self._topology.serving:
                source.act(partial(source.membership.become_replica, self._to.member))
        self._sources = {}
        self._cluster._align()
