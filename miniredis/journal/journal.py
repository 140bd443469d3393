"""The journal of one server: opened when it starts, told the effects of each tick, closed when it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine import ConfigurationError
from ..engine.replies import pack
from .append_only import AppendOnlyFile
from .child import Child
from .damage import DamagedFileError
from .disk import Disk
from .loading import load
from .manifest import Manifest, ManifestError
from .rewriting import Rewriting
from .snapshots import base_ending, base_of

if TYPE_CHECKING:
    from ..engine import Config, Engine
    from ..logs import ServerLog

__all__ = ["Journal"]


class Journal:
    """An append-only file that is open.

    Args:
        engine: begins empty; it has the data of the file when the constructor returns.
        log: the server's.
        later: calls a function soon on the server's thread, with its lock held, and ends a tick then.
        disk: where the files are.
        start_child: how a process that rewrites is started.

    Attributes:
        folder: where the files are.
        base_size: its size when it was rewritten the last time, or when the server started.

    Raises:
        ConfigurationError: the engine has data that no file knows of.
        DamagedFileError: a file cannot be read.
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
        if any(map(len, engine.keyspace.databases)):
            raise ConfigurationError("appendonly", "the engine has data already, and no file has them", "yes")
        self._engine, self._log, self._disk = engine, log, disk or Disk()
        self._later = later
        config = engine.config
        self._name = config["appendfilename"]
        self._top = self.top_of(config)
        self.folder = self._top / config["appenddirname"]
        self._disk.make_folder(self.folder)
        try:
            self._lock = self._disk.lock(self.folder)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, f"another server keeps its data in {self.folder}") from None
        try:
            self._rewriting = Rewriting(
                engine, self._disk, self.folder, partial(start_child, when_over=self._child_is_over)
            )
            self._open()
        except BaseException:
            self._disk.unlock(self._lock)
            raise

    @staticmethod
    def top_of(config: Config) -> Path:
        """The directory in which the folder of the journal is."""
        return Path(config["dir"]).absolute()

    # Opening

    def _open(self) -> None:
        self._remove_left_behind()
        self._manifest = manifest = self._read_manifest()
        self._load()
        if not manifest.files:
            manifest = manifest.with_base(self._name, ending=base_ending(self._engine))
            self._write_base(self.folder / manifest.files[0].name)
        if not manifest.increments:
            manifest = manifest.with_increment(self._name)
        self._file = self._append_to(manifest)
        if manifest != self._manifest:
            self._save_manifest(manifest)
        self._remove_history()
        self._size_before = sum(
            self._disk.size(self.folder / each.name) for each in self._manifest.files[:-1]
        )
        self.base_size = self.size
        self._engine.record_effects()
        self._engine.take_effects()

    @property
    def _manifest_path(self) -> Path:
        return self.folder / f"{self._name}.manifest"

    def _remove_left_behind(self) -> None:
        """A server that was killed may have been writing a file that nothing names yet."""
        for path in self._disk.list(self.folder):
            if path.name.startswith("temp-"):
                self._disk.remove(path)

    def _read_manifest(self) -> Manifest:
        path = self._manifest_path
        if not self._disk.exists(path):
            return self._upgraded(Manifest.of_old_file(self._name)) if self._has_old_file() else Manifest()
        try:
            manifest = Manifest.parse(self._disk.read(path).decode("utf-8", "surrogateescape"))
        except ManifestError as error:
            raise DamagedFileError(path, str(error)) from None
        is_half_upgraded = manifest == Manifest.of_old_file(self._name) and self._has_old_file()
        return self._upgraded(manifest) if is_half_upgraded else manifest

    def _has_old_file(self) -> bool:
        """Whether Redis 6 left its append-only file, which was one file and had no folder."""
        return self._disk.exists(self._top / self._name) and not self._disk.exists(self.folder / self._name)

    def _upgraded(self, manifest: Manifest) -> Manifest:
        """The old file becomes the base; killed in between, the next start does the rest."""
        self._save_manifest(manifest)
        self._disk.rename(self._top / self._name, self.folder / self._name)
        self._disk.sync_folder(self.folder)
        self._disk.sync_folder(self._top)
        return manifest

    def _load(self) -> None:
        for path, size in load(self._disk, self.folder, self._manifest, self._engine).items():
            self._log.warning(
                "%s ends in the middle of what was never answered: it is cut to its first %d bytes",
                path,
                size,
            )
            file = self._disk.append(path)
            file.truncate(size)
            file.sync()
            file.close()

    def _save_manifest(self, manifest: Manifest) -> None:
        path = self._manifest_path
        content = str(manifest).encode("utf-8", "surrogateescape")
        self._disk.replace(path, [content], path.with_name(f"temp-{path.name}"))
        self._manifest = manifest

    def _write_base(self, path: Path) -> None:
        self._disk.replace(path, base_of(self._engine), path.with_name(f"temp-{path.name}"))

    def _remove_history(self) -> None:
        """Removes what was replaced; only then does the manifest no longer name it."""
        for part in self._manifest.history:
            if self._disk.exists(self.folder / part.name):
                self._disk.remove(self.folder / part.name)
        if self._manifest.history:
            self._save_manifest(self._manifest.without_history())

    def _append_to(self, manifest: Manifest) -> AppendOnlyFile:
        """Opens the last file of a manifest."""
        path = self.folder / manifest.increments[-1].name
        config = self._engine.config
        return AppendOnlyFile(self._disk.append(path), lambda: config["appendfsync"], self._synced)

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
            load(self._disk, self.folder, self._manifest, engine)
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
        self._file.sync()  # only the last file may be torn
        manifest = self._manifest.with_increment(self._name)
        new = self._append_to(manifest)
        try:
            self._save_manifest(manifest)
        except OSError:
            new.close()
            raise
        old, self._file = self._file, new
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
        manifest = self._manifest.with_base(self._name, ending=base_ending(self._engine))
        base = self.folder / manifest.files[0].name
        self._disk.rename(path, base)
        self._disk.sync_folder(self.folder)
        self._save_manifest(manifest)
        self._size_before = self._disk.size(base)
        self.base_size = self.size
        self._log.info("rewrote the append-only file: %d bytes", self.base_size)
        self._remove_history()

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
            self._file.close()
        finally:
            self._disk.unlock(self._lock)

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copies, the lock's among them, so that it ends with the parent."""
        self._file.leave_to_parent()
        self._disk.unlock(self._lock)
