"""Our own connection on Trio: a stream, and hiredis to read replies.

Rules:
    - TCP, TLS or a Unix socket; AUTH or HELLO, RESP2 or RESP3, SELECT: as the settings say, which are those
      of redis-py. The rules of ``pressure.connection`` hold.
    - An error reply is a value, as operations are handed it.
    - Nothing here is shielded; the driver sees to that.
"""

from __future__ import annotations

import math
import os
import select
from collections import deque
from typing import Any, Final

import hiredis
import redis.asyncio.connection as theirs
import redis.connection
import trio

from pressure.errors import ConnectionFailedError, ServerReplyError
from pressure.finding import Look, Search, failed
from pressure.identity import HOLDS
from pressure.keys import Located
from pressure.protocol.steps import Reply
from pressure.settings import Settings

_SIZE: Final = 1 << 16
#: How much to send at once: whoever takes it in time is not given up.
_PIECE: Final = 1 << 20

#: What goes wrong with a stream.
BROKEN: Final = (
    OSError,
    MemoryError,
    trio.BrokenResourceError,
    trio.ClosedResourceError,
    trio.TooSlowError,
    EOFError,
)

_KINDS: Final = (
    redis.connection.Connection,
    redis.connection.UnixDomainSocketConnection,
    theirs.Connection,
    theirs.UnixDomainSocketConnection,
)


def check(where: Settings) -> None:
    """Raises TypeError if the client that the settings came from connects in a way that is not known here."""
    for each in (where, *where.nodes):
        if not issubclass(each.connection_class, _KINDS):
            raise TypeError(
                f"client connects by {each.connection_class.__name__}, which does not work on Trio"
            )


class Connection:
    """A connection that is used by one operation at a time; ``opened`` makes one.

    Attributes:
        id: Its number on the server, by which another one can end its wait; None if the server does not tell.
        client_name: The name that it carries on the server.
    """

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._reader = hiredis.Reader(
            protocolError=OSError, replyError=ServerReplyError, notEnoughData=_INCOMPLETE
        )
        self.id: int | None = None
        self.client_name = ""
        self.generation = 0

    async def exchange(self, data: bytes, count: int, limit: float = math.inf) -> list[Reply]:
        """Send commands, and return so many replies; ``limit`` is how many seconds nothing may move.

        Raises one of ``BROKEN``.
        """
        pieces = memoryview(data)
        for start in range(0, len(data), _PIECE):
            with trio.fail_after(limit):
                await self._stream.send_all(pieces[start : start + _PIECE])
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
                replies.append(reply)
        return replies

    async def close(self) -> None:
        """Hang up at once."""
        await trio.aclose_forcefully(self._stream)

    @property
    def is_quiet(self) -> bool:
        """Whether it is open and has nothing to read; a server that hung up makes it readable."""
        stream: Any = self._stream
        stream = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
        poll = select.poll()
        poll.register(stream.socket.fileno(), select.POLLIN)
        return not poll.poll(0)


_INCOMPLETE: Final = object()


async def opened(where: Settings, keys: Located | None = None) -> Connection:
    """A connection to the server of a queue, which has let it in.

    Raises:
        ConnectionFailedError: The server cannot be reached or does not let us in.
        ClusterError: It is a cluster's, and the queue's name has no hash tag.
    """
    search, connection = Search(where, keys), None
    try:
        while (look := search.look) is not None:
            if connection is not None:
                await connection.close()
            connection, heard = await _heard(look)
            search.hear(heard)
    except BaseException:
        if connection is not None:
            await connection.close()
        raise
    assert connection is not None
    connection.id = search.number
    return connection


async def _heard(look: Look) -> tuple[Connection | None, list[Reply] | ConnectionFailedError]:
    """Connect, and ask."""
    where, stream = look.where, None
    try:
        with trio.fail_after(where.kwargs["socket_connect_timeout"]):
            stream = await _stream(where)
            connection = Connection(stream)
            return connection, await _introduce(connection, look)
    except BaseException as error:
        if stream is not None:
            await trio.aclose_forcefully(stream)
        if isinstance(error, (*BROKEN, ServerReplyError)):
            problem = failed(where, str(error) or str(error.__cause__ or type(error).__name__))
            problem.__cause__ = error
            return None, problem
        raise


async def _stream(where: Settings) -> trio.abc.Stream:
    if path := where.kwargs.get("path"):
        return await trio.open_unix_socket(path)
    host = where.kwargs.get("host", "localhost")
    stream = await trio.open_tcp_stream(host, int(where.kwargs.get("port", 6379)))
    if not issubclass(where.connection_class, (redis.connection.SSLConnection, theirs.SSLConnection)):
        return stream
    # redis-py knows how to make a context of its settings
    context = theirs.SSLConnection(**where.kwargs).ssl_context.get()
    secure = trio.SSLStream(stream, context, server_hostname=host)
    try:
        await secure.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secure


async def _introduce(connection: Connection, look: Look) -> list[Reply]:
    """Say who we are, and ask; raises ServerReplyError if the server does not accept it."""
    connection.client_name = HOLDS.connection_name().decode()
    greeting = [*_greeting(look.where), ("CLIENT", "SETNAME", connection.client_name)]
    commands = [*greeting, *look.ask]
    replies = await connection.exchange(b"".join(map(hiredis.pack_command, commands)), len(commands))
    for reply in replies[: len(greeting)]:
        if isinstance(reply, ServerReplyError):
            raise reply
    return replies[len(greeting) :]


def _greeting(where: Settings) -> list[tuple[Any, ...]]:
    """What logs in, and chooses RESP version and database."""
    settings = where.kwargs
    who: tuple[Any, ...] = ()
    if provider := settings.get("credential_provider"):
        who = tuple(provider.get_credentials())
    elif settings.get("username") or settings.get("password"):
        who = tuple(word for word in (settings.get("username"), settings.get("password")) if word is not None)
    greeting: list[tuple[Any, ...]] = []
    if int(settings.get("protocol") or 2) == 3:
        greeting.append(("HELLO", 3, *(("AUTH", *(("default", *who)[-2:])) if who else ())))
    elif who:
        greeting.append(("AUTH", *who))
    if database := settings.get("db"):
        greeting.append(("SELECT", database))
    return greeting


class Connections:
    """The idle connections of one queue object."""

    def __init__(self, where: Settings, keys: Located | None = None) -> None:
        self.settings = where
        self._keys = keys
        self._idle: deque[Connection] = deque()
        self._home: tuple[int, Any] = (0, None)
        self._generation = 0  # how often all were closed; those in use then are not kept

    async def take(self) -> Connection:
        """A connection that nobody else uses; ``put_back`` it, or close it.

        Raises:
            ConnectionFailedError: The server cannot be reached or does not let us in.
        """
        home = (os.getpid(), trio.lowlevel.current_trio_token())
        if self._home != home:  # another run of Trio, or a forked child: those belong to the other
            self._idle.clear()
            self._home = home
        while self._idle:
            connection = self._idle.pop()
            if connection.is_quiet:
                return connection
            await connection.close()
        generation = self._generation
        connection = await opened(self.settings, self._keys)
        connection.generation = generation
        return connection

    async def put_back(self, connection: Connection, *, keep: bool = True) -> None:
        """Keep the connection for the next operation, if it can be used; all replies were read."""
        if keep and connection.generation == self._generation:
            self._idle.append(connection)
            return
        with trio.CancelScope(shield=True):
            await connection.close()

    async def disconnect(self) -> None:
        """Close the idle connections, and those in use as soon as they are given back."""
        self._generation += 1
        with trio.CancelScope(shield=True):
            while self._idle:
                await self._idle.pop().close()
