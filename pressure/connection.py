"""Where the server is, and our own connections to it.

Pressure protocol 0.15, Message Brokers: host, port, database and prefix are configurable when a queue is
made, and may come from the environment as ``REDIS_SERVER``, ``REDIS_PORT``, ``REDIS_DB`` and
``PRESSURE_PREFIX``. ``REDIS_URL`` comes before the first three; what is passed to the constructor wins over
both.

Rules:
    - Our connections never retry: a blocking pop that is sent twice pops twice. Their socket timeout is
      longer than any wait, replies are bytes. That holds for ``client=`` too, from which only the settings
      are taken.
    - They carry the process's name (CLIENT SETNAME), so that repair can tell who is alive.
    - A connection belongs to one operation at a time. Those of a parent process are never used in a forked
      child.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakSet

import redis
from redis.connection import parse_url

from pressure.errors import ConnectionFailedError
from pressure.identity import connection_name
from pressure.keys import DEFAULT_PREFIX, as_bytes

#: Longest single wait for the server, in seconds. An operation can be stopped between two of them.
SLICE: Final = 1.0
#: How long (seconds) a reply may take beyond the wait that was asked for, before the connection counts as
#: lost.
REPLY_TIMEOUT: Final = 15.0
CONNECT_TIMEOUT: Final = 10.0

#: Settings of a ``client=`` that concern its own pool, or that ours replace.
_NOT_TAKEN: Final = (
    "maint_notifications",
    "maintenance_",
    "oss_cluster_",
    "orig_",
    "cache",
    "himport_",
    "retry",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to connect: a class of redis-py's connections and its arguments; and the prefix of every key."""

    connection_class: Any
    kwargs: Mapping[str, Any]
    prefix: bytes
    client: Any = None  # kept alive: a Sentinel client's settings refer to it

    @property
    def address(self) -> str:
        """The server for people."""
        if path := self.kwargs.get("path"):
            return str(path)
        return f"{self.kwargs.get('host', 'localhost')}:{self.kwargs.get('port', 6379)}"


def settings(
    *,
    url: str | None = None,
    client: Any = None,
    host: str | None = None,
    port: int | None = None,
    db: int | None = None,
    prefix: bytes | str | None = None,
    clients: tuple[type, ...] = (redis.Redis,),
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """The settings that the arguments and, for what they leave out, the environment ask for.

    Args:
        url: See ``pressure.Queue``, as for all that are not named here.
        client: See there.
        host: See there.
        port: See there.
        db: See there.
        prefix: See there.
        clients: What ``client`` may be.
        environ: The environment.

    Raises:
        ValueError: Two arguments that exclude each other, or a value that cannot be meant.
        TypeError: ``client`` is none of ``clients``.
    """
    _exclusive(url=url, client=client, **{"host, port or db": _first(host, port, db)})
    env_prefix = os.fsencode(environ.get("PRESSURE_PREFIX", "")) or None
    chosen = as_bytes(_first(prefix, env_prefix, DEFAULT_PREFIX))
    if client is not None:
        return _from_client(client, clients, chosen)
    if url is not None:
        return _from_url(url, chosen)
    if environ.get("REDIS_URL") and host is None and port is None:
        found = _from_url(environ["REDIS_URL"], chosen)
        extra = {} if db is None else {"db": _database(db)}
        return Settings(found.connection_class, {**found.kwargs, **extra}, chosen)
    env_host, env_port = _kubernetes(environ.get("REDIS_PORT", ""))
    kwargs = {
        "host": _first(host, environ.get("REDIS_SERVER") or None, env_host, "127.0.0.1"),
        "port": _port(_first(port, env_port, 6379)),
        "db": _database(_first(db, environ.get("REDIS_DB") or None, 0)),
    }
    return Settings(redis.Connection, _ours(kwargs), chosen)


def _first(*values: Any) -> Any:
    """The first that is not None."""
    return next((value for value in values if value is not None), None)


def _exclusive(**given: Any) -> None:
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(f"pass only one of: {'; '.join(names)}")


def _kubernetes(port: str) -> tuple[str | None, str | None]:
    """Host and port in ``REDIS_PORT``; Kubernetes sets ``tcp://host:port`` for a service called redis."""
    if port.startswith("tcp://"):
        host, _, number = port.removeprefix("tcp://").rpartition(":")
        return host.strip("[]") or None, number
    return None, port or None


def _port(value: Any) -> int:
    number = _whole(value, "port")
    if not 0 < number < 65536:
        raise ValueError(f"port must be from 1 to 65535, not {value!r}")
    return number


def _database(value: Any) -> int:
    number = _whole(value, "database number")
    if number < 0:
        raise ValueError(f"database number must be 0 or more, not {value!r}")
    return number


def _whole(value: Any, what: str) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise ValueError(f"{what} must be a whole number, not {value!r}") from None


def _from_url(url: str, prefix: bytes) -> Settings:
    parse: Callable[[str], dict[str, Any]] = parse_url  # redis-py leaves it without types
    kwargs = dict(parse(url))
    connection_class = kwargs.pop("connection_class", redis.Connection)
    return Settings(connection_class, _ours(kwargs), prefix)


def _from_client(client: Any, clients: tuple[type, ...], prefix: bytes) -> Settings:
    pool = getattr(client, "connection_pool", None)
    if not isinstance(client, clients) or pool is None:
        wanted = " or ".join(f"{kind.__module__.removesuffix('.client')}.{kind.__name__}" for kind in clients)
        raise TypeError(f"client must be a {wanted}, not {type(client).__name__}")
    kwargs = {key: value for key, value in pool.connection_kwargs.items() if not key.startswith(_NOT_TAKEN)}
    return Settings(pool.connection_class, _ours(kwargs), prefix, client)


def _ours(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The settings with ours in place of what would retry, decode, or give up on a wait."""
    wanted = kwargs.get("socket_timeout") or 0
    connect = kwargs.get("socket_connect_timeout")
    return {
        **{key: value for key, value in kwargs.items() if key not in ("max_connections", "timeout")},
        "socket_timeout": SLICE + max(wanted, REPLY_TIMEOUT),
        "socket_connect_timeout": CONNECT_TIMEOUT if connect is None else connect,
        "retry": None,
        "retry_on_timeout": False,
        "retry_on_error": [],
        "health_check_interval": 0,
        "decode_responses": False,
    }


class Connections:
    """The idle connections of one queue object; safe to share between threads."""

    def __init__(self, where: Settings) -> None:
        self.settings = where
        self._pid = os.getpid()
        self._idle: deque[Any] = deque()
        self._generation = 0
        _all.add(self)

    def take(self) -> Any:
        """A connected connection that nobody else uses; ``put_back`` or ``drop`` it.

        Raises:
            ConnectionFailedError: The server cannot be reached or does not let us in.
        """
        if self._pid != os.getpid():
            self._forget()
        while self._idle:
            try:
                connection, generation = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if generation == self._generation and _is_quiet(connection):
                return connection
            connection.disconnect()
        return self._connect()

    def _connect(self) -> Any:
        where = self.settings
        connection = None
        try:
            connection = where.connection_class(**{**where.kwargs, "client_name": connection_name()})
            connection.connect()
            connection.pressure_id = _id_of(connection)
        except (redis.RedisError, OSError) as error:
            if connection is not None:
                connection.disconnect()
            raise ConnectionFailedError(f"cannot use the Redis server at {where.address}: {error}") from error
        return connection

    def put_back(self, connection: Any) -> None:
        """Keep the connection for the next operation; all replies were read."""
        self._idle.append((connection, self._generation))

    def disconnect(self) -> None:
        """Close the idle connections; those in use are closed when they are next taken."""
        self._generation += 1
        while self._idle:
            try:
                connection, _ = self._idle.pop()
            except IndexError:
                break
            connection.disconnect()

    def _forget(self) -> None:
        """After a fork: the parent goes on using these connections, so only our copies are closed."""
        self._pid = os.getpid()
        self.disconnect()


#: The pools of this process.
_all: Final[WeakSet[Connections]] = WeakSet()


def _after_fork() -> None:
    """A child that kept its parent's connections open would make a parent that died look alive."""
    for connections in list(_all):
        connections._forget()


os.register_at_fork(after_in_child=_after_fork)


def _id_of(connection: Any) -> int | None:
    """The connection's number, by which another one can end its wait; None where the server does not tell."""
    connection.send_command("CLIENT", "ID", check_health=False)
    try:
        return int(connection.read_response())
    except redis.ResponseError:
        return None


def _is_quiet(connection: Any) -> bool:
    """Whether an idle connection is open and has nothing to read; a server that hung up makes it readable."""
    try:
        return not connection.can_read(0)
    except (redis.RedisError, OSError):
        return False
