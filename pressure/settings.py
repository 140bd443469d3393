"""How to connect: what every flavour makes its connections of.

Rules:
    - Nothing here connects. Whom to ask for the server, where that is not said, is in ``nodes``; ``finding``
      asks.
    - Our connections never retry: a blocking pop that is sent twice pops twice. Their socket timeout is
      longer than any wait, replies are bytes. ``ours`` sees to it, whatever the settings come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

#: Longest single wait for the server, in seconds. An operation can be stopped between two of them.
SLICE: Final = 1.0
#: How long (seconds) a reply may take beyond the wait that was asked for, before the connection counts as
#: lost.
REPLY_TIMEOUT: Final = 15.0
CONNECT_TIMEOUT: Final = 10.0
#: The same for a sentinel or a node of a cluster, beside which there are others to ask.
NODE_TIMEOUT: Final = 3.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How to connect, and the prefix of every key.

    Attributes:
        connection_class: A class of redis-py's connections.
        kwargs: Its arguments; without a host where the server is to be found by asking ``nodes``.
        prefix: The prefix.
        service: What sentinels call the server; None where they are not asked.
        nodes: The sentinels, or else some nodes of a cluster.
    """

    connection_class: Any
    kwargs: Mapping[str, Any]
    prefix: bytes
    service: str | None = None
    nodes: tuple[Settings, ...] = ()

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

    def at(self, host: str, port: int) -> Settings:
        """The same at a certain place."""
        return replace(self, kwargs={**self.kwargs, "host": host, "port": port}, service=None, nodes=())


def ours(kwargs: Mapping[str, Any]) -> dict[str, Any]:
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
