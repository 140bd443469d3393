"""The files of one server: which of them there are, when they are loaded, written and closed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .engine import Engine
    from .journal.journal import Journal
    from .journal.saving import SnapshotFile
    from .logs import ServerLog

__all__ = ["ServerFiles"]

NOT_CLOSED: Final = "cannot write the end of the append-only file: %s"


class ServerFiles:
    """The files in which a server keeps its data, if it does.

    Args:
        engine: whose data they are.
        log: the server's.
        later: calls a function soon on the server's thread, with its lock held, and ends a tick then.

    Attributes:
        is_loading: ``load`` has begun and has not ended.
    """

    def __init__(self, engine: Engine, log: ServerLog, later: Callable[[Callable[[], object]], None]) -> None:
        self._engine, self._log, self._later = engine, log, later
        self._snapshots: SnapshotFile | None = None
        self._journal: Journal | None = None  # also while it is being loaded
        self.journal: Journal | None = None
        self.is_loading = False

    def load(self) -> Generator[None, None, None]:
        """Loads the data that the server had, in steps, and keeps them on disk from then on, if it is to.

        Where there is an append-only file, nothing else is loaded, as in Redis.

        Raises:
            ConfigurationError, DamagedFileError, OSError: as ``Journal`` and ``SnapshotFile``.
        """
        engine, config = self._engine, self._engine.config
        self.is_loading = True
        # loaded only here: most servers have no files
        if config["save"] or "dbfilename" in config.given:
            from .journal.saving import SnapshotFile

            self._snapshots = SnapshotFile(engine, self._log, self._later)
            engine.environment = engine.environment._replace(snapshots=self._snapshots)
            if config["appendonly"] == "no":
                yield from self._snapshots.load()
        if config["appendonly"] == "yes":
            from .journal.journal import Journal

            self._journal = Journal(engine, self._log, self._later)
            yield from self._journal.load()
            self._keep_in(self._journal)
        self.is_loading = False

    def _keep_in(self, journal: Journal | None) -> None:
        self.journal = journal
        self._engine.environment = self._engine.environment._replace(journal=journal)

    def close(self) -> OSError | None:
        """The server has stopped: writes what is to be written; returns why that could not be."""
        if self._snapshots is not None and not self.is_loading:
            self._snapshots.close()
        if self._journal is None:
            return None
        try:
            if self.journal is not None:
                self.journal.write(self._engine.take_effects())
            self._journal.close()
        except OSError as error:
            self._log.critical(NOT_CLOSED, error)
            return error
        finally:
            self._engine.stop_recording()
        return None

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies of descriptors."""
        if self._journal is not None:
            self._journal.leave_to_parent()
