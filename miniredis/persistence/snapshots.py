"""All data of a server at one moment: the base of an append-only file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..engine.protocol.replies import pack
from ..engine.rdb import snapshot
from ..engine.rdb.payload import dump
from .child import note_keys

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["base_ending", "base_of"]


def base_ending(engine: Engine) -> str:
    """How the name of a base ends."""
    return "rdb" if engine.config["aof-use-rdb-preamble"] == "yes" else "aof"


def base_of(engine: Engine) -> Iterator[bytes]:
    """The content of a base, piece by piece."""
    if engine.config["aof-use-rdb-preamble"] == "yes":
        codes = [library.code for library in engine.libraries.libraries]
        memory = engine.environment.memory()
        return snapshot.write(engine.keyspace, codes, memory=memory, aof_base=True, note_keys=note_keys)
    return map(pack, commands_of(engine))


def commands_of(engine: Engine) -> Iterator[tuple[bytes, ...]]:
    """The data as commands. Redis writes RPUSH, HSET and so on; RESTORE says the same of every type."""
    for library in engine.libraries.libraries:
        yield (b"FUNCTION", b"LOAD", library.code)
    keys = 0
    for db in engine.keyspace.databases:
        if db.values:
            yield (b"SELECT", b"%d" % db.index)
        for key, value in db.values.items():
            note_keys(keys := keys + 1)
            deadline = db.deadlines.get(key, 0)
            yield (b"RESTORE", key, b"%d" % deadline, dump(value), *((b"ABSTTL",) if deadline else ()))
