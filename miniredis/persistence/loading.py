"""Loading: reads the files of a journal, and does again what stands in them.

A file that ends in the middle of a command or a transaction was cut by a crash. Of the last file the torn end
is removed, if ``aof-load-truncated`` says so: what stands there was never answered. Anything else that is
wrong stops the start, since nobody knows what is missing.

Files are loaded in steps of about a millisecond, between which the server answers. They are read piece by
piece: they may be larger than the data in them.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..engine.effects.replay import BadEffectError, Replay
from ..engine.rdb.loading import BadSnapshotError, LoadProgress, load_in_steps
from ..engine.rdb.reader import FileReader
from .damage import DamagedFileError
from .frames import BadFrameError, TornFrameError, batches, size_of

if TYPE_CHECKING:
    from ..engine import Engine
    from ..logs import ServerLog
    from .disk import Disk
    from .manifest import Manifest

__all__ = ["load", "reload"]

SNAPSHOT: Final = b"REDIS"
"""What an RDB file begins with."""

SNAPSHOTS: Final = ".rdb"
"""How the name of a file ends that is nothing else."""

TORN: Final = "the file ends in the middle of a command or transaction that begins at byte"


def load(
    disk: Disk, folder: Path, manifest: Manifest, engine: Engine
) -> Generator[None, None, dict[Path, int]]:
    """Does again, in steps, what stands in the files of a manifest.

    Args:
        disk: where they are.
        folder: in which.
        manifest: which, and in which order.
        engine: has no data yet.

    Returns:
        The files that are torn, with the size to which each is to be cut: the last one, or none.

    Raises:
        DamagedFileError: a file is missing or damaged, or is torn and may not be cut. The engine is empty
            then, as it is where the generator is closed before its end.
        OSError: the disk fails; the same is true.
    """
    paths = [folder / part.name for part in manifest.files]
    for path in paths:
        if not disk.exists(path):
            raise DamagedFileError(path, "the file is named in the manifest, and is not there")
    progress = LoadProgress(engine.now.wall // 1_000_000, sum(map(disk.size, paths)), stops_time=True)
    torn = {}
    replay = Replay(engine)
    engine.set_progress(progress)
    try:
        for path in paths:
            size, whole = yield from load_file(disk, path, replay, engine, progress)
            if whole < size:
                check_may_be_cut(path, whole, engine, is_last=is_last(disk, path, paths, manifest))
                torn[path] = whole
    except BaseException:
        engine.keyspace.flush()
        engine.libraries.flush()
        raise
    finally:
        engine.set_progress(None)
        replay.end()
    return torn


def reload(disk: Disk, folder: Path, manifest: Manifest, engine: Engine, log: ServerLog) -> bool:
    """Replaces all data by those of the files of a manifest; False, with no data left, if that fails.

    Neither replicas nor the append-only file are told of it.
    """
    effects, engine.effects = engine.effects, None
    changes = engine.keyspace.changes
    engine.keyspace.flush()
    engine.libraries.flush()
    try:
        for _ in load(disk, folder, manifest, engine):
            pass
    except (DamagedFileError, OSError) as error:
        log.warning("cannot load the append-only file: %s", error)
        return False
    finally:
        engine.effects = effects
        engine.keyspace.changes = changes
    return True


def is_last(disk: Disk, path: Path, paths: list[Path], manifest: Manifest) -> bool:
    """Whether nothing stands behind a file.

    A manifest may name an increment that was never used: the disk failed before that manifest was durable,
    and the server went on with the increment before.
    """
    later = paths[paths.index(path) + 1 :]
    is_base = manifest.base is not None and path.name == manifest.base.name
    return not later or (not is_base and not any(map(disk.size, later)))


def check_may_be_cut(path: Path, whole: int, engine: Engine, *, is_last: bool) -> None:
    if engine.config["aof-load-truncated"] != "yes":
        raise DamagedFileError(path, f"{TORN} {whole}; 'aof-load-truncated yes' would cut it there")
    if not is_last:
        raise DamagedFileError(path, f"{TORN} {whole}, and it is not the last file")


def load_file(
    disk: Disk, path: Path, replay: Replay, engine: Engine, progress: LoadProgress
) -> Generator[None, None, tuple[int, int]]:
    """Does again what stands in a file; returns its size, and how much of it is whole."""
    with disk.open(path) as file:
        reader = FileReader(file.read, file.size)
        progress.read(reader)
        if path.suffix == SNAPSHOTS or reader.peek(len(SNAPSHOT)) == SNAPSHOT:
            yield from load_snapshot(reader, path, engine, progress)
        whole = end = reader.at
        try:
            for commands in batches(reader):
                transaction = replay.transaction
                replay.run(commands)
                if replay.transaction is None:
                    whole = reader.at
                elif replay.transaction is not transaction:  # its MULTI is one of these commands
                    others = commands[: -len(replay.transaction) - 1]
                    whole = end + size_of(others)
                end = reader.at
                yield
        except TornFrameError:
            pass
        except BadFrameError as error:
            raise DamagedFileError(path, f"it is no append-only file at byte {error.at}") from None
        except BadEffectError as error:
            raise DamagedFileError(path, f"{error} before byte {reader.at - size_of(error.undone)}") from None
        replay.abandon_transaction()
        return file.size, whole


def load_snapshot(
    reader: FileReader, path: Path, engine: Engine, progress: LoadProgress
) -> Generator[None, None, None]:
    """Takes in the snapshot that a file is, or begins with."""
    try:
        yield from load_in_steps(
            reader,
            engine.keyspace,
            engine.libraries,
            engine.packing,
            progress=progress,
            keeps_expired=True,
            checks=engine.config["rdbchecksum"] == "yes",
            is_whole=path.suffix == SNAPSHOTS,
            newest=engine.version.rdb,
        )
    except BadSnapshotError as error:
        raise DamagedFileError(path, str(error)) from None
