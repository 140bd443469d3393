"""The names of fakeredis, on miniredis servers in this process: for tests that come over by one import.

``from miniredis.compat import fakeredis``, or ``from miniredis.compat.fakeredis import FakeRedis``.

Clients of one ``FakeServer`` share their data. Without ``server=``, those with the same ``host`` and ``port``
do, and a client that names neither has data of its own. ``FakeValkey`` and its kin are here as well, if the
package ``valkey`` is installed. ``NotImplementedError`` is raised for what is not here: versions other than
Redis 7.0, other servers, and Lua modules that Redis does not have.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, Final, Self

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..clients import AsyncLocalConnection, LocalConnection
from ..direct import Direct
from ..embedded import start
from ..local import LocalSocket
from ..local_async import AsyncPipe

__all__ = [
    "FakeAsyncConnection",
    "FakeAsyncRedis",
    "FakeConnection",
    "FakeRedis",
    "FakeServer",
    "FakeStrictRedis",
    "TcpFakeServer",
    "aioredis",
]

UNREACHABLE: Final = "this server is not connected (connected=False)"

LUA_MODULES: Final = frozenset({"cjson", "cmsgpack", "struct", "bit"})

OF_SOCKETS: Final = frozenset(
    "host port path socket_connect_timeout socket_keepalive socket_keepalive_options socket_type "
    "socket_read_size".split()
)
"""Options of redis-py's connections that those without a socket lack, beside all that begin with ``ssl``."""


def check(version: Any, server_type: str, lua_modules: Collection[str]) -> None:
    """Raises ``NotImplementedError`` for what is not to be had here."""
    numbers = (version,) if isinstance(version, int) else version
    if numbers is not None and (not numbers or int(numbers[0]) != 7):
        raise NotImplementedError(f"miniredis answers as Redis 7.0.15 does, and not as version {version!r}")
    if server_type != "redis":
        raise NotImplementedError(f"miniredis answers as redis-server does, and not as {server_type!r}")
    if unknown := set(lua_modules) - LUA_MODULES:
        raise NotImplementedError(f"scripts have {', '.join(sorted(LUA_MODULES))}, and not {sorted(unknown)}")


class FakeServer:
    """A server without clients; it ends when nobody refers to it any more.

    Args:
        version: None or 7: the server is a Redis 7.0.
        server_type: ``"redis"``.
        config: directives of redis.conf.

    Attributes:
        connected: whether clients reach it. While it is False, each command raises ``redis.ConnectionError``.
        stop: ends it; may be called more than once.
    """

    _by_address: ClassVar[dict[tuple[Any, Any], FakeServer]] = {}

    def __init__(
        self, version: Any = None, server_type: str = "redis", config: Mapping[Any, Any] | None = None
    ) -> None:
        check(version, server_type, ())
        self.connected = True
        directives: dict[str, Any] = {
            text(name).replace("-", "_"): text(value) for name, value in (config or {}).items()
        }
        server = start(**directives)
        self._runner = server._runner
        self.stop = weakref.finalize(self, server.stop)

    @classmethod
    def at(cls, host: Any, port: Any) -> FakeServer:
        """The server that all clients with this address share."""
        if (host, port) not in cls._by_address:
            cls._by_address[host, port] = cls()
        return cls._by_address[host, port]

    def check_connected(self, error: type[Exception] = redis.ConnectionError) -> None:
        """Raises an error if clients cannot reach it."""
        if not self.connected:
            raise error(UNREACHABLE)


def text(word: Any) -> str:
    return word.decode() if isinstance(word, bytes) else str(word)


class Plugged:
    """A connection to a ``FakeServer``: it fails while the server is not connected."""

    _server: FakeServer
    _direct: Direct

    @property
    def direct(self) -> Direct:
        """The way to the server."""
        self._server.check_connected()
        return self._direct

    @direct.setter
    def direct(self, direct: Direct) -> None:
        self._direct = direct


class FakeConnection(Plugged, LocalConnection):
    """redis-py's connection to a ``FakeServer``, for a pool of your own."""

    def __init__(self, *, server: FakeServer | None = None, **options: Any) -> None:
        self._server = server or FakeServer.at(options.get("host"), options.get("port"))
        connect = partial(LocalSocket, self._server._runner)
        super().__init__(connect=connect, **without_sockets(options))


class FakeAsyncConnection(Plugged, AsyncLocalConnection):
    """The same for asyncio."""

    def __init__(self, *, server: FakeServer | None = None, **options: Any) -> None:
        self._server = server or FakeServer.at(options.get("host"), options.get("port"))
        connect = partial(AsyncPipe, self._server._runner)
        super().__init__(connect=connect, **without_sockets(options))


def without_sockets(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in options.items()
        if name not in OF_SOCKETS and not name.startswith("ssl")
    }


def reroute(pool: Any, connection_class: type, server: FakeServer | None, *, is_named: bool) -> None:
    """Has redis-py's pool connect to a fake server."""
    options = pool.connection_kwargs
    server = server or options.get("server")
    if server is None:
        server = FakeServer.at(options.get("host"), options.get("port")) if is_named else FakeServer()
    pool.connection_class = connection_class
    pool.connection_kwargs = {**without_sockets(options), "server": server}


class Fake:
    """What the clients for threads and for asyncio share. It takes the arguments of redis-py's own client.

    Args:
        server: the server; without it, the one of ``host`` and ``port``, or one of its own.
        version: None or 7: the server is a Redis 7.0.
        server_type: ``"redis"``.
        lua_modules: of ``cjson``, ``cmsgpack``, ``struct`` and ``bit``, which scripts have in any case.
        connected: False makes each command raise ``redis.ConnectionError``; only without ``server``.
    """

    connection_pool: Any
    _connection_class: ClassVar[type]
    _never: ClassVar[Any]  # tries nothing twice: a server in this process does not come back by itself

    def __init__(
        self,
        *arguments: Any,
        server: FakeServer | None = None,
        version: Any = None,
        server_type: str = "redis",
        lua_modules: Collection[str] | None = None,
        connected: bool = True,
        **options: Any,
    ) -> None:
        check(version, server_type, lua_modules or ())
        if "connection_pool" not in options:
            options.setdefault("retry", self._never)
        super().__init__(*arguments, **options)
        if not issubclass(self.connection_pool.connection_class, self._connection_class):
            is_named = bool(arguments or {"host", "port", "connection_pool"} & options.keys())
            reroute(self.connection_pool, self._connection_class, server, is_named=is_named)
            if not connected:
                self.connection_pool.connection_kwargs["server"].connected = False


class FakeRedis(Fake, redis.Redis):
    """``redis.Redis`` on a ``FakeServer``."""

    _connection_class = FakeConnection
    _never = Retry(NoBackoff(), 0)


class FakeAsyncRedis(Fake, redis.asyncio.Redis):  # type: ignore[misc]  # redis-py's bases disagree
    """``redis.asyncio.Redis`` on a ``FakeServer``."""

    _connection_class = FakeAsyncConnection
    _never = AsyncRetry(NoBackoff(), 0)


FakeStrictRedis = FakeRedis

aioredis: Final = SimpleNamespace(
    FakeConnection=FakeAsyncConnection, FakeRedis=FakeAsyncRedis, FakeServer=FakeServer
)
"""The names of ``fakeredis.aioredis``."""


class TcpFakeServer:
    """A server that listens at an address, as ``socketserver`` has it. It serves from the beginning.

    Args:
        server_address: the host and the port; 0 for a free one.
        server_type: ``"redis"``.
        server_version: None or 7: the server is a Redis 7.0.

    Attributes:
        fake_server: the server, for clients of this process.
        server_address: where it listens.
    """

    def __init__(
        self, server_address: tuple[Any, int], *, server_type: str = "redis", server_version: Any = None
    ) -> None:
        host, port = server_address
        config = {"bind": host, "port": port}
        self.fake_server = FakeServer(version=server_version, server_type=server_type, config=config)
        engine = self.fake_server._runner.engine
        self.server_address = (text(host), engine.config.integer("port"))
        self._is_over = threading.Event()

    def serve_forever(self, poll_interval: float = 0.5) -> None:  # noqa: ARG002  (as ``socketserver``)
        """Returns after ``shutdown``."""
        self._is_over.wait()

    def shutdown(self) -> None:
        """Ends ``serve_forever``."""
        self._is_over.set()

    def server_close(self) -> None:
        """Ends the server; also at the end of a ``with`` block."""
        self.fake_server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server_close()


OF_VALKEY: Final = {
    "FakeAsyncValkey",
    "FakeAsyncValkeyConnection",
    "FakeStrictValkey",
    "FakeValkey",
    "FakeValkeyConnection",
}
"""What needs the package ``valkey``, and is imported when it is asked for."""


def __getattr__(name: str) -> Any:
    if name in OF_VALKEY:
        from . import fakevalkey

        return getattr(fakevalkey, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
