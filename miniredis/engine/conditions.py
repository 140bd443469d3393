"""Conditions of the server that affect all clients: loading, CLIENT PAUSE, a busy script, a master and so on.

While one of them holds, requests go through the gate one by one; ``is_quiet`` is True if none does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .client_flags import MONITORS
from .errors import CANNOT_SAVE, NO_REPLICAS, READ_ONLY_REPLICA, disk_failed
from .observing import monitor_line

if TYPE_CHECKING:
    from .instant import Instant
    from .rdb.loading import Progress
    from .session import Session

__all__ = ["Conditions", "Pause"]


@dataclass(slots=True)
class Pause:
    """A CLIENT PAUSE.

    Attributes:
        until: its end, in monotonic microseconds.
        writes_only: whether commands that only read still run.
        postponed: the clients whose command it holds up, oldest first.
    """

    until: int
    writes_only: bool
    postponed: dict[Session, None] = field(default_factory=dict)


class Conditions:
    """The conditions of one server.

    Attributes:
        loading: the progress of loading the data; None if nothing is loading.
        pause: the current CLIENT PAUSE.
        asleep_until: the end of DEBUG SLEEP, in monotonic microseconds; 0 when not asleep.
        busy: whether a script has exceeded ``busy-reply-threshold``.
        disk_error: why the append-only file cannot be written; empty if it can.
        disk_refusal: the error for writes while the disk fails; None if it does not.
        lacks_replicas: whether writes are refused because too few replicas have acknowledged lately.
        is_replica: whether the server has a master.
        is_read_only: whether it has one, and only the master may write.
        is_stale: whether it has one, the link to it is down, and the data may not be read.
        write_refusal: the error for writes; None if writes are allowed.
        monitors: the clients of MONITOR.
        is_quiet: whether none of these conditions holds.
    """

    def __init__(self) -> None:
        self.loading: Progress | None = None
        self.pause: Pause | None = None
        self.asleep_until = 0
        self.busy = False
        self.disk_error = ""
        self._cannot_save = False
        self.disk_refusal: bytes | None = None
        self.lacks_replicas = False
        self.is_replica = self.is_read_only = self.is_stale = False
        self.write_refusal: bytes | None = None
        self.monitors: dict[Session, None] = {}
        self.is_quiet = True

    def _changed(self) -> None:
        self.disk_refusal = CANNOT_SAVE if self._cannot_save else None
        if self.disk_refusal is None and self.disk_error:
            self.disk_refusal = disk_failed(self.disk_error)
        self.write_refusal = self.disk_refusal or (NO_REPLICAS if self.lacks_replicas else None)
        if self.is_read_only:
            self.write_refusal = READ_ONLY_REPLICA
        self.is_quiet = not (
            self.loading
            or self.pause
            or self.asleep_until
            or self.busy
            or self.write_refusal
            or self.is_replica
            or self.monitors
        )

    @property
    def keeps_keys(self) -> bool:
        """Whether expired keys are hidden from reads instead of being deleted."""
        return self.pause is not None or self.is_replica or self.loading is not None

    def follow(self, *, is_replica: bool, is_read_only: bool, is_stale: bool) -> None:
        """Sets the attributes of the same names."""
        self.is_replica, self.is_read_only, self.is_stale = is_replica, is_read_only, is_stale
        self._changed()

    def load(self, progress: Progress | None) -> None:
        """Sets the progress of loading; None ends it."""
        self.loading = progress
        self._changed()

    def start_pause(self, now: Instant, until: int, *, writes_only: bool) -> None:
        """Pauses commands until a monotonic time; only extends or tightens a pause that exists."""
        if self.pause is not None:
            self.pause.until = max(until, self.pause.until)
            self.pause.writes_only &= writes_only
        elif until > now.monotonic:  # else it would never end if the clock stands still
            self.pause = Pause(until, writes_only)
        self._changed()

    def end_pause(self) -> Iterable[Session]:
        """Ends the pause; returns the clients that it held up."""
        pause, self.pause = self.pause, None
        self._changed()
        return () if pause is None else pause.postponed

    def is_pause_over(self, monotonic: int) -> bool:
        """Whether the time of a pause is over."""
        return self.pause is not None and self.pause.until <= monotonic

    def sleep_until(self, monotonic: int) -> None:
        """DEBUG SLEEP: no client is served before this time, in monotonic microseconds."""
        self.asleep_until = monotonic
        self._changed()

    def wake_up(self, monotonic: int) -> None:
        """Ends DEBUG SLEEP if its time is over."""
        if self.asleep_until <= monotonic:
            self.asleep_until = 0
            self._changed()

    def be_busy(self, busy: bool) -> None:
        """Records whether a script has run for too long."""
        self.busy = busy
        self._changed()

    def fail_disk(self, error: OSError | None) -> None:
        """Records whether the append-only file cannot be written; None: it can."""
        disk_error = (error.strerror or str(error)) if error else ""
        if disk_error != self.disk_error:
            self.disk_error = disk_error
            self._changed()

    def cannot_save(self, is_so: bool) -> None:
        """Records whether writes are refused because the last save failed."""
        self._cannot_save = is_so
        self._changed()

    def lack_replicas(self, is_so: bool) -> None:
        """Records whether there are too few replicas for ``min-replicas-to-write``."""
        if is_so != self.lacks_replicas:
            self.lacks_replicas = is_so
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
