"""Find out where the server is, from the arguments of a queue and the environment.

Pressure protocol 0.15, Message Brokers: host, port, database and prefix are configurable when a queue is
made, and may come from the environment as ``REDIS_SERVER``, ``REDIS_PORT``, ``REDIS_DB`` and
``PRESSURE_PREFIX``. ``REDIS_URL`` takes precedence over the first three, and the constructor's arguments take
precedence over the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypedDict

from pressure.checks import whole
from pressure.connections.settings import Settings, made
from pressure.connections.sockets import Tcp
from pressure.connections.urls import from_client, from_url
from pressure.keys import DEFAULT_PREFIX, as_bytes


class ServerOptions(TypedDict, total=False):
    """Arguments of every kind of queue that say where the server is; ``pressure.Queue`` describes them."""

    url: str | None
    client: Any
    host: str | None
    port: int | None
    db: int | None
    scripts: bool


def settings(
    *,
    url: str | None = None,
    client: Any = None,
    host: str | None = None,
    port: int | None = None,
    db: int | None = None,
    prefix: bytes | str | None = None,
    max_connections: int | None = None,
    clients: tuple[str, ...] = ("redis.Redis",),
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """The settings from the arguments; the environment gives those that are not passed.

    Args:
        url: As in ``pressure.Queue``.
        client: As in ``pressure.Queue``.
        host: As in ``pressure.Queue``.
        port: As in ``pressure.Queue``.
        db: As in ``pressure.Queue``.
        prefix: As in ``pressure.Queue``.
        max_connections: How many connections a queue object has at most. Default: what the URL or the client
            says.
        clients: The names of the types that ``client`` may have.
        environ: The environment variables.

    Raises:
        ValueError: An argument has a wrong value, or excludes another.
        TypeError: An argument has a wrong type, such as a ``client`` that is not one of ``clients``.
    """
    _exclusive(url=url, client=client, **{"host, port and db": _first(host, port, db)})
    env_prefix = os.fsencode(environ.get("PRESSURE_PREFIX", "")) or None
    chosen = as_bytes(_first(prefix, env_prefix, DEFAULT_PREFIX), "prefix")
    if client is not None:
        found = from_client(client, clients, chosen)
    elif url is not None:
        found = from_url(url, chosen)
    elif environ.get("REDIS_URL") and host is None and port is None:
        found = _of_redis_url(environ["REDIS_URL"], db, chosen)
    else:
        found = made(Tcp, _place(host, port, db, environ), chosen)
    if max_connections is None:
        return found
    return replace(found, max_connections=whole(max_connections, "max_connections"))


def _of_redis_url(url: str, db: int | None, prefix: bytes) -> Settings:
    try:
        found = from_url(url, prefix)
    except ValueError as error:
        raise ValueError(f"{error} (from the environment variable REDIS_URL)") from None
    return found if db is None else replace(found, kwargs={**found.kwargs, "db": _database(db)})


def _place(host: str | None, port: int | None, db: int | None, environ: Mapping[str, str]) -> dict[str, Any]:
    env_host, env_port = _kubernetes(environ.get("REDIS_PORT", ""))
    return {
        "host": _host(_first(host, environ.get("REDIS_SERVER") or None, env_host, "127.0.0.1")),
        "port": _or_environ(_port, port, env_port, "REDIS_PORT", 6379),
        "db": _or_environ(_database, db, environ.get("REDIS_DB"), "REDIS_DB", 0),
    }


def _first(*values: Any) -> Any:
    """The first value that is not None; None if there is none."""
    return next((value for value in values if value is not None), None)


def _exclusive(**given: Any) -> None:
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(f"pass either {' or '.join(names)}, not both")


def _kubernetes(port: str) -> tuple[str | None, str | None]:
    """Host and port from ``REDIS_PORT``: Kubernetes sets ``tcp://host:port`` for a service named redis."""
    if port.startswith("tcp://"):
        host, _, number = port.removeprefix("tcp://").rpartition(":")
        return host.strip("[]") or None, number
    return None, port or None


def _or_environ(read: Callable[[Any], int], given: Any, text: str | None, name: str, default: int) -> int:
    """The number that is passed, or else the one in an environment variable, or else the default."""
    if given is not None or not text:
        return read(_first(given, default))
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{error} (from the environment variable {name})") from None


def _host(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"host must be a str, not {type(value).__name__}")
    return value


def _port(value: Any) -> int:
    number = _number(value, "port")
    if not 0 < number < 65536:
        raise ValueError(f"port must be from 1 to 65535, not {value!r}")
    return number


def _database(value: Any) -> int:
    return _number(value, "db", 0)


def _number(value: Any, what: str, least: int | None = None) -> int:
    """A whole number; also from text, since environment variables are text."""
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"{what} must be a whole number, not {value!r}") from None
    return whole(number, what, least)
