"""DEBUG RELOAD and DEBUG LOADAOF: reload all data. The docstrings are the text of DEBUG HELP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...clients.session import Session
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from ...rdb import snapshot
from ...rdb.loading import load

if TYPE_CHECKING:
    from ...engine import Engine

__all__ = ["debug_loadaof", "debug_reload"]


def debug_reload(session: Session, args: list[bytes]) -> Reply:
    """Writes all data in RDB format in memory and loads them again; drops expired keys."""
    engine = session.engine
    check_is_loaded(engine)
    keyspace, libraries = engine.keyspace, engine.libraries
    data = b"".join(snapshot.write(keyspace, [library.code for library in libraries.libraries]))
    changes = keyspace.changes
    keyspace.flush()
    libraries.flush()
    load(data, keyspace, libraries, engine.packing, is_whole=True, newest=engine.version.rdb)
    keyspace.changes = changes
    return OK


def debug_loadaof(session: Session, args: list[bytes]) -> Reply:
    """Loads all data from the append-only file; without one, changes nothing."""
    check_is_loaded(session.engine)
    journal = session.engine.environment.find_journal()
    if journal is not None and not journal.reload():
        raise CommandError(errors.NOT_LOADED)
    return OK


def check_is_loaded(engine: Engine) -> None:
    if engine.conditions.loading is not None:
        raise CommandError(errors.LOADING)
