"""``FakeValkey`` and its kin: valkey-py's clients on the servers of ``fakeredis``, a Valkey 8.1 by default.

Import them from ``miniredis.compat.fakeredis``; they need the package ``valkey``.
"""

from __future__ import annotations

from typing import Any, Final, cast

import valkey
import valkey.asyncio
from valkey.asyncio.connection import AbstractConnection as AsyncConnection
from valkey.asyncio.retry import Retry as AsyncRetry
from valkey.backoff import NoBackoff
from valkey.connection import AbstractConnection
from valkey.retry import Retry

from ..inprocess.clients import PLACE, pieces_of
from ..inprocess.local import LocalSocket
from ..inprocess.local_async import AsyncPipe
from .fake_servers import Fake, FakeServer, server_for, without_sockets

__all__ = [
    "FakeAsyncValkey",
    "FakeAsyncValkeyConnection",
    "FakeStrictValkey",
    "FakeValkey",
    "FakeValkeyConnection",
]


class OnServer:
    """What the connections for threads and for asyncio share: their server, and how they speak of it."""

    def __init__(self, *, server: FakeServer | None = None, **options: Any) -> None:
        self._server = server_for(server, options, "valkey")
        super().__init__(**without_sockets(options))

    def _check(self) -> None:
        self._server.check_connected(valkey.ConnectionError)

    def _host_error(self) -> str:
        return PLACE

    def _error_message(self, error: BaseException) -> str:
        return f"Error connecting to {PLACE}. {error}."

    def repr_pieces(self) -> list[tuple[str, Any]]:
        """What ``repr`` shows of it."""
        return pieces_of(self)


class FakeValkeyConnection(OnServer, AbstractConnection):
    """valkey-py's connection to a ``FakeServer``, for a pool of your own."""

    def _connect(self) -> LocalSocket:
        self._check()
        sock = LocalSocket(self._server._runner)
        sock.settimeout(self.socket_timeout)
        return sock

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        """Sends a command, if the server is connected."""
        self._check()
        super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]


class FakeAsyncValkeyConnection(OnServer, AsyncConnection):
    """The same for asyncio."""

    async def _connect(self) -> None:
        self._check()
        pipe = AsyncPipe(self._server._runner)
        self._reader, self._writer = pipe.reader, cast(Any, pipe)

    async def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        """Sends a command, if the server is connected."""
        self._check()
        await super().send_packed_command(command, check_health)


class FakeValkey(Fake, valkey.Valkey):
    """``valkey.Valkey`` on a ``FakeServer``."""

    _connection_class = FakeValkeyConnection
    _server_type = "valkey"
    _never = Retry(NoBackoff(), 0)


class FakeAsyncValkey(Fake, valkey.asyncio.Valkey):  # type: ignore[misc]  # valkey-py's bases disagree
    """``valkey.asyncio.Valkey`` on a ``FakeServer``."""

    _connection_class = FakeAsyncValkeyConnection
    _server_type = "valkey"
    _never = AsyncRetry(NoBackoff(), 0)


FakeStrictValkey: Final = FakeValkey
