"""What all handles of servers have: where the server listens, and an end."""

from __future__ import annotations

import datetime as dt
import urllib.parse
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from .clock import time_until

if TYPE_CHECKING:
    from .arguments import Seconds

__all__ = ["Handle", "ServerAddress", "Stoppable"]


class ServerAddress(NamedTuple):
    """Where a server listens.

    Attributes:
        host: the address for clients on this machine; empty if the server has only a Unix socket.
        port: the TCP port; 0 if the server has only a Unix socket.
        tls_port: the TCP port for TLS; 0 if the server has no certificate.
        unixsocket: the path of its Unix socket; empty if it has none.
    """

    host: str
    port: int
    tls_port: int
    unixsocket: str


class Stoppable:
    """What ``stop``, or the end of its ``with`` block, ends."""

    def stop(self) -> None:
        """Ends it."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


class Handle(Stoppable):
    """A running server. ``stop``, or leaving its ``with`` block, ends it."""

    def __init__(self, place: ServerAddress) -> None:
        self.host, self.port, self.tls_port, self.unixsocket = place

    @property
    def url(self) -> str:
        """The server's URL for Redis clients, such as ``redis://127.0.0.1:6379``.

        With a password (``requirepass``) it is ``redis://:secret@127.0.0.1:6379``. If the server has only a
        Unix socket (``bind=""``), it is ``unix:///path``.
        """
        password = self._password()
        quoted = urllib.parse.quote(password, safe="", errors="surrogateescape")
        return self._url_with(f":{quoted}@" if password else "")

    @property
    def public_url(self) -> str:
        """The ``url`` without the password, for logs."""
        return self._url_with("")

    def _url_with(self, user: str) -> str:
        if not self.host:
            return f"unix://{user}{urllib.parse.quote(str(Path(self.unixsocket).absolute()))}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"redis://{user}{host}:{self.port}"

    @property
    def now(self) -> dt.datetime:
        """The server's time in UTC, as the command TIME answers it."""
        raise NotImplementedError

    if TYPE_CHECKING:

        def fast_forward(self, seconds: Seconds) -> None:
            """Moves the server's clock forward; a real server has no such method."""

    def set_time(self, moment: dt.datetime) -> None:
        """Moves the server's clock forward to a date, as ``fast_forward`` does.

        A clock that is not held runs on from there. No clock goes back: for a date that is over, start a
        server with ``HeldClock(date)``::

            server.set_time(datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC))

        Raises:
            TypeError: it is not a ``datetime``.
            ValueError: it has no time zone, or is over by the server's clock.
            RuntimeError: as ``fast_forward``.
        """
        self.fast_forward(time_until("set_time", moment, self.now))

    def _password(self) -> str:
        """What clients have to give; empty if they need not."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.public_url}>"
