"""The replicas of a master: how they get its data (PSYNC), the stream of its effects, and signs of life.

An effect has its offset as soon as its command is over; ``send_stream`` hands out the effects of a tick when
it ends. To edit how a replica gets all data, see ``full_sync.py``; who waits for replicas, ``acks.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..clients.client_flags import REPLICA
from ..effects.effects import Effect, EffectReader
from ..protocol.replies import pack
from .acks import Acks
from .failover import FailoverState
from .full_sync import FullSync
from .replica import Replica, SyncState

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..engine import Engine
    from .replication import Replication

__all__ = ["Replicas"]

SECOND: Final = 1_000_000

PING: Final = [b"ping"]
ASK_FOR_ACK: Final = [b"REPLCONF", b"GETACK", b"*"]

SIGN_OF_LIFE: Final = b"\n"
"""What a replica is sent each second while its snapshot is not ready."""


class Replicas:
    """The replicas of one engine, and the stream that they get.

    Args:
        engine: the master; or a replica that has replicas itself.
        replication: its part in replication.

    Attributes:
        all: by the session, in the order in which they came.
        acks: how far they are.
        full_syncs: how many were given all data.
        partial_syncs: how many could go on from where they were.
        failed_partial_syncs: how many wanted to, and could not.
    """

    def __init__(self, engine: Engine, replication: Replication) -> None:
        self._engine, self._replication = engine, replication
        self.all: dict[Session, Replica] = {}
        self.acks = Acks(engine, self)
        self.reset_statistics()
        self._full_sync = FullSync(engine, replication.history, self)
        in_cluster = engine.config["cluster-enabled"] == "yes"  # whose nodes pass messages on by themselves
        self._reader = EffectReader(self._write, hears_messages=not in_cluster)
        self._new: list[bytes] = []  # of the stream, not handed out yet
        self._second = self._none_since = 0
        self._is_master = True

    def reset_statistics(self) -> None:
        """CONFIG RESETSTAT: counts from zero again."""
        self.full_syncs = self.partial_syncs = self.failed_partial_syncs = 0

    # Coming and going

    def resume(self, replica: Replica, name: bytes, start: int) -> bool:
        """Lets a replica go on, if all that it missed is kept; tells whether it is.

        Args:
            replica: it said PSYNC.
            name: of the history that it knows.
            start: the number of the first byte that it has not.
        """
        history = self._replication.history
        if not history.has(name.lower(), start):
            self.failed_partial_syncs += name[:1] != b"?"
            return False
        self.partial_syncs += 1
        self.send_stream()  # the others get it first, so that it is not given to this one twice
        self._add(replica, SyncState.ONLINE)
        named = b" " + history.name if replica.knows_names else b""
        replica.say(b"+CONTINUE%b\r\n" % named)
        replica.send(history.since(start))
        return True

    def synchronize(self, replica: Replica) -> None:
        """Gives a replica all data, and the stream behind them."""
        self.full_syncs += 1
        self._add(replica, SyncState.WAITING)
        self._replication.history.keep()
        self._read()
        self._full_sync.begin(replica)

    def _add(self, replica: Replica, state: SyncState) -> None:
        replica.session.flags |= REPLICA
        replica.state, replica.heard_at = state, self.second
        self.all[replica.session] = replica
        self.acks.count()

    def snapshot_was_sent(self, replica: Replica) -> None:
        """A replica has taken all of its snapshot from us, and more perhaps."""
        replica.state, replica.heard_at = SyncState.ONLINE, self.second
        if replica.is_snapshot_all:
            self._engine.hang_up(replica.session)
        self.acks.count()

    def forget(self, session: Session) -> None:
        """A replica is gone."""
        if self.all.pop(session, None) is not None:
            self._none_since = self.second
            self._full_sync.forget()
            self.acks.count()

    def disconnect_all(self) -> None:
        """They are to ask again: this server has other data now."""
        for session in tuple(self.all):
            self._engine.hang_up(session)

    def first(self, due: Iterable[Session]) -> list[Session]:
        """Sessions with output in the order in which it is sent: a replica has a write before its client."""
        return sorted(due, key=lambda session: session not in self.all)

    @property
    def sending(self) -> list[Replica]:
        """Those whose snapshot is on its way."""
        return [replica for replica in self.all.values() if replica.state is SyncState.SENDING]

    # The stream

    def _read(self) -> None:
        if self._is_master and self._replication.history.is_kept:
            self._engine.recording.add_reader(self._reader)

    def lead(self) -> None:
        """This server is a master: what it does goes to its replicas."""
        self._is_master = True
        self.name_database()
        self._read()

    def follow(self) -> None:
        """This server is a replica: its replicas get what its master sends, by ``pass_on``."""
        self._is_master = False
        self._engine.recording.remove_reader(self._reader)

    def _write(self, effect: Effect) -> None:
        self.pass_on(pack(tuple(effect)))

    def pass_on(self, data: bytes) -> None:
        """Adds bytes to the stream."""
        self._replication.history.append(data)
        if self.all:
            self._new.append(data)

    @property
    def selected_database(self) -> int:
        """The database that the stream is in."""
        if not self._is_master:
            return self._replication.upstream.database
        return self._reader.selected or 0

    def name_database(self) -> None:
        """The next effect says which database it is for: who begins to read here does not know it."""
        self._reader.selected = None

    def end_tick(self) -> None:
        """Hands out what the tick did; then the next snapshot may begin."""
        self.send_stream()
        self._full_sync.end_tick()

    def send_stream(self) -> None:
        """Hands out what is new in the stream."""
        self._replication.upstream.link.pass_on()
        if self.acks.are_asked_for and self._is_master and self._engine.conditions.pause is None:
            self.acks.are_asked_for = False
            self._write(ASK_FOR_ACK)
        if not self._new:
            return
        data = b"".join(self._new)
        self._new.clear()
        for replica in tuple(self.all.values()):
            replica.give(data)
            if replica.kept and self._engine.output_limits.is_too_long(
                replica.session, replica.size, self._engine.now
            ):
                self._engine.hang_up(replica.session)

    # Time

    @property
    def second(self) -> int:
        """How many seconds the server has run."""
        engine = self._engine
        return (engine.now.monotonic - engine.started.monotonic) // SECOND

    @property
    def awaits_time(self) -> bool:
        """Whether something is to be done in time."""
        return bool(self.all) or self._history_ends is not None

    @property
    def _history_ends(self) -> int | None:
        """The second in which a history that no replica follows is forgotten; None if it is not."""
        patience = self._engine.config.integer("repl-backlog-ttl")
        is_followed = self.all or not self._is_master or not self._replication.history.is_kept
        return None if is_followed or not patience else self._none_since + patience + 1

    def next_deadline(self) -> int | None:
        """When ``let_time_pass`` has something to do, in monotonic microseconds."""
        second = self._second + 1 if self.all else self._history_ends
        return None if second is None else self._engine.started.monotonic + second * SECOND

    def let_time_pass(self) -> None:
        """Once in each second: signs of life, and those of whom there were none for too long."""
        before, self._second = self._second, self.second
        if self._second == before:
            return
        ends = self._history_ends
        if ends is not None and ends <= self._second:
            self._replication.history.forget()
            self._engine.recording.remove_reader(self._reader)
        config = self._engine.config
        period = config.integer("repl-ping-replica-period")
        may_ping = self._is_master and self._replication.failover.state is FailoverState.NONE
        if self.all and may_ping and self._second // period != before // period:
            self._write(PING)
        longest = config.integer("repl-timeout")
        for replica in tuple(self.all.values()):
            if replica.state in {SyncState.WAITING, SyncState.SAVING}:
                replica.say(SIGN_OF_LIFE)
            elif replica.acknowledges and self.lag_of(replica) > longest:
                self._engine.hang_up(replica.session)
        self.acks.count()

    def lag_of(self, replica: Replica) -> int:
        """How many seconds ago a replica acknowledged anything."""
        return self.second - replica.heard_at if replica.is_online else 0
