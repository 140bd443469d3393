"""Writes effects behind each other into one file, and makes them durable as ``appendfsync`` says.

``always``: each write is on the disk when ``write`` returns. ``everysec``: a thread asks the disk once in a
second, so that what is older than two seconds is there. ``no``: the system writes when it likes. A write that
has failed is tried again once in a second, and with each write that follows.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..clock import Machine

if TYPE_CHECKING:
    from .disk import File

__all__ = ["AppendOnlyFile", "Syncer"]

EVERY: Final = 1.0
"""Seconds between two times that the thread asks the disk."""

LONGEST_DELAY: Final = 2.0
"""Seconds for which nothing is written while the disk is slow, since a write would have to wait for it."""


class Syncer:
    """A thread that makes a file durable once in a second, if something was written, or could not be.

    Args:
        file: which one.
        when_done: called on the thread each time that it has.

    Attributes:
        error: why it failed the last time; None if it did not.
        has_failed: it failed once: the system may have forgotten what it could not write.
        is_syncing: it waits for the disk now.
        synced: the offset up to which the file is on the disk, as ``ask`` was told; -1 if none is.
    """

    def __init__(self, file: File, when_done: Callable[[], None]) -> None:
        self._file = file
        self._when_done = when_done
        self._change = threading.Condition()
        self._is_dirty = self._is_closed = False
        self._thread: threading.Thread | None = None
        self.error: OSError | None = None
        self.is_syncing = self.has_failed = False
        self._written = self._asked_for = self.synced = -1

    def ask(self, offset: int = 0) -> None:
        """Something was written, up to an offset, or could not be; the thread begins with the first time."""
        self._written = offset
        if self._is_dirty:  # the thread will clear that before it next asks the disk, for this, too
            return
        with self._change:
            self._is_dirty = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="miniredis fsync", daemon=True)
                self._thread.start()
            self._change.notify_all()

    def close(self) -> None:
        """Ends the thread, which no longer uses the file then."""
        with self._change:
            self._is_closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while self._awaits_turn():
            try:
                self._file.sync()
            except OSError as error:
                self.error, self.has_failed = error, True
                self._is_dirty = True  # again in a second: while writes are refused, nobody else asks
            else:
                self.error, self.synced = None, self._asked_for
            self.is_syncing = False
            self._when_done()

    def _awaits_turn(self) -> bool:
        """Waits until something was written, and a second has passed; False at the end."""
        next_time = Machine.monotonic() + EVERY
        with self._change:
            self._change.wait_for(lambda: self._is_dirty or self._is_closed)
            self._change.wait_for(lambda: self._is_closed, next_time - Machine.monotonic())
            self.is_syncing, self._is_dirty = not self._is_closed, False
            self._asked_for = self._written
            return not self._is_closed


class AppendOnlyFile:
    """The file that effects are appended to.

    Args:
        file: open, at its end.
        policy: tells the value of ``appendfsync``.
        when_synced: called on a thread of its own when the disk, asked once in a second, is done.
        offset: of the data that are on the disk before the file begins.

    Attributes:
        error: why the last write failed; None if it did not.
        pending: bytes that are not written, as the disk is slow or has failed.
        delays: how often a write came although the disk was slow.
    """

    def __init__(
        self, file: File, policy: Callable[[], str], when_synced: Callable[[], None], offset: int = 0
    ) -> None:
        self._file = file
        self._written = self._synced = offset
        self._policy = policy
        self._syncer = Syncer(file, when_synced)
        self._whole = file.size  # up to here it holds whole writes
        self._is_torn = False  # a write failed, or a signal interrupted it: there may be something behind
        self._delayed_since: float | None = None
        self._write_error: OSError | None = None
        self.pending = b""
        self.delays = 0

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._whole

    @property
    def error(self) -> OSError | None:
        """Why the disk failed."""
        return self._write_error or self._syncer.error

    @property
    def may_lack_something(self) -> bool:
        """Whether the disk may lack what it was asked for when it failed, although it works again."""
        return self._syncer.has_failed

    @property
    def is_syncing(self) -> bool:
        """Whether the thread waits for the disk."""
        return self._syncer.is_syncing

    @property
    def synced(self) -> int:
        """The offset up to which the effects are on the disk."""
        return max(self._synced, self._syncer.synced)

    def is_up_to(self, offset: int) -> None:
        """No effect up to an offset is missing here: those behind the last one are no part of the file."""
        if self.synced >= self._written and self._policy() != "no":
            self._written = self._synced = offset

    def write(self, data: bytes, offset: int = 0) -> None:
        """Writes some effects, and what could not be written before.

        Args:
            data: the effects.
            offset: up to which they reach.

        Raises:
            OSError: they are not durable, and ``always`` says that they must be.
        """
        self.pending = self.pending + data if self.pending else data
        policy = self._policy()
        if policy == "everysec" and self._is_slow():
            return
        self._delayed_since = None
        try:
            self._write_pending()
            self._written = offset
            if policy == "always":
                self._file.sync()
                self._synced = offset
        except OSError as error:
            if policy == "always":
                raise
            self._write_error = error
        if policy == "everysec" or self._write_error is not None:
            self.wake()  # after a failure, too: the tick writes

    def wake(self) -> None:
        """Has the thread call ``when_synced`` within a second, so that a tick ends though no client comes."""
        self._syncer.ask(self._written)

    def _is_slow(self) -> bool:
        """Whether a write would wait for the disk, and can come a little later."""
        if not self._syncer.is_syncing:
            return False
        now = Machine.monotonic()
        if self._delayed_since is None:
            self._delayed_since = now
        if now - self._delayed_since < LONGEST_DELAY:
            return True
        self.delays += 1
        return False

    def _write_pending(self) -> None:
        self._cut_half_a_write()
        self._is_torn = True
        try:
            self._file.write(self.pending)
        except OSError:
            with contextlib.suppress(OSError):  # the next write begins with it
                self._cut_half_a_write()
            raise
        self._whole = self._file.size
        self._write_error = None
        self.pending = b""
        self._is_torn = False

    def _cut_half_a_write(self) -> None:
        if self._is_torn:
            self._file.truncate(self._whole)
            self._is_torn = False

    def sync(self) -> None:
        """Writes what had to wait, and makes all of it durable; raises ``OSError``."""
        if self.pending:
            self._write_pending()
        try:
            self._file.sync()
        except OSError:
            self._syncer.has_failed = True
            raise

    def close(self) -> None:
        """Makes all of it durable, and closes the file.

        Raises:
            OSError: the disk fails.
        """
        self._syncer.close()
        try:
            self.sync()
        finally:
            self._file.close()

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy."""
        self._file.close()
