"""Rewriting: a new base from the data as they are, in place of the old one and of the increments behind it.

A forked child writes the new base to a temporary file, while the server goes on with a new increment. The
manifest names the new base once it is whole and durable; only then are the old files removed. Whenever the
server is killed, the files of one of the two manifests are all there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .child import Child
from .snapshots import base_of

if TYPE_CHECKING:
    from ..engine import Engine
    from .disk import Disk

__all__ = ["Rewriting"]

NEVER: Final = -1

PAUSE: Final = 60.0
"""Seconds after a failure before it is tried again unasked."""


class Rewriting:
    """The rewriting of one append-only file, again and again.

    Args:
        engine: whose data they are.
        disk: where the temporary file is written.
        folder: in which.
        start_child: starts a process that does some work.

    Attributes:
        is_asked_for: it is to begin when the tick ends.
        child: the one that is at work; None if none is.
        seconds: how long the last one took.
        has_failed: the last one failed.
        count: how many there were.
    """

    def __init__(
        self,
        engine: Engine,
        disk: Disk,
        folder: Path,
        start_child: Callable[[Callable[[], None]], Child],
    ) -> None:
        self._engine, self._disk, self._folder, self._start_child = engine, disk, folder, start_child
        self._began = self._not_before = 0.0
        self.is_asked_for = False
        self.child: Child | None = None
        self.seconds = NEVER
        self.has_failed = False
        self.count = 0

    def begin(self) -> None:
        """Starts a child; raises ``OSError`` if there can be none."""
        self.is_asked_for = False
        self._began = time.monotonic()
        self.child = self._start_child(self._write)
        self._engine.saves.note_fork(self.child.fork_microseconds)

    def _write(self) -> None:
        file = self._disk.create(temporary(self._folder, os.getpid()))
        for piece in base_of(self._engine):
            file.write(piece)
        file.sync()

    def end(self) -> Path:
        """The child is over; returns the file that it was to write."""
        assert self.child is not None
        path = temporary(self._folder, self.child.pid)
        self.child = None
        self.seconds = int(time.monotonic() - self._began)
        self.count += 1
        self.has_failed = False
        return path

    def fail(self) -> None:
        """It came to nothing; unasked it is not tried again at once."""
        self.has_failed, self.is_asked_for = True, False
        self._not_before = time.monotonic() + PAUSE

    @property
    def may_retry(self) -> bool:
        """Whether no failure was a moment ago."""
        return time.monotonic() >= self._not_before

    def has_grown(self, size: int, base_size: int) -> bool:
        """Whether the file has grown by so much that it is to be rewritten without being asked for."""
        config = self._engine.config
        percentage = config.integer("auto-aof-rewrite-percentage")
        if not percentage or size <= config.integer("auto-aof-rewrite-min-size"):
            return False
        return size * 100 // (base_size or 1) - 100 >= percentage

    def abandon(self) -> None:
        """Ends the child that is at work, if there is one."""
        if self.child is not None:
            child, self.child = self.child, None
            child.kill()

    def facts(self) -> dict[str, int | str]:
        """What INFO tells of it."""
        is_at_work = self.child is not None
        return {
            "aof_rewrite_in_progress": int(is_at_work),
            "aof_rewrite_scheduled": int(self.is_asked_for),
            "aof_last_rewrite_time_sec": self.seconds,
            "aof_current_rewrite_time_sec": int(time.monotonic() - self._began) if is_at_work else NEVER,
            "aof_last_bgrewrite_status": "err" if self.has_failed else "ok",
            "aof_rewrites": self.count,
        }


def temporary(folder: Path, pid: int) -> Path:
    return folder / f"temp-rewriteaof-bg-{pid}.aof"
