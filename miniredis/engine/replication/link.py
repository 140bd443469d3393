"""The link of a replica to its master: what is said, and what is done when data come or time passes.

It does no I/O. The process around the engine has the connection (``Environment.link``), and calls
``connected``, ``receive`` and ``lost``. A link goes through the states of ``LinkState`` in their order; a
second after it has failed the next one begins. See ``synchronization.py`` for what comes before the stream,
and ``master_session.py`` for the stream.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from .master_session import MasterSession
from .synchronization import Synchronization

if TYPE_CHECKING:
    from ..engine import Engine
    from ..environment import LinkInterface
    from .replication import Replication

__all__ = ["LinkProtocol", "LinkState"]

SECOND: Final = 1_000_000


class LinkState(Enum):
    """How far a link is, in the words of ROLE."""

    CONNECT = b"connect"
    CONNECTING = b"connecting"
    HANDSHAKE = b"handshake"
    SYNC = b"sync"
    CONNECTED = b"connected"


class LinkProtocol:
    """The links of one engine to its master, one at a time.

    Args:
        engine: the replica.
        replication: its part in replication.

    Attributes:
        session: runs the stream; None while the link is not CONNECTED.
        sync: goes on from the handshake to the stream; None before and behind.
        down_since: when the link was lost, in monotonic microseconds; None if it never was up.
        heard_at: when the master sent something last, likewise.
        is_running: there is somebody who can connect.
    """

    def __init__(self, engine: Engine, replication: Replication) -> None:
        self._engine, self._replication = engine, replication
        self.session: MasterSession | None = None
        self.sync: Synchronization | None = None
        self.down_since: int | None = None
        self.heard_at = 0
        self.is_running = False
        self._is_connecting = False
        self._local_address, self._descriptor = b"", -1
        self._due = 0  # when to connect again, or to acknowledge; monotonic microseconds

    @property
    def state(self) -> LinkState:
        """How far the link is."""
        if self.session is not None:
            return LinkState.CONNECTED
        if self.sync is not None:
            return LinkState.HANDSHAKE if self.sync.transfer is None else LinkState.SYNC
        return LinkState.CONNECTING if self._is_connecting else LinkState.CONNECT

    @property
    def _connection(self) -> LinkInterface | None:
        return self._engine.environment.link

    def info(self, text: str) -> None:
        """Logs what is as it should be."""
        if self._connection is not None:
            self._connection.info(text)

    def warn(self, text: str) -> None:
        """Logs what is not."""
        if self._connection is not None:
            self._connection.warn(text)

    def say(self, words: bytes) -> None:
        """Sends the master bytes, perhaps none."""
        if words and self._connection is not None:
            self._connection.send(words)

    # From the first connection to the last

    def connect(self) -> None:
        """Begins a link, if there is a master and somebody who can connect."""
        address = self._replication.upstream.address
        if address is None or self._connection is None or not self.is_running:
            return
        self.info(f"Connecting to MASTER {address}")
        self.info("MASTER <-> REPLICA sync started")
        self._is_connecting = True
        self.heard_at = self._engine.now.monotonic
        self._connection.open(address.host, address.port)

    def connected(self, local_address: str, descriptor: int) -> None:
        """There is a connection to the master; CLIENT LIST shows what is told of it."""
        self.info("Non blocking connect for SYNC fired the event.")
        self._local_address, self._descriptor = local_address.encode(), descriptor
        self.sync = Synchronization(self._engine, self._replication)
        self.sync.start()

    def lost(self, reason: str) -> None:
        """The connection failed, or was closed by the master."""
        if self.session is not None:
            self._engine.hang_up(self.session)  # which calls ``ended``
            return
        if self.state is LinkState.CONNECTING:
            self.warn(f"Error condition on socket for SYNC: {reason}")
        elif self.state is LinkState.SYNC:
            self.warn(f"I/O error trying to sync with MASTER: {reason}")
        elif self.state is LinkState.HANDSHAKE:
            self.warn(f"Master did not answer the handshake: {reason}")
        self.fail()

    def abandon(self) -> None:
        """What the master sent led to an unexpected error."""
        if self.session is not None:
            self.session.close()
        else:
            self.fail()

    def ended(self, session: MasterSession) -> None:
        """The session of the master is over: the next link begins."""
        if session is self.session:
            self._end_stream(session)
            self._close()
            self.connect()

    def _end_stream(self, session: MasterSession) -> None:
        session.pass_on()
        self.session = None
        self.down_since = self._engine.now.monotonic
        if self.is_running:
            self.warn("Connection with master lost.")
        self._replication.upstream.has_position = session.is_counted and not session.has_failed
        if self._replication.upstream.has_position:
            self.info("Caching the disconnected master state.")

    def fail(self) -> None:
        """This link came to nothing; the next one is tried in a second."""
        self._close()
        self._due = self._engine.now.monotonic + SECOND

    def hang_up(self) -> None:
        """Ends the link, on our own account."""
        session = self.session
        if session is not None:
            self._end_stream(session)
            self._engine.hang_up(session)
        self._close()

    def _close(self) -> None:
        if self.sync is not None:
            self.sync.close()
            self.sync = None
        self._is_connecting = False
        self._replication.upstream.configure()
        if self._connection is not None:
            self._connection.close()

    # What the master says

    def receive(self, data: bytes) -> None:
        """Takes bytes that the master sent, cut anywhere."""
        self.heard_at = self._engine.now.monotonic
        if self.session is not None:
            self.session.receive(data)
        elif self.sync is not None:
            self.sync.receive(data)

    @property
    def is_loading(self) -> bool:
        """Whether a snapshot has come whole, and ``load`` is to be called."""
        return self.sync is not None and self.sync.is_loading

    def load(self) -> bool:
        """Loads a few keys of a snapshot that has come whole; tells whether there is more to be loaded."""
        if self.sync is not None:
            self.heard_at = self._engine.now.monotonic  # it may have said more by now
            self.sync.load()
        return self.is_loading

    def begin_stream(self, database: int, behind: bytes, *, is_counted: bool) -> None:
        """The data here are the master's, and it goes on with its stream.

        Args:
            database: the index of the one that the stream is in.
            behind: what has come of the stream already.
            is_counted: the master said where its stream begins.
        """
        engine, address = self._engine, self._replication.upstream.address
        session = MasterSession(engine, engine.keyspace.databases[database], is_counted=is_counted)
        session.address, session.local_address = str(address).encode(), self._local_address
        session.descriptor = self._descriptor
        engine.sessions[session.id] = self.session = session
        self.sync = None
        self._replication.upstream.configure()
        self.acknowledge()
        self._due = engine.now.monotonic + SECOND
        if behind:
            session.receive(behind)

    def pass_on(self) -> None:
        """Counts what the stream has done until now; replicas of this replica get it as it came."""
        if self.session is not None:
            self.session.pass_on()

    def acknowledge(self, before: list[bytes] | None = None) -> None:
        """Tells the master how far this replica is.

        Args:
            before: the command of the master that asks for it, which is not yet applied.
        """
        if self.session is not None:
            words = self.session.acknowledgement(before)
            self._engine.statistics.output_bytes += len(words)
            self.say(words)

    # Time

    @property
    def awaits_time(self) -> bool:
        """Whether there is something to be done in time."""
        return self._replication.upstream.address is not None and self.is_running

    def next_deadline(self) -> int | None:
        """When ``let_time_pass`` has something to do, in monotonic microseconds."""
        if not self.awaits_time:
            return None
        if self.state is LinkState.CONNECT:
            return self._due
        return min(self._due, self._patience) if self.session is not None else self._patience

    @property
    def _patience(self) -> int:
        """When a silent master counts as gone."""
        return self.heard_at + (self._engine.config.integer("repl-timeout") + 1) * SECOND

    def let_time_pass(self) -> None:
        """Connects again, acknowledges, and gives up on a master that is silent, as is due."""
        now = self._engine.now.monotonic
        if not self.awaits_time:
            return
        if self.state is LinkState.CONNECT:
            if self._due <= now:
                self.connect()
        elif self._patience <= now:
            self._give_up()
        elif self.session is not None:
            self.session.run_stream()  # a script may have held it up
            if self._due <= now:
                self.acknowledge()
                self._due = now + SECOND

    def _give_up(self) -> None:
        if self.session is not None:
            self.warn("MASTER timeout: no data nor PING received...")
            self._engine.hang_up(self.session)
            return
        if self.state is LinkState.SYNC:
            self.warn(
                "Timeout receiving bulk data from MASTER... If the problem persists try to set the "
                "'repl-timeout' parameter in redis.conf to a larger value."
            )
        else:
            self.warn("Timeout connecting to the MASTER...")
        self.fail()
        self.connect()
