"""Conditions of the server that affect all clients: loading, CLIENT PAUSE, a busy script, a master and so on.

While one of them holds, requests go through the gate one by one; ``is_quiet`` is True if none does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from .clients.client_flags import MONITORS
from .protocol.errors import CANNOT_SAVE, disk_failed
from .replication.replication_errors import NO_REPLICAS, READ_ONLY_REPLICA
from .statistics.statistics import monitor_line

if TYPE_CHECKING:
    from .clients.session import Session
    from .instant import Instant
    from .rdb.loading import LoadProgress

__all__ = ["Conditions", "Pause", "PausedBy"]


class PausedBy(Enum):
    """Who may pause clients. The pauses of both can overlap, and each ends its own."""

    CLIENT = "CLIENT PAUSE"
    FAILOVER = "FAILOVER"


@dataclass(slots=True)
class Pause:
    """Some commands are held up.

    Attributes:
        until: monotonic microseconds.
        writes_only: commands that only read go on.
    """

    until: int
    writes_only: bool

    @property
    def strictness(self) -> tuple[bool, int]:
        """Of several pauses, the one holds for which this is the highest."""
        return not self.writes_only, self.until


class Conditions:
    """The conditions of one server.

    Attributes:
        loading: how far the server has come that loads its data; None if it does not.
        pause: the strictest one there is.
        postponed: the clients whose command it holds up, in the order in which they came.
        asleep_until: DEBUG SLEEP lasts so long, in monotonic microseconds; 0 when awake.
        busy: a script has been running for too long.
        disk_error: why the append-only file cannot be written; empty if it can.
        disk_refusal: the error for writes while the disk fails; None if it does not.
        lacks_replicas: whether writes are refused because too few replicas have acknowledged lately.
        is_replica: whether the server has a master.
        is_read_only: whether it has one, and only the master may write.
        is_stale: whether it has one, the link to it is down, and the data may not be read.
        write_refusal: the error for writes; None if writes are allowed.
        monitors: the clients of MONITOR.
        has_fault_rules: whether requests may meet a fault on demand.
        is_clustered: whether the server is a node of a cluster.
        is_quiet: whether none of these conditions holds.
        is_quiet_beside_rules: whether none holds but ``has_fault_rules``.
    """

    def __init__(self) -> None:
        self.loading: LoadProgress | None = None
        self.pause: Pause | None = None
        self._pauses: dict[PausedBy, Pause] = {}
        self.postponed: dict[Session, None] = {}
        self.asleep_until = 0
        self.busy = False
        self.disk_error = ""
        self._cannot_save = False
        self.disk_refusal: bytes | None = None
        self.lacks_replicas = False
        self.is_replica = self.is_read_only = self.is_stale = False
        self.write_refusal: bytes | None = None
        self.monitors: dict[Session, None] = {}
        self.has_fault_rules = False
        self.is_clustered = False
        self.is_quiet = self.is_quiet_beside_rules = True

    def _changed(self) -> None:
        self.disk_refusal = CANNOT_SAVE if self._cannot_save else None
        if self.disk_refusal is None and self.disk_error:
            self.disk_refusal = disk_failed(self.disk_error)
        self.write_refusal = self.disk_refusal or (NO_REPLICAS if self.lacks_replicas else None)
        if self.is_read_only:
            self.write_refusal = READ_ONLY_REPLICA
        self.is_quiet_beside_rules = not (
            self.loading
            or self.pause
            or self.asleep_until
            or self.busy
            or self.write_refusal
            or self.is_replica
            or self.monitors
            or self.is_clustered
        )
        self.is_quiet = self.is_quiet_beside_rules and not self.has_fault_rules

    @property
    def keeps_keys(self) -> bool:
        """Whether expired keys are hidden from reads instead of being deleted."""
        return self.pause is not None or self.is_replica or self.loading is not None

    @property
    def lets_keys_go(self) -> bool:
        """Whether keys are deleted when their time has come, before anybody asks for them."""
        return self.loading is None and (self.pause is None or self.is_replica)

    def follow(self, *, is_replica: bool, is_read_only: bool, is_stale: bool) -> None:
        """Sets the attributes of the same names."""
        self.is_replica, self.is_read_only, self.is_stale = is_replica, is_read_only, is_stale
        self._changed()

    def set_loading(self, progress: LoadProgress | None) -> None:
        """Sets the progress of loading; None ends it."""
        self.loading = progress
        self._changed()

    def start_pause(self, now: Instant, until: int, by: PausedBy, *, writes_only: bool) -> None:
        """Holds commands up until a monotonic time; a pause that the same one has started can only grow."""
        pause = self._pauses.get(by)
        if pause is not None:
            pause.until = max(until, pause.until)
            pause.writes_only &= writes_only
        elif until > now.monotonic:  # else it is over; where the clock stands still, nothing would end it
            self._pauses[by] = Pause(until, writes_only)
        self._choose_pause()

    def end_pause(self, by: PausedBy) -> Iterable[Session]:
        """A pause is over; returns the clients that are not held up any more, as far as it is known."""
        self._pauses.pop(by, None)
        return self._choose_pause()

    def end_pauses_until(self, monotonic: int) -> Iterable[Session]:
        """The same for all pauses whose time has come."""
        self._pauses = {by: pause for by, pause in self._pauses.items() if pause.until > monotonic}
        return self._choose_pause()

    def _choose_pause(self) -> Iterable[Session]:
        before = self.pause
        self.pause = max(self._pauses.values(), key=lambda pause: pause.strictness, default=None)
        self._changed()
        if before is None or (self.pause is not None and self.pause.writes_only <= before.writes_only):
            return ()
        postponed, self.postponed = self.postponed, {}
        return postponed

    def is_pause_over(self, monotonic: int) -> bool:
        """Whether the time of the strictest pause has come."""
        return self.pause is not None and self.pause.until <= monotonic

    def sleep_until(self, monotonic: int) -> None:
        """DEBUG SLEEP: no client is served before this time, in monotonic microseconds."""
        self.asleep_until = monotonic
        self._changed()

    def wake_up(self, monotonic: int) -> bool:
        """Ends DEBUG SLEEP if its time is over; returns whether that was so."""
        if not 0 < self.asleep_until <= monotonic:
            return False
        self.asleep_until = 0
        self._changed()
        return True

    def set_busy(self, busy: bool) -> None:
        """Records whether a script has run for too long."""
        if busy != self.busy:
            self.busy = busy
            self._changed()

    def set_disk_error(self, error: OSError | None) -> None:
        """Records whether the append-only file cannot be written; None: it can."""
        disk_error = (error.strerror or str(error)) if error else ""
        if disk_error != self.disk_error:
            self.disk_error = disk_error
            self._changed()

    def set_cannot_save(self, is_so: bool) -> None:
        """Records whether writes are refused because the last save failed."""
        self._cannot_save = is_so
        self._changed()

    def set_lacks_replicas(self, is_so: bool) -> None:
        """Records whether there are too few replicas for ``min-replicas-to-write``."""
        if is_so != self.lacks_replicas:
            self.lacks_replicas = is_so
            self._changed()

    def join_cluster(self) -> None:
        """The server is a node of a cluster: the gate asks for the slots of each request."""
        self.is_clustered = True
        self._changed()

    def set_has_fault_rules(self, is_so: bool) -> None:
        """Records whether there are rules by which requests meet a fault."""
        self.has_fault_rules = is_so
        self._changed()

    def start_monitoring(self, session: Session) -> None:
        """MONITOR: shows a client every command from now on."""
        session.flags |= MONITORS
        self.monitors[session] = None
        self._changed()

    def stop_monitoring(self, session: Session) -> None:
        """Ends MONITOR for a client."""
        session.flags &= ~MONITORS
        if self.monitors.pop(session, self) is not self:
            self._changed()

    def show(self, now: Instant, session: Session, args: list[bytes]) -> None:
        """Sends a command to the clients of MONITOR."""
        if self.monitors:
            line = monitor_line(now, session, args)
            for monitor in self.monitors:
                monitor.push(line)
