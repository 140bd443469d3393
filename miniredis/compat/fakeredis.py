"""The names of fakeredis, on miniredis servers in this process: for tests that come over by one import.

``from miniredis.compat import fakeredis``, or ``from miniredis.compat.fakeredis import FakeRedis``.

Clients of one ``FakeServer`` share their data. Without ``server=``, those with the same ``host`` and ``port``
do, and a client that names neither has data of its own. ``FakeValkey`` and its kin are here as well, if the
package ``valkey`` is installed. ``NotImplementedError`` is raised for what is not here: versions that
miniredis does not have, ``server_type="dragonfly"``, and Lua modules that Redis does not have.
"""

from __future__ import annotations

import threading
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, Self

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..inprocess.clients import AsyncLocalConnection, LocalConnection
from ..inprocess.direct import Direct
from ..inprocess.local import LocalSocket
from ..inprocess.local_async import AsyncPipe
from .fake_servers import Fake, FakeServer, Version, server_for, text, without_sockets

__all__ = [
    "FakeAsyncConnection",
    "FakeAsyncRedis",
    "FakeAsyncRedisConnection",
    "FakeConnection",
    "FakeRedis",
    "FakeRedisConnection",
    "FakeServer",
    "FakeStrictRedis",
    "TcpFakeServer",
    "aioredis",
]


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
        self._server = server_for(server, options)
        connect = partial(LocalSocket, self._server._runner)
        super().__init__(connect=connect, **without_sockets(options))


class FakeAsyncConnection(Plugged, AsyncLocalConnection):
    """The same for asyncio."""

    def __init__(self, *, server: FakeServer | None = None, **options: Any) -> None:
        self._server = server_for(server, options)
        connect = partial(AsyncPipe, self._server._runner)
        super().__init__(connect=connect, **without_sockets(options))


class FakeRedis(Fake, redis.Redis):
    """``redis.Redis`` on a ``FakeServer``."""

    _connection_class = FakeConnection
    _never = Retry(NoBackoff(), 0)


class FakeAsyncRedis(Fake, redis.asyncio.Redis):  # type: ignore[misc]  # redis-py's bases disagree
    """``redis.asyncio.Redis`` on a ``FakeServer``."""

    _connection_class = FakeAsyncConnection
    _never = AsyncRetry(NoBackoff(), 0)


FakeStrictRedis = FakeRedis
FakeRedisConnection, FakeAsyncRedisConnection = FakeConnection, FakeAsyncConnection

aioredis: Final = SimpleNamespace(
    FakeConnection=FakeAsyncConnection, FakeRedis=FakeAsyncRedis, FakeServer=FakeServer
)
"""The names of ``fakeredis.aioredis``."""


class TcpFakeServer:
    """A server that listens at an address, as ``socketserver`` has it. It serves from the beginning.

    Args:
        server_address: the host and the port; 0 for a free one.
        server_type: ``"redis"`` or ``"valkey"``.
        server_version: as of ``FakeServer``.

    Attributes:
        fake_server: the server, for clients of this process.
        server_address: where it listens.
    """

    def __init__(
        self, server_address: tuple[Any, int], *, server_type: str = "redis", server_version: Version = None
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
