"""The data files of one server: loads, opens and closes its append-only file and its snapshot."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

from ..engine.replication.acks import NOTHING
from .damage import DamagedFileError

if TYPE_CHECKING:
    from ..engine import Engine
    from ..engine.environment import JournalInterface
    from ..logs import ServerLog
    from .base_writer import BaseWriter
    from .journal import Journal
    from .saving import SnapshotFile

__all__ = ["ServerFiles"]

NOT_TURNED: Final = "cannot turn appendonly to %s: %s"
REFUSAL: Final = "Unable to turn on AOF. Check server logs."
REFUSAL_TO_END: Final = "Unable to turn off AOF. Check server logs."

NOT_CLOSED: Final = "cannot write the end of the append-only file: %s"


class ServerFiles:
    """The append-only file and the snapshot of a server, as far as its directives ask for them.

    Args:
        engine: has the data.
        log: the server's log.
        later: calls a function soon on the server's thread, with its lock held, and then ends a tick.

    Attributes:
        journal: writes the append-only file; None while that is loaded, and while it is off and BGREWRITEAOF
            has not asked for a base.
        is_loading: ``load`` has begun and has not ended.
    """

    def __init__(self, engine: Engine, log: ServerLog, later: Callable[[Callable[[], object]], None]) -> None:
        self._engine, self._log, self._later = engine, log, later
        self._snapshots: SnapshotFile | None = None
        self._journal: Journal | None = None  # set while it loads, too
        self._base_writer: BaseWriter | None = None  # set while the append-only file is off
        self.journal: Journal | BaseWriter | None = None
        self.is_loading = False
        engine.config.switch("appendonly", self._turn)

    def load(self) -> Generator[None, None, None]:
        """Loads the data from disk in steps, and opens the files that the directives ask for.

        With ``appendonly yes`` it loads the append-only file and no snapshot, as Redis does.

        Raises:
            ConfigurationError, DamagedFileError, OSError: as ``Journal`` and ``SnapshotFile``.
        """
        engine, config = self._engine, self._engine.config
        self.is_loading = True
        # imported only here: most servers have no files
        if config["save"] or "dbfilename" in config.given:
            from .saving import SnapshotFile

            self._snapshots = SnapshotFile(engine, self._log, self._later)
            engine.environment = engine.environment._replace(snapshots=self._snapshots)
            if config["appendonly"] == "no":
                yield from self._snapshots.load()
        if config["appendonly"] == "yes":
            from .journal import Journal

            self._journal = Journal(engine, self._log, self._later)
            yield from self._journal.load()
            self._keep_in(self._journal)
        self.is_loading = False

    def _turn(self, value: str) -> None:
        """Opens or closes the append-only file, for CONFIG SET appendonly."""
        try:
            if value == "yes":
                self._begin_journal()
            else:
                self._end_journal()
        except (OSError, DamagedFileError) as error:
            self._log.error(NOT_TURNED, value, error)
            raise ValueError(REFUSAL if value == "yes" else REFUSAL_TO_END) from None

    def begin_base_writer(self) -> JournalInterface:
        """Writes bases of the append-only file from now on, while that is off; returns what writes them."""
        from .base_writer import BaseWriter

        self._base_writer = writer = BaseWriter(self._engine, self._log, self._later)
        self._keep_in(writer)
        return writer

    def _end_base_writer(self) -> None:
        if self._base_writer is not None:
            self._base_writer.close()
            self._base_writer = None
            self._keep_in(None)

    def _begin_journal(self) -> None:
        from .journal import Journal

        self._end_base_writer()
        self._journal = journal = Journal(self._engine, self._log, self._later)
        try:
            journal.begin()
        except BaseException:
            with contextlib.suppress(OSError):
                journal.close(is_end=False)
            self._forget_journal()
            raise
        self._keep_in(journal)

    def _end_journal(self) -> None:
        assert self._journal is not None
        self._journal.write(self._engine.recording.take())
        try:
            self._journal.close(is_end=False)
        finally:
            self._forget_journal()

    def _forget_journal(self) -> None:
        self._journal = None
        self._keep_in(None)
        self._engine.recording.stop()
        self._engine.conditions.set_disk_error(None)
        acks = self._engine.replication.replicas.acks
        if acks.note_synced(NOTHING):
            acks.look()

    def _keep_in(self, journal: Journal | BaseWriter | None) -> None:
        self.journal = journal
        self._engine.environment = self._engine.environment._replace(journal=journal)

    def close(self) -> OSError | None:
        """Writes the last changes and closes the files; returns the error if it cannot."""
        if self._snapshots is not None and not self.is_loading:
            self._snapshots.close()
        self._end_base_writer()
        if self._journal is None:
            return None
        try:
            try:
                if self.journal is not None:
                    self.journal.write(self._engine.recording.take())
            finally:  # the next server of this process may use the directory
                self._journal.close()
        except OSError as error:
            self._log.critical(NOT_CLOSED, error)
            return error
        finally:
            self._engine.recording.stop()
            # A fork must not close what others have by now.
            self._journal = self.journal = None
        return None

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies of descriptors."""
        for each in (self._journal, self._base_writer):
            if each is not None:
                each.leave_to_parent()
