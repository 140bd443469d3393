"""Which queues there are on a server, and what is wrong with them."""

from __future__ import annotations

from typing import Any, Final

from pressure.arguments import settings
from pressure.driver import Driver
from pressure.errors import QueueDoesNotExistError
from pressure.keys import SUFFIXES
from pressure.protocol import Batch, Diagnosis, Operation
from pressure.protocol.steps import check
from pressure.queue import Queue

_SUFFIXES: Final = tuple(suffix for suffix in SUFFIXES.values() if suffix)
_GLOB: Final = b"\\*?[]^-"


def queues(
    *,
    url: str | None = None,
    client: Any = None,
    host: str | None = None,
    port: int | None = None,
    db: int | None = None,
    prefix: bytes | str | None = None,
) -> list[bytes]:
    """The names of all queues, in alphabetical order, half created and half deleted ones included.

    Every key of the database is looked at, a few hundred at a time. The arguments are those of ``Queue``.

    Raises:
        ConnectionFailedError: The server cannot be reached, or was lost.
        ServerReplyError: It refused a command.
        ValueError: Arguments that exclude each other or cannot be meant.
    """
    where = settings(url=url, client=client, host=host, port=port, db=db, prefix=prefix)
    driver = Driver(where)
    try:
        return driver.run(_names(where.prefix + b":"))
    finally:
        driver.connections.disconnect()


def _names(root: bytes) -> Operation[list[bytes]]:
    pattern = b"".join(b"\\%c" % byte if byte in _GLOB else b"%c" % byte for byte in root) + b"*"
    cursor, names = b"0", set[bytes]()
    while True:
        ((cursor, keys),) = check((yield Batch(((b"SCAN", cursor, b"MATCH", pattern, b"COUNT", 500),))))
        for key in keys:
            names.update(_name(key.removeprefix(root)))
        if cursor == b"0":
            return sorted(names)


def _name(rest: bytes) -> list[bytes]:
    """The queue that a key belongs to, if it has one of the protocol's suffixes."""
    return [rest.removesuffix(suffix) for suffix in _SUFFIXES if rest.endswith(suffix)][:1]


def doctor(
    *,
    url: str | None = None,
    client: Any = None,
    host: str | None = None,
    port: int | None = None,
    db: int | None = None,
    prefix: bytes | str | None = None,
) -> list[Diagnosis]:
    """``Queue.doctor`` of all queues that ``queues`` finds.

    Raises:
        ConnectionFailedError: The server cannot be reached, or was lost.
        ServerReplyError: It refused a command.
        ValueError: Arguments that exclude each other or cannot be meant.
    """
    found: list[Diagnosis] = []
    for name in queues(url=url, client=client, host=host, port=port, db=db, prefix=prefix):
        with Queue(name, url=url, client=client, host=host, port=port, db=db, prefix=prefix) as queue:
            try:
                found.append(queue.doctor())
            except QueueDoesNotExistError:  # deleted meanwhile
                continue
    return found
