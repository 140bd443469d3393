"""Sockets to a server: the plain ones by themselves, all others by redis-py.

Rules:
    - redis-py is imported only for what it has to do: TLS, the options of a URL, and the connection class of
      a ``client=``. Its import takes longer than most commands of the shell.
    - A plain socket has redis-py's settings: no delay, and probes that find a dead server within a minute.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from pressure.connections.settings import Settings

#: Seconds of silence before the first probe, between two probes, and how many remain unanswered at the end.
_PROBES: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}


class Opened(NamedTuple):
    """An open socket.

    Attributes:
        sock: The socket, or an object with its methods.
        close: Closes it.
        can_read: Whether there is something to read; asked if the socket has no file descriptor. It may
            raise OSError.
    """

    sock: Any
    close: Callable[[], object]
    can_read: Callable[[], object] = bool


class Plain:
    """A kind of connection that needs no redis-py; ``Settings.connection_class`` names it."""

    @staticmethod
    def open(options: Mapping[str, Any], limit: float) -> socket.socket:
        """A socket, connected within ``limit`` seconds. Raises OSError."""
        raise NotImplementedError


class Tcp(Plain):
    """TCP."""

    @staticmethod
    def open(options: Mapping[str, Any], limit: float) -> socket.socket:
        """As in the base."""
        sock = socket.create_connection((options.get("host", "localhost"), options.get("port", 6379)), limit)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _PROBES.items():
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return sock


class Unix(Plain):
    """A Unix socket."""

    @staticmethod
    def open(options: Mapping[str, Any], limit: float) -> socket.socket:
        """As in the base."""
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.settimeout(limit)
            sock.connect(options["path"])
        except BaseException:
            sock.close()
            raise
        return sock


def open_socket(where: Settings) -> Opened:
    """Connect to a server; raises OSError."""
    kind, limit = where.connection_class, where.connect_timeout
    if issubclass(kind, Plain):
        sock = kind.open(where.kwargs, limit)
        return Opened(sock, sock.close)
    return _opened_by_redis_py(kind, {**where.kwargs, "socket_timeout": limit})


def _opened_by_redis_py(kind: Any, options: Mapping[str, Any]) -> Opened:
    from redis import RedisError

    connection = kind(**{**options, "redis_connect_func": lambda _: None})  # it sends nothing by itself
    try:
        connection.connect()
    except RedisError as error:
        connection.disconnect()
        raise ConnectionError(str(error)) from error

    def can_read() -> bool:
        try:
            return bool(connection.can_read(0))
        except RedisError as error:
            raise ConnectionError(str(error)) from error

    return Opened(connection._sock, connection.disconnect, can_read)
