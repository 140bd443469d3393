"""One replica as its master knows it: what it said of itself, and how far it is."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from ..protocol.replies import Output
from .acks import NOTHING

if TYPE_CHECKING:
    from ..clients.session import Session

__all__ = ["DATA", "FUNCTIONS", "Replica", "SyncState"]

DATA: Final = "data"
FUNCTIONS: Final = "functions"
"""What a snapshot may leave out, as a replica wants it."""


class SyncState(Enum):
    """How far the synchronization of a replica is; the value is its place in that order."""

    NONE = 0
    """It has not asked for the data (PSYNC, SYNC)."""

    WAITING = 1
    """A snapshot is to be begun for it."""

    SAVING = 2
    """A snapshot is being written; what is done meanwhile is kept for it."""

    SENDING = 3
    """The snapshot is on its way, and the stream behind it."""

    ONLINE = 4
    """It gets the stream."""

    @property
    def word(self) -> str:
        """What INFO calls it."""
        return WORDS[self]


WORDS: Final = {
    SyncState.NONE: "none",
    SyncState.WAITING: "wait_bgsave",
    SyncState.SAVING: "wait_bgsave",
    SyncState.SENDING: "send_bulk",
    SyncState.ONLINE: "online",
}


class Replica:
    """A client that is a replica, or that has told with REPLCONF what it will be when it is one.

    Args:
        session: the client.

    Attributes:
        state: how far its synchronization is.
        port: where it listens.
        announced_address: the address that it wants to be known by; empty for that of its connection.
        knows_names: it understands a change of the history's name (``capa psync2``).
        leaves_out: what it does not want to be in the snapshot.
        is_snapshot_all: it wants the snapshot only, and no stream.
        acknowledges: whether it tells its offset; a client that said SYNC does not.
        offset: up to which it has acknowledged the stream.
        synced: up to which it has the stream on its disk.
        heard_at: when it did so last, in seconds since the server's start.
        start: the offset of the snapshot that it gets.
        kept: the stream behind that snapshot, while it is being written.
        size: how many bytes of the stream it was given behind the snapshot.
    """

    __slots__ = (
        "acknowledges", "announced_address", "heard_at", "is_snapshot_all", "kept", "knows_names",
        "leaves_out", "offset", "port", "session", "size", "start", "state", "synced",
    )  # fmt: skip

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = SyncState.NONE
        self.port = 0
        self.announced_address = b""
        self.knows_names = False
        self.leaves_out: frozenset[str] = frozenset()
        self.is_snapshot_all = False
        self.acknowledges = True
        self.offset = self.heard_at = self.start = self.size = 0
        self.synced = NOTHING
        self.kept: list[bytes] = []

    @property
    def address(self) -> bytes:
        """Its IP address, or the name of its host if it announced one."""
        return self.announced_address or self.session.address.rpartition(b":")[0].strip(b"[]")

    @property
    def is_online(self) -> bool:
        """Whether it has the snapshot, and gets the stream."""
        return self.state is SyncState.ONLINE

    def give(self, data: bytes) -> None:
        """Gives it the next bytes of the stream, now or behind its snapshot."""
        if self.state is SyncState.WAITING or self.is_snapshot_all:
            return
        self.size += len(data)
        if self.state is SyncState.SAVING:
            self.kept.append(data)
        else:
            self.send(data)

    def send(self, data: Output) -> None:
        """Sends it bytes of the data when the tick ends."""
        self.session.engine.statistics.replication_output_bytes += len(data)
        self.say(data)

    def say(self, data: Output) -> None:
        """Sends it bytes that are no data, likewise."""
        session = self.session
        session.outgoing.append(data)
        session.engine.outbox[session] = None

    def unsent_of_stream(self, unsent: int) -> int:
        """How many of the bytes that it has not taken belong to the stream: its snapshot is no backlog."""
        return unsent if self.state is SyncState.ONLINE else min(unsent, self.size)
