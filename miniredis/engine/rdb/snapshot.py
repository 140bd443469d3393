"""Snapshots: all keys and libraries of a server as one RDB file, as Redis 7.0 writes it.

``write`` makes the bytes of such a file, and ``load`` in ``loading`` reads them; neither opens a file. A file
is a head, then opcodes, each a byte with what belongs to it, then a checksum. A byte that is no opcode is the
type of a value: its key follows, then the value as DUMP writes it, for which see ``payload``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ..keyspace.keyspace import Database, Keyspace
from ..versions.version import VERSION as REDIS_VERSION
from .crc64 import crc64
from .kinds import AUX, END, EXPIRY_MILLISECONDS, LIBRARY, RESIZE, SELECT
from .lists import parts_of_list
from .payload import VERSION
from .position import Position
from .reader import length, string
from .strings import TYPE as STRING_TYPE
from .strings import string_or_integer
from .value_types import TYPES

__all__ = ["MAGIC", "VERSION_DIGITS", "write"]

MAGIC: Final = b"REDIS"
VERSION_DIGITS: Final = 4
"""What a file begins with: this word, and the version in so many digits."""

BLOCK: Final = 1 << 18
"""About how many bytes ``write`` gives at a time."""


def write(
    keyspace: Keyspace,
    libraries: Iterable[bytes],
    *,
    memory: int = 0,
    aof_base: bool = False,
    has_checksum: bool = True,
    has_data: bool = True,
    position: Position | None = None,
    note_keys: Callable[[int], None] = lambda _: None,
) -> Iterator[bytes]:
    """The bytes of a snapshot, a block at a time.

    Keys that have expired and are still there are written, with their expiry.

    Args:
        keyspace: the databases, which must not change meanwhile, and the wall time.
        libraries: the code of each.
        memory: how many bytes the server uses, for those who inspect the file.
        aof_base: whether it is the base of an append-only file.
        has_checksum: whether to write one; else 0 stands for none (``rdbchecksum no``).
        has_data: whether to write the keys.
        position: where the data are in the history that replicas and masters go on from.
        note_keys: told with each block how many keys are written.
    """
    checksum = size = 0
    written = Written()
    block: list[bytes | memoryview] = []
    for piece in pieces(keyspace, libraries, memory, position, written, aof_base=aof_base, has_data=has_data):
        block.append(piece)
        size += len(piece)
        if size >= BLOCK:
            yield (full := b"".join(block))
            checksum = crc64(full, checksum)
            block.clear()
            size = 0
            note_keys(written.keys)
    checksum = crc64(b"".join(block), checksum)
    yield b"".join(block) + (checksum if has_checksum else 0).to_bytes(8, "little")


class Written:
    """How many keys are written."""

    keys = 0


def pieces(
    keyspace: Keyspace,
    libraries: Iterable[bytes],
    memory: int,
    position: Position | None,
    written: Written,
    *,
    aof_base: bool,
    has_data: bool,
) -> Iterator[bytes | memoryview]:
    yield MAGIC + b"%0*d" % (VERSION_DIGITS, VERSION)
    yield aux(b"redis-ver", REDIS_VERSION.encode())
    yield aux(b"redis-bits", b"64")
    yield aux(b"ctime", b"%d" % (keyspace.milliseconds // 1000))
    yield aux(b"used-mem", b"%d" % memory)
    if position is not None:
        yield aux(b"repl-stream-db", b"%d" % position.database)
        yield aux(b"repl-id", position.name)
        yield aux(b"repl-offset", b"%d" % position.offset)
    yield aux(b"aof-base", b"%d" % aof_base)
    for code in libraries:
        yield bytes([LIBRARY]) + string(code)
    for db in keyspace.databases if has_data else ():
        if db.values:
            yield bytes([SELECT]) + length(db.index)
            yield bytes([RESIZE]) + length(len(db.values)) + length(len(db.deadlines))
            yield from keys_of(db, written)
    yield bytes([END])


def aux(name: bytes, value: bytes) -> bytes:
    return bytes([AUX]) + string(name) + string_or_integer(value)


def keys_of(db: Database, written: Written) -> Iterator[bytes | memoryview]:
    for key, value in db.values.items():
        written.keys += 1
        if key in db.deadlines:
            yield bytes([EXPIRY_MILLISECONDS]) + db.deadlines[key].to_bytes(8, "little", signed=True)
        if type(value) is deque:
            parts = parts_of_list(value)
            yield next(parts) + string_or_integer(key)
            yield from parts
            continue
        if type(value) is bytes:  # what follows does the same in two pieces
            yield STRING_TYPE + string_or_integer(key) + string_or_integer(value)
            continue
        payload = TYPES[type(value)].dump(value)
        yield payload[:1] + string_or_integer(key)
        if len(payload) <= BLOCK:
            yield payload[1:]
            continue
        for at in range(1, len(payload), BLOCK):  # no large value is copied as a whole
            yield memoryview(payload)[at : at + BLOCK]
