"""The disk, as the journal uses it: every operation on files is here, so that tests can let it fail."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from ..windows import refusal

with contextlib.suppress(ImportError):  # on Windows
    import fcntl

__all__ = ["Disk", "File", "InputFile"]

BINARY: Final = getattr(os, "O_BINARY", 0)
"""Without it, Windows takes files for text."""


class File:
    """A file that is written at its end.

    Args:
        path: where it is.
        flags: those of ``os.open``, beside those for writing.

    Attributes:
        size: its length in bytes, as far as it was written here.
    """

    def __init__(self, path: Path, flags: int) -> None:
        self._path = path
        self._descriptor, self.size = opened(path, os.O_WRONLY | os.O_APPEND | flags)

    def write(self, data: bytes | memoryview) -> None:
        """Writes all of it; ``size`` tells how much was written where that fails."""
        written = os.write(self._descriptor, data)
        self.size += written
        if written < len(data):
            self.write(memoryview(data)[written:])

    def sync(self) -> None:
        """Makes what was written durable, which a file that was removed is not, whatever the system says."""
        os.fdatasync(self._descriptor) if hasattr(os, "fdatasync") else os.fsync(self._descriptor)
        if not os.fstat(self._descriptor).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "the file was removed", str(self._path))

    def truncate(self, size: int) -> None:
        """Cuts what is behind a length."""
        os.ftruncate(self._descriptor, size)
        self.size = size

    def close(self) -> None:
        """Closes it."""
        os.close(self._descriptor)


class InputFile:
    """A file that is read from its beginning on.

    Attributes:
        size: how many bytes it has.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor, self.size = opened(path, os.O_RDONLY)

    def read(self, most: int) -> bytes:
        """The next bytes, up to so many; none at the end."""
        return os.read(self._descriptor, most)

    def close(self) -> None:
        """Closes it."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def opened(path: Path, flags: int) -> tuple[int, int]:
    """The descriptor and the size of a file."""
    descriptor = os.open(path, flags | BINARY, 0o644)
    try:
        return descriptor, os.fstat(descriptor).st_size
    except BaseException:
        os.close(descriptor)
        raise


def release(descriptor: int) -> None:
    """Gives up a lock at once, even if a program that is being started has a copy of the descriptor."""
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


class Disk:
    """The file system. All of it raises ``OSError``."""

    def append(self, path: Path) -> File:
        """Opens a file, new or not, to write behind what is there."""
        return File(path, os.O_CREAT)

    def create(self, path: Path) -> File:
        """Opens a file to write it from the beginning."""
        return File(path, os.O_CREAT | os.O_TRUNC)

    def open(self, path: Path) -> InputFile:
        """Opens a file to read it."""
        return InputFile(path)

    def read(self, path: Path) -> bytes:
        """What a small file holds."""
        return path.read_bytes()

    def size(self, path: Path) -> int:
        """How many bytes a file has."""
        return path.stat().st_size

    def exists(self, path: Path) -> bool:
        """Whether there is such a file."""
        return path.exists()

    def list(self, folder: Path) -> list[Path]:
        """The files in a folder."""
        return sorted(folder.iterdir())

    def make_folder(self, path: Path) -> None:
        """Makes a folder, if it is not there."""
        if not path.is_dir():
            path.mkdir(mode=0o755, exist_ok=True)
            self.sync_folder(path.parent)

    def rename(self, path: Path, new: Path) -> None:
        """Renames a file, in place of one that is there; ``sync_folder`` makes that durable."""
        path.replace(new)

    def remove(self, path: Path) -> None:
        """Removes a file."""
        path.unlink()

    def sync_folder(self, path: Path) -> None:
        """Makes durable which files a folder has; Windows cannot."""
        if sys.platform == "win32":
            return
        descriptor = os.open(path, os.O_RDONLY | BINARY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def replace(self, path: Path, content: Iterable[bytes], temporary: Path) -> None:
        """Writes a file so that it holds either what it held before or all of this, whatever happens."""
        try:
            with contextlib.closing(self.create(temporary)) as file:
                for piece in content:
                    file.write(piece)
                file.sync()
            self.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):  # it may not have come to be
                self.remove(temporary)
            raise
        self.sync_folder(path.parent)

    def lock(self, folder: Path) -> int:
        """Keeps a folder to this process until the descriptor is closed; ``BlockingIOError`` if held."""
        if sys.platform == "win32":
            raise refusal("an append-only file")
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def unlock(self, descriptor: int, *, is_copy: bool = False) -> None:
        """Gives up what ``lock`` returned; a forked child only closes its copy: the lock is the parent's."""
        (os.close if is_copy else release)(descriptor)
