"""What replicas have acknowledged, and who depends on it: WAIT, and ``min-replicas-to-write``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..clients.waiting import Waiter
    from ..engine import Engine
    from .replica import Replica
    from .replicas import Replicas

__all__ = ["Acks"]


class AwaitedAck(NamedTuple):
    """What a client waits for.

    Attributes:
        offset: in the stream.
        replicas: how many of them are to acknowledge it.
    """

    offset: int
    replicas: int


class Acks:
    """The acknowledgements of all replicas of a master.

    Args:
        engine: the master.
        replicas: those of it.

    Attributes:
        are_asked_for: the replicas are to be asked how far they are.
    """

    def __init__(self, engine: Engine, replicas: Replicas) -> None:
        self._engine, self._replicas = engine, replicas
        self._waiting: dict[Waiter, AwaitedAck] = {}
        self.are_asked_for = False

    def hear(self, replica: Replica, offset: int) -> None:
        """A replica has acknowledged the stream up to an offset."""
        replica.offset = max(replica.offset, offset)
        replica.heard_at = self._replicas.second
        for waiter, wanted in tuple(self._waiting.items()):
            self._look_after(waiter, wanted)

    def reached(self, offset: int) -> int:
        """How many replicas have acknowledged an offset."""
        return sum(each.is_online and each.offset >= offset for each in self._replicas.all.values())

    # WAIT

    def add(self, waiter: Waiter, offset: int, count: int) -> None:
        """Lets a blocked client go on when so many replicas have acknowledged an offset."""
        self._waiting[waiter] = AwaitedAck(offset, count)
        self.are_asked_for = True

    def _look_after(self, waiter: Waiter, wanted: AwaitedAck) -> None:
        if waiter.session.waiter is not waiter:  # it waits no more
            del self._waiting[waiter]
            return
        waiter.when_over = reached = self.reached(wanted.offset)
        if reached >= wanted.replicas:
            del self._waiting[waiter]
            self._engine.waiting.end(waiter, reached)

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
