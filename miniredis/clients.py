"""redis-py's clients, sync and asyncio, of a server in this process without a socket, or of one elsewhere."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import redis.asyncio.connection
import redis.connection
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from .local import LocalSocket
from .local_async import AsyncPipe

if TYPE_CHECKING:
    from .tick_runner import TickRunner

__all__ = ["async_client", "client", "remote_async_client", "remote_client"]

HUNG_UP = "Connection closed by server."
PLACE = "miniredis in this process"

Pieces: TypeAlias = list[tuple[str, Any]]


class LocalConnection(redis.connection.AbstractConnection):
    """redis-py's connection over a ``LocalSocket``.

    Args:
        connect: makes the socket.
        options: redis-py's options for any connection.
    """

    def __init__(self, *, connect: Callable[[], LocalSocket], **options: Any) -> None:
        self._connect_locally = connect
        super().__init__(**options)

    def can_read(self, timeout: float | None = 0) -> bool:
        """Whether there is something to read; waits for that for up to ``timeout`` seconds."""
        if not self._sock:
            self.connect()  # type: ignore[no-untyped-call]
        if self._parser_has_data():
            return True
        sock = cast(LocalSocket, self._sock)
        if not sock.can_read(timeout):
            return False
        if sock.is_over:
            self.disconnect()  # type: ignore[no-untyped-call]
            raise RedisConnectionError(HUNG_UP)
        return True

    def is_ready(self) -> bool:
        """Whether it is connected, and has nothing left to read."""
        sock = self._sock
        return sock is not None and sock.is_silent and not self._parser_has_data()

    def repr_pieces(self) -> Pieces:
        """What ``repr`` shows of it."""
        return pieces_of(self)

    def _parser_has_data(self) -> bool:
        reader = getattr(self._parser, "_reader", None)  # hiredis's
        if reader is not None:
            return bool(reader.has_data())
        return bool(self._parser._buffer.unread_bytes())

    def _connect(self) -> Any:
        sock = self._connect_locally()
        sock.settimeout(self.socket_timeout)
        return sock

    def _host_error(self) -> str:
        return PLACE


class AsyncLocalConnection(redis.asyncio.connection.AbstractConnection):
    """redis-py's asyncio connection over an ``AsyncPipe``.

    Args:
        connect: makes the pipe.
        options: redis-py's options for any connection.
    """

    def __init__(self, *, connect: Callable[[], AsyncPipe], **options: Any) -> None:
        self._connect_locally = connect
        super().__init__(**options)

    def repr_pieces(self) -> Pieces:
        """What ``repr`` shows of it."""
        return pieces_of(self)

    async def _connect(self) -> None:
        pipe = self._connect_locally()
        self._reader = pipe.reader
        self._writer = cast(Any, pipe)

    def _host_error(self) -> str:
        return PLACE


def pieces_of(connection: Any) -> Pieces:
    named = [("client_name", connection.client_name)] if connection.client_name else []
    return [("server", PLACE), ("db", connection.db), *named]


class LocalPool(redis.ConnectionPool):
    """redis-py's pool, with a quick way to use a connection again.

    This class keeps released connections in a list of its own. redis-py's pool sees them as in use until they
    are closed: its own work at each release costs several times as much as a command here.
    """

    def reset(self) -> None:
        """Forgets all connections, as after a fork."""
        self._at_hand: list[LocalConnection] = []
        super().reset()

    def get_connection(self, *names: Any, **options: Any) -> Any:
        """Returns a connection that is connected, and has nothing left to read."""
        try:
            connection = self._at_hand.pop() if os.getpid() == self.pid else None
        except IndexError:
            connection = None
        if connection is None:
            return super().get_connection(*names, **options)
        try:
            if not connection.is_ready():
                connection.disconnect()  # type: ignore[no-untyped-call]
                connection.connect()  # type: ignore[no-untyped-call]
        except BaseException:
            self.release(connection)
            raise
        return connection

    def release(self, connection: Any) -> None:
        """Gives a connection back to the pool."""
        if connection.pid == os.getpid() == self.pid:
            self._at_hand.append(connection)
        else:
            super().release(connection)

    def disconnect(self, inuse_connections: bool = True) -> None:
        """Closes all connections, or only those that nobody uses."""
        while self._at_hand:
            super().release(cast(Any, self._at_hand.pop()))
        super().disconnect(inuse_connections)


class LocalRedis(redis.Redis):
    """redis-py's client without its handling of retries, which only remote servers need."""

    def execute_command(self, *arguments: Any, **options: Any) -> Any:
        """Runs a command, and returns its reply."""
        pool: Any = self.connection_pool
        connection = pool.get_connection()
        try:
            connection.send_command(*arguments, **options)
            return self.parse_response(connection, arguments[0], **options)  # type: ignore[no-untyped-call]
        finally:
            pool.release(connection)


BESIDE_THE_POINT: Final = {
    "retry",
    "retry_on_error",
    "retry_on_timeout",
    "credential_provider",
    "cache_config",
}
"""redis-py's options that ``LocalRedis`` lacks; with one of them, ``client`` makes a ``redis.Redis``."""


@contextlib.contextmanager
def naming_options(caller: str, kind: str) -> Iterator[None]:
    """Names the caller in the ``TypeError`` for an unknown option."""
    try:
        yield
    except TypeError as error:
        _, _, what = str(error).rpartition("() ")
        raise TypeError(
            f"{caller}() {what}; it takes the options of {kind} that do not say where the server is"
        ) from None


WHO_IT_IS: Final = {"username", "password", "credential_provider"}
"""redis-py's options for authentication; a client without any of them uses the server's password."""

WHERE_IT_IS: Final = {"host", "port", "path", "unix_socket_path"}
"""redis-py's options for the address, which a client of a handle does not take."""


def with_password(runner: TickRunner, options: dict[str, Any]) -> dict[str, Any]:
    if WHO_IT_IS & options.keys():
        return options
    return {**options, "password": runner.engine.config["requirepass"] or None}


def client(runner: TickRunner, /, **options: Any) -> redis.Redis:
    """Makes a client of a server in this process, with a connection pool that closes with the client."""
    connect = partial(LocalSocket, runner)
    options = with_password(runner, options)
    with naming_options("server.client", "redis.Redis"):
        pool = LocalPool(connection_class=LocalConnection, connect=connect, **options)
        pool.connection_class(**pool.connection_kwargs)
    kind = redis.Redis if BESIDE_THE_POINT & options.keys() else LocalRedis
    return kind.from_pool(pool)


def async_client(runner: TickRunner, /, **options: Any) -> redis.asyncio.Redis:
    """As ``client``, for asyncio."""
    connect = partial(AsyncPipe, runner)
    options = with_password(runner, options)
    with naming_options("server.async_client", "redis.asyncio.Redis"):
        pool = redis.asyncio.ConnectionPool(connection_class=AsyncLocalConnection, connect=connect, **options)
        pool.connection_class(**pool.connection_kwargs)
    return redis.asyncio.Redis.from_pool(pool)


def remote_client(url: str, options: dict[str, Any]) -> redis.Redis:
    """Makes a client of a server in another process; it tries nothing twice unless it is told to."""
    with naming_options("server.client", "redis.Redis"):
        return redis.Redis(**with_address(url, options, Retry(NoBackoff(), 0)))


def remote_async_client(url: str, options: dict[str, Any]) -> redis.asyncio.Redis:
    """As ``remote_client``, for asyncio."""
    with naming_options("server.async_client", "redis.asyncio.Redis"):
        return redis.asyncio.Redis(**with_address(url, options, AsyncRetry(NoBackoff(), 0)))


def with_address(url: str, options: dict[str, Any], retry: Any) -> dict[str, Any]:
    """A client's options with what a URL says: the address, and the password unless the options have one."""
    for name in sorted(WHERE_IT_IS & options.keys()):
        raise TypeError(f"client() got an unexpected keyword argument {name!r}")
    found: dict[str, Any] = redis.connection.parse_url(url)  # type: ignore[no-untyped-call]
    kind = found.pop("connection_class", redis.Connection)
    if issubclass(kind, redis.SSLConnection):
        found["ssl"] = True
    if "path" in found:
        found["unix_socket_path"] = found.pop("path")
    if WHO_IT_IS & options.keys():
        found = {name: value for name, value in found.items() if name not in WHO_IT_IS}
    never = {} if BESIDE_THE_POINT & options.keys() else {"retry": retry}
    return {**never, **found, **options}
