"""The folder of an append-only file: kept to one server, with a manifest that names the files in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from .damage import DamagedFileError
from .disk import Disk
from .manifest import Manifest, ManifestError

if TYPE_CHECKING:
    from ..engine import Config

__all__ = ["Folder"]

UNNAMED: Final = "temp-{}.{}.incr"
"""An increment that no manifest names yet, as the base is not written that it follows."""


class Folder:
    """The folder of one append-only file, locked until ``close``.

    Args:
        config: names it.
        disk: where it is.

    Attributes:
        path: where it is.
        manifest: which files there are, as the disk has it.
        skipped: how many numbers of files may be taken by files that no manifest names.

    Raises:
        BlockingIOError: another server keeps its data in it.
        OSError: the disk fails.
    """

    def __init__(self, config: Config, disk: Disk) -> None:
        self._disk = disk
        self._name = config["appendfilename"]
        self._top = self.top_of(config)
        self.path = self._top / config["appenddirname"]
        self.manifest = Manifest()
        self.skipped = 0
        disk.make_folder(self.path)
        try:
            self._lock = disk.lock(self.path)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, f"another server keeps its data in {self.path}") from None

    @staticmethod
    def top_of(config: Config) -> Path:
        """The directory in which the folder is."""
        return Path(config["dir"]).absolute()

    def close(self) -> None:
        """Another server may use it."""
        self._disk.unlock(self._lock)

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy of the lock."""
        self._disk.unlock(self._lock, is_copy=True)

    # The manifest

    @property
    def _manifest_path(self) -> Path:
        return self.path / f"{self._name}.manifest"

    def read_manifest(self) -> None:
        """Reads which files there are; raises ``DamagedFileError`` and ``OSError``."""
        path, old = self._manifest_path, Manifest.of_old_file(self._name)
        if not self._disk.exists(path):
            self.manifest = Manifest()
            if self._has_old_file():
                self._upgrade(old)
            return
        try:
            self.manifest = Manifest.parse(self._disk.read(path).decode("utf-8", "surrogateescape"))
        except ManifestError as error:
            raise DamagedFileError(path, str(error)) from None
        if self.manifest == old and self._has_old_file():
            self._upgrade(old)

    def _has_old_file(self) -> bool:
        """Whether Redis 6 left its append-only file, which was one file and had no folder."""
        return self._disk.exists(self._top / self._name) and not self._disk.exists(self.path / self._name)

    def _upgrade(self, manifest: Manifest) -> None:
        """The old file becomes the base; killed in between, the next start does the rest."""
        self.save_manifest(manifest)
        self._disk.rename(self._top / self._name, self.path / self._name)
        self._disk.sync_folder(self.path)
        self._disk.sync_folder(self._top)

    def save_manifest(self, manifest: Manifest) -> None:
        """Makes durable which files there are from now on; those that it names become so first."""
        self._disk.sync_folder(self.path)
        path = self._manifest_path
        content = str(manifest).encode("utf-8", "surrogateescape")
        self._disk.replace(path, [content], path.with_name(f"temp-{path.name}"))
        self.manifest = manifest

    # The files

    def use_base(self, path: Path, manifest: Manifest) -> None:
        """Gives a durable file the name that a manifest has for its base, and saves that manifest."""
        self._disk.rename(path, self.base(manifest))
        self.save_manifest(manifest)

    def remove_left_behind(self) -> None:
        """Removes what a server that was killed was writing, and what it had replaced."""
        for path in self._disk.list(self.path):
            if path.name.startswith("temp-"):
                self._disk.remove(path)
        self.remove_history()

    def remove_history(self) -> None:
        """Removes what was replaced; only then does the manifest no longer name it."""
        for part in self.manifest.history:
            if self._disk.exists(self.path / part.name):
                self._disk.remove(self.path / part.name)
        if self.manifest.history:
            self.save_manifest(self.manifest.without_history())

    def with_increment(self, manifest: Manifest) -> Manifest:
        """A manifest with one more increment."""
        return manifest.with_increment(self._name, skipped=self.skipped)

    def with_base(self, manifest: Manifest, ending: str, *, is_all: bool = False) -> Manifest:
        """A manifest with a new base, as ``Manifest.with_base`` makes it."""
        return manifest.with_base(self._name, ending=ending, skipped=self.skipped, is_all=is_all)

    def unnamed_increment(self, number: int) -> Path:
        """Where effects are kept while the base that they follow is not written."""
        return self.path / UNNAMED.format(self._name, number)

    def last_increment(self, manifest: Manifest) -> Path:
        """Where effects are kept otherwise."""
        return self.path / manifest.increments[-1].name

    def base(self, manifest: Manifest) -> Path:
        """Where the base is."""
        return self.path / manifest.files[0].name
