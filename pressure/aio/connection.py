"""Connections on asyncio: those of redis.asyncio, with the rules of ``pressure.sync.connection``.

Rules:
    - A connection is used only by the process and on the event loop that opened it.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
from dataclasses import replace
from typing import Any, Final

import redis
import redis.asyncio.connection as theirs
import redis.connection

from pressure.aio.error_replies import ERROR_REPLIES, error_reply
from pressure.connections.directory import reach
from pressure.connections.discovery import QueryResult, ServerQuery, failed
from pressure.connections.error_replies import AT_ONCE, NotDoneError
from pressure.connections.handshake import Handshake
from pressure.connections.pool import Member
from pressure.connections.settings import PIECE, Settings
from pressure.connections.sockets import Tcp, Unix
from pressure.errors import ServerReplyError
from pressure.execution.asynchronous import AsyncConnections
from pressure.protocol.operation import Reply

_CLASSES: Final = {
    Tcp: theirs.Connection,
    Unix: theirs.UnixDomainSocketConnection,
    redis.connection.Connection: theirs.Connection,
    redis.connection.SSLConnection: theirs.SSLConnection,
    redis.connection.UnixDomainSocketConnection: theirs.UnixDomainSocketConnection,
}


def asynchronous(where: Settings) -> Settings:
    """The settings for redis.asyncio.

    Raises:
        TypeError: redis.asyncio has no counterpart of the client's connection class.
    """
    kind = _CLASSES.get(where.connection_class, where.connection_class)
    if not issubclass(kind, theirs.AbstractConnection):
        raise TypeError(f"client connects by {kind.__name__}, which does not work on asyncio")
    return replace(where, connection_class=kind, nodes=tuple(map(asynchronous, where.nodes)))


class Connections(AsyncConnections):
    """The connections of one queue object, on one event loop at a time."""

    _lock = asyncio.Lock

    def _event_loop(self) -> object:
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "pressure.aio needs asyncio, which does not run here; for Trio there is pressure.trio"
            ) from None

    async def _open(self, query: ServerQuery, name: bytes, member: Member) -> tuple[Any, QueryResult]:
        connection, handshake = _made(query, member), Handshake(query, name)
        if query.where.directory is not None:
            connection.path = await asyncio.to_thread(reach, query.where)
        try:
            async with asyncio.timeout(query.where.connect_timeout):
                await connection.connect()
                replies = await exchange(connection, handshake.data, handshake.count)
            return connection, handshake.answers(replies)
        except BaseException as error:
            await self.close(connection)
            if not isinstance(error, (redis.RedisError, OSError, ServerReplyError)):
                raise
            problem = failed(query.where, str(error) or "no answer in time")
            problem.__cause__ = error
            return None, problem

    async def close(self, connection: Any, *, nowait: bool = True) -> None:  # noqa: D102, as in the base
        if connection is not None:
            with contextlib.suppress(redis.RedisError, OSError):
                await connection.disconnect(nowait=nowait)

    def _is_quiet(self, connection: Any) -> bool:
        reader, writer = connection._reader, connection._writer
        if not connection.is_connected or writer.is_closing() or reader.at_eof():
            return False
        if (sock := _socket_of(connection)) is None:
            return True
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        return not poll.poll(0)


async def exchange(connection: Any, data: bytes, count: int) -> list[Reply]:
    """Send commands and read ``count`` replies; raises one of ``LOST``."""
    reader, pieces = connection._reader, memoryview(data)
    try:
        for start in range(0, len(data), PIECE):
            await connection.send_packed_command((pieces[start : start + PIECE],), check_health=False)
    except redis.ConnectionError as error:
        if isinstance(reader.exception(), BrokenPipeError) and len(data) <= AT_ONCE:
            raise NotDoneError(str(error)) from error
        raise
    replies: list[Reply] = []
    try:
        while len(replies) < count:
            replies.append(await reply_on(connection))
    except NotDoneError as end:
        raise end if not replies else ConnectionError(str(end)) from None
    return replies


def _made(query: ServerQuery, member: Member) -> Any:
    """A connection that is not connected yet; it sends no commands of its own when it connects."""

    def prepare(connection: Any) -> None:
        member.open_as(_socket_of(connection))
        connection._parser.on_connect(connection)

    return query.where.connection_class(**{**query.where.kwargs, "redis_connect_func": prepare})


async def reply_on(connection: Any) -> Reply:
    """The next reply on a connection. Error replies are returned, also those within the reply to EXEC."""
    try:
        reply = await connection.read_response(disconnect_on_error=False)
    except ERROR_REPLIES as error:
        return error_reply(error)
    if type(reply) is not list:
        return reply
    return [error_reply(item) if isinstance(item, ERROR_REPLIES) else item for item in reply]


def _socket_of(connection: Any) -> Any:
    writer = connection._writer
    return None if writer is None else writer.get_extra_info("socket")
