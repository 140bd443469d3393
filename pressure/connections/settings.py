"""How to connect: the settings of a connection, for all flavours.

Rules:
    - Nothing here connects. If the server is not named, ``discovery`` asks ``nodes`` for it.
    - Our connections never retry: a blocking pop that is sent twice pops twice. Replies are bytes. The driver
      limits how long a reply may take, not the socket. ``made`` ensures this for settings of any origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pressure.checks import whole

#: Longest single wait for the server, in seconds. An operation can be stopped between two of them.
SLICE: Final = 1.0
#: How long (seconds) the server may be silent, beyond the wait that was asked for, before the connection
#: counts as lost. ``socket_timeout`` of a URL or a client replaces it.
REPLY_TIMEOUT: Final = 15.0
#: How long (seconds) it may take to reach a server, log in, and ask whether it has the queue.
CONNECT_TIMEOUT: Final = 10.0
#: The same for a sentinel, a node of a cluster, and a server that these name: there are others to ask.
NODE_TIMEOUT: Final = 2.0
#: How long (seconds) an operation that is to be stopped waits for a server that does not answer.
STOP_TIMEOUT: Final = 1.0
#: How many bytes of a long value are sent at once, where the time limit for a silent server applies to each
#: piece: the value may take longer.
PIECE: Final = 1 << 20
#: How long (seconds) a connection may be idle; load balancers and firewalls forget one after minutes.
IDLE_TIMEOUT: Final = 60.0
#: How many connections a queue object has at most: as many as a pool of redis-py.
MAX_CONNECTIONS: Final = 100
#: The limit of a pool of redis-py before 6.0 that has none.
_NO_LIMIT: Final = 1 << 31


class Directory(NamedTuple):
    """A directory whose server is shared by all processes that name it.

    Attributes:
        path: Where it is.
        appendfsync: When its server syncs its file to disk; as the directive of redis.conf of that name.
    """

    path: Path
    appendfsync: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How to connect, and the prefix of every key.

    Attributes:
        connection_class: A class of redis-py's connections.
        kwargs: Its arguments; without a host if ``nodes`` are asked for the server.
        prefix: The prefix.
        service: The name that sentinels give the master; None without sentinels.
        nodes: The sentinels, or else some nodes of a cluster.
        directory: The directory whose server this is, to be started if none runs; None for other servers.
        reply_timeout: How many seconds the server may be silent, beyond the wait that was asked for.
        max_connections: How many connections a queue object has at most.
    """

    connection_class: Any
    kwargs: Mapping[str, Any]
    prefix: bytes
    service: str | None = None
    nodes: tuple[Settings, ...] = ()
    directory: Directory | None = None
    reply_timeout: float = REPLY_TIMEOUT
    max_connections: int = MAX_CONNECTIONS

    @property
    def in_cluster(self) -> bool:
        """Whether the queue is on one of several nodes of a cluster."""
        return bool(self.nodes) and self.service is None

    @property
    def address(self) -> str:
        """The server for people."""
        if self.nodes:
            among = ", ".join(node.address for node in self.nodes)
            return among if self.service is None else f"{self.service!r} (sentinels: {among})"
        if path := self.kwargs.get("path"):
            return str(path)
        by = " by TLS" if "SSL" in self.connection_class.__name__ else ""
        return f"{self.kwargs.get('host', 'localhost')}:{self.kwargs.get('port', 6379)}{by}"

    @property
    def connect_timeout(self) -> float:
        """How many seconds it may take to reach the server, log in, and ask whether it has the queue."""
        return float(self.kwargs["socket_connect_timeout"])

    def __str__(self) -> str:
        return self.address

    def at(self, host: str, port: int) -> Settings:
        """These settings with the address of a server that another server has named."""
        kwargs = {**self.kwargs, "host": host, "port": port}
        return replace(self, kwargs=kwargs, service=None, nodes=()).as_node()

    def as_node(self) -> Settings:
        """These settings for one of several servers to ask, with a short limit: the next is asked soon."""
        limit = min(self.connect_timeout, NODE_TIMEOUT)
        return replace(self, kwargs={**self.kwargs, "socket_connect_timeout": limit})


def made(connection_class: Any, kwargs: Mapping[str, Any], prefix: bytes) -> Settings:
    """The settings, with our values of the options that would retry, decode, or give up on a wait.

    Raises:
        ValueError: ``max_connections`` is below 1.
    """
    theirs = dict(kwargs)
    limit = theirs.pop("max_connections", None)
    theirs.pop("timeout", None)
    reply = theirs.pop("socket_timeout", None)
    connect = theirs.pop("socket_connect_timeout", None)
    ours: dict[str, Any] = {
        "socket_timeout": None,
        "socket_connect_timeout": CONNECT_TIMEOUT if connect is None else connect,
        "retry": None,
        "retry_on_timeout": False,
        "retry_on_error": [],
        "health_check_interval": 0,
        "decode_responses": False,
    }
    return Settings(
        connection_class,
        {**theirs, **ours},
        prefix,
        reply_timeout=float(reply or REPLY_TIMEOUT),
        max_connections=MAX_CONNECTIONS if limit in (None, _NO_LIMIT) else whole(limit, "max_connections"),
    )
