"""The servers of ``fakeredis``, and what its clients and those of ``fakevalkey`` share."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final, TypeAlias

import redis

from ..embedded import start
from ..engine.versions.version import VERSIONS

__all__ = ["Fake", "FakeServer", "Version", "server_for", "text", "without_sockets"]

Version: TypeAlias = tuple[int, ...] | str | int | None
"""How fakeredis names a version."""

UNREACHABLE: Final = "this server is not connected (connected=False)"

LUA_MODULES: Final = frozenset({"cjson", "cmsgpack", "struct", "bit"})

OF_SOCKETS: Final = frozenset(
    "host port path socket_connect_timeout socket_keepalive socket_keepalive_options socket_type "
    "socket_read_size".split()
)
"""Options of redis-py's connections that those without a socket lack, beside all that begin with ``ssl``."""


SHORT: Final = {
    "": "7.0",
    "6": "6.2",
    "7": "7.0",
    "8": "8.0",
    "valkey-": "valkey-8.1",
    "valkey-8": "valkey-8.1",
    "valkey-9": "valkey-9.1",
}
"""What a version without its minor number stands for."""


def version_for(version: Version, server_type: str) -> str:
    """What ``miniredis.start`` calls a version, of which only the first two numbers count.

    Raises:
        NotImplementedError: miniredis does not answer as that one.
    """
    words = str(version or "").split(".") if not isinstance(version, tuple) else [*map(str, version)]
    name = {"redis": "", "valkey": "valkey-"}.get(server_type, f"{server_type}-") + ".".join(words[:2])
    name = SHORT.get(name, name)
    if name not in VERSIONS:
        raise NotImplementedError(
            f"miniredis does not answer as version {version!r} of {server_type}, but as {', '.join(VERSIONS)}"
        )
    return name


def check_modules(lua_modules: Collection[str]) -> None:
    """Raises ``NotImplementedError`` for modules that scripts do not have."""
    if unknown := set(lua_modules) - LUA_MODULES:
        raise NotImplementedError(f"scripts have {', '.join(sorted(LUA_MODULES))}, and not {sorted(unknown)}")


class FakeServer:
    """A server without clients; it ends when nobody refers to it any more.

    Args:
        version: such as ``6``, ``"7.4"`` or ``(8, 0)``; None for the usual one, 7.0 or Valkey 8.1.
        server_type: ``"redis"`` or ``"valkey"``.
        config: directives of redis.conf.

    Attributes:
        connected: whether clients reach it. While it is False, each command raises ``redis.ConnectionError``.
        stop: ends it; may be called more than once.
    """

    _by_address: ClassVar[dict[tuple[Any, ...], FakeServer]] = {}

    def __init__(
        self, version: Version = None, server_type: str = "redis", config: Mapping[Any, Any] | None = None
    ) -> None:
        self.connected = True
        directives: dict[str, Any] = {
            text(name).replace("-", "_"): text(value) for name, value in (config or {}).items()
        }
        server = start(version=version_for(version, server_type), **directives)
        self._runner = server._runner
        self.stop = weakref.finalize(self, server.stop)

    @classmethod
    def at(
        cls, options: Mapping[str, Any], version: Version = None, server_type: str = "redis"
    ) -> FakeServer:
        """The server that clients with this address share, if they ask for the same version."""
        address = (*map(options.get, ("path", "host", "port")), version_for(version, server_type))
        if address not in cls._by_address:
            cls._by_address[address] = cls(version, server_type)
        return cls._by_address[address]

    def check_connected(self, error: type[Exception] = redis.ConnectionError) -> None:
        """Raises an error if clients cannot reach it."""
        if not self.connected:
            raise error(UNREACHABLE)


def text(word: Any) -> str:
    return word.decode() if isinstance(word, bytes) else str(word)


def server_for(server: FakeServer | None, options: dict[str, Any], server_type: str = "redis") -> FakeServer:
    """The server of a connection; takes its version out of the options."""
    version, server_type = options.pop("version", None), options.pop("server_type", server_type)
    return server or FakeServer.at(options, version, server_type)


def without_sockets(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in options.items()
        if name not in OF_SOCKETS and not name.startswith("ssl")
    }


ADDRESS: Final = frozenset({"host", "port", "unix_socket_path", "connection_pool"})
"""Options of redis-py's clients that say where the server is."""


class Fake:
    """What the clients for threads and for asyncio share. It takes the arguments of redis-py's own client.

    Args:
        server: the server; without it, the one of ``host`` and ``port``, or one of its own.
        version: as of ``FakeServer``; only without ``server``.
        server_type: likewise.
        lua_modules: of ``cjson``, ``cmsgpack``, ``struct`` and ``bit``, which scripts have in any case.
        connected: False makes each command raise ``redis.ConnectionError``; only without ``server``.
    """

    connection_pool: Any
    _connection_class: ClassVar[type]
    _never: ClassVar[Any]  # tries nothing twice: a server in this process does not come back by itself
    _server_type = "redis"

    def __init__(
        self,
        *arguments: Any,
        server: FakeServer | None = None,
        version: Version = None,
        server_type: str | None = None,
        lua_modules: Collection[str] | None = None,
        connected: bool = True,
        **options: Any,
    ) -> None:
        own: dict[str, Any] = {
            "server": server,
            "version": version,
            "server_type": server_type or self._server_type,
            "lua_modules": lua_modules,
            "connected": connected,
        }
        if "connection_pool" not in options:
            options.setdefault("retry", self._never)
        super().__init__(*arguments, **options)
        if not issubclass(self.connection_pool.connection_class, self._connection_class):
            self._reroute(own, is_named=bool(arguments or ADDRESS & options.keys()))

    def _reroute(self, own: dict[str, Any], *, is_named: bool) -> None:
        """Has redis-py's pool connect to a fake server; ``from_url`` has left options of ours in the pool."""
        pool = self.connection_pool
        given = pool.connection_kwargs
        own.update({name: given.pop(name) for name in own.keys() & given.keys()})
        check_modules(own["lua_modules"] or ())
        kind = own["version"], own["server_type"]
        server = own["server"] or (FakeServer.at(given, *kind) if is_named else FakeServer(*kind))
        pool.connection_class = self._connection_class
        pool.connection_kwargs = {**without_sockets(given), "server": server}
        if not own["connected"]:
            server.connected = False
