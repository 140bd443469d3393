"""redis-py's clients, sync and asyncio, of a server in this process without a socket, or of one elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import redis.asyncio.connection
import redis.connection
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from ..engine.protocol.replies import NO_REPLY, NOT_ASKED, NoReply
from .direct import HUNG_UP, NEVER_DECODE, Direct, call_back
from .local import LocalSocket
from .local_async import AsyncPipe

if TYPE_CHECKING:
    from ..ticks.tick_runner import TickRunner

__all__ = ["async_client", "client", "remote_async_client", "remote_client"]

PLACE = "miniredis in this process"

Pieces: TypeAlias = list[tuple[str, Any]]


class LocalConnection(redis.connection.AbstractConnection):
    """redis-py's connection over a ``LocalSocket``.

    Args:
        connect: makes the socket.
        options: redis-py's options for any connection.
    """

    def __init__(self, *, connect: Callable[[], LocalSocket], **options: Any) -> None:
        self._connect_locally = connect
        super().__init__(**options)
        self.direct = Direct(self.encoder, self._parser)  # hiredis takes all text for UTF-8

    def send_command(self, *words: Any, **options: Any) -> None:
        """Runs a request, or sends it."""
        self.direct.reply = self.direct.ask(words)
        if self.direct.reply is NOT_ASKED:
            super().send_command(*words, **options)  # type: ignore[no-untyped-call]

    def read_response(self, disable_decoding: bool = False, **options: Any) -> Any:
        """Returns the next reply; raises it if it is an error."""
        if self.direct.has_reply:
            return self.direct.take(decodes=not disable_decoding)
        return super().read_response(disable_decoding, **options)

    def can_read(self, timeout: float | None = 0) -> bool:
        """Whether there is something to read; waits for that for up to ``timeout`` seconds."""
        return self.direct.has_reply or self.can_receive(timeout)

    def can_receive(self, timeout: float | None) -> bool:
        """The same for what comes as bytes."""
        if not self._sock:
            self.connect()  # type: ignore[no-untyped-call]
        if self._parser_has_data():
            return True
        sock = cast(LocalSocket, self._sock)
        if not sock.can_read(timeout):
            return False
        if sock.is_over:
            self.disconnect()  # type: ignore[no-untyped-call]
            raise RedisConnectionError(HUNG_UP)
        return True

    def is_ready(self) -> bool:
        """Whether it is connected, and has nothing left to read."""
        sock = self._sock
        if sock is None or not sock.is_silent or self._parser_has_data():
            return False
        self.direct.reply = NO_REPLY
        return True

    def repr_pieces(self) -> Pieces:
        """What ``repr`` shows of it."""
        return pieces_of(self)

    def _parser_has_data(self) -> bool:
        reader = getattr(self._parser, "_reader", None)  # hiredis's
        if reader is not None:
            return bool(reader.has_data())
        unread = getattr(self._parser._buffer, "unread_bytes", int)  # none before redis-py's own hello
        return bool(unread())

    def _connect(self) -> Any:
        sock = self._connect_locally()
        sock.settimeout(self.socket_timeout)
        self.direct.client = None if self.health_check_interval else sock  # redis-py has checks to do
        return sock

    def _host_error(self) -> str:
        return PLACE


class AsyncLocalConnection(redis.asyncio.connection.AbstractConnection):
    """redis-py's asyncio connection over an ``AsyncPipe``.

    Args:
        connect: makes the pipe.
        options: redis-py's options for any connection.
    """

    def __init__(self, *, connect: Callable[[], AsyncPipe], **options: Any) -> None:
        self._connect_locally = connect
        super().__init__(**options)
        is_usual = (self.encoder.encoding, self.encoder.encoding_errors) == ("utf-8", "strict")
        encode_text = str.encode if is_usual else self.encoder.encode
        self.direct = Direct(self.encoder, self._parser, encode_text)

    async def send_command(self, *words: Any, **options: Any) -> None:
        """Runs a request, or sends it."""
        self.direct.reply = self.direct.ask(words)
        if self.direct.reply is NOT_ASKED:
            await super().send_command(*words, **options)

    async def read_response(self, disable_decoding: bool = False, *args: Any, **options: Any) -> Any:
        """Returns the next reply; raises it if it is an error."""
        if self.direct.has_reply:
            return self.direct.take(decodes=not disable_decoding)
        return await super().read_response(disable_decoding, *args, **options)

    def is_ready(self) -> bool:
        """Whether it is connected, in this event loop."""
        pipe = cast("AsyncPipe | None", self._writer)
        return pipe is not None and pipe.is_silent

    def repr_pieces(self) -> Pieces:
        """What ``repr`` shows of it."""
        return pieces_of(self)

    async def _connect(self) -> None:
        pipe = self._connect_locally()
        self._reader = pipe.reader
        self._writer = cast(Any, pipe)
        self.direct.client = None if self.health_check_interval else pipe  # redis-py has checks to do

    def _host_error(self) -> str:
        return PLACE


def pieces_of(connection: Any) -> Pieces:
    named = [("client_name", connection.client_name)] if connection.client_name else []
    return [("server", PLACE), ("db", connection.db), *named]


class LocalPool(redis.ConnectionPool):
    """redis-py's pool, with a quick way to use a connection again.

    This class keeps released connections in a list of its own. redis-py's pool sees them as in use until they
    are closed: its own work at each release costs several times as much as a command here. In a forked child,
    the parent's connections have ended, and cannot be connected again.
    """

    def reset(self) -> None:
        """Forgets all connections, as after a fork."""
        self._at_hand: list[LocalConnection] = []
        super().reset()

    def take_at_hand(self) -> LocalConnection | None:
        """Returns a connection that was given back, if any; it may have been hung up on since."""
        return self._at_hand.pop() if self._at_hand else None

    def get_connection(self, *names: Any, **options: Any) -> Any:
        """Returns a connection that is connected, and has nothing left to read."""
        connection = self.take_at_hand()
        if connection is None:
            return super().get_connection(*names, **options)
        try:
            self.make_ready(connection)
        except BaseException:
            self.release(connection)
            raise
        return connection

    @staticmethod
    def make_ready(connection: LocalConnection) -> None:
        """Connects it again, unless it is connected and has nothing left to read."""
        if not connection.is_ready():
            connection.disconnect()  # type: ignore[no-untyped-call]
            connection.connect()  # type: ignore[no-untyped-call]

    def release(self, connection: Any) -> None:
        """Gives a connection back to the pool."""
        self._at_hand.append(connection)

    def disconnect(self, inuse_connections: bool = True) -> None:
        """Closes all connections, or only those that nobody uses."""
        while self._at_hand:
            super().release(cast(Any, self._at_hand.pop()))
        super().disconnect(inuse_connections)


class AsyncLocalPool(redis.asyncio.ConnectionPool):
    """The same for asyncio."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._at_hand: list[AsyncLocalConnection] = []

    def reset(self) -> None:
        """Forgets all connections."""
        self._at_hand = []
        super().reset()  # type: ignore[no-untyped-call]

    def ready_connection(self) -> AsyncLocalConnection | None:
        """Returns a connection that is connected; None if ``get_connection`` has to make one."""
        if not self._at_hand:
            return None
        connection = self._at_hand.pop()  # first: another thread may give back one of its own loop meanwhile
        if connection.is_ready():
            return connection
        self._at_hand.append(connection)
        return None

    async def get_connection(self, *names: Any, **options: Any) -> Any:
        """Returns a connection that is connected, and has nothing left to read."""
        if not self._at_hand:
            return await super().get_connection(*names, **options)  # type: ignore[no-untyped-call]
        connection = self._at_hand.pop()
        try:
            if not connection.is_ready():
                await connection.disconnect()
                await connection.connect()  # type: ignore[no-untyped-call]
        except BaseException:
            self.give_back(connection)
            raise
        return connection

    def give_back(self, connection: AsyncLocalConnection) -> None:
        """Gives a connection back to the pool."""
        self._at_hand.append(connection)

    async def release(self, connection: Any) -> None:
        """Gives a connection back to the pool."""
        self.give_back(connection)

    async def disconnect(self, inuse_connections: bool = True) -> None:
        """Closes all connections, or only those that nobody uses."""
        while self._at_hand:
            await super().release(self._at_hand.pop())
        await super().disconnect(inuse_connections)


AT_ONCE: Final = 1000
"""The most commands of a pipeline that run before other threads and tasks have a turn."""


class LocalPipeline(redis.client.Pipeline):
    """redis-py's pipeline, whose commands take the direct way as far as they can."""

    def _execute_pipeline(self, connection: Any, commands: Any, raise_on_error: bool) -> Any:
        replies: list[Any] = []
        while len(replies) < len(commands):
            begun = len(replies)
            found = connection.direct.run_pipeline(self, commands[begun : begun + AT_ONCE])
            if found is None:
                found = super()._execute_pipeline(connection, commands[begun:], False)  # type: ignore[no-untyped-call]
            elif begun:
                connection.direct.client.let_others_in()
            replies += found
        return self._checked(commands, replies, raise_on_error)

    def _execute_transaction(self, connection: Any, commands: Any, raise_on_error: bool) -> Any:
        replies = connection.direct.run_transaction(self, commands)
        if replies is None:
            return super()._execute_transaction(connection, commands, raise_on_error)
        return self._checked(commands, replies, raise_on_error)

    def _checked(self, commands: Any, replies: list[Any], raise_on_error: bool) -> list[Any]:
        if raise_on_error:
            self.raise_first_error(commands, replies)  # type: ignore[no-untyped-call]
        return replies


class AsyncLocalPipeline(redis.asyncio.client.Pipeline):
    """The same for asyncio."""

    async def _execute_pipeline(self, connection: Any, commands: Any, raise_on_error: bool) -> Any:
        replies: list[Any] = []
        while len(replies) < len(commands):
            await asyncio.sleep(0)
            begun = len(replies)
            found = connection.direct.run_pipeline(self, commands[begun : begun + AT_ONCE])
            if found is None:
                found = await super()._execute_pipeline(connection, commands[begun:], False)
            replies += found
        return await self._checked(commands, replies, raise_on_error)

    async def _execute_transaction(self, connection: Any, commands: Any, raise_on_error: bool) -> Any:
        await asyncio.sleep(0)
        replies = connection.direct.run_transaction(self, commands)
        if replies is None:
            return await super()._execute_transaction(connection, commands, raise_on_error)
        return await self._checked(commands, replies, raise_on_error)

    async def _checked(self, commands: Any, replies: list[Any], raise_on_error: bool) -> list[Any]:
        if raise_on_error:
            self.raise_first_error(commands, replies)
        return [await reply if hasattr(reply, "__await__") else reply for reply in replies]


class LocalRedis(redis.Redis):
    """redis-py's client without its handling of retries, which only remote servers need."""

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> LocalPipeline:
        """Makes a pipeline, which is a transaction unless told otherwise."""
        return LocalPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)

    def execute_command(self, *arguments: Any, **options: Any) -> Any:
        """Runs a command, and returns its reply."""
        if self.connection is not None:  # the only one that it may use
            return super().execute_command(*arguments, **options)  # type: ignore[no-untyped-call]
        pool = cast(LocalPool, self.connection_pool)
        connection = pool.take_at_hand() or cast(LocalConnection, pool.get_connection())
        try:
            direct = connection.direct
            reply = direct.ask(arguments)
            if type(reply) is not NoReply:
                return call_back(
                    direct.decoded(reply, decodes=NEVER_DECODE not in options),
                    self.response_callbacks,
                    arguments[0],
                    options,
                )
            if reply is NOT_ASKED:
                pool.make_ready(connection)
                connection.send_command(*arguments, **options)
            return self.parse_response(connection, arguments[0], **options)  # type: ignore[no-untyped-call]
        finally:
            pool.release(connection)


IN_A_ROW: Final = 16
"""Commands of a client that may run before other tasks have a turn."""


class AsyncLocalRedis(redis.asyncio.Redis):
    """The same for asyncio. A command that can run at once does, without a turn of the event loop.

    Now and then a command waits for one first, so that a task that only asks the server lets others run.
    """

    _row = 0

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> AsyncLocalPipeline:
        """Makes a pipeline, which is a transaction unless told otherwise."""
        return AsyncLocalPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)

    async def execute_command(self, *arguments: Any, **options: Any) -> Any:
        """Runs a command, and returns its reply."""
        if self.connection is not None or self.single_connection_client:
            return await super().execute_command(*arguments, **options)  # type: ignore[no-untyped-call]
        self._row += 1
        if self._row >= IN_A_ROW:
            self._row = 0
            await asyncio.sleep(0)
        pool = cast(AsyncLocalPool, self.connection_pool)
        connection = pool.ready_connection() or await pool.get_connection()
        try:
            direct = connection.direct
            reply = direct.ask(arguments)
            if type(reply) is NoReply:
                if reply is NOT_ASKED:
                    await connection.send_command(*arguments, **options)
                return await self.parse_response(cast(Any, connection), arguments[0], **options)
            found = direct.decoded(reply, decodes=NEVER_DECODE not in options)
            called = call_back(found, self.response_callbacks, arguments[0], options)
            return called if called is found or not hasattr(called, "__await__") else await called
        finally:
            pool.give_back(connection)


BESIDE_THE_POINT: Final = {
    "retry",
    "retry_on_error",
    "retry_on_timeout",
    "credential_provider",
    "cache_config",
}
"""redis-py's options that ``LocalRedis`` lacks; with one of them, clients are ``redis.Redis`` itself."""


@contextlib.contextmanager
def naming_options(caller: str, kind: str) -> Iterator[None]:
    """Names the caller in the ``TypeError`` for an unknown option."""
    try:
        yield
    except TypeError as error:
        _, _, what = str(error).rpartition("() ")
        raise TypeError(
            f"{caller}() {what}; it takes the options of {kind} that do not say where the server is"
        ) from None


WHO_IT_IS: Final = {"username", "password", "credential_provider"}
"""redis-py's options for authentication; a client without any of them uses the server's password."""

WHERE_IT_IS: Final = {"host", "port", "path", "unix_socket_path"}
"""redis-py's options for the address, which a client of a handle does not take."""


def with_password(runner: TickRunner, options: dict[str, Any]) -> dict[str, Any]:
    if WHO_IT_IS & options.keys():
        return options
    return {**options, "password": runner.engine.config["requirepass"] or None}


def client(runner: TickRunner, /, **options: Any) -> redis.Redis:
    """Makes a client of a server in this process, with a connection pool that closes with the client."""
    connect = partial(LocalSocket, runner)
    options = with_password(runner, options)
    with naming_options("server.client", "redis.Redis"):
        pool = LocalPool(connection_class=LocalConnection, connect=connect, **options)
        pool.connection_class(**pool.connection_kwargs)
    kind = redis.Redis if BESIDE_THE_POINT & options.keys() else LocalRedis
    return kind.from_pool(pool)


def async_client(runner: TickRunner, /, **options: Any) -> redis.asyncio.Redis:
    """As ``client``, for asyncio."""
    connect = partial(AsyncPipe, runner)
    options = with_password(runner, options)
    with naming_options("server.async_client", "redis.asyncio.Redis"):
        pool = AsyncLocalPool(connection_class=AsyncLocalConnection, connect=connect, **options)
        pool.connection_class(**pool.connection_kwargs)
    kind = redis.asyncio.Redis if BESIDE_THE_POINT & options.keys() else AsyncLocalRedis
    return kind.from_pool(pool)


def remote_client(url: str, options: dict[str, Any]) -> redis.Redis:
    """Makes a client of a server in another process; it tries nothing twice unless it is told to."""
    with naming_options("server.client", "redis.Redis"):
        return redis.Redis(**with_address(url, options, Retry(NoBackoff(), 0)))


def remote_async_client(url: str, options: dict[str, Any]) -> redis.asyncio.Redis:
    """As ``remote_client``, for asyncio."""
    with naming_options("server.async_client", "redis.asyncio.Redis"):
        return redis.asyncio.Redis(**with_address(url, options, AsyncRetry(NoBackoff(), 0)))


def with_address(url: str, options: dict[str, Any], retry: Any) -> dict[str, Any]:
    """A client's options with what a URL says: the address, and the password unless the options have one."""
    for name in sorted(WHERE_IT_IS & options.keys()):
        raise TypeError(f"client() got an unexpected keyword argument {name!r}")
    found: dict[str, Any] = redis.connection.parse_url(url)  # type: ignore[no-untyped-call]
    kind = found.pop("connection_class", redis.Connection)
    if issubclass(kind, redis.SSLConnection):
        found["ssl"] = True
    if "path" in found:
        found["unix_socket_path"] = found.pop("path")
    if WHO_IT_IS & options.keys():
        found = {name: value for name, value in found.items() if name not in WHO_IT_IS}
    never = {} if BESIDE_THE_POINT & options.keys() else {"retry": retry}
    return {**never, **found, **options}


def close_afterwards(client: redis.asyncio.Redis) -> None:
    """Closes a client whose event loop has ended, or does not run at the moment."""
    loop = asyncio.new_event_loop()
    with contextlib.closing(loop), contextlib.suppress(RuntimeError):  # a socket belongs to its own loop
        loop.run_until_complete(client.aclose())
