"""Snapshots of the data: when the last one was saved, and when the next one is due.

Commands and the directive ``save`` decide when. The process around the engine writes the file, if it has one
(``Environment.snapshots``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from .protocol import errors
from .protocol.errors import CommandError

if TYPE_CHECKING:
    from .config import Config
    from .engine import Engine
    from .environment import ChildInterface, ProgressInterface, SnapshotInterface

__all__ = ["RewriteStatistics", "Saves"]

NEVER: Final = -1

PAUSE: Final = 5
"""Seconds after a failed save before the directive ``save`` tries again."""

SECOND: Final = 1_000_000


@dataclass
class RewriteStatistics:
    """What INFO tells of the append-only file's rewritings; it outlives CONFIG SET appendonly no.

    Attributes:
        count: how many were started.
        failures: how many failed since the last one that succeeded.
        seconds: how long the last one took; -1 if there was none.
        copied: how many bytes of memory were copied during the last one.
        has_failed: whether the last one failed.
    """

    count: int = 0
    failures: int = 0
    seconds: int = NEVER
    copied: int = 0
    has_failed: bool = False


class NoProgress(NamedTuple):
    """What ``ProgressInterface`` is where no child works."""

    copied: int = 0
    keys: int = 0
    age: int = 0


class Saves:
    """The snapshots of one engine. A background save is one that runs while commands do.

    Attributes:
        points: the save points: (seconds, changes) after which the data are saved automatically.
        awaits_time: whether a save may become due.
        last: when the data were last saved, in seconds of wall time; at first, when the engine was made.
        has_failed: whether the last background save failed.
        began: when the current background save began, in monotonic seconds; None if none runs.
        duration: the seconds that the last background save took; -1 if there was none.
        count: the number of saves started.
        forks: the number of processes forked, for saves and for the append-only file.
        fork_microseconds: how long the last fork took.
        progress: how far the child is that writes the data, if there is one.
        total: the number of keys that there were when it began; 0 if there is none.
        peak: the most bytes of memory that were copied while it, or the last one, worked; it tells at times.
        copied: how many bytes of memory were copied during the last background save.
        loaded: the number of keys loaded from the file at the start.
        expired: the number of keys in that file that had expired.
        rewrites: the rewritings of the append-only file.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.points: list[tuple[int, int]] = []
        self.awaits_time = False
        self.last = self._wall
        self.has_failed = False
        self.began: int | None = None
        self.duration = NEVER
        self.count = self.forks = self.fork_microseconds = self.loaded = self.expired = 0
        self.progress: ProgressInterface = NoProgress()
        self.total = self.peak = self.copied = 0
        self.rewrites = RewriteStatistics()
        self._tried = 0
        self._succeeded = self._now
        self._saved = self._saved_by_child = 0  # ``Keyspace.changes`` at the time
        self._stops_writes = True
        self._is_scheduled = False  # whether a save begins when the tick ends

    @property
    def _wall(self) -> int:
        """The time for LASTSAVE; due times use the monotonic clock, which is never set back."""
        return self._engine.now.wall // SECOND

    @property
    def _now(self) -> int:
        return self._engine.now.monotonic // SECOND

    @property
    def _file(self) -> SnapshotInterface | None:
        return self._engine.environment.snapshots

    @property
    def must_wait(self) -> bool:
        """Whether the append-only file is being rewritten; as in Redis, no background save may run then."""
        journal = self._engine.environment.journal
        return journal is not None and journal.is_rewriting

    @property
    def changes(self) -> int:
        """The number of changes since the last save."""
        return self._engine.keyspace.changes - self._saved

    def configure(self, config: Config) -> None:
        """Applies the directives."""
        numbers = [int(word) for word in config["save"].split()]
        self.points = list(zip(numbers[::2], numbers[1::2], strict=True))
        self._stops_writes = config["stop-writes-on-bgsave-error"] == "yes"
        self._schedule(self._is_scheduled)
        self._tell_conditions()

    def check_points(self, value: str) -> None:
        """Raises ``ValueError`` if ``save`` has save points and there is no file to save to."""
        if value and self._file is None:
            raise ValueError(errors.NO_FILE)

    def _tell_conditions(self) -> None:
        self._engine.conditions.set_cannot_save(self.has_failed and self._stops_writes and bool(self.points))

    def reset_statistics(self) -> None:
        """CONFIG RESETSTAT: resets the counters."""
        self.count = self.forks = self.fork_microseconds = 0
        self.rewrites.count = self.rewrites.failures = 0

    def child_begins(self, child: ChildInterface) -> None:
        """A process was forked that writes the data."""
        self.forks += 1
        self.fork_microseconds = child.fork_microseconds
        self.progress, self.peak = child.progress, 0
        self.total = sum(map(len, self._engine.keyspace.databases))

    def child_is_over(self) -> int:
        """It has ended; returns how many bytes of memory were copied meanwhile."""
        copied = self.progress.copied
        self.progress, self.total = NoProgress(), 0
        return copied

    def look_at_child(self) -> ProgressInterface:
        """How far the child is."""
        self.peak = max(self.peak, self.progress.copied)
        return self.progress

    # Saving in the foreground

    def save(self) -> None:
        """SAVE: saves while nothing else runs. Raises ``CommandError`` if it fails."""
        if self.began is not None:
            raise CommandError(errors.SAVING)
        self._check_file()
        self.count += 1
        if not self.write():
            raise CommandError(errors.NOT_SAVED)

    def write(self) -> bool:
        """Saves the data; returns whether it succeeded."""
        if self._file is None:
            return False
        try:
            self._file.save()
        except OSError:
            return False
        self._saved = self._engine.keyspace.changes
        self._succeed()
        return True

    def write_at_end(self, *, is_asked_for: bool) -> bool:
        """Saves before the server stops if asked for, or if there are save points; False if that fails."""
        self.cancel()
        return self.write() if is_asked_for or self.points else True

    def flushed(self) -> None:
        """FLUSHALL: empties the file if there are save points."""
        self.cancel()
        if self.points:
            self.write()

    def _succeed(self) -> None:
        self.last, self._succeeded, self.has_failed = self._wall, self._now, False
        self._tell_conditions()

    # Background saves

    def start(self) -> None:
        """BGSAVE. Raises ``CommandError`` if it cannot start."""
        if self.began is not None:
            raise CommandError(errors.SAVING)
        if self.must_wait:
            raise CommandError(errors.REWRITING_NOW)
        self._check_file()
        if not self._begin():
            raise CommandError(errors.NOT_SAVED)

    def _check_file(self) -> None:
        if self._file is None:
            raise CommandError(f"ERR {errors.NO_FILE}".encode())

    def schedule(self) -> None:
        """BGSAVE in a transaction: starts when the tick ends."""
        self._schedule(self._file is not None)

    def _schedule(self, is_scheduled: bool) -> None:
        self._is_scheduled = is_scheduled
        self.awaits_time = is_scheduled or bool(self.points)
        self._engine.timers.consider_rare_work()

    def _begin(self) -> bool:
        self._schedule(False)
        if self._file is None:
            return False
        self.count += 1
        self._tried = self._now
        try:
            self._file.start()
        except OSError:
            self.has_failed = True
            self._tell_conditions()
            return False
        self.began, self._saved_by_child = self._now, self._engine.keyspace.changes
        return True

    def ended(self, *, has_succeeded: bool) -> None:
        """Called when the background save has ended."""
        assert self.began is not None
        self.duration, self.began = self._now - self.began, None
        if has_succeeded:
            self._saved = self._saved_by_child
            self._succeed()
        else:
            self.has_failed = True
            self._tell_conditions()

    def cancel(self) -> None:
        """Ends the background save, if one runs; that does not count as a failure."""
        if self.began is not None and self._file is not None:
            self._file.cancel()
            self.duration, self.began = self._now - self.began, None

    # Automatic saves

    def begin_if_due(self) -> None:
        """Starts a background save if one is due."""
        due = self._due()
        if due is not None and due <= self._now:
            self._begin()

    def next_deadline(self) -> int | None:
        """When a save becomes due, in monotonic microseconds; None if none will."""
        due, now = self._due(), self._engine.now
        return None if due is None else max(due * SECOND, now.monotonic)

    def _due(self) -> int | None:
        # after a move to another server, the clock may be behind these times
        self._succeeded, self._tried = min(self._succeeded, self._now), min(self._tried, self._now)
        if self.began is not None or self._file is None or self.must_wait:
            return None
        if self._is_scheduled:
            due = [0]
        else:
            due = [
                self._succeeded + seconds + 1 for seconds, changes in self.points if self.changes >= changes
            ]
        not_before = self._tried + PAUSE + 1 if self.has_failed else 0
        return max(min(due), not_before) if due else None
