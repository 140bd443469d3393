"""FAILOVER: a master and one of its replicas change places, and nothing that was written is lost.

The master holds up writes until a replica has all of its stream. Then it becomes the replica of that one, and
asks it with PSYNC FAILOVER to be the master.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from ..conditions import PausedBy
from ..protocol.errors import CommandError
from ..replication.replication_errors import FAILING_OVER
from .upstream import Address

if TYPE_CHECKING:
    from ..engine import Engine
    from .replica import Replica
    from .replication import Replication

__all__ = ["Failover", "FailoverState"]

UNTIL_IT_IS_OVER: Final = 1 << 62
"""A monotonic time that does not come."""


class FailoverState(Enum):
    """How far a failover is, in the words of INFO."""

    NONE = "no-failover"
    WAITING = "waiting-for-sync"
    IN_PROGRESS = "failover-in-progress"


class Failover:
    """The failovers of one engine, one at a time.

    Args:
        engine: the master.
        replication: its part in replication.

    Attributes:
        state: how far the one is that is under way.
    """

    def __init__(self, engine: Engine, replication: Replication) -> None:
        self._engine, self._replication = engine, replication
        self.state = FailoverState.NONE
        self._target: tuple[bytes, int] | None = None
        self._end: int | None = None  # monotonic microseconds
        self._is_forced = False

    @property
    def is_in_progress(self) -> bool:
        """Whether the other server is being asked to be the master."""
        return self.state is FailoverState.IN_PROGRESS

    def start(self, target: tuple[bytes, int] | None, milliseconds: int, *, is_forced: bool) -> None:
        """Holds up writes, and waits for a replica.

        Args:
            target: its address, as INFO shows it; None for the first that has everything.
            milliseconds: how long to wait; 0 for ever.
            is_forced: whether it is to be the master then, whatever it has.
        """
        now = self._engine.now.monotonic
        self._target, self._is_forced = target, is_forced
        self._end = now + milliseconds * 1000 if milliseconds else None
        self.state = FailoverState.WAITING
        self._engine.start_pause(UNTIL_IT_IS_OVER, PausedBy.FAILOVER, writes_only=True)

    def find(self, host: bytes, port: int) -> Replica | None:
        """The replica with an address."""
        for replica in self._replication.replicas.all.values():
            if (replica.address, replica.port) == (host, port):
                return replica
        return None

    def check_none(self) -> None:
        """Raises ``CommandError`` while there is one: no replica can be served then."""
        if self.state is not FailoverState.NONE:
            raise CommandError(FAILING_OVER)

    # What comes of it

    def let_time_pass(self) -> None:
        """Changes places if the replica has everything, or if it is time to."""
        if self.state is not FailoverState.WAITING:
            return
        if self._end is not None and self._end <= self._engine.now.monotonic:
            if self._is_forced and self._target is not None:
                self._change_places(*self._target)
            else:
                self.abort()
        elif replica := self._synchronized():
            self._change_places(replica.address, replica.port)

    def _synchronized(self) -> Replica | None:
        for replica in self._replication.replicas.all.values():
            is_meant = self._target in {None, (replica.address, replica.port)}
            if is_meant and replica.is_online and replica.offset == self._replication.history.offset:
                return replica
        return None

    def _change_places(self, host: bytes, port: int) -> None:
        self.state = FailoverState.IN_PROGRESS
        self._replication.upstream.follow(Address(host.decode("utf-8", "surrogateescape"), port))

    def answered(self, *, is_accepted: bool) -> None:
        """The other server has answered PSYNC with FAILOVER."""
        if not self.is_in_progress:
            return
        if is_accepted:
            self._end_it()
        else:
            self.abort()

    def abort(self) -> None:
        """This server stays the master, or is it again."""
        if self.is_in_progress:
            self._replication.upstream.lead()
        self._end_it()

    def _end_it(self) -> None:
        self.state, self._end = FailoverState.NONE, None
        self._engine.end_pause(PausedBy.FAILOVER)

    @property
    def awaits_time(self) -> bool:
        """Whether something is to be done in time."""
        return self.state is FailoverState.WAITING

    def next_deadline(self) -> int | None:
        """When the wait is over, in monotonic microseconds; None if it has no end."""
        return self._end if self.awaits_time else None
