"""A file with a snapshot of all data, Redis's ``dump.rdb``: whole at every moment, and read at the start.

A snapshot is written to a temporary file beside it, made durable, and renamed. So a crash, or a full disk,
leaves the file as it was before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..engine.rdb import snapshot
from ..engine.rdb.loading import BadSnapshotError, Loaded, LoadProgress, load_in_steps
from ..engine.rdb.reader import FileReader
from .child import note_keys
from .damage import DamagedFileError

if TYPE_CHECKING:
    from ..engine import Engine
    from .disk import InputFile

__all__ = ["FileSystem", "load_file", "save_file", "temporary"]


class FileSystem(Protocol):
    """What is asked of a disk; all of it raises ``OSError``. ``Disk`` is one."""

    def replace(self, path: Path, content: Iterable[bytes], temporary: Path) -> None:
        """Writes a file so that it holds what it held before or all of this, whatever happens."""

    def open(self, path: Path) -> InputFile:
        """Opens a file to read it."""


def temporary(path: Path, process: int) -> Path:
    """The file that a process writes before it renames it to ``path``, named as Redis names it."""
    return path.with_name(f"temp-{process}.rdb")


def save_file(disk: FileSystem, path: Path, engine: Engine, check: Callable[[], None] = lambda: None) -> None:
    """Writes all data of an engine to a file.

    Args:
        disk: where the file is.
        path: which one.
        engine: whose data.
        check: called now and then, and before the new file takes the place of the old one.

    Raises:
        OSError: the disk fails; the file is as it was.
    """
    codes = [library.code for library in engine.libraries.libraries]
    blocks = snapshot.write(
        engine.keyspace,
        codes,
        memory=engine.environment.memory(),
        has_checksum=engine.config["rdbchecksum"] == "yes",
        position=engine.replication.position(),
        note_keys=note_keys,
    )
    disk.replace(path, checked(blocks, check), temporary(path, os.getpid()))


def checked(blocks: Iterable[bytes], check: Callable[[], None]) -> Iterator[bytes]:
    for block in blocks:
        yield block
        check()


def load_file(disk: FileSystem, path: Path, engine: Engine) -> Generator[None, None, Loaded | None]:
    """Puts all data of a file into an engine that has none, in steps; None where there is no such file.

    Raises:
        DamagedFileError: it is damaged, or has what is not here. The engine is empty then, as it is where the
            generator is closed before its end.
        OSError: it cannot be read; the same is true.
    """
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return None
    progress = LoadProgress(engine.now.wall // 1_000_000, file.size)
    engine.set_progress(progress)
    try:
        return (
            yield from load_in_steps(
                FileReader(file.read, file.size),
                engine.keyspace,
                engine.libraries,
                engine.packing,
                progress=progress,
                keeps_expired=engine.conditions.is_replica,
                checks=engine.config["rdbchecksum"] == "yes",
                is_whole=True,
                newest=engine.version.rdb,
            )
        )
    except BadSnapshotError as error:
        raise DamagedFileError(path, str(error)) from None
    finally:
        engine.set_progress(None)
        file.close()
