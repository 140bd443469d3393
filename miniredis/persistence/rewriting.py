"""Rewriting: a new base from the data as they are, in place of the old one and of the increments behind it.

A forked child writes the new base to a temporary file, while the server goes on with a new increment. The
manifest names the new base once it is whole and durable; only then are the old files removed. Whenever the
server is killed, the files of one of the two manifests are all there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..clock import Machine
from ..engine.clients.client_flags import EXECUTING
from .child import Child
from .snapshots import base_of

if TYPE_CHECKING:
    from ..engine import Engine
    from ..logs import ServerLog
    from .disk import Disk

__all__ = ["Rewriting"]

NEVER: Final = -1

PAUSE: Final = 60.0
"""Seconds after a failure before it is tried again unasked."""


class Rewriting:
    """The rewriting of one append-only file, again and again.

    Args:
        engine: whose data they are.
        log: the server's.
        later: calls a function soon on the server's thread, with its lock held, and ends a tick then.
        disk: where the temporary file is written.
        use: is called with the new base when it is written, or with None when it could not be; may raise
            ``OSError``.
        start_child: starts a process that does some work.

    Attributes:
        is_asked_for: it is to begin when the tick ends.
    """

    def __init__(
        self,
        engine: Engine,
        log: ServerLog,
        later: Callable[[Callable[[], object]], None],
        disk: Disk,
        use: Callable[[Path | None], None],
        start_child: type[Child] = Child,
    ) -> None:
        self._engine, self._log, self._later, self._disk = engine, log, later, disk
        self._use, self._start_child = use, start_child
        self._began = self._not_before = 0.0
        self._child: Child | None = None
        self._folder = Path()
        self._abandoned = 0  # how many children were ended before their time, and will still be told of
        self.is_asked_for = False
        self._statistics = engine.saves.rewrites

    @property
    def is_at_work(self) -> bool:
        """Whether a child writes a base now."""
        return self._child is not None

    @property
    def may_begin(self) -> bool:
        """Whether the data are those between two commands, and no child is at work, as in Redis."""
        engine, running = self._engine, self._engine.notifier.client
        is_inside = engine.conditions.busy or (running is not None and running.flags & EXECUTING)
        return not is_inside and engine.saves.began is None and self._child is None

    def ask(self) -> bool:
        """Lets it begin when the tick ends; False if a child is at work already."""
        if self._child is None:
            self.is_asked_for = True
        return self._child is None

    def begin(self, folder: Path) -> None:
        """Starts a child that writes a base in a folder; raises ``OSError`` if there can be none."""
        self.is_asked_for = False
        self._began, self._folder = Machine.monotonic(), folder
        self._statistics.count += 1
        self._child = self._start_child(self._write, self._child_is_over)
        self._engine.saves.child_begins(self._child)
        self._log.info("rewriting the append-only file")

    def _write(self) -> None:
        with contextlib.closing(self._disk.create(temporary(self._folder, os.getpid()))) as file:
            for piece in base_of(self._engine):
                file.write(piece)
            file.sync()

    def _child_is_over(self, failure: str) -> None:
        self._later(partial(self._end, failure))

    def _end(self, failure: str) -> None:
        if self._abandoned:
            self._abandoned -= 1
            return
        if self._child is None:
            return
        path = temporary(self._folder, self._child.pid)
        self._child = None
        self._statistics.copied = self._engine.saves.child_is_over()
        self._statistics.seconds = int(Machine.monotonic() - self._began)
        try:
            if failure:
                self.fail(failure)
                self._use(None)
                self._remove(path)
            else:
                self._use(path)
                self._statistics.has_failed, self._statistics.failures = False, 0
        except OSError as error:
            self.fail(error)

    def fail(self, reason: object, *, had_begun: bool = True) -> None:
        """It came to nothing, and unasked it is not tried again at once. The files before it are good."""
        self._statistics.has_failed, self.is_asked_for = True, False
        self._statistics.failures += had_begun
        self._not_before = Machine.monotonic() + PAUSE
        self._log.error("cannot rewrite the append-only file: %s", reason)

    @property
    def has_failed(self) -> bool:
        """Whether the last one failed."""
        return self._statistics.has_failed

    @property
    def may_retry(self) -> bool:
        """Whether no failure was a moment ago."""
        return Machine.monotonic() >= self._not_before

    def has_grown(self, size: int, base_size: int) -> bool:
        """Whether the file has grown by so much that it is to be rewritten without being asked for."""
        config = self._engine.config
        percentage = config.integer("auto-aof-rewrite-percentage")
        if not percentage or size <= config.integer("auto-aof-rewrite-min-size"):
            return False
        return size * 100 // (base_size or 1) - 100 >= percentage

    def abandon(self) -> None:
        """Ends the child that is at work, if there is one."""
        if self._child is not None:
            child, self._child = self._child, None
            self._abandoned += 1
            child.kill()
            self._engine.saves.child_is_over()
            self._remove(temporary(self._folder, child.pid))

    def _remove(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # it may not have come to be
            self._disk.remove(path)

    def facts(self) -> dict[str, int | str]:
        """What INFO tells of it."""
        return {
            "aof_rewrite_in_progress": int(self.is_at_work),
            "aof_rewrite_scheduled": int(self.is_asked_for),
            "aof_current_rewrite_time_sec": int(Machine.monotonic() - self._began)
            if self.is_at_work
            else NEVER,
        }


def temporary(folder: Path, pid: int) -> Path:
    return folder / f"temp-rewriteaof-bg-{pid}.aof"
