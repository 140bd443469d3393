"""How a link to a master comes to its stream: the handshake, and all data if the master sends them.

See ``handshake.py`` for what is said, and ``transfer.py`` and ``replacing.py`` for the snapshot. The data
here are replaced only when those of the master have come whole and are good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .handshake import UNCOUNTED, Agreed, HandshakeError, handshake
from .transfer import Transfer

if TYPE_CHECKING:
    from ..engine import Engine
    from .replacing import Replacement
    from .replication import Replication

__all__ = ["Synchronization"]

SECOND: Final = 1_000_000
LONGEST_LINE: Final = 1024
SIGN_OF_LIFE: Final = b"\n"


class Synchronization:
    """What one link does before its stream.

    Args:
        engine: the replica.
        replication: its part in replication.

    Attributes:
        transfer: the snapshot that is coming, if one is.
    """

    def __init__(self, engine: Engine, replication: Replication) -> None:
        self._engine, self._replication = engine, replication
        self._link = replication.upstream.link
        self._handshake = handshake(
            engine.config,
            replication.upstream.position,
            self._link.info,
            is_failover=replication.failover.is_in_progress,
        )
        self._line = b""  # of the handshake, as far as it has come
        self._agreed: Agreed | None = None
        self.transfer: Transfer | None = None
        self._loading: Replacement | None = None
        self._due = 0  # when the master is to get a sign of life; monotonic microseconds

    def start(self) -> None:
        """Says the first word."""
        self._link.say(next(self._handshake))

    def close(self) -> None:
        """The link is over: a snapshot that is half loaded is dropped."""
        if self._loading is not None:
            self._loading.close()

    def receive(self, data: bytes) -> None:
        """Takes bytes that the master sent, cut anywhere, up to the first of its stream."""
        try:
            if self._agreed is None:
                self._converse(data)
            elif self.transfer is not None and self._loading is None:
                self._take_snapshot(self.transfer, data)
        except HandshakeError as error:
            self._link.warn(str(error))
            if self._is_accepted(is_so=False):
                self._link.fail()

    def _converse(self, data: bytes) -> None:
        """Goes on with the handshake."""
        data, at = self._line + data, 0
        while end := data.find(b"\n", at) + 1:
            line, at = data[at : end - 1], end
            try:
                self._link.say(self._handshake.send(line.removesuffix(b"\r")))
            except StopIteration as over:
                self._agree(over.value, data[at:])
                return
        self._line = data[at:]
        if len(self._line) > LONGEST_LINE:
            raise HandshakeError("the reply of the master has no end: is it a Redis server?")

    def _agree(self, agreed: Agreed, behind: bytes) -> None:
        self._agreed = agreed
        if not self._is_accepted(is_so=not agreed.last_word):
            return
        self._link.say(agreed.last_word)
        if agreed.is_full:
            self.transfer = Transfer()
            if behind:
                self._take_snapshot(self.transfer, behind)
            return
        self._link.info("MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.")
        history = self._replication.history
        if agreed.name != history.name:
            self._link.info(f"Master replication ID changed to {agreed.name.decode('latin-1')}")
            history.rename(agreed.name)
            self._replication.replicas.disconnect_all()
        history.keep_on()
        self._link.begin_stream(self._replication.upstream.database, behind, is_counted=True)

    def _is_accepted(self, *, is_so: bool) -> bool:
        """Ends a failover, if this link is to be one; tells whether the link goes on."""
        self._replication.failover.answered(is_accepted=is_so)
        return self._replication.upstream.address is not None

    # All data

    def _take_snapshot(self, transfer: Transfer, data: bytes) -> None:
        behind = transfer.feed(data)
        self._engine.statistics.count_replication_input(len(data) - len(behind or b""))
        if behind is None:
            return
        from .replacing import Replacement  # few servers have a master

        self._link.info("MASTER <-> REPLICA sync: Replacement DB in memory")
        self._due = self._engine.now.monotonic + SECOND
        self._loading = Replacement(self._engine, transfer.content, behind)

    @property
    def is_loading(self) -> bool:
        """Whether a snapshot has come whole, and ``load`` is to be called."""
        return self._loading is not None

    def load(self) -> None:
        """Loads a few keys of a snapshot that has come whole; the stream begins behind the last one."""
        loading, now = self._loading, self._engine.now.monotonic
        if loading is None:
            return
        from ..rdb.loading import BadSnapshotError  # few servers have a master

        if self._due <= now:
            self._link.say(SIGN_OF_LIFE)
            self._due = now + SECOND
        try:
            database = loading.load_some()
        except BadSnapshotError as error:
            self._link.warn(
                f"Failed trying to load the MASTER synchronization DB, the data are as they were: {error}"
            )
            self._link.fail()
        else:
            if database is not None:
                self._has_loaded(database, loading.behind)

    def _has_loaded(self, database: int, behind: bytes) -> None:
        assert self._agreed is not None
        name, offset = self._agreed.name, self._agreed.offset
        self._replication.replicas.disconnect_all()  # they have the data of another history
        self._replication.history.follow(name, max(offset, 0))
        self._link.info("MASTER <-> REPLICA sync: Finished with success")
        self._link.begin_stream(database, behind, is_counted=offset != UNCOUNTED)
