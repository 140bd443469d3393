"""DEBUG RELOAD and DEBUG LOADAOF: all data are written and read again, as by a server that starts anew."""

from __future__ import annotations

from .. import errors
from ..errors import CommandError
from ..rdb import snapshot
from ..rdb.loading import load
from ..replies import OK, Reply
from ..session import Session

__all__ = ["debug_loadaof", "debug_reload"]


def debug_reload(session: Session, args: list[bytes]) -> Reply:
    """Writes all data as an RDB file has them, in memory, and loads them; what has expired is gone."""
    engine = session.engine
    keyspace, libraries = engine.keyspace, engine.libraries
    data = b"".join(snapshot.write(keyspace, [library.code for library in libraries.libraries]))
    changes = keyspace.changes
    keyspace.flush()
    libraries.flush()
    load(data, keyspace, libraries, engine.packing, is_whole=True)
    keyspace.changes = changes
    return OK


def debug_loadaof(session: Session, args: list[bytes]) -> Reply:
    """Loads all data from the append-only file; without one, they are as they were."""
    journal = session.engine.environment.journal
    if journal is not None and not journal.reload():
        raise CommandError(errors.NOT_LOADED)
    return OK
