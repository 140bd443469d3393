"""The master of a server: which one it is, what depends on having one, and what a master can go on from.

``link.py`` has the link to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..protocol.errors import CommandError
from ..rdb.position import Position
from ..replication.replication_errors import INSTANCE_CHANGED
from .link import LinkProtocol

if TYPE_CHECKING:
    from ..engine import Engine
    from .replication import Replication

__all__ = ["Address", "Upstream"]


class Address(NamedTuple):
    """Where a master is."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Upstream:
    """The master of one engine, if it has one.

    Args:
        engine: the replica.
        replication: its part in replication.

    Attributes:
        link: to the master.
        address: of the master; None if this server is one itself.
        has_position: the data here are the beginning of a history, and a master may go on from there.
        database: the index of the one that the stream is in.
    """

    def __init__(self, engine: Engine, replication: Replication) -> None:
        self._engine, self._replication = engine, replication
        self.link = LinkProtocol(engine, replication)
        self.address: Address | None = None
        self.database = 0
        self.has_position = False
        if engine.config["replicaof"]:
            host, port = engine.config["replicaof"].rsplit(" ", 1)
            self.address = Address(host, int(port))
            replication.replicas.follow()

    # What commands do

    def follow(self, address: Address) -> bool:
        """REPLICAOF: this server is the replica of a master; tells whether it was not the same before."""
        if address == self.address:
            self.link.info(
                "REPLICAOF would result into synchronization with the master we are already connected with. "
                "No operation performed."
            )
            return False
        if self.address is None:
            self.link.info(
                "Before turning into a replica, using my own master parameters to synthesize a cached "
                "master: I may be able to synchronize with the new master with just a partial transfer."
            )
            self.has_position = True
        self.link.hang_up()
        self.address, self.link.down_since = address, None
        self._engine.config.learn("replicaof", f"{address.host} {address.port}")
        self._disconnect_blocked()
        self._change_role()
        self.link.info(f"REPLICAOF {address} enabled")
        self.link.connect()
        return True

    def lead(self) -> None:
        """REPLICAOF NO ONE: this server keeps its data, and is a master."""
        if self.address is None:
            return
        self.link.hang_up()
        self.address, self.link.down_since, self.has_position = None, None, False
        self._engine.config.learn("replicaof", "")
        self._replication.history.branch_off()
        self._change_role()
        self.link.info("MASTER MODE enabled")

    def _disconnect_blocked(self) -> None:
        """Clients that wait for others to write wait in vain: here nobody does."""
        for session in tuple(self._engine.sessions.values()):
            if session.waiter is not None and session.postponed is None:
                self._engine.unblock(session, CommandError(INSTANCE_CHANGED))
                session.close()

    def _change_role(self) -> None:
        replicas = self._replication.replicas
        if self.address is None:
            replicas.lead()
            replicas.disconnect_all()  # they are to hear the new name of the history
        else:
            replicas.follow()
        self.configure()

    def configure(self) -> None:
        """Directives, the master or the state of the link have changed: says what clients may do."""
        config, is_replica = self._engine.config, self.address is not None
        self._engine.conditions.follow(
            is_replica=is_replica,
            is_read_only=is_replica and config["replica-read-only"] == "yes",
            is_stale=is_replica and self.link.session is None and config["replica-serve-stale-data"] == "no",
        )
        self._engine.keep_keys_or_not()

    @property
    def is_down(self) -> bool:
        """Whether this is a replica whose link is not up."""
        return self.address is not None and self.link.session is None

    @property
    def position(self) -> Position | None:
        """What a master may go on from; None if it has to send all data."""
        history = self._replication.history
        return Position(self.database, history.name, history.offset) if self.has_position else None

    @property
    def offset(self) -> int:
        """How many bytes of the master's history are here; 0 if the next link begins with all data."""
        return self._replication.history.offset if self.has_position or self.link.session is not None else 0

    def resume(self) -> None:
        """There is somebody who can connect: a server with this engine runs."""
        self.link.is_running = True
        self.link.connect()

    def stop(self) -> None:
        """The server with this engine stops."""
        self.link.is_running = False
        self.link.hang_up()
