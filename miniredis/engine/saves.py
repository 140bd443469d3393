"""When the data were saved to a file, and when they are saved next.

Commands and the directive ``save`` say when; the process around the engine writes the file, if it has one
(``Environment.snapshots``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import errors
from .errors import CommandError

if TYPE_CHECKING:
    from .config import Config
    from .engine import Engine
    from .environment import SnapshotInterface

__all__ = ["Saves"]

NEVER: Final = -1

PAUSE: Final = 5
"""Seconds after a failure before the directive ``save`` saves again."""

SECOND: Final = 1_000_000


class Saves:
    """The saving of one engine's data.

    Attributes:
        points: after how many seconds with how many changes the data are saved by themselves.
        awaits_time: a save may begin by itself.
        last: when the data were saved last, in seconds of wall time; at first when the engine was made.
        has_failed: the last save beside other work failed.
        began: when the save under way beside other work began, in monotonic seconds; None if none is.
        duration: how many seconds the last one of them took; -1 if there was none.
        count: how many saves were asked for.
        forks: how many processes were forked, for saving and for the append-only file.
        fork_microseconds: how long the last one of these forks took.
        loaded: how many keys came from the file at the start.
        expired: how many had expired.
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
        self._tried = 0
        self._succeeded = self._now
        self._saved = self._saved_by_child = 0  # how many changes of the keyspace there were by then
        self._stops_writes = True
        self._is_scheduled = False  # to begin when the tick ends

    @property
    def _wall(self) -> int:
        """What LASTSAVE tells; what is due depends on the other clock, which nobody sets back."""
        return self._engine.now.wall // SECOND

    @property
    def _now(self) -> int:
        return self._engine.now.monotonic // SECOND

    @property
    def _file(self) -> SnapshotInterface | None:
        return self._engine.environment.snapshots

    @property
    def must_wait(self) -> bool:
        """Whether the append-only file is being rewritten: then nothing is saved beside it, as in Redis."""
        journal = self._engine.environment.journal
        return journal is not None and journal.is_rewriting

    @property
    def changes(self) -> int:
        """How many changes no file has."""
        return self._engine.keyspace.changes - self._saved

    def configure(self, config: Config) -> None:
        """Takes the directives over."""
        numbers = [int(word) for word in config["save"].split()]
        self.points = list(zip(numbers[::2], numbers[1::2], strict=True))
        self._stops_writes = config["stop-writes-on-bgsave-error"] == "yes"
        self._schedule(self._is_scheduled)
        self._tell_conditions()

    def check_points(self, value: str) -> None:
        """Raises ``ValueError`` where the directive ``save`` asks for what cannot be done."""
        if value and self._file is None:
            raise ValueError(
                "this server has no file to save to; start it with the directive save or dbfilename"
            )

    def _tell_conditions(self) -> None:
        self._engine.conditions.cannot_save(self.has_failed and self._stops_writes and bool(self.points))

    def reset_statistics(self) -> None:
        """CONFIG RESETSTAT: counts from zero again."""
        self.count = self.forks = self.fork_microseconds = 0

    def note_fork(self, microseconds: int) -> None:
        """A process was forked, which took so long."""
        self.forks += 1
        self.fork_microseconds = microseconds

    # Saving now

    def save(self) -> None:
        """SAVE: nothing else happens meanwhile. Raises ``CommandError`` if that fails."""
        if self.began is not None:
            raise CommandError(errors.SAVING)
        self.count += 1
        if not self.write():
            raise CommandError(errors.NOT_SAVED)

    def write(self) -> bool:
        """Saves the data; tells whether they are saved."""
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
        """The server is about to stop: saves what it must; tells whether that is done."""
        self.cancel()
        return self.write() if is_asked_for or self.points else True

    def flushed(self) -> None:
        """FLUSHALL: the file is to be empty, too, where it is written without being asked for."""
        self.cancel()
        if self.points:
            self.write()

    def _succeed(self) -> None:
        self.last, self._succeeded, self.has_failed = self._wall, self._now, False
        self._tell_conditions()

    # Saving beside other work

    def start(self) -> None:
        """BGSAVE. Raises ``CommandError`` if it cannot be begun."""
        if self.began is not None:
            raise CommandError(errors.SAVING)
        if self.must_wait:
            raise CommandError(errors.REWRITING_NOW)
        if not self._begin():
            raise CommandError(errors.NOT_SAVED)

    def schedule(self) -> None:
        """BGSAVE in a transaction: it begins when the tick ends."""
        self._schedule(self._file is not None)

    def _schedule(self, is_scheduled: bool) -> None:
        self._is_scheduled = is_scheduled
        self.awaits_time = is_scheduled or bool(self.points)

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
        """The save beside other work is over."""
        assert self.began is not None
        self.duration, self.began = self._now - self.began, None
        if has_succeeded:
            self._saved = self._saved_by_child
            self._succeed()
        else:
            self.has_failed = True
            self._tell_conditions()

    def cancel(self) -> None:
        """Ends the save beside other work, if there is one; that is no failure."""
        if self.began is not None and self._file is not None:
            self._file.cancel()
            self.duration, self.began = self._now - self.began, None

    # Saving without being asked

    def begin_if_due(self) -> None:
        """Begins a save if it is time for one."""
        due = self._due()
        if due is not None and due <= self._now:
            self._begin()

    def next_deadline(self) -> int | None:
        """When a save begins by itself, in monotonic microseconds; None if none will."""
        due, now = self._due(), self._engine.now
        return None if due is None else max(due * SECOND, now.monotonic)

    def _due(self) -> int | None:
        # an engine that has moved to another server may have a clock that is behind
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
