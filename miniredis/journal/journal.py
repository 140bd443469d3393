"""The journal of one server: opened when it starts, told the effects of each tick, closed when it stops."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine import ConfigurationError
from ..engine.replies import pack
from .append_only import AppendOnlyFile
from .child import Child
from .damage import DamagedFileError
from .disk import Disk, File
from .folder import Folder
from .loading import load
from .rewriting import Rewriting
from .snapshots import base_ending, base_of

if TYPE_CHECKING:
    from ..engine import Engine
    from ..logs import ServerLog

__all__ = ["Journal"]


class Journal:
    """An append-only file, whose folder is kept to this server; ``load`` or ``begin`` must follow.

    Args:
        engine: whose effects are written.
        log: the server's.
        later: calls a function soon on the server's thread, with its lock held, and ends a tick then.
        disk: where the files are.
        start_child: how a process that rewrites is started.

    Attributes:
        folder: where the files are.
        base_size: its size when it was rewritten the last time, or when the server started.

    Raises:
        BlockingIOError: another server keeps its data in this folder.
        OSError: the disk fails.
    """

    _file: AppendOnlyFile

    def __init__(
        self,
        engine: Engine,
        log: ServerLog,
        later: Callable[[Callable[[], object]], None],
        disk: Disk | None = None,
        start_child: type[Child] = Child,
    ) -> None:
        self._engine, self._log, self._disk = engine, log, disk or Disk()
        self._later = later
        self._files = Folder(engine.config, self._disk)
        self.folder = self._files.path
        self._rewriting = Rewriting(
            engine, self._disk, self.folder, partial(start_child, when_over=self._child_is_over)
        )
        self._is_open = False
        self._size_before = self.base_size = 0

    # Opening

    def load(self) -> Generator[None, None, None]:
        """Puts the data of the files into the engine, in steps, and keeps what is done from then on.

        Until the last step it changes no file, but that it moves the one file of Redis 6 into the folder.

        Raises:
            ConfigurationError: the engine has data that no file knows of.
            DamagedFileError: a file cannot be read.
            OSError: the disk fails.
        """
        if any(map(len, self._engine.keyspace.databases)):
            raise ConfigurationError("appendonly", "the engine has data already, and no file has them", "yes")
        self._files.read_manifest()
        torn = yield from load(self._disk, self.folder, self._files.manifest, self._engine)
        for path, size in torn.items():
            self._cut(path, size)
        self._open()

    def _cut(self, path: Path, size: int) -> None:
        self._log.warning(
            "%s ends in the middle of what was never answered: it is cut to its first %d bytes", path, size
        )
        file = self._disk.append(path)
        file.truncate(size)
        file.sync()
        file.close()

    def _open(self) -> None:
        files, disk = self._files, self._disk
        manifest = files.manifest
        if not manifest.files:
            manifest = files.with_base(manifest, base_ending(self._engine))
            self._write_base(files.base(manifest))
        if manifest.increments:
            self._append_to(disk.append(files.last_increment(manifest)))
        else:
            manifest = files.with_increment(manifest)
            self._append_to(disk.create(files.last_increment(manifest)))
        if manifest != files.manifest:
            files.save_manifest(manifest)
        files.remove_left_behind()
        self._size_before = sum(disk.size(self.folder / each.name) for each in manifest.files[:-1])
        self.base_size = self.size
        self._engine.record_effects()
        self._engine.take_effects()

    def _write_base(self, path: Path) -> None:
        self._disk.replace(path, base_of(self._engine), path.with_name(f"temp-{path.name}"))

    def _append_to(self, file: File) -> None:
        config = self._engine.config
        self._file = AppendOnlyFile(file, lambda: config["appendfsync"], self._synced)
        self._is_open = True

    def _synced(self) -> None:
        self._later(lambda: None)  # the tick writes what had to wait

    # While the server runs

    @property
    def size(self) -> int:
        """Bytes of all files that the next start will read."""
        return self._size_before + self._file.size

    def write(self, effects: Iterable[list[bytes]]) -> None:
        """Writes what a tick did, before its replies are sent.

        Where that fails and ``always`` does not hold, writing commands are refused until it succeeds.

        Raises:
            OSError: it is not durable, and ``always`` says that it must be.
        """
        data = b"".join(map(pack, map(tuple, effects)))
        file = self._file
        if data or file.pending:
            file.write(data)
        self._engine.conditions.fail_disk(file.error)
        is_between = not (file.pending or self._engine.conditions.busy)  # not in the middle of a script
        if is_between and self._rewriting.child is None:
            self._rewrite_if_needed()

    def reload(self) -> bool:
        """Loads all data again, as at the start; False, with all data gone, if they cannot be loaded."""
        engine = self._engine
        self.write(engine.take_effects())
        effects, engine.effects = engine.effects, None
        changes = engine.keyspace.changes
        engine.keyspace.flush()
        engine.libraries.flush()
        try:
            for _ in load(self._disk, self.folder, self._files.manifest, engine):
                pass
        except (DamagedFileError, OSError) as error:
            self._log.error("cannot load the append-only file: %s", error)
            return False
        finally:
            engine.effects = effects
            engine.keyspace.changes = changes
        return True

    # Rewriting

    @property
    def is_rewriting(self) -> bool:
        """Whether a child rewrites the file now."""
        return self._rewriting.child is not None

    def rewrite(self) -> bool:
        """Rewrites the file when the tick ends; False if that is being done already."""
        if self.is_rewriting:
            return False
        self._rewriting.is_asked_for = True
        return True

    def _rewrite_if_needed(self) -> None:
        rewriting = self._rewriting
        if not (rewriting.is_asked_for or rewriting.is_due(self.size, self.base_size)):
            return
        self._log.info("rewriting the append-only file")
        try:
            self._start_increment()
            rewriting.begin()
        except OSError as error:
            self._fail_rewriting(error)

    def _fail_rewriting(self, reason: object) -> None:
        """All is kept as before: the old base and the increments behind it are good."""
        self._rewriting.fail()
        self._log.error("cannot rewrite the append-only file: %s", reason)

    def _start_increment(self) -> None:
        """What is written from now on is not in the data of this moment."""
        old = self._file
        old.sync()  # only the last file may be torn
        manifest = self._files.with_increment(self._files.manifest)
        new = self._disk.create(self._files.last_increment(manifest))
        try:
            self._files.save_manifest(manifest)
        except OSError:
            new.close()
            raise
        self._append_to(new)
        self._size_before += old.size
        self._engine.begin_effects()
        old.close()

    def _child_is_over(self, succeeded: bool) -> None:
        self._later(lambda: self._end_rewriting(succeeded=succeeded))

    def _end_rewriting(self, *, succeeded: bool) -> None:
        if self._rewriting.child is None:
            return
        path = self._rewriting.end()
        try:
            if succeeded:
                self._replace_base(path)
            else:
                self._fail_rewriting("the child that writes the new base failed")
                self._disk.remove(path)
        except OSError as error:
            self._fail_rewriting(error)

    def _replace_base(self, path: Path) -> None:
        manifest = self._files.with_base(self._files.manifest, base_ending(self._engine))
        base = self._files.base(manifest)
        self._disk.rename(path, base)
        self._disk.sync_folder(self.folder)
        self._files.save_manifest(manifest)
        self._size_before = self._disk.size(base)
        self.base_size = self.size
        self._log.info("rewrote the append-only file: %d bytes", self.base_size)
        self._files.remove_history()

    def facts(self) -> dict[str, int | str]:
        """What INFO tells of it."""
        return {
            "aof_current_size": self.size,
            "aof_base_size": self.base_size,
            "aof_pending_rewrite": 0,
            "aof_buffer_length": len(self._file.pending),
            "aof_pending_bio_fsync": int(self._file.is_syncing),
            "aof_delayed_fsync": self._file.delays,
            **self._rewriting.facts(),
        }

    # The end

    def close(self) -> None:
        """Makes all that was written durable.

        Raises:
            OSError: the disk fails.
        """
        self._rewriting.abandon()
        try:
            if self._is_open:
                self._file.close()
        finally:
            self._files.close()

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies, the lock's among them, so that it ends with the parent."""
        if self._is_open:
            self._file.leave_to_parent()
        self._files.close()
