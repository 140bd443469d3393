"""What is special about the server now: data being loaded, CLIENT PAUSE, a busy script, a bad disk and so on.

With any of these, requests go through the gate one by one; ``is_quiet`` tells that there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .client_flags import MONITORS
from .errors import CANNOT_SAVE, disk_failed
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
        until: monotonic microseconds.
        writes_only: commands that only read go on.
        postponed: the clients whose command it holds up, in the order in which they came.
    """

    until: int
    writes_only: bool
    postponed: dict[Session, None] = field(default_factory=dict)


class Conditions:
    """The conditions of one server.

    Attributes:
        loading: how far the server has come that loads its data; None if it does not.
        pause: the one there is.
        asleep_until: DEBUG SLEEP lasts so long, in monotonic microseconds; 0 when awake.
        busy: a script has been running for too long.
        disk_error: why the append-only file cannot be written; empty if it can.
        write_refusal: why nothing may be written; None if it may.
        monitors: the clients that are shown every command.
        is_quiet: none of these.
    """

    def __init__(self) -> None:
        self.loading: Progress | None = None
        self.pause: Pause | None = None
        self.asleep_until = 0
        self.busy = False
        self.disk_error = ""
        self._cannot_save = False
        self.write_refusal: bytes | None = None
        self.monitors: dict[Session, None] = {}
        self.is_quiet = True

    def _changed(self) -> None:
        self.write_refusal = CANNOT_SAVE if self._cannot_save else None
        if self.write_refusal is None and self.disk_error:
            self.write_refusal = disk_failed(self.disk_error)
        self.is_quiet = not (
            self.loading
            or self.pause
            or self.asleep_until
            or self.busy
            or self.write_refusal
            or self.monitors
        )

    @property
    def keeps_keys(self) -> bool:
        """Whether keys stay although their time has come."""
        return self.pause is not None or self.loading is not None

    def load(self, progress: Progress | None) -> None:
        """The server loads its data from now on, or has loaded them: None."""
        self.loading = progress
        self._changed()

    def start_pause(self, now: Instant, until: int, *, writes_only: bool) -> None:
        """Holds commands up until a monotonic time; a pause there is can only grow."""
        if self.pause is not None:
            self.pause.until = max(until, self.pause.until)
            self.pause.writes_only &= writes_only
        elif until > now.monotonic:  # else it is over; where the clock stands still, nothing would end it
            self.pause = Pause(until, writes_only)
        self._changed()

    def end_pause(self) -> Iterable[Session]:
        """The pause is over; returns the clients that it held up."""
        pause, self.pause = self.pause, None
        self._changed()
        return () if pause is None else pause.postponed

    def is_pause_over(self, monotonic: int) -> bool:
        """Whether there is a pause whose time has come."""
        return self.pause is not None and self.pause.until <= monotonic

    def sleep_until(self, monotonic: int) -> None:
        """DEBUG SLEEP: nobody is answered before."""
        self.asleep_until = monotonic
        self._changed()

    def wake_up(self, monotonic: int) -> None:
        """Ends that sleep, if its time has come."""
        if self.asleep_until <= monotonic:
            self.asleep_until = 0
            self._changed()

    def be_busy(self, busy: bool) -> None:
        """A script has been running for too long, or is over."""
        self.busy = busy
        self._changed()

    def fail_disk(self, error: OSError | None) -> None:
        """The append-only file cannot be written, or can again: without an error."""
        disk_error = (error.strerror or str(error)) if error else ""
        if disk_error != self.disk_error:
            self.disk_error = disk_error
            self._changed()

    def cannot_save(self, is_so: bool) -> None:
        """The data cannot be saved to their file, and so nothing may be written; or it may again."""
        self._cannot_save = is_so
        self._changed()

    def start_monitoring(self, session: Session) -> None:
        """MONITOR: a client is shown every command from now on."""
        session.flags |= MONITORS
        self.monitors[session] = None
        self._changed()

    def stop_monitoring(self, session: Session) -> None:
        """It is shown none any more."""
        session.flags &= ~MONITORS
        if self.monitors.pop(session, self) is not self:
            self._changed()

    def show(self, now: Instant, session: Session, args: list[bytes]) -> None:
        """Lets those who MONITOR see a command."""
        if self.monitors:
            line = monitor_line(now, session, args)
            for monitor in self.monitors:
                monitor.push(line)
