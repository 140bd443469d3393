"""Loading: reads the files of a journal when the server starts, and does again what stands in them.

A file that ends in the middle of a command or a transaction was cut by a crash. Of the last file the torn end
is removed, if ``aof-load-truncated`` says so: what stands there was never answered. Anything else that is
wrong stops the start, since nobody knows what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..engine.rdb.loading import BadSnapshotError
from ..engine.rdb.loading import load as load_rdb
from ..engine.replay import Replay, UnknownCommandError
from .damage import DamagedFileError
from .frames import BadFrameError, TornFrameError, frames

if TYPE_CHECKING:
    from ..engine import Engine
    from .disk import Disk
    from .manifest import Manifest

__all__ = ["load"]

SNAPSHOT: Final = b"REDIS"
"""What an RDB file begins with."""


def load(disk: Disk, folder: Path, manifest: Manifest, engine: Engine) -> dict[Path, int]:
    """Does again what stands in the files of a manifest.

    Args:
        disk: where they are.
        folder: in which.
        manifest: which, and in which order.
        engine: has no data yet.

    Returns:
        The files that are torn, with the size to which each is to be cut: the last one, or none.

    Raises:
        DamagedFileError: a file is missing or damaged, or is torn and may not be cut.
        OSError: the disk fails.
    """
    replay = Replay(engine)
    try:
        return dict(load_files(disk, folder, manifest, replay, engine))
    finally:
        replay.end()


def load_files(
    disk: Disk, folder: Path, manifest: Manifest, replay: Replay, engine: Engine
) -> Iterator[tuple[Path, int]]:
    """Does what ``load`` does, while time stands still; tells the files that are torn."""
    may_be_torn = engine.config["aof-load-truncated"] == "yes"
    for part in manifest.files:
        path = folder / part.name
        if not disk.exists(path):
            raise DamagedFileError(path, "the file is named in the manifest, and is not there")
        size, whole = load_file(disk.read(path), path, replay, engine)
        if whole < size:
            if not may_be_torn:
                raise DamagedFileError(path, f"{TORN} {whole}; 'aof-load-truncated yes' would cut it there")
            if part is not manifest.files[-1]:
                raise DamagedFileError(path, f"{TORN} {whole}, and it is not the last file")
            yield path, whole


TORN: Final = "the file ends in the middle of a command or transaction that begins at byte"


def load_file(data: bytes, path: Path, replay: Replay, engine: Engine) -> tuple[int, int]:
    """Does again what stands in a file; returns its size, and how much of it is whole."""
    whole = end = start = load_snapshot(data, path, engine) if data.startswith(SNAPSHOT) else 0
    rest = data[start:] if start else data
    try:
        for end, command in frames(rest):
            replay.run(command)
            if not replay.is_in_transaction:
                whole = start + end
    except TornFrameError:
        pass
    except BadFrameError as error:
        raise DamagedFileError(path, f"it is no append-only file at byte {start + error.at}") from None
    except UnknownCommandError as error:
        raise DamagedFileError(path, f"{error} before byte {start + end}") from None
    replay.abandon_transaction()
    return len(data), whole


def load_snapshot(data: bytes, path: Path, engine: Engine) -> int:
    """Takes in the snapshot that a file is, or begins with; returns how long it is."""
    try:
        loaded = load_rdb(
            data,
            engine.keyspace,
            engine.libraries,
            engine.packing,
            keeps_expired=True,
            checks=engine.config["rdbchecksum"] == "yes",
            is_whole=path.suffix == ".rdb",
        )
    except BadSnapshotError as error:
        raise DamagedFileError(path, str(error)) from None
    return loaded.end
