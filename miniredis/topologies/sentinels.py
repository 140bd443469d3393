"""A primary, its replicas and the sentinels that watch them, in this process: ``sentinel`` starts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Unpack

from ..arguments import Keywords
from ..clock import ClockChoice
from ..engine import Engine
from ..engine.protocol.requests import FastParser, RequestParser
from ..engine.replication.master_session import LONGEST
from ..engine.replication.upstream import Address
from ..engine.sentinel_commands import sentinel_table
from ..engine.sentinels import Event, Peer, Sentinel, Watched, reconfigure
from ..server import LoopChoice
from .failure_schedules import SentinelSchedule
from .server_groups import GroupedServer, ServerGroup, check_counts

if TYPE_CHECKING:
    from typing import Any

    import redis

    from ..replication.link import MasterLink

__all__ = ["Sentinels", "WatchedServer", "sentinel"]

NO_WRITES = {b"PING", b"REPLCONF", b"SELECT", b"MULTI", b"EXEC"}
"""What else replicas are sent."""

DATA_ONLY = {"dir", "appendonly", "appendfsync", "save", "dbfilename", "requirepass", "masterauth"}
"""Directives that sentinels are not given."""


class WatchedServer(GroupedServer):
    """A primary, a replica or a sentinel of ``Sentinels``: a ``Server`` that can be killed and restarted."""

    def __init__(self, group: Sentinels, number: int, *, is_sentinel: bool) -> None:
        super().__init__(group, number)
        self.is_sentinel = is_sentinel
        self.peer = Peer()
        self._group = group

    @property
    def primary(self) -> WatchedServer | None:
        """The primary whose replica it is; None for the primary and for sentinels."""
        is_replica = self.peer in self._group.watched.replicas
        return self._group.primary if is_replica else None

    @property
    def master(self) -> WatchedServer | None:
        """The same."""
        return self.primary

    @property
    def is_cut_off(self) -> bool:
        """Whether it is a replica that cannot reach its primary."""
        return self._link.is_cut

    @property
    def lags(self) -> bool:
        """Whether it is a replica that has less than its primary, and can get it."""
        return not self.is_cut_off and super().lags

    @property
    def link(self) -> MasterLink:
        """To its primary."""
        return self._link


class Sentinels(ServerGroup[WatchedServer]):
    """A running primary with replicas and sentinels. ``stop``, or leaving its ``with`` block, stops all.

    All methods may be called from any thread.

    Attributes:
        servers: the primary at the start, and then the replicas. They stay the same objects when they change
            their role, or are killed and restarted.
        sentinels: the sentinels.
        name: of the primary, by which clients ask sentinels.
        lost: the writes that failovers have lost: what the primary had done, as commands in the form that
            replicas get them, and no replica had that was up.
    """

    caller = "sentinel"

    def __init__(
        self,
        name: str,
        counts: tuple[int, int],
        clock: ClockChoice,
        loop: LoopChoice,
        version: str | None,
        directives: Mapping[str, object],
    ) -> None:
        super().__init__(clock, loop, version, directives)
        replicas, sentinels = counts
        every = [
            WatchedServer(self, number, is_sentinel=number > replicas)
            for number in range(1 + replicas + sentinels)
        ]
        self.servers, self.sentinels = every[: replicas + 1], every[replicas + 1 :]
        self.name = name
        self.lost: list[tuple[bytes, ...]] = []
        self._servers = every
        peers = [each.peer for each in self.servers]
        self.watched = Watched(
            name.encode(),
            sentinels // 2 + 1,
            self,
            peers[0],
            peers[1:],
            [each.peer for each in self.sentinels],
        )

    # Where they are

    @property
    def hosts(self) -> list[tuple[str, int]]:
        """The addresses of the sentinels, as ``redis.sentinel.Sentinel`` takes them."""
        return [(each.host, each.port) for each in self.sentinels]

    @property
    def url(self) -> str:
        """The URL for ``pressure``: ``redis+sentinel://127.0.0.1:26379,127.0.0.1:26380/mymaster``."""
        return f"redis+sentinel://{','.join(f'{host}:{port}' for host, port in self.hosts)}/{self.name}"

    @property
    def primary(self) -> WatchedServer:
        """The primary, also while it is down."""
        return self._server(self.watched.master)

    @property
    def replicas(self) -> list[WatchedServer]:
        """The replicas."""
        return [self._server(peer) for peer in self.watched.replicas]

    def _server(self, peer: Peer) -> WatchedServer:
        return next(each for each in self._servers if each.peer is peer)

    def client(self, **options: Any) -> redis.Redis:
        """A ``redis.Redis`` client that asks the sentinels for the primary, before each new connection."""
        import redis.sentinel

        return redis.sentinel.Sentinel(self.hosts).master_for(self.name, **options)  # type: ignore[no-any-return, no-untyped-call]

    # What happens to them

    def failover(self) -> WatchedServer:
        """Makes the replica with the most data the primary, as SENTINEL FAILOVER does; returns it.

        The other servers become its replicas. Subscribers of sentinels hear ``+switch-master``. What the
        replica did not have yet is lost; ``wait_for_replicas`` waits until it has all.

        Raises:
            ValueError: no replica is up.
        """
        if not self.watched.good_replicas:
            raise ValueError("there is no replica that is up")
        self._call(self._fail_over, self.watched.sentinels[0])
        return self.primary

    def cut_off(self, replica: WatchedServer) -> None:
        """Cuts the link of a replica to its primary: it gets no more of the data than it has now.

        Sentinels and clients still reach it. That ends with ``reconnect``, with the next failover, and when
        the replica is started again.

        Raises:
            ValueError: it is no replica that is up, or its primary is down.
            TimeoutError: its link stays up, or it gets no further.
        """
        primary = replica.primary
        if primary is None or not (primary.is_up and replica.is_up):
            raise ValueError(f"{replica!r} is no replica that is up, of a primary that is up")
        self._call(self._cut_off, replica)

    def reconnect(self, replica: WatchedServer) -> None:
        """Lets a replica reach its primary again; returns when it has all data."""
        if replica.is_up and replica.is_cut_off:
            self._call(self._reconnect, replica)

    def schedule(self, seed: int) -> SentinelSchedule:
        """Failures that a seed decides: in a ``step`` a server dies, comes back, takes over or is cut off."""
        return SentinelSchedule(self, seed)

    def restart(self, server: WatchedServer) -> None:
        """Starts a server that was killed, at the same port; a former primary is a replica then.

        It has the data that it kept on disk (``dir``), or none. When the call returns, replicas have all
        data.

        Raises:
            ValueError: the server is up.
            OSError: its port was taken meanwhile.
        """
        super().restart(server)

    def reset(self) -> None:
        """Removes every key; roles stay."""
        self.primary.reset()
        self.wait_for_replicas()

    # On their own thread

    def _options(self, server: WatchedServer) -> dict[str, Any]:
        given = self._directives.items()
        return {name: value for name, value in given if not (server.is_sentinel and name in DATA_ONLY)}

    def _prepare(self, server: WatchedServer, engine: Engine) -> None:
        peer = server.peer
        peer.run_id = engine.run_id
        if server.is_sentinel:
            engine.become_sentinel(Sentinel(self.watched, peer), sentinel_table(engine.version))
        else:
            peer.replication = engine.replication

    async def _form(self) -> None:
        for server in self._servers:
            server.peer.host, server.peer.port = server.host.encode(), server.port
        self._follow()

    def _is_down(self, server: WatchedServer) -> None:
        server.peer.is_down = True

    def _follow(self) -> None:
        """Each server does what it is to do: the primary leads, and the others follow it."""
        primary = self.primary
        address = Address(primary.host, primary.port)
        for server in (primary, *self.replicas):  # the primary first, so that it leads when they ask it
            if server.is_up:
                master = None if server is primary else address
                server.act(partial(reconfigure, server.runner.engine, master))

    async def _restart(self, server: WatchedServer) -> None:
        await self._start(server)
        server.peer.is_down = False
        self._follow()
        await self._catch_up()

    async def _cut_off(self, replica: WatchedServer) -> None:
        await self._catch_up(replica)
        with self._lock:
            replica.link.cut()
        upstream = replica.runner.engine.replication.upstream
        await self._until(
            lambda: upstream.is_down or not (replica.is_up and replica.is_cut_off), "was not cut off from"
        )

    async def _reconnect(self, replica: WatchedServer) -> None:
        replica.link.mend()
        await self._catch_up(replica)

    async def _fail_over(self, leader: Peer) -> None:
        with self._lock:
            self.watched.is_failing_over = False
            if not self.watched.good_replicas:
                return
            replica = self.watched.good_replicas[0]
            leaders, others = self.watched.events_of_failover(leader, replica)
            self.lost += missing(self.watched.master, replica)
            self.watched.promote(replica)
            for server in self.servers:
                server.link.is_cut = False
            self._follow()
            for each in self.sentinels:
                if each.is_up:
                    each.act(self._telling(each, leaders if each.peer is leader else others))

    @staticmethod
    def _telling(server: WatchedServer, events: list[Event]) -> Callable[[], None]:
        publishing = server.runner.engine.notifier.publishing

        def tell() -> None:
            for channel, message in events:
                publishing.publish(channel, message)

        return tell

    # What sentinels ask for: ``WatchedListener``

    def fail_over_soon(self, sentinel: Peer) -> None:
        """A client of a sentinel has asked for a failover."""
        self._token.run_sync_soon(self._nursery.start_soon, self._fail_over, sentinel)


def missing(master: Peer, replica: Peer) -> Iterator[tuple[bytes, ...]]:
    """The writes of a master that a replica does not have."""
    assert master.replication is not None
    assert replica.replication is not None
    history, theirs = master.replication.history, replica.replication.history
    have = theirs.offset if theirs.name == history.name else 0
    parser = RequestParser(FastParser(), lambda: LONGEST)
    parser.feed(history.since(max(have + 1, history.first_kept)))
    while request := parser.next():
        if request[0].upper() not in NO_WRITES:
            yield tuple(request)


def sentinel(
    replicas: int = 1,
    sentinels: int = 3,
    *,
    name: str = "mymaster",
    clock: ClockChoice = None,
    loop: LoopChoice = None,
    version: str | None = None,
    **directives: Unpack[Keywords],
) -> Sentinels:
    """Starts a primary, its replicas and sentinels that watch them, on a thread of this process.

    ::

        with miniredis.sentinel() as servers:
            client = redis.sentinel.Sentinel(servers.hosts).master_for("mymaster")
            client.set("greeting", "hello")
            servers.failover()

    Args:
        replicas: how many replicas.
        sentinels: how many sentinels.
        name: of the primary, by which clients ask sentinels.
        clock: where the time of all servers comes from; as for ``start``.
        loop: how each server waits for its clients; as for ``start``.
        version: what the servers answer as; as for ``start``.
        directives: those of the primary and the replicas; as for ``start``. With ``dir`` each keeps its
            data in a directory of its own in there.

    Raises:
        TypeError: a keyword is neither a parameter nor a directive, or a value has a wrong type.
        ConfigurationError: a directive does not accept the value that it was given (a ``ValueError``).
        ValueError: a number is out of range; or there is no such ``clock``, ``loop`` or ``version``; or a
            directive is one that is different for each server.
        OSError: a server cannot listen, or the disk fails.
    """
    check_counts("sentinel", {"replicas": (replicas, 0), "sentinels": (sentinels, 1)})
    return Sentinels(name, (replicas, sentinels), clock, loop, version, directives).begin()
