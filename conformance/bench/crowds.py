"""Thousands of clients of one server, each a raw socket of this process."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from ..wire import PATIENCE, RawConnection, encode
from .servers import RunningServer
from .turns import MissingError

__all__ = ["allow_files", "blocked", "idle"]

AT_ONCE: Final = 100
"""Connections between two looks whether the server keeps up, which is fewer than may wait to be accepted."""

SPARE: Final = 200
"""Open files for everything else."""


def allow_files(count: int) -> None:
    """Lets this process, and the servers it starts from now on, have so many connections.

    Raises:
        MissingError: the system does not let them.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count + SPARE:
        raise MissingError(f"{count} connections need {count + SPARE} open files, the limit is {hard}")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count + SPARE:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count + SPARE, hard))


@contextmanager
def idle(server: RunningServer, count: int) -> Iterator[list[socket.socket]]:
    """Clients that have sent a PING each, were answered, and rest."""
    with ExitStack() as stack:
        clients = [stack.enter_context(answered(server)) for _ in range(count)]
        yield clients


def answered(server: RunningServer) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    client.sendall(encode("PING"))
    client.recv(64)
    return client


@contextmanager
def blocked(server: RunningServer, count: int, key: Callable[[int], str]) -> Iterator[list[socket.socket]]:
    """Clients that are blocked in BLPOP, each on the key that its number gives, in that order."""
    with ExitStack() as stack, server.connect() as control:
        before = blocked_clients(control)
        clients = []
        for number in range(count):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), PATIENCE))
            client.sendall(encode("BLPOP", key(number), "0"))
            clients.append(client)
            if number % AT_ONCE == 0 or number == count - 1:
                until_blocked(control, before + number + 1)
        yield clients


def until_blocked(control: RawConnection, count: int) -> None:
    """Waits until the server says that so many are blocked."""
    deadline = time.monotonic() + PATIENCE
    while blocked_clients(control) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not all of {count} clients are blocked after {PATIENCE:g} s")


def blocked_clients(control: RawConnection) -> int:
    lines = control.command("INFO", "clients").decode().split("\r\n")
    return int(dict(line.split(":", 1) for line in lines if ":" in line)["blocked_clients"])
