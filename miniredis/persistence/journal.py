"""The journal of one server: opened when it starts, told the effects of each tick, closed when it stops."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine import ConfigurationError
from ..engine.protocol.errors import NO_REWRITING, CommandError
from .child import Child
from .disk import Disk
from .folder import Folder
from .increments import Increments
from .loading import load, reload
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
        base_size: its size when it was rewritten the last time. From a start on it is that of the base, as in
            Redis, so that what it has grown by before counts, too.

    Raises:
        BlockingIOError: another server keeps its data in this folder.
        OSError: the disk fails.
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
        self._later = later
        self._rewriting = Rewriting(engine, log, later, self._disk, self._use_base, start_child)
        self._history, self._acks = engine.replication.history, engine.replication.replicas.acks
        self._failure: OSError | None = None
        self.base_size = 0
        self._files = Folder(engine.config, self._disk)
        try:
            self.folder = self._files.path
            self._increments = Increments(
                self._files, self._disk, engine.config, self._synced, lambda: self._history.offset
            )
        except BaseException:
            self._files.close()
            raise

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

    def begin(self) -> None:
        """Keeps what the engine has, and does from now on; a child writes the data as the first base.

        Until it has, the folder is as it was before for whoever starts with it, and a kill loses the rest.

        Raises:
            DamagedFileError: the manifest cannot be read.
            OSError: the disk fails, or there can be no child. Nothing is kept then, and nothing is lost.
        """
        self._files.read_manifest()
        self._files.remove_left_behind()
        self._increments.begin_unnamed()
        self._engine.recording.start()
        self._rewriting.ask()
        if self._rewriting.may_begin:
            self._rewriting.begin(self.folder)

    def _cut(self, path: Path, size: int) -> None:
        self._log.warning(
            "%s ends in the middle of what was never answered: it is cut to its first %d bytes", path, size
        )
        with contextlib.closing(self._disk.append(path)) as file:
            file.truncate(size)
            file.sync()

    def _open(self) -> None:
        files, disk = self._files, self._disk
        manifest = files.manifest
        is_new = not manifest.files
        if is_new:
            manifest = files.with_base(manifest, base_ending(self._engine))
            self._write_base(files.base(manifest))
        manifest = self._increments.open(manifest)
        if manifest != files.manifest:
            files.save_manifest(manifest)
        files.remove_left_behind()
        if not is_new:  # Redis does not count the empty base that a file begins with
            self._increments.size_before = sum(
                disk.size(self.folder / each.name) for each in manifest.files[:-1]
            )
            self.base_size = disk.size(files.base(manifest)) if manifest.base else 0
        self._engine.recording.start()
        self._engine.recording.take()

    def _write_base(self, path: Path) -> None:
        self._disk.replace(path, base_of(self._engine), path.with_name(f"temp-{path.name}"))

    def _synced(self) -> None:
        self._later(lambda: None)  # the tick writes what had to wait

    # While the server runs

    @property
    def size(self) -> int:
        """Bytes of all files that the next start will read, but for an empty base that they began with."""
        return self._increments.size_before + self._increments.file.size

    def write(self, effects: bytes) -> None:
        """Writes what a tick did, before its replies are sent.

        Where that fails and ``always`` does not hold, writing commands are refused until it succeeds.

        Raises:
            OSError: it is not durable, and ``always`` says that it must be.
        """
        if self._failure is not None:
            raise self._failure
        self._append(effects)
        if not self._increments.file.pending and self._must_rewrite and self._rewriting.may_begin:
            self._begin_rewriting()
        if self._rewriting.has_failed and self._lacks_base:
            self._increments.file.wake()  # for the tick in which it is tried again

    def _append(self, effects: bytes) -> None:
        file = self._increments.file
        if effects or file.pending:
            file.write(effects, self._history.offset)
        else:
            file.is_up_to(self._history.offset)
        if self._acks.note_synced(self._increments.synced):
            self._later(self._acks.look)
        self._engine.conditions.set_disk_error(file.error)

    def begin_again(self) -> None:
        """All data were replaced: what the files have stays there until these are written in its place."""
        self._rewriting.abandon()
        self._rewriting.ask()
        try:
            self._increments.begin_next(self._engine.recording.name_database, is_of_new_data=True)
        except OSError as error:
            self._increments.need_base()
            self._rewriting.fail(error)

    def reload(self) -> bool:
        """Loads all data again, as at the start; False, with all data gone, if they cannot be loaded.

        Also False, with all data as they are, while no base has them.
        """
        if self._increments.awaits_base:
            return False
        self.write(self._engine.recording.take())
        return reload(self._disk, self.folder, self._files.manifest, self._engine, self._log)

    # Rewriting

    @property
    def is_rewriting(self) -> bool:
        """Whether a child rewrites the file now."""
        return self._rewriting.is_at_work

    def rewrite(self) -> bool:
        """Begins to rewrite the file, at once or when the tick ends; False if that is being done already.

        Raises:
            CommandError: the disk fails, or there can be no child.
        """
        if not self._rewriting.ask():
            return False
        if not self._rewriting.may_begin:
            return True
        try:
            self._append(self._engine.recording.take())  # what the tick did before: the base will have it
        except OSError as error:
            self._failure = error  # for the end of the tick: nothing of it may be answered
            return True
        if not self._increments.file.pending and not self._begin_rewriting():
            raise CommandError(NO_REWRITING)
        return True

    @property
    def _must_rewrite(self) -> bool:
        rewriting = self._rewriting
        return rewriting.is_asked_for or (
            (self._lacks_base or rewriting.has_grown(self.size, self.base_size)) and rewriting.may_retry
        )

    @property
    def _lacks_base(self) -> bool:
        """Whether a start would not find all, so that a base is to be written, also if no client comes."""
        increments = self._increments
        return increments.awaits_base or (increments.may_lack_something and increments.file.error is None)

    def _begin_rewriting(self) -> bool:
        """Whether that has succeeded."""
        try:
            self._increments.begin_next(self._engine.recording.name_database)
            self._rewriting.begin(self.folder)
        except OSError as error:
            self._rewriting.fail(error, had_begun=False)
            return False
        return True

    def _use_base(self, path: Path | None) -> None:
        try:
            if path is not None:
                self._replace_base(path)
        except OSError:
            if self._increments.awaits_base:
                self._files.skipped += 1  # nobody knows which manifest is on the disk, and what it names
            raise

    def _replace_base(self, path: Path) -> None:
        manifest = self._increments.name(self._files.manifest)
        manifest = self._files.with_base(manifest, base_ending(self._engine))
        self._files.use_base(path, manifest)
        self._increments.is_named(size_before=self._disk.size(self._files.base(manifest)))
        self.base_size = self.size
        self._log.info("rewrote the append-only file: %d bytes", self.base_size)
        self._files.remove_history()

    def facts(self) -> dict[str, int | str]:
        """What INFO tells of it."""
        file = self._increments.file
        return {
            "aof_current_size": self.size,
            "aof_base_size": self.base_size,
            "aof_pending_rewrite": 0,
            "aof_buffer_length": len(file.pending),
            "aof_pending_bio_fsync": int(file.is_syncing),
            "aof_delayed_fsync": file.delays,
            **self._rewriting.facts(),
        }

    # The end

    def close(self, *, is_end: bool = True) -> None:
        """Makes all that was written durable.

        Args:
            is_end: the server stops, and must not do so without a first base.

        Raises:
            OSError: the disk fails.
        """
        with contextlib.ExitStack() as whatever_fails:
            whatever_fails.callback(self._files.close)
            if self._increments.last is not None:
                whatever_fails.callback(self._increments.last.close)
            self._rewriting.abandon()
            if self._increments.awaits_base and is_end:
                self._write_first_base()

    def _write_first_base(self) -> None:
        """Does what the child was to do."""
        files = self._files
        manifest = files.with_base(files.with_increment(files.manifest), base_ending(self._engine))
        self._write_base(files.base(manifest))
        self._disk.create(files.last_increment(manifest)).close()
        files.save_manifest(manifest)
        files.remove_history()

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies, the lock's among them, so that it ends with the parent."""
        if self._increments.last is not None:
            self._increments.last.leave_to_parent()
        self._files.leave_to_parent()
