"""Our own connections on asyncio: redis.asyncio's, with the rules of ``pressure.connection``.

Rules:
    - They belong to the event loop that made them, and to the process: those of another are never used.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from collections import deque
from dataclasses import replace
from typing import Any, Final

import redis
import redis.asyncio.connection as theirs
import redis.connection

from pressure.errors import ConnectionFailedError
from pressure.finding import Look, Search, failed
from pressure.identity import HOLDS
from pressure.keys import Located
from pressure.protocol.steps import Reply
from pressure.refusals import REFUSED, plain, refusal
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
    # their timeouts are cancellations, which would break a reply off; ours are in the driver
    kwargs = {**where.kwargs, "socket_timeout": None}
    nodes = tuple(map(asynchronous, where.nodes))
    return replace(where, connection_class=kind, kwargs=kwargs, nodes=nodes)


class Connections:
    """The idle connections of one queue object, on one loop at a time."""

    def __init__(self, where: Settings, keys: Located | None = None) -> None:
        self.settings = where
        self._keys = keys
        self._idle: deque[Any] = deque()
        self._home: tuple[int, Any] = (0, None)
        self._generation = 0  # how often all were closed; those in use then are not kept

    async def take(self) -> Any:
        """A connected connection that nobody else uses; ``put_back`` or ``drop`` it.

        Raises:
            ConnectionFailedError: The server cannot be reached or does not let us in.
        """
        home = (os.getpid(), asyncio.get_running_loop())
        if self._home != home:
            self._forget()
            self._home = home
        while self._idle:
            connection = self._idle.pop()
            if _is_quiet(connection):
                return connection
            await drop(connection)
        return await self._connect()

    async def _connect(self) -> Any:
        search, connection, generation = Search(self.settings, self._keys), None, self._generation
        try:
            while (look := search.look) is not None:
                if connection is not None:
                    await drop(connection)
                kwargs = {**look.where.kwargs, "client_name": HOLDS.connection_name().decode()}
                connection = look.where.connection_class(**kwargs)
                search.hear(await _heard(connection, look))
        except BaseException:
            if connection is not None:
                await drop(connection)
            raise
        assert connection is not None
        connection.pressure_id = search.number
        connection.pressure_generation = generation
        return connection

    async def put_back(self, connection: Any, *, keep: bool = True) -> None:
        """Keep the connection for the next operation, if it can be used; all replies were read."""
        if keep and connection.pressure_generation == self._generation:
            self._idle.append(connection)
        else:
            await drop(connection)

    async def disconnect(self) -> None:
        """Close the idle connections, and those in use as soon as they are given back."""
        self._generation += 1
        if self._home != (os.getpid(), asyncio.get_running_loop()):
            self._forget()
        while self._idle:
            await drop(self._idle.pop(), nowait=False)

    def _forget(self) -> None:
        """Another loop, or the process that we were forked from, had these: our copies go away unused."""
        self._idle.clear()


async def _heard(connection: Any, look: Look) -> list[Reply] | ConnectionFailedError:
    """Connect, and ask."""
    try:
        async with asyncio.timeout(look.where.kwargs["socket_connect_timeout"]):
            await connection.connect()
            for command in look.ask:
                await connection.send_command(*command, check_health=False)
            return [await reply_on(connection) for _ in look.ask]
    except (redis.RedisError, OSError) as error:  # TimeoutError is one
        problem = failed(look.where, error or "no answer in time")
        problem.__cause__ = error
        return problem


async def reply_on(connection: Any) -> Reply:
    """The next reply on a connection; an error reply is a value."""
    try:
        return plain(await connection.read_response(disconnect_on_error=False))
    except REFUSED as error:
        return refusal(error)


async def drop(connection: Any, nowait: bool = True) -> None:
    """Close a connection."""
    with contextlib.suppress(redis.RedisError, OSError):
        await connection.disconnect(nowait=nowait)


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
