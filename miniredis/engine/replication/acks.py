"""What replicas and disks have, and who depends on it: WAIT, WAITAOF, and ``min-replicas-to-write``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..protocol.errors import CommandError
from ..protocol.replies import NO_REPLY

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..engine import Engine
    from ..protocol.replies import Reply
    from .replica import Replica
    from .replicas import Replicas

__all__ = ["NOTHING", "Acks"]

NOTHING: Final = -1
"""The offset up to which a server has its data on its disk if it keeps no append-only file."""


class Acks:
    """The acknowledgements of all replicas of a master.

    Args:
        engine: the master.
        replicas: those of it.

    Attributes:
        are_asked_for: the replicas are to be asked how far they are.
        synced_here: the offset up to which this server has its data on its disk, or ``NOTHING``.
    """

    def __init__(self, engine: Engine, replicas: Replicas) -> None:
        self._engine, self._replicas = engine, replicas
        self.are_asked_for = False
        self.synced_here = NOTHING

    def hear(self, replica: Replica, offset: int) -> None:
        """A replica has acknowledged the stream up to an offset."""
        replica.offset = max(replica.offset, offset)
        replica.heard_at = self._replicas.second
        self.look()

    def note_synced(self, offset: int) -> bool:
        """The own file is on the disk up to an offset; returns whether ``look`` is to be called for that."""
        is_new, self.synced_here = offset != self.synced_here, offset
        return is_new and bool(self._engine.waiting.of_type(Acks))

    def reached(self, offset: int) -> int:
        """How many replicas have acknowledged an offset."""
        return sum(each.is_online and each.offset >= offset for each in self._replicas.all.values())

    def synced(self, offset: int) -> int:
        """How many replicas have an offset on their disks."""
        return sum(each.is_online and each.synced >= offset for each in self._replicas.all.values())

    # WAIT and WAITAOF

    def wait_for(
        self,
        session: Session,
        reached: Callable[[], Reply],
        suffices: Callable[[Any], bool],
        timeout: int | None,
    ) -> Reply:
        """Blocks a client until enough is acknowledged, unless that is so or it may not be blocked.

        Args:
            session: the client.
            reached: tells the reply as it would be now.
            suffices: whether the client is content with that; raises ``CommandError`` if nothing will come.
            timeout: milliseconds; None waits for ever.
        """

        def serve(*_: object) -> Reply:
            return reply if suffices(reply := reached()) else NO_REPLY

        counts = reached()
        if suffices(counts) or not session.may_block:
            return counts
        self.are_asked_for = True
        return session.block((), Acks, serve, timeout, when_over=reached)

    def look(self) -> None:
        """Lets those go on whose wait is over."""
        for waiter in self._engine.waiting.of_type(Acks):
            try:
                reply = waiter.serve(self._engine.keyspace.databases[waiter.database], b"", self)
            except CommandError as error:
                reply = error
            if reply is not NO_REPLY:
                self._engine.waiting.end(waiter, reply)

    # min-replicas-to-write

    @property
    def needed(self) -> int:
        """How many good replicas there must be for a command that writes; 0 if none need be."""
        config = self._engine.config
        is_used = config.integer("min-replicas-max-lag")
        return config.integer("min-replicas-to-write") if is_used else 0

    @property
    def good(self) -> int:
        """How many replicas have acknowledged something lately."""
        longest = self._engine.config.integer("min-replicas-max-lag")
        replicas = self._replicas
        return sum(each.is_online and replicas.lag_of(each) <= longest for each in replicas.all.values())

    def count(self) -> None:
        """Looks whether there are enough; to be called when replicas come and go, and each second."""
        needed = self.needed
        self._engine.conditions.set_lacks_replicas(bool(needed) and self.good < needed)
