"""List the queues on a server, and find what is wrong with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from pressure.connections.arguments import settings
from pressure.errors import PressureError, QueueDoesNotExistError
from pressure.keys import SUFFIXES, Keys
from pressure.protocol import Context, Operation
from pressure.protocol.diagnosis import Diagnosis, RoleState
from pressure.protocol.doctor import examine
from pressure.protocol.scanning import keys_under
from pressure.sync.driver import Driver

T = TypeVar("T")

#: How many queues one round trip examines.
_AT_ONCE: Final = 100
_SUFFIXES: Final = tuple(suffix for suffix in SUFFIXES.values() if suffix)


def queues(
    *,
    url: str | None = None,
    client: Any = None,
    host: str | None = None,
    port: int | None = None,
    db: int | None = None,
    prefix: bytes | str | None = None,
) -> list[bytes]:
    """The names of all queues of a database, sorted, including half created and half deleted ones.

    The arguments are those of ``Queue``. This scans every key of the database (SCAN), 500 at a time.

    Raises:
        ConnectionFailedError: The server cannot be reached, or the connection was lost.
        ServerReplyError: The server refused a command.
        ValueError: An argument has a wrong value, or excludes another.
    """
    return _run(_names, url=url, client=client, host=host, port=port, db=db, prefix=prefix)


def _run(operation: Callable[[bytes], Operation[T]], **where: Any) -> T:
    """Run an operation on the queues under a prefix, over a connection of its own."""
    found = settings(**where)
    driver = Driver(found)
    try:
        return driver.run(operation(found.prefix))
    finally:
        driver.connections.disconnect()


def survey(prefix: bytes, only: Sequence[bytes] | None = None) -> Operation[list[Diagnosis]]:
    """A diagnosis of each queue under a prefix, or of those named; each is examined at its own moment.

    Queues that do not exist are left out. A queue that cannot be examined, for example because another
    program uses keys of these names, has the state ``"unreadable"`` and one problem: the server's error.
    """
    names = (yield from _names(prefix)) if only is None else only
    found: list[Diagnosis] = []
    for some in batched(names, _AT_ONCE):
        contexts = [Context(Keys.of(name, prefix), time.monotonic) for name in some]
        seen = yield from examine(contexts)
        found += filter(None, map(_diagnosis, some, seen))
    return found


def batched(names: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    """The names in slices of at most ``size``."""
    return (names[start : start + size] for start in range(0, len(names), size))


def _diagnosis(name: bytes, seen: Diagnosis | PressureError) -> Diagnosis | None:
    if isinstance(seen, Diagnosis):
        return seen
    if isinstance(seen, QueueDoesNotExistError):  # deleted meanwhile
        return None
    producer, consumer = (RoleState(role, 1, None, None, None) for role in ("producer", "consumer"))
    return Diagnosis(name, "unreadable", 0, None, producer, consumer, 0, 0, 0, None, (str(seen),))


def _names(prefix: bytes) -> Operation[list[bytes]]:
    rests = yield from keys_under(prefix + b":")
    return sorted({name for rest in rests for name in _name(rest)})


def _name(rest: bytes) -> list[bytes]:
    """The name of the queue that a key belongs to; none if the key has no suffix of the protocol."""
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
    """The diagnosis of each queue of a database, as by ``Queue.doctor``.

    The arguments are those of ``Queue``.

    Raises:
        ConnectionFailedError: The server cannot be reached, or the connection was lost.
        ServerReplyError: The server refused a command.
        ValueError: An argument has a wrong value, or excludes another.
    """
    return _run(survey, url=url, client=client, host=host, port=port, db=db, prefix=prefix)
