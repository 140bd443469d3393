"""BGREWRITEAOF while ``appendonly no``: a base with all data, and a manifest that names only it.

A later start with ``appendonly yes`` loads these data. Effects are not written, so the base does not change
until the next BGREWRITEAOF.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.protocol.errors import NO_REWRITING, CommandError
from .child import Child
from .damage import DamagedFileError
from .disk import Disk
from .folder import Folder
from .loading import reload
from .rewriting import Rewriting
from .snapshots import base_ending

if TYPE_CHECKING:
    from ..engine import Engine
    from ..logs import ServerLog

__all__ = ["BaseWriter"]


class BaseWriter:
    """Writes bases for a server whose append-only file is off; the folder is locked only while it writes one.

    Args:
        engine: whose data are written.
        log: the server's.
        later: calls a function soon on the server's thread, with its lock held, and ends a tick then.
        disk: where the files are.
        start_child: how a process that writes is started.
    """

    def __init__(
        self,
        engine: Engine,
        log: ServerLog,
        later: Callable[[Callable[[], object]], None],
        disk: Disk | None = None,
        start_child: type[Child] = Child,
    ) -> None:
        self._engine, self._log, self._disk = engine, log, disk or Disk()
        self._rewriting = Rewriting(engine, log, later, self._disk, self._use_base, start_child)
        self._files: Folder | None = None

    def _open(self) -> Folder:
        files = Folder(self._engine.config, self._disk)
        try:
            files.read_manifest()
        except BaseException:
            files.close()
            raise
        return files

    def _close(self) -> None:
        if self._files is not None:
            files, self._files = self._files, None
            files.close()

    @property
    def is_rewriting(self) -> bool:
        """Whether a child writes a base now."""
        return self._rewriting.is_at_work

    def rewrite(self) -> bool:
        """Writes a base as soon as no other child is at work; False if that is being done already.

        Raises:
            CommandError: the manifest cannot be read, the disk fails, another server keeps its data in the
                folder, or there can be no child.
        """
        try:
            if self._files is None:
                self._files = self._open()
                self._files.remove_left_behind()
            may_begin = self._rewriting.ask()
            self._begin_if_due(self._files)
        except (DamagedFileError, OSError) as error:
            self._fail(error)
            raise CommandError(NO_REWRITING) from None
        return may_begin

    def write(self, _effects: bytes) -> None:
        """Begins, at the end of a tick, what was asked for while another child was at work."""
        if self._files is not None:
            try:
                self._begin_if_due(self._files)
            except OSError as error:
                self._fail(error)

    def _begin_if_due(self, files: Folder) -> None:
        if self._rewriting.is_asked_for and self._rewriting.may_begin:
            self._rewriting.begin(files.path)

    def _fail(self, reason: Exception) -> None:
        self._rewriting.fail(reason)
        self._close()

    def _use_base(self, path: Path | None) -> None:
        files = self._files
        try:
            if path is not None and files is not None:
                files.use_base(path, files.with_base(files.manifest, base_ending(self._engine), is_all=True))
                files.remove_history()
        finally:
            self._close()

    def begin_again(self) -> None:
        """All data were replaced; the last base is what it was."""

    def reload(self) -> bool:
        """Replaces all data by those of the files; False if that fails. Without files it changes nothing."""
        try:
            files = self._files or self._open()
        except (DamagedFileError, OSError) as error:
            self._log.warning("cannot load the append-only file: %s", error)
            return False
        try:
            return not files.manifest.files or reload(
                self._disk, files.path, files.manifest, self._engine, self._log
            )
        finally:
            if files is not self._files:
                files.close()

    def facts(self) -> dict[str, int | str]:
        """What INFO tells of it."""
        return self._rewriting.facts()

    def close(self) -> None:
        """Ends the child that is at work; the files are what they were before it."""
        self._rewriting.abandon()
        self._close()

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy of the lock."""
        if self._files is not None:
            self._files.leave_to_parent()
            self._files = None
