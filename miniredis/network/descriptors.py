"""File descriptors: fits ``maxclients`` to the system's limit, and refuses clients when none is left.

The command ``miniredis`` calls ``fit_open_files_limit``, which changes the limit of its process as
redis-server does. An embedded server leaves the limit of the program around it alone. Both use ``Spare``:
when no descriptor is left, a new client gets an error instead of waiting.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
from enum import Enum
from typing import Final

from ..engine import Config, Engine
from ..engine.protocol.errors import MAX_CLIENTS
from ..logs import log

with contextlib.suppress(ImportError):  # on Windows
    import resource

__all__ = ["PAUSE", "Rejection", "Spare", "TooFewError", "fit_open_files_limit"]

RESERVED: Final = 32
"""Descriptors that are not for clients, the same number as in Redis."""

TOLD: Final = b"-%b\r\n" % MAX_CLIENTS

OUT_OF_FILES: Final = {errno.EMFILE, errno.ENFILE}
"""Errors of ``accept`` when this process, or the whole system, has no descriptor left."""

PAUSE: Final = 0.1
"""Seconds to wait before accepting again after a client could not even be refused."""


class TooFewError(Exception):
    """The system's limit leaves no room for a single client."""


def fit_open_files_limit(config: Config) -> None:
    """Raises this process's limit for ``maxclients``, or lowers ``maxclients``; checks it at CONFIG SET, too.

    Windows has no such limit.

    Raises:
        TooFewError: the system's limit leaves no room for a single client.
    """
    if sys.platform == "win32":
        return
    wanted = config.integer("maxclients")
    before, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = clients_supported(wanted)
    if room < 1:
        raise TooFewError(
            f"Your current 'ulimit -n' of {before} is not enough for the server to start. Please increase "
            f"your open file limit to at least {wanted + RESERVED}. Exiting."
        )
    if room < wanted:
        config.learn("maxclients", str(room))
        log.warning(
            "maxclients has been reduced from %d to %d, as this process may have only %d open files. "
            "If you need higher maxclients increase 'ulimit -n'.",
            wanted,
            room,
            room + RESERVED,
        )
    config.guard("maxclients", check)


def check(value: str) -> None:
    """Refuses a number of clients that the system has no descriptors for, in Redis's words."""
    room = clients_supported(int(value))
    if room < int(value):
        raise ValueError(
            f"The operating system is not able to handle the specified number of clients, try with {room}"
        )


def clients_supported(clients: int) -> int:
    """Raises the limit on open files as far as allowed.

    Returns how many of ``clients`` it has descriptors for.
    """
    if sys.platform == "win32":
        return clients
    needed = clients + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return clients
    for limits in ((needed, hard), (needed, needed), (hard, hard)):
        if soft < needed and set_limits(*limits):
            soft = limits[0]
    return min(soft - RESERVED, clients)


def set_limits(soft: int, hard: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    except (OSError, ValueError):
        return False
    return True


class Rejection(Enum):
    """The outcome of rejecting a client that could not be accepted."""

    TOLD = "it was told that there are too many"
    NOBODY_WAITS = (
        "there was none: Linux says that no descriptor is left before it looks whether one is needed"
    )
    FAILED = "it still waits, as another thread was quicker to use the descriptor, or the trouble is another"


class Spare:
    """A descriptor in reserve: when no other is left, it serves to refuse a client.

    Redis has no such reserve: there, the client waits until another client disconnects.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._descriptor = reserve()

    def reject_connection(self, listening: socket.socket, trouble: OSError) -> Rejection:
        """Sends the error for too many clients to one that could not be accepted because of ``trouble``."""
        rejection = self.refuse(listening, trouble)
        if rejection is Rejection.TOLD:
            self._engine.statistics.rejected_connections += 1
        elif rejection is Rejection.FAILED:
            log.warning("cannot accept connections, will try again in %g s: %s", PAUSE, trouble.strerror)
        return rejection

    def refuse(self, listening: socket.socket, trouble: OSError) -> Rejection:
        """As ``reject_connection``, without counting and logging."""
        if trouble.errno not in OUT_OF_FILES:
            return Rejection.FAILED
        if self._descriptor is None:
            self._descriptor = reserve()
        self.close()
        try:
            with listening.accept()[0] as client, contextlib.suppress(OSError):
                client.setblocking(False)
                client.send(TOLD)
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return Rejection.NOBODY_WAITS
        except OSError:
            return Rejection.FAILED
        finally:
            self._descriptor = reserve()
        return Rejection.TOLD

    def close(self) -> None:
        """Closes the descriptor."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def reserve() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return None
