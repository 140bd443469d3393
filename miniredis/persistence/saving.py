"""Saves the data of a running server to its file, at once or in a forked process; loads them at the start."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine import ConfigurationError
from .child import Child, check_server_lives
from .disk import Disk
from .rdb_file import load_file, save_file, temporary

if TYPE_CHECKING:
    from ..engine import Engine
    from ..logs import ServerLog

__all__ = ["SnapshotFile"]

NO_FOLDER = "No such file or directory"

FAILED = "cannot save the data to %s: %s"


class SnapshotFile:
    """The file that ``dir`` and ``dbfilename`` name, as the engine uses it.

    Args:
        engine: whose data they are.
        log: the server's.
        later: calls a function soon, on the server's own thread and with its lock, unless it has stopped.
        disk: where the file is.

    Raises:
        ConfigurationError: there is no such folder.
    """

    def __init__(
        self,
        engine: Engine,
        log: ServerLog,
        later: Callable[[Callable[[], object]], None],
        disk: Disk | None = None,
    ) -> None:
        self._engine, self._log, self._later, self._disk = engine, log, later, disk or Disk()
        self._child: Child | None = None
        self._number = 0  # of the child
        config = engine.config
        try:
            check_folder(config["dir"])
        except ValueError as refusal:
            raise ConfigurationError("dir", str(refusal), config["dir"]) from None
        config.guard("dir", check_folder)
        config.listen(lambda: config.learn("dir", os.path.abspath(config["dir"])))  # noqa: PTH100  (resolves "..")

    @property
    def path(self) -> Path:
        """Where the file is."""
        return Path(self._engine.config["dir"]) / self._engine.config["dbfilename"]

    def load(self) -> Generator[None, None, None]:
        """Loads the file, in steps, into an engine that never had any data; without a file it stays empty.

        Raises:
            DamagedFileError: the file cannot be loaded.
            OSError: it cannot be read.
        """
        engine = self._engine
        has_data = engine.keyspace.changes or any(map(len, engine.keyspace.databases))
        if has_data or not engine.config["dbfilename"]:
            return
        found = yield from load_file(self._disk, self.path, engine)
        if found is not None:
            engine.saves.loaded, engine.saves.expired = found.keys, found.expired
            if found.position is not None:
                engine.replication.restore(found.position, found.expired_keys)
            self._log.info("loaded %d keys from %s", found.keys, self.path)

    def save(self) -> None:
        """Saves the data now; raises ``OSError``."""
        try:
            self._write()
        except OSError as error:
            self._log.warning(FAILED, self.path, error)
            raise

    def _write(self, check: Callable[[], None] = lambda: None) -> None:
        save_file(self._disk, self.path, self._engine, check)

    def start(self) -> None:
        """Begins to save the data as they are now, in a process of its own; raises ``OSError``."""
        self._number += 1
        try:
            server_lives = partial(check_server_lives, os.getpid())
            self._child = Child(partial(self._write, server_lives), partial(self._when_over, self._number))
        except OSError as error:
            self._log.warning(FAILED, self.path, error)
            raise
        self._engine.saves.child_begins(self._child)

    def _when_over(self, number: int, failure: str) -> None:
        self._later(partial(self._end, number, failure))

    def _end(self, number: int, failure: str) -> None:
        child, clock = self._child, self._engine.environment.clock
        if child is None or number != self._number or clock is None:
            return  # it was cancelled
        self._child = None
        self._engine.saves.copied = self._engine.saves.child_is_over()
        if failure:
            self._log.warning(FAILED, self.path, failure)
            self._remove_unfinished(child)
        self._engine.end_save(clock(), has_succeeded=not failure)

    def cancel(self) -> None:
        """Ends what ``start`` began."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            self._engine.saves.child_is_over()
            self._remove_unfinished(child)

    def _remove_unfinished(self, child: Child) -> None:
        with contextlib.suppress(OSError):
            self._disk.remove(temporary(self.path, child.pid))

    def close(self) -> None:
        """The server has stopped: saves the data, if the directive ``save`` asks for it."""
        saves = self._engine.saves
        if self._engine.shutdown_requested:  # the command has saved them, unless it was not to
            saves.cancel()
        else:
            saves.write_at_end(is_asked_for=False)


def check_folder(value: str) -> None:
    """Raises ``ValueError`` where the directive ``dir`` names no folder."""
    try:
        is_folder = bool(value) and Path(value).is_dir()
    except OSError as error:  # the name is too long, or a folder on the way is closed to us
        raise ValueError(error.strerror) from None
    if not is_folder:
        raise ValueError(NO_FOLDER)
