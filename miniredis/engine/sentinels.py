"""What the sentinels of a process know together: ``Watched``. ``sentinel_commands`` has their commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from .clients.client_flags import MASTER, REPLICA

if TYPE_CHECKING:
    from .engine import Engine
    from .replication.replication import Replication
    from .replication.upstream import Address

__all__ = ["Event", "Peer", "Sentinel", "Watched", "WatchedListener", "reconfigure"]


@dataclass(eq=False)
class Peer:
    """A server, as sentinels know it.

    Attributes:
        host: its address.
        port: its port.
        run_id: forty hexadecimal digits.
        is_down: whether they know that it is down.
        replication: how far its data are; None for a sentinel.
    """

    host: bytes = b""
    port: int = 0
    run_id: bytes = b""
    is_down: bool = False
    replication: Replication | None = None

    @property
    def address(self) -> bytes:
        """As the name of a replica has it."""
        return b"%b:%d" % (self.host, self.port)


class WatchedListener(Protocol):
    """Whoever runs the servers that sentinels watch."""

    def fail_over_soon(self, sentinel: Peer) -> None:
        """A client of a sentinel has asked for a failover."""


@dataclass(eq=False)
class Watched:
    """A master, its replicas, and the sentinels that watch them.

    Attributes:
        name: of the master, by which clients ask.
        quorum: how many sentinels have to agree that it is down.
        listener: who runs them.
        master: the master.
        replicas: the replicas.
        sentinels: the sentinels.
        epoch: how many failovers there were.
        is_failing_over: whether one is under way.
    """

    name: bytes
    quorum: int
    listener: WatchedListener
    master: Peer
    replicas: list[Peer]
    sentinels: list[Peer]
    epoch: int = 0
    is_failing_over: bool = False

    @property
    def good_replicas(self) -> list[Peer]:
        """Those that could be the master, the one with the most data first."""
        up = [peer for peer in self.replicas if not peer.is_down]
        return sorted(up, key=lambda peer: -peer.replication.history.offset if peer.replication else 0)

    def promote(self, replica: Peer) -> None:
        """A replica is the master now, and the master a replica."""
        self.replicas[self.replicas.index(replica)] = self.master
        self.master = replica
        self.epoch += 1

    def events_of_failover(self, leader: Peer, replica: Peer) -> tuple[list[Event], list[Event]]:
        """What the sentinel that does a failover tells its subscribers, and what the others tell theirs."""
        old, name = self.master, self.name
        master = b"master %b %b %d" % (name, old.host, old.port)
        chosen = self._as_replica(replica, old)
        others = [peer for peer in self.replicas if peer is not replica]
        epoch = b"%d" % (self.epoch + 1)
        switched = [
            (b"+switch-master", b"%b %b %d %b %d" % (name, old.host, old.port, replica.host, replica.port)),
            *((b"+slave", self._as_replica(peer, replica)) for peer in (*others, old)),
        ]
        leaders = [
            (b"+new-epoch", epoch),
            (b"+try-failover", master),
            (b"+vote-for-leader", b"%b %b" % (leader.run_id, epoch)),
            (b"+elected-leader", master),
            (b"+failover-state-select-slave", master),
            (b"+selected-slave", chosen),
            (b"+failover-state-send-slaveof-noone", chosen),
            (b"+failover-state-wait-promotion", chosen),
            (b"-role-change", chosen + b" new reported role is master"),
            (b"+promoted-slave", chosen),
            (b"+failover-state-reconf-slaves", master),
            *(
                (b"+slave-reconf-" + how, self._as_replica(peer, old))
                for peer in others
                if not peer.is_down
                for how in (b"sent", b"inprog", b"done")
            ),
            (b"+failover-end", master),
            *switched,
        ]
        update = b"sentinel %b %b %d @ %b %b %d" % (
            leader.run_id, leader.host, leader.port, name, old.host, old.port
        )  # fmt: skip
        return leaders, [(b"+new-epoch", epoch), (b"+config-update-from", update), *switched]

    def _as_replica(self, peer: Peer, master: Peer) -> bytes:
        """How events name a replica."""
        return b"slave %b %b %d @ %b %b %d" % (
            peer.address, peer.host, peer.port, self.name, master.host, master.port
        )  # fmt: skip


Event = tuple[bytes, bytes]
"""A channel and a message."""


@dataclass(eq=False)
class Sentinel:
    """One sentinel.

    Attributes:
        watched: what it watches.
        peer: itself, as the others know it.
    """

    watched: Watched
    peer: Peer
    others: list[Peer] = field(init=False)

    def __post_init__(self) -> None:
        self.others = [peer for peer in self.watched.sentinels if peer is not self.peer]


def reconfigure(engine: Engine, master: Address | None) -> None:
    """A server follows another one, or none; its clients have to connect again, and ask a sentinel before."""
    upstream = engine.replication.upstream
    if upstream.address == master:
        return
    if master is None:
        upstream.lead()
    else:
        upstream.follow(master)
    for session in tuple(engine.sessions.values()):
        if not session.flags & (REPLICA | MASTER):
            engine.hang_up(session)
