"""The link of a replica to its master, and what is done when data come or time passes.

The process around the engine has the connection (``Environment.link``). It calls ``connected``, ``receive``
and ``lost``. A link goes through the states of ``LinkState`` in their order; a second after it has failed the
next one begins. The data here are replaced only when those of the master have come whole and are good. See
``handshake.py`` for what is said, ``transfer.py`` and ``replacing.py`` for the snapshot,
and ``master_session.py`` for the stream.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from ..errors import INSTANCE_CHANGED, CommandError
from ..replies import pack
from .handshake import UNCOUNTED, Agreed, Handshake, HandshakeError, Position, handshake
from .master_session import MasterSession
from .transfer import Transfer

if TYPE_CHECKING:
    from ..engine import Engine
    from ..environment import LinkInterface

__all__ = ["Address", "LinkState", "Upstream"]

SECOND: Final = 1_000_000
LONGEST_LINE: Final = 1024
KEYS_AT_ONCE: Final = 16
SIGN_OF_LIFE: Final = b"\n"


class Address(NamedTuple):
    """Where a master is."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class LinkState(Enum):
    """How far a link is, in the words of ROLE."""

    CONNECT = b"connect"
    CONNECTING = b"connecting"
    HANDSHAKE = b"handshake"
    SYNC = b"sync"
    CONNECTED = b"connected"


class Upstream:
    """The master of one engine, if it has one.

    Args:
        engine: the replica.

    Attributes:
        address: of the master; None if this server is one itself.
        state: of the link.
        session: runs the stream; None while the link is not CONNECTED.
        transfer: the snapshot that is coming, if one is.
        down_since: when the link was lost, in monotonic microseconds; None if it never was up.
        heard_at: when the master sent something last, likewise.
        has_position: the data here are the beginning of a history, and a master may go on from there.
        database: the number of the one that the stream is in.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.address: Address | None = None
        self.state = LinkState.CONNECT
        self.session: MasterSession | None = None
        self.transfer: Transfer | None = None
        self.down_since: int | None = None
        self.heard_at = 0
        self._handshake: Handshake | None = None
        self._agreed: Agreed | None = None
        self._loading: Generator[None, None, int] | None = None
        self._behind = b""  # what came behind the snapshot that is being loaded
        self._is_running = False  # somebody can connect
        self._line = b""  # of the handshake, as far as it has come
        self.database = 0
        self._local_address, self._descriptor = b"", -1
        self.has_position = False  # the data here are the beginning of a history
        self._due = 0  # when to connect again, or to acknowledge; monotonic microseconds
        if engine.config["replicaof"]:
            host, port = engine.config["replicaof"].rsplit(" ", 1)
            self.address = Address(host, int(port))
            engine.replicas.follow()

    # What commands do

    def follow(self, address: Address) -> bool:
        """REPLICAOF: this server is the replica of a master; tells whether it was not the same before."""
        if address == self.address:
            self._info(
                "REPLICAOF would result into synchronization with the master we are already connected with. "
                "No operation performed."
            )
            return False
        if self.address is None:
            self._info(
                "Before turning into a replica, using my own master parameters to synthesize a cached "
                "master: I may be able to synchronize with the new master with just a partial transfer."
            )
            self.has_position = True
        self._hang_up()
        self.address, self.down_since = address, None
        self._engine.config.learn("replicaof", f"{address.host} {address.port}")
        self._disconnect_blocked()
        self._change_role()
        self._info(f"REPLICAOF {address} enabled")
        self._connect()
        return True

    def lead(self) -> None:
        """REPLICAOF NO ONE: this server keeps its data, and is a master."""
        if self.address is None:
            return
        self._hang_up()
        self.address, self.down_since, self.has_position = None, None, False
        self._engine.config.learn("replicaof", "")
        self._engine.history.branch_off()
        self._change_role()
        self._info("MASTER MODE enabled")

    def _disconnect_blocked(self) -> None:
        """Clients that wait for others to write wait in vain: here nobody does."""
        for session in tuple(self._engine.sessions.values()):
            if session.waiter is not None and session.postponed is None:
                self._engine.unblock(session, CommandError(INSTANCE_CHANGED))
                session.close()

    def configure(self) -> None:
        """Directives have changed."""
        self._tell_conditions()

    def _change_role(self) -> None:
        replicas = self._engine.replicas
        if self.address is None:
            replicas.lead()
            replicas.disconnect_all()  # they are to hear the new name of the history
        else:
            replicas.follow()
        self._tell_conditions()

    def _tell_conditions(self) -> None:
        config, is_replica = self._engine.config, self.address is not None
        self._engine.conditions.follow(
            is_replica=is_replica,
            is_read_only=is_replica and config["replica-read-only"] == "yes",
            is_stale=is_replica
            and self.state is not LinkState.CONNECTED
            and config["replica-serve-stale-data"] == "no",
        )
        self._engine.keep_keys_or_not()

    def acknowledge(self, before: list[bytes] | None = None) -> None:
        """Tells the master how far this replica is.

        Args:
            before: the command of the master that asks for it, which is not yet applied.
        """
        session = self.session
        if session is not None and self._is_counted:
            offset = session.applied if before is None else session.position_before(before)
            self._say(pack((b"REPLCONF", b"ACK", b"%d" % offset)))

    @property
    def is_down(self) -> bool:
        """Whether this is a replica whose link is not up."""
        return self.address is not None and self.session is None

    @property
    def offset(self) -> int:
        """How many bytes of the master's history are here; 0 if the next link begins with all data."""
        return self._engine.history.offset if self.has_position or self.session is not None else 0

    @property
    def _is_counted(self) -> bool:
        return self._agreed is not None and self._agreed.offset != UNCOUNTED

    # The link

    @property
    def _link(self) -> LinkInterface | None:
        return self._engine.environment.link

    def _info(self, text: str) -> None:
        if self._link is not None:
            self._link.info(text)

    def _warn(self, text: str) -> None:
        if self._link is not None:
            self._link.warn(text)

    def _enter(self, state: LinkState) -> None:
        self.state = state
        self._tell_conditions()

    def resume(self) -> None:
        """There is somebody who can connect: a server with this engine runs."""
        self._is_running = True
        self._connect()

    def _connect(self) -> None:
        if self.address is None or self._link is None or not self._is_running:
            return
        self._info(f"Connecting to MASTER {self.address}")
        self._info("MASTER <-> REPLICA sync started")
        self._enter(LinkState.CONNECTING)
        self.heard_at = self._engine.now.monotonic
        self._link.open(self.address.host, self.address.port)

    def connected(self, local_address: str, descriptor: int) -> None:
        """There is a connection to the master; CLIENT LIST shows what is told of it."""
        self._info("Non blocking connect for SYNC fired the event.")
        self._local_address, self._descriptor = local_address.encode(), descriptor
        self._enter(LinkState.HANDSHAKE)
        history = self._engine.history
        position = Position(history.name, history.offset) if self.has_position else None
        self._handshake = handshake(
            self._engine.config, position, self._info, is_failover=self._engine.failover.is_in_progress
        )
        self._line = b""
        self._say(next(self._handshake))

    def _say(self, words: bytes) -> None:
        if words and self._link is not None:
            self._link.send(words)

    def lost(self, reason: str) -> None:
        """The connection failed, or was closed by the master."""
        if self.session is not None:
            self._engine.hang_up(self.session)  # which calls ``ended``
            return
        if self.state is LinkState.CONNECTING:
            self._warn(f"Error condition on socket for SYNC: {reason}")
        elif self.state is LinkState.SYNC:
            self._warn(f"I/O error trying to sync with MASTER: {reason}")
        elif self.state is LinkState.HANDSHAKE:
            self._warn(f"Master did not answer the handshake: {reason}")
        self._fail()

    def abandon(self) -> None:
        """What the master sent led to an unexpected error."""
        if self.session is not None:
            self.session.close()
        else:
            self._fail()

    def ended(self, session: MasterSession) -> None:
        """The session of the master is over, whoever ended it."""
        if session is not self.session:
            return
        self._pass_on(session)
        self.session = None
        self.has_position = self._is_counted and not session.has_failed
        self.down_since = self._engine.now.monotonic
        self._warn("Connection with master lost.")
        if self.has_position:
            self._info("Caching the disconnected master state.")
        if self.address is not None:
            self._close_link()
            self._connect()

    def _fail(self) -> None:
        """This link came to nothing; the next one is tried in a second."""
        self._close_link()
        self._due = self._engine.now.monotonic + SECOND

    def _hang_up(self) -> None:
        """Ends the link, on our own account."""
        if self.session is not None:
            address, self.address = self.address, None  # it is not to be connected again
            self._engine.hang_up(self.session)
            self.address = address
        self._close_link()

    def _close_link(self) -> None:
        self._handshake = self.transfer = None
        if self._loading is not None:
            self._loading.close()
            self._loading = None
        self._enter(LinkState.CONNECT)
        if self._link is not None:
            self._link.close()

    # What the master says

    def receive(self, data: bytes) -> None:
        """Takes bytes that the master sent, cut anywhere."""
        self.heard_at = self._engine.now.monotonic
        rest: bytes | None = data
        try:
            if self._handshake is not None:
                rest = self._converse(self._handshake, data)
            if rest and self.transfer is not None and self._loading is None:
                rest = self._take_snapshot(self.transfer, rest)
        except HandshakeError as error:
            self._warn(str(error))
            if self._accepted(is_so=False):
                self._fail()
            return
        if rest and self.session is not None:
            self._engine.receive_stream(self.session, rest)

    def _converse(self, talk: Handshake, data: bytes) -> bytes | None:
        """Goes on with the handshake; returns what came behind it once it is over."""
        self._line += data
        while b"\n" in self._line:
            line, _, self._line = self._line.partition(b"\n")
            try:
                self._say(talk.send(line.removesuffix(b"\r")))
            except StopIteration as end:
                self._handshake = None
                self._agree(end.value)
                return self._line
        if len(self._line) > LONGEST_LINE:
            raise HandshakeError("the reply of the master has no end: is it a Redis server?")
        return None

    def _agree(self, agreed: Agreed) -> None:
        self._agreed = agreed
        if not self._accepted(is_so=not agreed.last_word):
            return
        self._say(agreed.last_word)
        if agreed.is_full:
            self._enter(LinkState.SYNC)
            self.transfer = Transfer()
            return
        self._info("MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.")
        history = self._engine.history
        if agreed.name != history.name:
            self._info(f"Master replication ID changed to {agreed.name.decode('latin-1')}")
            history.rename(agreed.name)
            self._engine.replicas.disconnect_all()
        history.keep_on()
        self._begin_stream(self.database)

    def _accepted(self, *, is_so: bool) -> bool:
        """Ends a failover, if this link is to be one; tells whether the link goes on."""
        self._engine.failover.answered(is_accepted=is_so)
        return self.address is not None

    def _take_snapshot(self, transfer: Transfer, data: bytes) -> bytes | None:
        rest = transfer.feed(data)
        if rest is None:
            return None
        from .replacing import replace_data  # few servers have a master

        self._info("MASTER <-> REPLICA sync: Loading DB in memory")
        self._due = self._engine.now.monotonic + SECOND
        self._loading, self._behind = replace_data(self._engine, transfer.content), rest
        return None

    @property
    def is_loading(self) -> bool:
        """Whether a snapshot has come whole, and ``load`` is to be called."""
        return self._loading is not None

    def load(self) -> bool:
        """Loads a few keys of a snapshot that has come whole; tells whether there is more to be loaded."""
        loading = self._loading
        if loading is None:
            return False
        from ..rdb.loading import BadSnapshotError  # few servers have a master

        self.heard_at = now = self._engine.now.monotonic  # it may have said more by now
        if self._due <= now:
            self._say(SIGN_OF_LIFE)
            self._due = now + SECOND
        try:
            for _ in range(KEYS_AT_ONCE):
                next(loading)
        except StopIteration as end:
            self._loading = self.transfer = None
            self._has_loaded(end.value)
        except BadSnapshotError as error:
            self._warn(
                f"Failed trying to load the MASTER synchronization DB, the data are as they were: {error}"
            )
            self._fail()
        return self._loading is not None

    def _has_loaded(self, database: int) -> None:
        assert self._agreed is not None
        self._engine.replicas.disconnect_all()  # they have the data of another history
        self._engine.history.follow(self._agreed.name, max(self._agreed.offset, 0))
        self._info("MASTER <-> REPLICA sync: Finished with success")
        self._begin_stream(database)
        behind, self._behind = self._behind, b""
        if behind and self.session is not None:
            self._engine.receive_stream(self.session, behind)

    def _begin_stream(self, database: int) -> None:
        engine, address = self._engine, self.address
        assert address is not None
        session = MasterSession(engine, engine.new_number(), engine.history.offset)
        session.address, session.local_address = str(address).encode(), self._local_address
        session.descriptor = self._descriptor
        session.db = engine.keyspace.databases[database]
        engine.sessions[session.id] = self.session = session
        self._enter(LinkState.CONNECTED)
        self.acknowledge()
        self._due = engine.now.monotonic + SECOND

    # The end of a tick, and time

    def _pass_on(self, session: MasterSession) -> None:
        """Counts what was applied; replicas of this replica get it as it came."""
        self.database = session.db.index
        if applied := session.count():
            self._engine.replicas.pass_on(applied)

    def count(self) -> None:
        """Counts what the stream has done until now."""
        if self.session is not None:
            self._pass_on(self.session)

    @property
    def awaits_time(self) -> bool:
        """Whether there is something to be done in time."""
        return self.address is not None and self._is_running

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
                self._connect()
        elif self._patience <= now:
            self._give_up()
        elif self.session is not None:
            self._engine.run_stream(self.session)  # a script may have held it up
            if self._due <= now:
                self.acknowledge()
                self._due = now + SECOND

    def _give_up(self) -> None:
        if self.session is not None:
            self._warn("MASTER timeout: no data nor PING received...")
            self._engine.hang_up(self.session)
            return
        if self.state is LinkState.SYNC:
            self._warn(
                "Timeout receiving bulk data from MASTER... If the problem persists try to set the "
                "'repl-timeout' parameter in redis.conf to a larger value."
            )
        else:
            self._warn("Timeout connecting to the MASTER...")
        self._fail()
        self._connect()

    def stop(self) -> None:
        """The server with this engine stops."""
        self._is_running = False
        self._hang_up()
