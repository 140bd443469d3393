"""What replicas and disks have, and who depends on it: WAIT, WAITAOF, and ``min-replicas-to-write``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..protocol.errors import CommandError

if TYPE_CHECKING:
    from ..clients.waiting import Waiter
    from ..engine import Engine
    from ..protocol.replies import Reply
    from .replica import Replica
    from .replicas import Replicas

__all__ = ["NOTHING", "Acks", "AwaitedAck"]

NOTHING: Final = -1
"""The offset up to which a server has its data on its disk if it keeps no append-only file."""


class AwaitedAck(NamedTuple):
    """What a client waits for.

    Attributes:
        reached: tells the reply as it would be now; raises ``CommandError`` if nothing will come.
        suffices: whether the client is content with that.
    """

    reached: Callable[[], Reply]
    suffices: Callable[[Any], bool]


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
        self._waiting: dict[Waiter, AwaitedAck] = {}
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
        return is_new and bool(self._waiting)

    def reached(self, offset: int) -> int:
        """How many replicas have acknowledged an offset."""
        return sum(each.is_online and each.offset >= offset for each in self._replicas.all.values())

    def synced(self, offset: int) -> int:
        """How many replicas have an offset on their disks."""
        return sum(each.is_online and each.synced >= offset for each in self._replicas.all.values())

    # WAIT and WAITAOF

    def add(self, waiter: Waiter, wanted: AwaitedAck) -> None:
        """Lets a blocked client go on when what it waits for has come."""
        self._waiting[waiter] = wanted
        self.are_asked_for = True

    def look(self) -> None:
        """Lets those go on whose wait is over."""
        for waiter, wanted in tuple(self._waiting.items()):
            self._look_after(waiter, wanted)

    def _look_after(self, waiter: Waiter, wanted: AwaitedAck) -> None:
        if waiter.session.waiter is not waiter:  # it waits no more
            del self._waiting[waiter]
            return
        try:
            waiter.when_over = reply = wanted.reached()
            is_over = wanted.suffices(reply)
        except CommandError as error:
            reply, is_over = error, True
        if is_over:
            del self._waiting[waiter]
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
        self._engine.conditions.lack_replicas(bool(needed) and self.good < needed)
