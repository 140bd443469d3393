"""Lets tests written for sockets reach a miniredis of this process without one."""

from __future__ import annotations

import os
import socket
import types
from functools import partial
from typing import Any

import pytest
import redis.connection

import conformance.wire.relay
import miniredis
import pressure.connections.sockets
import pressure.sync.connection
from miniredis.inprocess.clients import LocalConnection
from miniredis.inprocess.local import LocalSocket
from pressure.connections.settings import Settings
from pressure.connections.sockets import Opened

__all__ = ["without_sockets"]


def without_sockets(server: miniredis.Server, patch: pytest.MonkeyPatch) -> None:
    """Gives raw clients and redis-py a ``LocalSocket`` when they connect to the server's port."""
    create, connect, can_read = (
        socket.create_connection,
        redis.connection.Connection._connect,
        redis.connection.AbstractConnection.can_read,
    )

    process = os.getpid()

    def is_elsewhere(port: int) -> bool:
        return port != server.port or os.getpid() != process

    def create_connection(address: tuple[str, int], timeout: float | None = None, **options: Any) -> Any:
        if is_elsewhere(address[1]):
            return create(address, timeout, **options)
        sock = LocalSocket(server._runner)
        sock.settimeout(timeout)
        return sock

    def connect_redis(connection: redis.connection.Connection) -> Any:
        if is_elsewhere(connection.port):
            return connect(connection)  # type: ignore[no-untyped-call]
        return create_connection(("", server.port), connection.socket_timeout)

    def can_read_redis(connection: Any, timeout: float | None = 0) -> bool:
        if not isinstance(connection._sock, LocalSocket):
            return can_read(connection, timeout or 0)
        return LocalConnection.can_receive(connection, timeout)

    def open_socket(where: Settings) -> Opened:
        opened = pressure.connections.sockets.open_socket(where)
        if not isinstance(opened.sock, LocalSocket):
            return opened
        return opened._replace(can_read=partial(opened.sock.can_read, 0))  # no poll can tell

    # the gate between a client and its server needs the system's sockets, for select
    patch.setattr(conformance.wire.relay, "socket", types.SimpleNamespace(**vars(socket)))
    patch.setattr(socket, "create_connection", create_connection)
    patch.setattr(pressure.sync.connection, "open_socket", open_socket)
    patch.setattr(LocalSocket, "setsockopt", lambda *_: None, raising=False)  # it has nothing to set
    patch.setattr(redis.connection.Connection, "_connect", connect_redis)
    patch.setattr(redis.connection.Connection, "can_read", can_read_redis)
    patch.setattr(
        redis.connection.Connection, "_parser_has_data", LocalConnection._parser_has_data, raising=False
    )
