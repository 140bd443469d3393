"""A Redis Cluster of several nodes in this process: ``cluster`` starts it, ``Cluster`` is its handle.

All nodes run in one Trio program on one thread, and share a lock and a clock. They read one ``Topology``, so
there is no gossip: what one node learns, all others know at once. Each node is a server of its own in all
other respects; replicas follow their primaries by Redis's replication.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Unpack

from ..arguments import Keywords
from ..clock import ClockChoice
from ..engine import Engine
from ..engine.cluster.slots import key_slot
from ..engine.cluster.topology import Topology
from ..engine.conditions import PausedBy
from ..engine.replication.failover import UNTIL_IT_IS_OVER
from ..logs import log
from ..server import LoopChoice
from .cluster_nodes import ClusterNode
from .failure_schedules import ClusterSchedule
from .server_groups import ServerGroup, check_counts
from .slot_moves import SlotMove

if TYPE_CHECKING:
    from typing import Any

    import redis
    import redis.asyncio

    from ..engine.cluster.topology import Node

__all__ = ["Cluster", "cluster"]


class Cluster(ServerGroup[ClusterNode]):
    """A running cluster. ``stop``, or leaving its ``with`` block, stops all nodes.

    All methods may be called from any thread.

    Attributes:
        nodes: the primaries at the start, by the order of their slots, the replicas, and those that were
            added. They stay the same objects when they change their role, or are killed and restarted.
    """

    caller = "cluster"

    def __init__(
        self,
        primaries: int,
        replicas: int,
        clock: ClockChoice,
        loop: LoopChoice,
        version: str | None,
        directives: Mapping[str, object],
    ) -> None:
        super().__init__(clock, loop, version, directives)
        self.nodes = [ClusterNode(self, number) for number in range(primaries * (1 + replicas))]
        self._servers = self.nodes
        self._primaries = primaries

    # Where it is

    @property
    def url(self) -> str:
        """The URL of the first node that runs, from which cluster clients find all others."""
        return next((node for node in self.nodes if node.is_up), self.nodes[0]).url

    @property
    def cluster_url(self) -> str:
        """The URL of all nodes for ``pressure``: ``redis+cluster://127.0.0.1:7001,127.0.0.1:7002``."""
        user, at, _ = self.url.removeprefix("redis://").rpartition("@")
        return f"redis+cluster://{user}{at}" + ",".join(f"{node.host}:{node.port}" for node in self.nodes)

    def client(self, **options: Any) -> redis.RedisCluster:
        """A ``redis.RedisCluster`` client, over TCP, with its options."""
        import redis

        return redis.RedisCluster.from_url(self.url, **options)

    def async_client(self, **options: Any) -> redis.asyncio.RedisCluster:
        """A ``redis.asyncio.RedisCluster`` client, over TCP, with its options."""
        import redis.asyncio

        return redis.asyncio.RedisCluster.from_url(self.url, **options)

    @property
    def primaries(self) -> list[ClusterNode]:
        """The nodes that are primaries now, those too that are down."""
        return [node for node in self.nodes if node.primary is None]

    @property
    def replicas(self) -> list[ClusterNode]:
        """The nodes that are replicas now."""
        return [node for node in self.nodes if node.primary is not None]

    def slot_of(self, key: str | bytes) -> int:
        """The hash slot of a key, or of its hash tag."""
        return key_slot(key.encode() if isinstance(key, str) else key)

    def node_of(self, key: str | bytes) -> ClusterNode:
        """The primary that has the slot of a key.

        Raises:
            LookupError: no node has it (CLUSTER DELSLOTS).
        """
        slot = self.slot_of(key)
        owner = self._topology.owners[slot]
        node = None if owner is None else self._node(owner)
        if node is None or slot in node.membership.unassigned:
            raise LookupError(f"no node has slot {slot}")
        return node

    def _node(self, member: Node) -> ClusterNode:
        return next(node for node in self.nodes if node.member is member)

    @property
    def _topology(self) -> Topology:
        """What most nodes know; those that CLUSTER RESET was sent to know themselves only."""
        topologies = [node.membership.topology for node in self.nodes if node.has_run]
        return max(topologies, key=topologies.count)

    # What happens to it

    def move_slots(self, slots: Iterable[int], to: ClusterNode) -> int:
        """Moves slots with their keys to another primary, while clients work.

        Between the keys clients have their turns. They get ASK for a key that has left already, and TRYAGAIN
        for several keys of which only some have. At the end all nodes know the new owner, and answer MOVED.

        Args:
            slots: their numbers; those that the node has already stay.
            to: a primary that is up.

        Returns:
            How many keys were moved.

        Raises:
            ValueError: a number is out of range, or ``to`` is a replica or down; or a slot has no node, or
                one that is down.
        """
        return self.begin_move(slots, to).finish()

    def begin_move(self, slots: Iterable[int], to: ClusterNode) -> SlotMove:
        """The same step by step: no key moves before ``step`` or ``finish`` of what is returned is called.

        ::

            move = cluster.begin_move([cluster.slot_of("jobs")], cluster.nodes[1])
            move.step(1)  # one key; now the slot has keys on both nodes
            move.finish()
        """
        return SlotMove(self, self._lock, self._topology, slots, to)

    def kill(self, server: ClusterNode) -> None:
        """Ends a node at once: its connections break, and what it has in memory only is lost.

        The other nodes know it when the call returns, as those of a real cluster do after
        ``cluster-node-timeout``. If it had slots, all nodes answer CLUSTERDOWN to requests for keys, until
        ``failover`` or ``restart`` (with ``cluster_require_full_coverage=False`` only requests for its slots
        fail). Does nothing if it is down already.
        """
        super().kill(server)

    def restart(self, server: ClusterNode) -> None:
        """Starts a node that was killed, at the same port, with the same id.

        It has the data that it kept on disk (``dir``), or none. A primary that a replica has replaced comes
        back as the replica of that one. When the call returns, replicas have all data.

        Raises:
            ValueError: the node is up.
            OSError: its port was taken meanwhile.
        """
        super().restart(server)

    def failover(self, node: ClusterNode) -> ClusterNode:
        """Makes a replica the primary of its shard; the others of the shard become its replicas.

        If the primary is up, it holds up writes until the replica has all of them, so none is lost, as with
        CLUSTER FAILOVER. If it is down, writes that had not come to the replica are lost.

        Args:
            node: the replica; or a primary, whose first replica that is up takes over.

        Returns:
            The new primary.

        Raises:
            ValueError: there is no replica that is up.
            TimeoutError: the replica does not get the data.
        """
        self._check_is_own(node)
        replica = node
        if node.primary is None:
            candidates = [each for each in self.replicas if each.primary is node and each.is_up]
            if not candidates:
                raise ValueError(f"{node!r} has no replica that is up")
            replica = candidates[0]
        elif not node.is_up:
            raise ValueError(f"{node!r} is down")
        self._call(self._fail_over, replica, False)
        return replica

    def add_node(self) -> ClusterNode:
        """Starts another node, which joins the others as a primary without slots.

        It does what ``redis-cli --cluster add-node`` does; ``move_slots`` gives it slots.

        Raises:
            OSError: it cannot listen, or the disk fails.
        """
        return self._call(self._add)

    def schedule(self, seed: int) -> ClusterSchedule:
        """Failures that a seed decides: a ``step`` kills or restarts a node, moves slots or fails over."""
        return ClusterSchedule(self, seed)

    def reset(self) -> None:
        """Removes every key of every node; slots and roles stay."""
        for node in self.primaries:
            node.reset()
        self.wait_for_replicas()

    # On its own thread

    async def _form(self) -> None:
        self._share_slots()

    def _share_slots(self) -> None:
        primaries = [node.member for node in self.nodes[: self._primaries]]
        topology = Topology(primaries)
        for number, node in enumerate(self.nodes):
            member = node.member
            member.host, member.epoch = node.host.encode(), number + 1  # as redis-cli --cluster create
            if number >= len(primaries):
                member.primary = primaries[number % len(primaries)]
                topology.nodes.append(member)
            node.membership.join(topology, member)
        topology.epoch = len(self.nodes)
        topology.listener = self
        self._align()

    def _options(self, _: ClusterNode) -> dict[str, Any]:
        return {**self._directives, "cluster_enabled": "yes"}

    def _prepare(self, node: ClusterNode, engine: Engine) -> None:
        """A node that comes back must not be a cluster of one node that has all slots, even for a moment."""
        assert engine.cluster is not None
        if node.has_run:
            engine.cluster.join(node.membership.topology, node.member)
        elif self._has_begun:
            node.member = engine.cluster.node
            engine.cluster.join(Topology.without_slots(node.member, self), node.member)
        else:
            node.member = engine.cluster.node

    def _is_down(self, node: ClusterNode) -> None:
        node.member.has_failed = True
        node.membership.topology.changed()

    async def _kill(self, node: ClusterNode) -> None:
        await super()._kill(node)
        self._align()

    async def _restart(self, node: ClusterNode) -> None:
        await self._start(node)
        node.membership.topology.come_back(node.member)
        self._align()
        await self._catch_up()

    async def _add(self) -> ClusterNode:
        node, topology = ClusterNode(self, len(self.nodes)), self._topology
        await self._start(node)
        with self._lock:
            self.nodes.append(node)
            node.member.host = node.host.encode()
            self._join(next(each for each in self.nodes if each.membership.topology is topology), node)
        return node

    async def _fail_over(self, replica: ClusterNode, is_forced: bool) -> None:
        primary = replica.primary
        if primary is None:
            return  # another failover was first
        if not primary.is_up or is_forced:
            self._promote(replica)
            return
        pause = primary.membership.engine.start_pause
        primary.act(partial(pause, UNTIL_IT_IS_OVER, PausedBy.FAILOVER, writes_only=True))
        try:
            await self._catch_up(replica)
            self._promote(replica)
        finally:
            if primary.is_up:
                primary.act(partial(primary.membership.engine.end_pause, PausedBy.FAILOVER))

    def _promote(self, replica: ClusterNode) -> None:
        with self._lock:
            replica.membership.topology.promote(replica.member)
            replica.act(replica.membership.align)
            self._align()

    def _align(self) -> None:
        """Lets all nodes do now what the topology says."""
        for node in self.nodes:
            if node.is_up:
                node.act(node.membership.align)

    # What nodes ask for: ``TopologyListener``

    def changed(self) -> None:
        """Slots have other owners now, or nodes another state."""
        for node in self.nodes:
            self.tell(node.member, align)

    def fail_over(self, replica: Node, *, is_forced: bool) -> None:
        """Begins to make a replica the primary of its shard."""
        begin = partial(self._nursery.start_soon, self._try_to_fail_over, self._node(replica), is_forced)
        self._token.run_sync_soon(begin)

    async def _try_to_fail_over(self, replica: ClusterNode, is_forced: bool) -> None:
        """A failover for which no caller waits: as in Redis, one that takes too long is over."""
        try:
            await self._fail_over(replica, is_forced)
        except TimeoutError as error:
            log.warning("a failover was given up: %s", error)

    def meet(self, member: Node, host: str, port: int) -> None:
        """Joins the cluster of a node and that of another node, if one of ``nodes`` is at this address."""
        node = self._node(member)
        for other in self.nodes:
            if other.is_up and other is not node and (other.host, other.port) == (host, port):
                self._join(node, other)

    def _join(self, node: ClusterNode, other: ClusterNode) -> None:
        node.member.forgotten_by.pop(other.member, None)
        other.member.forgotten_by.pop(node.member, None)
        joined, theirs = node.membership.topology, other.membership.topology
        if joined is not theirs:
            for each in self.nodes:
                if each.membership.topology is theirs:
                    each.membership.topology = joined
            joined.take_in(theirs)

    def tell(self, member: Node, act: Callable[[Engine], object]) -> None:
        """Does something with a node's engine soon, unless it is down."""
        if not member.has_failed:
            self._tell(self._node(member), act)


def align(engine: Engine) -> None:
    """Lets a node do what the topology says."""
    assert engine.cluster is not None
    engine.cluster.align()


def cluster(
    nodes: int = 3,
    replicas: int = 0,
    *,
    clock: ClockChoice = None,
    loop: LoopChoice = None,
    version: str | None = None,
    **directives: Unpack[Keywords],
) -> Cluster:
    """Starts a Redis Cluster on a thread of this process; returns when clients can connect.

    ::

        with miniredis.cluster(nodes=3, replicas=1) as cluster:
            client = redis.RedisCluster.from_url(cluster.url)
            client.set("greeting", "hello")

    The primaries share all slots equally, and each has the same number of replicas, which have all data when
    the call returns. Every node listens on a free port of its own.

    Args:
        nodes: how many primaries.
        replicas: how many replicas each of them has.
        clock: where the time of all nodes comes from; as for ``start``.
        loop: how each node waits for its clients; as for ``start``.
        version: what the nodes answer as; as for ``start``.
        directives: those of each node; as for ``start``. With ``dir`` each node keeps its data in a directory
            of its own in there.

    Raises:
        TypeError: a keyword is neither a parameter nor a directive, or a value has a wrong type.
        ConfigurationError: a directive does not accept the value that it was given (a ``ValueError``).
        ValueError: a number is out of range; or there is no such ``clock``, ``loop`` or ``version``; or a
            directive is one that the cluster sets itself.
        OSError: a node cannot listen, or the disk fails.
    """
    check_counts("cluster", {"nodes": (nodes, 1), "replicas": (replicas, 0)})
    return Cluster(nodes, replicas, clock, loop, version, directives).begin()
