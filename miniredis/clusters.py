"""A Redis Cluster of several nodes in this process: ``cluster`` starts it, ``Cluster`` is its handle.

All nodes run in one Trio program on one thread, and share a lock and a clock. They read one ``Topology``, so
there is no gossip: what one node learns, all others know at once. Each node is a server of its own in all
other respects; replicas follow their primaries by Redis's replication.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import trio

from .arguments import DirectiveValue, as_microseconds, check_loop, checked_config, kind
from .clock import Clock, ClockChoice, TrioClock, chosen
from .cluster_nodes import ClusterNode
from .engine import Engine
from .engine.cluster.slots import key_slot
from .engine.cluster.topology import Topology
from .engine.conditions import PausedBy
from .engine.replication.failover import UNTIL_IT_IS_OVER
from .server import LoopChoice, run_server
from .slot_moves import SlotMove
from .tick_runner import advance_together

if TYPE_CHECKING:
    import datetime as dt
    from types import TracebackType

    import redis
    import redis.asyncio

    from .engine.cluster.topology import Node

__all__ = ["Cluster", "cluster"]

T = TypeVar("T")

GLANCE: Final = 0.0005
"""Seconds after which it is looked again whether replicas have come so far."""

PATIENCE: Final = 10
"""Seconds after which a replica that gets no further counts as stuck."""

MOST: Final = 1000
"""How many nodes there can be; a mistake for more, which would use up all descriptors."""

STOPPED: Final = "the cluster has stopped"


class Cluster:
    """A running cluster. ``stop``, or leaving its ``with`` block, stops all nodes.

    All methods may be called from any thread.

    Attributes:
        nodes: the primaries at the start, by the order of their slots, and then the replicas. They stay the
            same objects when they change their role, or are killed and restarted.
    """

    def __init__(
        self,
        primaries: int,
        replicas: int,
        clock: Clock,
        loop: LoopChoice,
        version: str | None,
        options: dict[str, Any],
    ) -> None:
        self.nodes = [ClusterNode(self, number) for number in range(primaries * (1 + replicas))]
        self._primaries = primaries
        self._clock = clock
        self._loop = loop
        self._version = version
        self._options = options
        self._lock = threading.RLock()
        self._topology: Topology
        self._nursery: trio.Nursery
        self._token: trio.lowlevel.TrioToken
        self._end = trio.Event()
        self._has_begun: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="miniredis cluster", daemon=True)

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
        if owner is None:
            raise LookupError(f"no node has slot {slot}")
        return self._node(owner)

    def _node(self, member: Node) -> ClusterNode:
        return next(node for node in self.nodes if node.member is member)

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

    def kill(self, node: ClusterNode) -> None:
        """Ends a node at once: its connections break, and what it has in memory only is lost.

        The other nodes know it when the call returns, as those of a real cluster do after
        ``cluster-node-timeout``. If it had slots, all nodes answer CLUSTERDOWN to requests for keys, until
        ``failover`` or ``restart`` (with ``cluster_require_full_coverage=False`` only requests for its slots
        fail). Does nothing if it is down already.
        """
        self._call(self._kill, node)

    def restart(self, node: ClusterNode) -> None:
        """Starts a node that was killed, at the same port, with the same id.

        It has the data that it kept on disk (``dir``), or none. A primary that a replica has replaced comes
        back as the replica of that one. When the call returns, replicas have all data.

        Raises:
            ValueError: the node is up.
            OSError: its port was taken meanwhile.
        """
        if node.is_up:
            raise ValueError(f"{node!r} is up; kill it first")
        self._call(self._restart, node)

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

    def wait_for_replicas(self) -> None:
        """Waits until each replica has all that its primary has, as far as both are up.

        Raises:
            TimeoutError: a replica gets no further.
        """
        self._call(self._catch_up)

    @property
    def now(self) -> dt.datetime:
        """The time of all nodes in UTC."""
        return self.nodes[0].now

    def fast_forward(self, seconds: float | Decimal) -> None:
        """Moves the clock of all nodes forward, as ``Server.fast_forward`` does that of a server.

        When the call returns, replicas have what time has brought to their primaries.
        """
        self._call(self._advance, as_microseconds(seconds))

    def reset(self) -> None:
        """Removes every key of every node; slots and roles stay."""
        for node in self.primaries:
            node.reset()
        self.wait_for_replicas()

    def stop(self) -> None:
        """Stops all nodes; returns when all sockets are closed. May be called more than once."""
        try:
            self._token.run_sync_soon(self._end.set)
        except trio.RunFinishedError:
            return
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Cluster {' '.join(node.public_url for node in self.nodes)}>"

    # On its own thread

    def _call(self, act: Callable[..., Awaitable[T]], *args: Any) -> T:
        try:
            return trio.from_thread.run(act, *args, trio_token=self._token)
        except (trio.RunFinishedError, trio.Cancelled):
            raise RuntimeError(STOPPED) from None

    def _begin(self) -> None:
        self._thread.start()
        try:
            self._has_begun.result()
        except BaseException:
            self._thread.join()
            raise

    def _run(self) -> None:
        try:
            trio.run(self._serve, clock=TrioClock())
        except BaseException as error:
            if self._has_begun.done():
                raise
            self._has_begun.set_exception(error)

    async def _serve(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as self._nursery:
            try:
                for node in self.nodes:
                    await self._start(node)
                self._share_slots()
                await self._catch_up()
            except Exception as error:  # told here: the nursery would put it into an exception group
                self._has_begun.set_exception(error)
            else:
                self._has_begun.set_result(None)
                await self._end.wait()
                for node in self.replicas:  # first, so that none looks for its primary
                    node.end()
                    await node.ended.wait()
            self._nursery.cancel_scope.cancel()

    def _share_slots(self) -> None:
        primaries = [node.member for node in self.nodes[: self._primaries]]
        self._topology = topology = Topology(primaries)
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

    async def _start(self, node: ClusterNode) -> None:
        options = {**self._options, "port": node.port} if node.has_run else dict(self._options)
        if "dir" in options:
            options["dir"] = Path(options["dir"]) / f"node-{node.number}"
        config = checked_config("cluster", {**options, "cluster_enabled": "yes"}, version=self._version)
        engine = Engine(config, self._clock.now(), secrets.randbits(64))
        if node.has_run:  # before clients come, who must not find a cluster of one node that has all slots
            assert engine.cluster is not None
            engine.cluster.join(self._topology, node.member)
        await self._nursery.start(partial(self._run_node, node, engine))

    async def _run_node(self, node: ClusterNode, engine: Engine, task_status: Any) -> None:
        try:
            await run_server(
                engine.config,
                engine=engine,
                time_source=self._clock,
                loop=self._loop,
                handle=partial(node.begin, engine),
                lock=self._lock,
                task_status=task_status,
            )
        except OSError:
            if not node.has_run:
                raise  # else its log tells of it, and the others go on
        finally:
            if node.has_run:
                node.ended.set()
                node.member.has_failed = True
                if hasattr(self, "_topology"):
                    self._topology.changed()

    async def _kill(self, node: ClusterNode) -> None:
        node.end()
        await node.ended.wait()
        self._align()

    async def _restart(self, node: ClusterNode) -> None:
        await self._start(node)
        self._topology.come_back(node.member)
        self._align()
        await self._catch_up()

    async def _fail_over(self, replica: ClusterNode, is_forced: bool) -> None:
        primary = replica.primary
        assert primary is not None
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
            self._topology.promote(replica.member)
            replica.act(replica.membership.align)
            self._align()

    def _align(self) -> None:
        """Lets all nodes do now what the topology says."""
        for node in self.nodes:
            if node.is_up:
                node.act(node.membership.align)

    async def _catch_up(self, *replicas: ClusterNode) -> None:
        with trio.move_on_after(PATIENCE):
            for replica in replicas or self.nodes:
                while replica.lags:
                    await trio.sleep(GLANCE)
            return
        raise TimeoutError(f"a replica did not get the data of its primary within {PATIENCE} s")

    async def _advance(self, microseconds: int) -> None:
        with self._lock:
            running = [node for node in self.nodes if node.is_up]
            for node in running:
                node.read_arrived()
            advance_together(self._clock, [node.runner for node in running], microseconds)
            for node in running:
                node.runner.advance(0)
        await self._catch_up()

    # What nodes ask for: ``TopologyListener``

    def changed(self) -> None:
        """Slots have other owners now, or nodes another state."""
        for node in self.nodes:
            self.tell(node.member, align)

    def fail_over(self, replica: Node, *, is_forced: bool) -> None:
        """Begins to make a replica the primary of its shard."""
        begin = partial(self._nursery.start_soon, self._fail_over, self._node(replica), is_forced)
        self._token.run_sync_soon(begin)

    def tell(self, member: Node, act: Callable[[Engine], object]) -> None:
        """Does something with a node's engine soon, unless it is down."""
        node = self._node(member)

        def act_if_up() -> None:
            if node.is_up:
                node.act(partial(act, node.membership.engine))

        self._token.run_sync_soon(act_if_up)


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
    **directives: DirectiveValue,
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
    check_loop("cluster", loop)
    for name, number, least in (("nodes", nodes, 1), ("replicas", replicas, 0)):
        if not isinstance(number, int):
            raise TypeError(f"cluster(): {name} must be an int, not {kind(number)}")
        if not least <= number <= MOST:
            raise ValueError(f"cluster(): {name} must be from {least} to {MOST}, not {number}")
    for name in ("port", "unixsocket", "tls_port", "replicaof", "cluster_enabled"):
        if name in directives:
            raise ValueError(f"cluster(): {name} is different for each node, or set by the cluster")
    checked_config("cluster", {k: v for k, v in directives.items() if k != "dir"}, version=version)
    started = Cluster(nodes, replicas, chosen(clock), loop, version, directives)
    started._begin()
    return started
