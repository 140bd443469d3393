"""What is so when nobody says otherwise: where the server is, the bound, and how an identifier reads."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest import mock

from ...judging.environment import Environment, Failure, Unsupported, expect
from ..state import only, our_own, text
from . import OPEN, both

PORT: Final = 6379

PATIENCE: Final = 5.0
"""Seconds to wait for the port, which another check may have at the moment."""


@both("broker.default-host-and-database", "Message Brokers", needs=OPEN)
def default_host_and_database(env: Environment) -> None:
    """Without a host and a database of its own, a queue is at 127.0.0.1, in database 0."""
    to = env.address
    if (to.host, to.db) != ("127.0.0.1", 0):
        raise Unsupported(
            f"the clause is about a server at 127.0.0.1, database 0; this one is at {to.host}, database {to.db}"
        )
    settings, found = {"port": to.port, "prefix": env.prefix}, only(REDIS_PORT=str(to.port))
    with mock.patch.dict(os.environ, found, clear=True), our_own(env, "jobs", **settings) as queue:
        queue.create()  # some clients take the port from the environment, and others read none of it
    expect(text(env, ":bound"), b"0", "the bound where nobody said host or database")


@both("broker.default-port", "Message Brokers")
def default_port(env: Environment) -> None:
    """Without a port of its own, a queue is at 6379."""
    with listener() as server, mock.patch.dict(os.environ, only(), clear=True), our_own(env, "jobs") as queue:
        looking = env.start(queue.exists)
        try:
            server.accept()[0].close()
        except TimeoutError:
            raise Failure(f"nobody came to port {PORT}, where nobody said a port") from None
        looking.error("a look at a server that hangs up")


@contextmanager
def listener() -> Iterator[socket.socket]:
    """Somebody at the usual port.

    Raises:
        Unsupported: somebody else is there.
    """
    deadline = time.monotonic() + 4 * PATIENCE
    while True:
        try:
            server = socket.create_server(("127.0.0.1", PORT))
        except OSError:
            if time.monotonic() > deadline or is_served():
                raise Unsupported(f"the clause needs port {PORT}, which another program has taken") from None
            time.sleep(0.01)
        else:
            break
    with server:
        server.settimeout(PATIENCE)
        yield server


def is_served() -> bool:
    """Whether a server answers there, and not another check that has the port for a moment."""
    try:
        with socket.create_connection(("127.0.0.1", PORT), timeout=1) as client:
            client.sendall(b"PING\r\n")
            return bool(client.recv(1))
    except OSError:
        return False


@both("create.default-bound", "Queues")
def default_bound(env: Environment) -> None:
    """Without a bound of its own, a queue has 0, which is none."""
    env.queue().create()
    expect(text(env, ":bound"), b"0", "the bound where nobody said one")


@both("client.identifier-readable", "Clients", level="may")
def identifier_readable(env: Environment) -> None:
    """An identifier may be one that people can read."""
    env.created().put(b"v")
    name = text(env, ":producer") or b""
    expect(
        name.isascii() and name.decode("ascii", "replace").isprintable(), True, f"people can read {name!r}"
    )
