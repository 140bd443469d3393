"""Our own connections on asyncio: redis.asyncio's, with the rules of ``pressure.connection``.

Rules:
    - They belong to the event loop that made them, and to the process: those of another are never used.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from dataclasses import replace
from typing import Any, Final

import redis
import redis.asyncio.connection as theirs
import redis.connection

from pressure.discovery import Discovery, ServerQuery, failed
from pressure.error_replies import ERROR_REPLIES, error_reply
from pressure.errors import ConnectionFailedError, ServerReplyError
from pressure.handshake import Handshake
from pressure.keys import QueueKeys
from pressure.pool import HOLDS, Member, Pool
from pressure.protocol.operation import Reply
from pressure.settings import Settings

_CLASSES: Final = {
    redis.connection.Connection: theirs.Connection,
    redis.connection.SSLConnection: theirs.SSLConnection,
    redis.connection.UnixDomainSocketConnection: theirs.UnixDomainSocketConnection,
}


def asynchronous(where: Settings) -> Settings:
    """The settings for redis.asyncio.

    Raises:
        TypeError: The client that they came from connects in a way that asyncio has not.
    """
    kind = _CLASSES.get(where.connection_class, where.connection_class)
    if not issubclass(kind, theirs.AbstractConnection):
        raise TypeError(f"client connects by {kind.__name__}, which does not work on asyncio")
    return replace(where, connection_class=kind, nodes=tuple(map(asynchronous, where.nodes)))


class Connections:
    """The connections of one queue object, on one loop at a time.

    Attributes:
        settings: How they connect.
        pool: Who uses which.
        unblocks: Held while a wait is ended from a connection of its own: there is one such at a time.
    """

    def __init__(self, where: Settings, keys: QueueKeys | None = None) -> None:
        self.settings = self._where = where
        self._keys = keys
        self.pool = Pool(where.max_connections, asyncio.Lock)
        self._home: tuple[int, Any] = (0, None)
        self.unblocks = asyncio.Lock()

    def come_home(self) -> None:
        """Forget the connections of another loop, or of the process that we were forked from."""
        home = (os.getpid(), asyncio.get_running_loop())
        if self._home != home:
            self.pool.forget()
            self._home, self.unblocks = home, asyncio.Lock()

    async def ready(self, member: Member) -> None:
        """See to it that a member has a connection that works, as far as that can be seen.

        Raises:
            ConnectionFailedError: The server cannot be reached or does not let us in.
            ClusterError: It is a cluster's, and the queue's name has no hash tag.
        """
        if member.connection is not None:
            if _is_quiet(member.connection):
                return
            await self.close(member.take_out())
        generation, discovery = self.pool.generation, Discovery(self._where, self._keys)
        connection, name = None, b""
        try:
            while (query := discovery.query) is not None:
                await self.close(connection)
                connection, name = _made(query, member), HOLDS.connection_name()
                discovery.receive(await _queried(connection, query, name))
        except BaseException:
            await self.close(connection)
            raise
        self._where = discovery.where
        member.set(connection, name, discovery.number, generation)

    async def give_back(self, member: Member) -> None:
        """End the use of a member."""
        for connection in self.pool.give_back(member):
            await self.close(connection)

    async def disconnect(self, *, nowait: bool = False) -> None:
        """Close the idle connections, and those in use as soon as they are given back."""
        self.come_home()
        for connection in self.pool.drain():
            await self.close(connection, nowait=nowait)

    async def close(self, connection: Any, *, nowait: bool = True) -> None:
        """Close a connection, if there is one."""
        if connection is not None:
            with contextlib.suppress(redis.RedisError, OSError):
                await connection.disconnect(nowait=nowait)


async def exchange(connection: Any, data: bytes, count: int) -> list[Reply]:
    """Send commands, and read so many replies; raises one of ``LOST``."""
    await connection.send_packed_command(data, check_health=False)
    return [await reply_on(connection) for _ in range(count)]


def _made(query: ServerQuery, member: Member) -> Any:
    """A connection that is not connected yet, and says nothing by itself when it is."""

    def prepare(connection: Any) -> None:
        member.open_as(_socket_of(connection))
        connection._parser.on_connect(connection)

    return query.where.connection_class(**{**query.where.kwargs, "redis_connect_func": prepare})


async def _queried(connection: Any, query: ServerQuery, name: bytes) -> list[Reply] | ConnectionFailedError:
    """Connect, introduce ourselves, and ask."""
    handshake = Handshake(query, name)
    try:
        async with asyncio.timeout(query.where.connect_timeout):
            await connection.connect()
            replies = await exchange(connection, handshake.data, handshake.count)
        return handshake.answers(replies)
    except (redis.RedisError, OSError, ServerReplyError) as error:
        problem = failed(query.where, str(error) or "no answer in time")
        problem.__cause__ = error
        return problem


async def reply_on(connection: Any) -> Reply:
    """The next reply on a connection; an error reply, also in one of a transaction, is a value."""
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


def _is_quiet(connection: Any) -> bool:
    """Whether an idle connection is open and has nothing to read; a server that hung up makes it readable."""
    reader, writer = connection._reader, connection._writer
    if not connection.is_connected or writer.is_closing() or reader.at_eof():
        return False
    if (sock := _socket_of(connection)) is None:
        return True
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return not poll.poll(0)
