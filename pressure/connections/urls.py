"""Settings from URLs, and from clients of redis-py.

A URL names the server itself, or the sentinels or cluster nodes that are asked for it.

To add a kind of URL: a row in ``_KINDS``, and the search for the server in ``discovery``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from pressure.connections import directory
from pressure.connections.settings import Settings, made
from pressure.connections.sockets import Tcp, Unix

_SENTINEL_PORT: Final = 26379

#: Schemes of URLs that name one server.
_PLAIN: Final = ("redis", "rediss", "unix")

#: Settings of a ``client=`` that are not taken over: they concern its own pool, or ours replace them.
_NOT_TAKEN: Final = (
    "maint_notifications",
    "maintenance_",
    "oss_cluster_",
    "orig_",
    "cache",
    "himport_",
    "retry",
    "connection_pool",
    "parser_class",  # ours reads through ``Paced``
)


def from_url(url: str, prefix: bytes) -> Settings:
    """The settings that a URL stands for.

    Raises:
        ValueError: The URL is wrong.
    """
    if not isinstance(url, str):
        raise TypeError(f"url must be a str, not {type(url).__name__}")
    if url.startswith(directory.SCHEME):
        return _shared(url, prefix)
    scheme, _, kind = url.partition("://")[0].partition("+")
    if "://" not in url or scheme not in _PLAIN or (kind and (scheme == "unix" or kind not in _KINDS)):
        begins = url.rpartition("@")[2]  # without a password, which may have an @ in it
        named = (f"{each}://" for each in (*_PLAIN, *(f"redis+{each}" for each in _KINDS)))
        known = ", ".join((*named, directory.SCHEME))
        raise ValueError(f"the URL of a Redis server must begin with one of {known}; not so {begins!r}")
    _check_escaped(url)
    try:
        return _KINDS[kind](_split(url)._replace(scheme=scheme), prefix) if kind else _one(url, prefix)
    except ValueError as error:
        raise ValueError(f"the URL of the Redis server is wrong: {error}") from None


def _check_escaped(url: str) -> None:
    """Raise ValueError if a password has to be escaped: the errors of other functions would show it."""
    hosts, rest = _split(url).netloc, url.partition("://")[2]
    if not hosts or "@" in hosts or "@" not in rest:
        return
    port = "" if hosts.endswith("]") else hosts.partition(":")[2]
    if "@" in rest.partition("?")[0] or (port and not port.isdigit()):
        where = "the URL of the Redis server is wrong"
        raise ValueError(f"{where}: write / as %2F, ? as %3F and # as %23 in a user or password")


def _split(url: str) -> SplitResult:
    """The parts of a URL. Python's own function refuses several hosts if one of them is in brackets."""
    hosts = url.partition("://")[2].replace("?", "/").replace("#", "/").partition("/")[0]
    return urlsplit(url.replace(f"://{hosts}", "://", 1))._replace(netloc=hosts)


def _one(url: str, prefix: bytes, **defaults: Any) -> Settings:
    parts = urlsplit(url)
    parsed = _parsed_by_redis_py(url) if parts.query or parts.scheme == "rediss" else _parsed(parts)
    kwargs = {**defaults, **parsed}
    found = made(kwargs.pop("connection_class", Tcp), kwargs, prefix)
    database = "" if parts.scheme == "unix" else unquote(parts.path).strip("/")
    if database and not database.isdigit():  # redis-py ignores it
        raise ValueError(f"the database must be a number, as in redis://HOST:PORT/0, not {database!r}")
    if parts.query:
        _check_options(found)
    return found


def _parsed(parts: SplitResult) -> dict[str, Any]:
    """The arguments of a connection, from a URL without options, as redis-py would parse it."""
    words = {"username": parts.username, "password": parts.password}
    place = {"path": parts.path} if parts.scheme == "unix" else {"host": parts.hostname}
    found: dict[str, Any] = {name: unquote(word) for name, word in (words | place).items() if word}
    if parts.scheme == "unix":
        return {**found, "connection_class": Unix}
    database = unquote(parts.path).strip("/")
    numbers = {"port": parts.port, "db": int(database) if database.isdigit() else None}
    return found | {name: number for name, number in numbers.items() if number is not None}


def _parsed_by_redis_py(url: str) -> dict[str, Any]:
    from redis.connection import Connection, parse_url

    parse: Callable[[str], dict[str, Any]] = parse_url  # redis-py does not annotate it
    return {"connection_class": Connection, **parse(url)}


def _check_options(where: Settings) -> None:
    """Raise ValueError if a URL has an option that no connection knows, or one with a wrong value."""
    from redis import RedisError

    try:
        where.connection_class(**where.kwargs)
    except TypeError as error:
        option = str(error).rpartition("argument ")[2]
        raise ValueError(f"it has an option that is not known: {option}") from None
    except RedisError as error:
        raise ValueError(str(error)) from None


def _shared(url: str, prefix: bytes) -> Settings:
    """``miniredis:///path``: the server of a directory."""
    try:
        place, rest = directory.parse(url)
        return replace(_one(rest, prefix), directory=place)
    except ValueError as error:
        raise ValueError(f"the URL of the server's directory is wrong: {error}") from None


def _cluster(url: SplitResult, prefix: bytes) -> Settings:
    """``redis+cluster://host:port,host:port``: any nodes of a cluster."""
    who, at, hosts = url.netloc.rpartition("@")
    urls = (url._replace(netloc=who + at + host).geturl() for host in hosts.split(","))
    nodes = tuple(_one(each, prefix).as_node() for each in urls)
    return replace(nodes[0], nodes=nodes)


def _sentinels(url: SplitResult, prefix: bytes) -> Settings:
    """``redis+sentinel://user:password@host:port,host:port/service/db``; the user is the server's."""
    who, at, hosts = url.netloc.rpartition("@")
    service, _, database = url.path.strip("/").partition("/")
    if not service:
        raise ValueError("it lacks the name of the master, as in redis+sentinel://HOST:PORT,HOST:PORT/NAME")
    options = dict(parse_qsl(url.query))
    words = [quote(options.pop(f"sentinel_{name}", ""), "") for name in ("username", "password")]
    theirs = ":".join(words) + "@" if any(words) else ""
    plain = url._replace(query=urlencode(options))
    server = _one(plain._replace(netloc=who + at + "localhost", path="/" + database).geturl(), prefix)
    urls = (plain._replace(netloc=theirs + host, path="").geturl() for host in hosts.split(","))
    nodes = tuple(_one(each, prefix, port=_SENTINEL_PORT).as_node() for each in urls)
    return replace(server, service=unquote(service), nodes=nodes)


#: By what follows the plus in the scheme of a URL: the function that makes the settings.
_KINDS: Final[dict[str, Callable[[SplitResult, bytes], Settings]]] = {
    "sentinel": _sentinels,
    "cluster": _cluster,
}


def from_client(client: Any, clients: tuple[str, ...], prefix: bytes) -> Settings:
    """The settings of a client of redis-py.

    Raises:
        TypeError: The client's class is none of ``clients``.
        ValueError: The client connects to a replica.
    """
    from pkgutil import resolve_name

    pool = getattr(client, "connection_pool", None)
    if not isinstance(client, tuple(map(resolve_name, clients))) or pool is None:
        raise TypeError(f"client must be of class {' or '.join(clients)}, not {type(client).__name__}")
    found = _of_pool(pool, prefix)
    manager = getattr(pool, "sentinel_manager", None)
    if manager is None:
        return found
    if not pool.is_master:
        raise ValueError("client connects to a replica, which takes no writes; use Sentinel.master_for")
    asked = tuple(_of_pool(each.connection_pool, prefix).as_node() for each in manager.sentinels)
    # the pool's class asks the sentinels when it connects; its base class only connects
    plain = next(kind for kind in pool.connection_class.__mro__ if "sentinel" not in kind.__module__)
    return replace(found, connection_class=plain, service=pool.service_name, nodes=asked)


def _of_pool(pool: Any, prefix: bytes) -> Settings:
    taken = {key: value for key, value in pool.connection_kwargs.items() if not key.startswith(_NOT_TAKEN)}
    taken["max_connections"] = pool.max_connections
    return made(pool.connection_class, taken, prefix)
