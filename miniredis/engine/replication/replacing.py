"""Takes a master's data in, in place of all that there is: only once all of them are known to be good."""

from __future__ import annotations

from collections.abc import Generator
from io import BytesIO
from typing import TYPE_CHECKING

from ..keyspace.keyspace import Keyspace
from ..rdb.loading import load_in_steps
from ..rdb.reader import FileReader

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["Replacement"]


class Replacement:
    """Loads one snapshot, a few keys at a time.

    Args:
        engine: the replica.
        snapshot: of the master's data.
        behind: what came of the stream behind the snapshot.
    """

    def __init__(self, engine: Engine, snapshot: bytes, behind: bytes) -> None:
        self._steps = replace_data(engine, snapshot)
        self.behind = behind

    def load_some(self) -> int | None:
        """Loads a few keys; returns the database in which the stream goes on once all are loaded.

        Raises:
            BadSnapshotError: the snapshot is damaged, or has what is not here; the data are as they were.
        """
        try:
            next(self._steps)
        except StopIteration as end:
            return int(end.value)
        return None

    def close(self) -> None:
        """Drops what was loaded."""
        self._steps.close()


def replace_data(engine: Engine, snapshot: bytes) -> Generator[None, None, int]:
    """Puts what is in a snapshot in place of all data and libraries: in its last step, and all at once.

    Returns:
        The database in which the stream goes on.

    Raises:
        BadSnapshotError: it is damaged, or has what is not here; the data are as they were.
    """
    keyspace = engine.keyspace
    incoming = Keyspace(len(keyspace.databases))
    incoming.milliseconds = incoming.wall = keyspace.wall
    libraries = engine.libraries.prepare()
    loaded = yield from load_in_steps(
        FileReader(BytesIO(snapshot).read, len(snapshot)),
        incoming,
        libraries,
        engine.packing,
        keeps_expired=True,  # the master says when they go
        checks=engine.config["rdbchecksum"] == "yes",
        is_whole=True,
        newest=engine.version.rdb,
    )
    engine.libraries.take_over(libraries)
    keyspace.take_over(incoming)
    engine.serve_ready()
    if engine.environment.journal is not None:
        engine.environment.journal.begin_again()
    return loaded.position.database % len(keyspace.databases) if loaded.position else 0
