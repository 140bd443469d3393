"""Connections on Trio: a stream, and hiredis to parse replies.

Rules:
    - The settings, which are those of redis-py, choose TCP, TLS or a Unix socket, the protocol (RESP2 or
      RESP3), the authentication and the database. The rules of ``pressure.sync.connection`` hold.
    - Error replies are returned, not raised.
    - The driver shields an exchange from cancellation; this module does not.
"""

from __future__ import annotations

import math
import select
from dataclasses import replace
from typing import Any, Final

import hiredis
import redis.asyncio.connection as theirs
import redis.connection
import trio

from pressure.connections.directory import reach
from pressure.connections.discovery import QueryResult, ServerQuery, failed
from pressure.connections.error_replies import AT_ONCE, NotDoneError, checked
from pressure.connections.handshake import Handshake
from pressure.connections.pool import Member
from pressure.connections.settings import PIECE, Settings
from pressure.connections.sockets import Plain
from pressure.errors import ServerReplyError
from pressure.execution.asynchronous import AsyncConnections
from pressure.protocol.operation import Reply

_SIZE: Final = 1 << 16

#: The errors of a broken or silent stream.
BROKEN: Final = (
    OSError,
    MemoryError,
    trio.BrokenResourceError,
    trio.ClosedResourceError,
    trio.TooSlowError,
    EOFError,
)

_KINDS: Final = (
    Plain,
    redis.connection.Connection,
    redis.connection.UnixDomainSocketConnection,
    theirs.Connection,
    theirs.UnixDomainSocketConnection,
)


def check(where: Settings) -> None:
    """Raises TypeError if the settings come from a client whose connection class is not supported on Trio."""
    for each in (where, *where.nodes):
        if not issubclass(each.connection_class, _KINDS):
            raise TypeError(
                f"client connects by {each.connection_class.__name__}, which does not work on Trio"
            )


class Connection:
    """A connection, which one operation at a time uses; ``Connections.ready`` opens it."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._reader = hiredis.Reader(
            protocolError=OSError, replyError=ServerReplyError, notEnoughData=_INCOMPLETE
        )

    async def exchange(self, data: bytes, count: int, limit: float = math.inf) -> list[Reply]:
        """Send commands and return ``count`` replies. Raises one of ``BROKEN``.

        Each send of a piece and each read may take up to ``limit`` seconds.
        """
        pieces = memoryview(data)
        for start in range(0, len(data), PIECE):
            try:
                with trio.fail_after(limit):
                    await self._stream.send_all(pieces[start : start + PIECE])
            except trio.BrokenResourceError as error:
                if isinstance(error.__cause__, BrokenPipeError) and len(data) <= AT_ONCE:
                    raise NotDoneError(str(error)) from error
                raise
        replies: list[Reply] = []
        while len(replies) < count:
            reply = self._reader.gets()
            if reply is _INCOMPLETE:
                with trio.fail_after(limit):
                    more = await self._stream.receive_some(_SIZE)
                if not more:
                    raise EOFError("Connection closed by server.")
                self._reader.feed(bytes(more))
            elif not isinstance(reply, hiredis.PushNotification):
                if type(reply) is ServerReplyError and not replies:
                    checked(reply)
                replies.append(reply)
        return replies

    async def close(self) -> None:
        """Close the connection at once."""
        await trio.aclose_forcefully(self._stream)

    @property
    def is_quiet(self) -> bool:
        """Whether the connection is open and has nothing to read; if the server closed it, it is readable."""
        poll = select.poll()
        poll.register(_socket_of(self._stream).fileno(), select.POLLIN)
        return not poll.poll(0)


_INCOMPLETE: Final = object()


def _socket_of(stream: Any) -> Any:
    return stream.transport_stream.socket if isinstance(stream, trio.SSLStream) else stream.socket


async def _stream(where: Settings) -> trio.abc.Stream:
    if path := where.kwargs.get("path"):
        return await trio.open_unix_socket(path)
    host = where.kwargs.get("host", "localhost")
    stream = await trio.open_tcp_stream(host, int(where.kwargs.get("port", 6379)))
    if not issubclass(where.connection_class, (redis.connection.SSLConnection, theirs.SSLConnection)):
        return stream
    # redis-py makes a TLS context from its settings
    context = theirs.SSLConnection(**where.kwargs).ssl_context.get()
    secure = trio.SSLStream(stream, context, server_hostname=host)
    try:
        await secure.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secure


class Connections(AsyncConnections):
    """The connections of one queue object, in one run of Trio at a time."""

    _lock = trio.Lock

    def _event_loop(self) -> object:
        try:
            return trio.lowlevel.current_trio_token()
        except RuntimeError:
            raise RuntimeError(
                "pressure.trio needs Trio, which does not run here; for asyncio there is pressure.aio"
            ) from None

    async def _open(self, query: ServerQuery, name: bytes, member: Member) -> tuple[Any, QueryResult]:
        where, stream, handshake = query.where, None, Handshake(query, name)
        if where.directory is not None:
            path = await trio.to_thread.run_sync(reach, where, abandon_on_cancel=True)
            where = replace(where, kwargs={**where.kwargs, "path": path})
        try:
            with trio.fail_after(where.connect_timeout):
                stream = await _stream(where)
                member.open_as(_socket_of(stream))
                connection = Connection(stream)
                replies = await connection.exchange(handshake.data, handshake.count)
            return connection, handshake.answers(replies)
        except BaseException as error:
            if stream is not None:
                await trio.aclose_forcefully(stream)
            if not isinstance(error, (*BROKEN, ServerReplyError)):
                raise
            problem = failed(where, str(error) or str(error.__cause__ or "no answer in time"))
            problem.__cause__ = error
            return None, problem

    def _is_quiet(self, connection: Connection) -> bool:
        return connection.is_quiet

    async def close(self, connection: Connection | None, *, nowait: bool = True) -> None:  # noqa: ARG002, D102
        if connection is not None:  # at once, even if the task is cancelled
            with trio.CancelScope(shield=True):
                await connection.close()
