"""Full synchronization: a snapshot of all data for replicas that cannot go on from where they are.

The process around the engine writes the snapshot beside other work (``Environment.begin_snapshot``); where it
cannot, it is made at once. Replicas that come meanwhile get the same one, and the stream since it was begun.
A replica that wants another part of the data waits for the next one. That is begun when a tick ends, and not
within a transaction or script: the snapshot would have a part of it, and the stream behind it all of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..protocol.replies import LARGE, Output, Pieces
from ..rdb.position import Position
from .history import History
from .replica import DATA, FUNCTIONS, Replica, SyncState

if TYPE_CHECKING:
    from ..engine import Engine
    from .replicas import Replicas

__all__ = ["FullSync"]


class FullSync:
    """The snapshots of one master, one at a time.

    Args:
        engine: whose data they are.
        history: of its data.
        replicas: those of this engine.
    """

    def __init__(self, engine: Engine, history: History, replicas: Replicas) -> None:
        self._engine, self._history, self._replicas = engine, history, replicas
        self._cancel: Callable[[], None] | None = None  # set while one is being written
        self._is_next_due = False  # none is being written, and some may wait

    def begin(self, replica: Replica) -> None:
        """A replica needs all data."""
        if self._cancel is None:
            self._write(replica)
        elif leader := self._leader_of(replica):
            self._set_up(replica, leader.start)
            replica.kept, replica.size = leader.kept.copy(), leader.size

    def _in(self, state: SyncState) -> list[Replica]:
        return [each for each in self._replicas.all.values() if each.state is state]

    def _leader_of(self, replica: Replica) -> Replica | None:
        """A replica that gets what this one needs, and has all of the stream since."""
        for each in self._in(SyncState.SAVING):
            has_stream = not each.is_snapshot_all or replica.is_snapshot_all
            if each is not replica and has_stream and each.leaves_out == replica.leaves_out:
                return each
        return None

    def _write(self, first: Replica) -> None:
        """Begins a snapshot of the data as they are, for all who wait for such a one."""
        engine, replicas = self._engine, self._replicas
        replicas.send_stream()
        blocks, start = self._blocks(first.leaves_out), self._history.offset
        begin = engine.environment.begin_snapshot
        with contextlib.suppress(OSError):  # no process can be started
            self._cancel = begin(blocks, self._ended) if begin else None
        content = b"".join(blocks()) if self._cancel is None else None
        for replica in self._in(SyncState.WAITING):
            if replica.leaves_out == first.leaves_out:
                self._set_up(replica, start)
        if content is not None:
            self._ended(content)

    def _blocks(self, leaves_out: frozenset[str]) -> Callable[[], Iterator[bytes]]:
        from ..rdb import snapshot  # few servers have replicas

        engine = self._engine
        position = Position(self._replicas.selected_database, self._history.name, self._history.offset)
        codes = [] if FUNCTIONS in leaves_out else [each.code for each in engine.libraries.libraries]
        return lambda: snapshot.write(
            engine.keyspace,
            codes,
            memory=engine.environment.memory(),
            has_checksum=engine.config["rdbchecksum"] == "yes",
            has_data=DATA not in leaves_out,
            position=position,
        )

    def _set_up(self, replica: Replica, start: int) -> None:
        """Tells a replica from which offset it goes on; the stream behind it names its database first."""
        replica.state, replica.start = SyncState.SAVING, start
        self._replicas.name_database()
        if replica.acknowledges:
            replica.say(b"+FULLRESYNC %b %d\r\n" % (self._history.name, start))

    def _ended(self, content: bytes | None) -> None:
        """The snapshot is written, or could not be: then the replicas are to ask again."""
        self._cancel = None
        for replica in self._in(SyncState.SAVING):
            self._engine.attempt(replica.session, self._hand_over, replica, content)
        self._is_next_due = True

    def _hand_over(self, replica: Replica, content: bytes | None) -> None:
        if content is None:
            self._engine.hang_up(replica.session)
            return
        replica.state = SyncState.SENDING
        replica.send(framed(content))
        for data in replica.kept:
            replica.send(data)
        replica.kept = []

    def end_tick(self) -> None:
        """Begins the next snapshot, if it is due."""
        effects = self._engine.effects
        while self._is_next_due and (effects is None or effects.is_between_units):
            self._is_next_due = False
            if self._cancel is None and (waiting := self._in(SyncState.WAITING)):
                self._write(waiting[0])

    def forget(self) -> None:
        """A replica is gone: a snapshot that nobody waits for is not written to its end."""
        if self._cancel is not None and not self._in(SyncState.SAVING):
            cancel, self._cancel = self._cancel, None
            cancel()
            self._is_next_due = True


def framed(content: bytes) -> Output:
    """A snapshot behind its length, not copied if it is large."""
    head = b"$%d\r\n" % len(content)
    return Pieces((head, content)) if len(content) >= LARGE else head + bytes(content)
