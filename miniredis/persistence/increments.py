"""The increments of an append-only file: the effects since its base, of which the last one is written now."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .append_only import AppendOnlyFile

if TYPE_CHECKING:
    from ..engine import Config
    from .disk import Disk, File
    from .folder import Folder
    from .manifest import Manifest

__all__ = ["Increments"]


class Increments:
    """The increments of one append-only file.

    Args:
        files: the folder.
        disk: where it is.
        config: says when what is written is made durable.
        when_synced: called on a thread of its own when the disk, asked once in a second, is done.
        offset: tells up to which offset there are effects.

    Attributes:
        last: the one that is written; None before there is one.
        size_before: bytes of the files before it.
    """

    def __init__(
        self,
        files: Folder,
        disk: Disk,
        config: Config,
        when_synced: Callable[[], None],
        offset: Callable[[], int] = lambda: 0,
    ) -> None:
        self._files, self._disk, self._offset = files, disk, offset
        self._policy, self._when_synced = lambda: config["appendfsync"], when_synced
        self._unnamed: Path | None = None
        self._count = 0  # of those that were unnamed at first
        self._one_lacks_something = False
        self.last: AppendOnlyFile | None = None
        self.size_before = 0

    @property
    def awaits_base(self) -> bool:
        """Whether no manifest names the last one, since the base that it follows is not written yet."""
        return self._unnamed is not None

    @property
    def file(self) -> AppendOnlyFile:
        """The last one, where there is one."""
        assert self.last is not None
        return self.last

    @property
    def may_lack_something(self) -> bool:
        """Whether the disk may lack what it was asked for when it failed, and no base has that by now."""
        return self._one_lacks_something or self.file.may_lack_something

    @property
    def synced(self) -> int:
        """The offset up to which a start would find all on the disk; -1 if it would not find any of it."""
        return -1 if self.awaits_base or self.may_lack_something else self.file.synced

    def _use(self, file: File) -> None:
        self._one_lacks_something = self.last is not None and self.may_lack_something
        self.last = AppendOnlyFile(file, self._policy, self._when_synced, self._offset())

    def open(self, manifest: Manifest) -> Manifest:
        """Opens the last one that a manifest names, or makes the first one; returns the manifest with it."""
        if manifest.increments:
            self._use(self._disk.append(self._files.last_increment(manifest)))
            return manifest
        manifest = self._files.with_increment(manifest)
        self._use(self._disk.create(self._files.last_increment(manifest)))
        return manifest

    def begin_unnamed(self) -> None:
        """Begins one that follows a base which is still to be written."""
        self._count += 1
        path = self._files.unnamed_increment(self._count)
        self._use(self._disk.create(path))
        self._unnamed = path

    def begin_next(self, when_begun: Callable[[], None], *, is_of_new_data: bool = False) -> None:
        """Begins one more.

        Args:
            when_begun: called once what is written goes there, before the one before it is closed.
            is_of_new_data: it does not follow the files before it, but a base that is still to be written.
        """
        old, path = self.file, self._unnamed
        if path is None and not is_of_new_data:
            self._begin_named(old)
        else:
            self.begin_unnamed()
        if path is None:
            self.size_before += old.size
        when_begun()
        with contextlib.suppress(OSError):  # it is on the disk, or will be replaced
            old.close()
        if path is not None and self._disk.exists(path):
            self._disk.remove(path)

    def need_base(self) -> None:
        """What is written from now on follows data that the files do not have; a base puts that right."""
        self._one_lacks_something = True

    def _begin_named(self, old: AppendOnlyFile) -> None:
        old.sync()  # only the last file may be torn
        manifest = self._files.with_increment(self._files.manifest)
        new = self._disk.create(self._files.last_increment(manifest))
        try:
            self._files.save_manifest(manifest)
        except OSError:
            new.close()
            raise
        self._use(new)

    def name(self, manifest: Manifest) -> Manifest:
        """Gives the last one its name, if it has none, behind those of a manifest; returns that with it."""
        if self._unnamed is not None:
            manifest = self._files.with_increment(manifest)
            self._disk.rename(self._unnamed, self._files.last_increment(manifest))
        return manifest

    def is_named(self, *, size_before: int) -> None:
        """A manifest that names it is on the disk, and a base of some size before it."""
        self._unnamed = None
        self._one_lacks_something = False
        self.size_before = size_before
