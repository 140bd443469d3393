"""Our own connections to the server, those of redis-py: opened, used, and closed by the synchronous flavour.

Rules:
    - Each carries a name of its own (CLIENT SETNAME), by which a hold that lives on it is known to be alive.
    - ``discovery`` finds the server anew for each. ``pool`` says which of them an operation uses.
    - Reading wakes up every ``TICK`` and asks a ``CancelScope`` whether to go on, so that neither a silent
      server nor a slow one keeps a program that wants to end.
    - redis-py's pipelines, its packing and its greeting are passed by: hiredis packs a step, which is sent at
      once, and its replies are read. That is a good deal less Python per operation.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import redis

from pressure.directory import reach
from pressure.discovery import Discovery, ServerQuery, failed
from pressure.error_replies import AT_ONCE, ERROR_REPLIES, NotDoneError, error_reply
from pressure.errors import ConnectionFailedError, ServerReplyError
from pressure.handshake import Handshake
from pressure.keys import QueueKeys
from pressure.pool import HOLDS, Member, Pool
from pressure.protocol.operation import Reply
from pressure.settings import STOP_TIMEOUT, Settings

#: Seconds between two looks, while the server is silent, whether to go on waiting for it.
TICK: Final = 0.1
#: Asked before each wait, and while the server is silent: an exception to stop with, or None to go on.
Interrupt: TypeAlias = Callable[[], BaseException | None]


class CancelScope:
    """When an operation is cancelled, or gives up waiting for the server.

    Args:
        interrupt: See ``Interrupt``.
        deadline: When to give up in any case, in monotonic seconds.

    Attributes:
        reason: What to stop the operation with, once ``interrupt`` has said so.
    """

    __slots__ = ("_deadline", "_interrupt", "_on_cancel", "_silent", "_timeout", "reason")

    def __init__(self, interrupt: Interrupt | None, deadline: float = float("inf")) -> None:
        self._interrupt = interrupt
        self._deadline = deadline
        self._timeout = float("inf")
        self._silent = 0.0
        self._on_cancel: Callable[[], float] | None = None
        self.reason: BaseException | None = None

    def begin_wait(self, timeout: float, on_cancel: Callable[[], float] | None = None) -> None:
        """Wait for something anew, for so many seconds of silence.

        If it is to end earlier, ``on_cancel`` sees to that, and says how many seconds that takes at most.
        """
        self._timeout, self._on_cancel, self._silent = timeout, on_cancel, 0.0

    def cancelled(self) -> BaseException | None:
        """What to stop with; None to go on."""
        if self.reason is None and self._interrupt is not None:
            self.reason = self._interrupt()
            if self.reason is not None:
                left = STOP_TIMEOUT if self._on_cancel is None else self._on_cancel()
                self._deadline = min(self._deadline, time.monotonic() + left)
        return self.reason

    def tick(self) -> None:
        """Nothing came for a while.

        Raises:
            TimeoutError: It is time to give up.
        """
        self._silent += TICK
        self.cancelled()
        if time.monotonic() > self._deadline:
            why = "" if self.reason is None else " to an operation that was to be stopped"
            raise TimeoutError(f"no answer in time{why}")
        if self._silent > self._timeout:
            raise TimeoutError(f"no answer in {self._timeout:g} s")


class FairLock:
    """A lock for threads that is fair: whoever asks first has it first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._is_taken = False

    def acquire(self, tick: Callable[[], object]) -> None:
        """Wait for it; ``tick`` is called now and then meanwhile, and may raise."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return
            mine = threading.Event()
            self._waiting.append(mine)
        try:
            while not mine.wait(TICK):
                tick()
        except BaseException:
            with self._lock:
                if not mine.is_set():
                    self._waiting.remove(mine)
                    raise
            self.release()
            raise

    def release(self) -> None:
        """Let the next have it."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False


class Connections:
    """The connections of one queue object; safe to share between threads.

    Attributes:
        settings: How they connect.
        pool: Who uses which.
    """

    def __init__(self, where: Settings, keys: QueueKeys | None = None) -> None:
        self.settings = self._where = where
        self._keys = keys
        self.pool = Pool(where.max_connections, FairLock)

    def ready(self, member: Member, scope: CancelScope, again: bytes = b"") -> None:
        """See to it that a member has a connection that works, as far as that can be seen.

        Args:
            member: The member.
            scope: When to give up.
            again: The name of a new connection; one that was never used unless it is given.

        Raises:
            ConnectionFailedError: The server cannot be reached or does not let us in.
            ClusterError: It is a cluster's, and the queue's name has no hash tag.
        """
        if member.connection is not None:
            if is_quiet(member.connection):
                return
            close(member.take_out())
        generation, discovery = self.pool.generation, Discovery(self._where, self._keys)
        connection = None
        try:
            while (query := discovery.query) is not None:
                close(connection)
                connection, name = _made(query, member), again or HOLDS.connection_name()
                if query.where.directory is not None:
                    scope.begin_wait(math.inf)
                    connection.path = reach(query.where, scope.tick)
                discovery.receive(_queried(connection, query, name, scope))
        except BaseException:
            close(connection)
            raise
        self._where = discovery.where
        member.set(connection, name, discovery.number, generation)

    def reconnect(self, member: Member, scope: CancelScope) -> None:
        """Open a member's connection again under its name, for what is held on it; see ``ready``."""
        close(member.take_out())
        self.ready(member, scope, member.name)

    def give_back(self, member: Member) -> None:
        """End the use of a member."""
        for connection in self.pool.give_back(member):
            close(connection)

    def disconnect(self) -> None:
        """Close the idle connections, and those in use as soon as they are given back."""
        for connection in self.pool.drain():
            close(connection)


def exchange(connection: Any, data: bytes, count: int, scope: CancelScope) -> list[Reply]:
    """Send commands, and read so many replies.

    Raises:
        LOST: The connection was lost, or it is time to give up.
    """
    _send(connection, data, scope)
    replies: list[Reply] = []
    try:
        while len(replies) < count:
            replies.append(_reply(connection, scope))
    except NotDoneError as end:
        raise end if not replies else ConnectionError(str(end)) from None
    return replies


def _send(connection: Any, data: bytes, scope: CancelScope) -> None:
    sock = connection._sock
    if len(data) <= AT_ONCE or not hasattr(sock, "send"):
        try:
            connection.send_packed_command((data,), check_health=False)
        except redis.ConnectionError as error:
            if isinstance(error.__cause__ or error.__context__, BrokenPipeError):
                raise NotDoneError(str(error)) from error
            raise
        return
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[sock.send(rest) :]
        except TimeoutError:
            scope.tick()


def _reply(connection: Any, scope: CancelScope) -> Reply:
    """The next reply on a connection; an error reply, also in one of a transaction, is a value."""
    while True:
        try:
            reply = connection.read_response(disconnect_on_error=False)
        except ERROR_REPLIES as error:
            return error_reply(error)
        except redis.TimeoutError:
            scope.tick()
        else:
            if type(reply) is not list:
                return reply
            return [error_reply(item) if isinstance(item, ERROR_REPLIES) else item for item in reply]


def _made(query: ServerQuery, member: Member) -> Any:
    """A connection that is not connected yet, and says nothing by itself when it is."""

    def prepare(connection: Any) -> None:
        member.open_as(connection._sock)
        connection.socket_timeout = TICK  # the parser looks at it
        connection._sock.settimeout(TICK)
        connection._parser.on_connect(connection)

    limit = query.where.connect_timeout
    kwargs = {**query.where.kwargs, "socket_timeout": limit, "redis_connect_func": prepare}
    return query.where.connection_class(**kwargs)


def _queried(
    connection: Any, query: ServerQuery, name: bytes, scope: CancelScope
) -> list[Reply] | ConnectionFailedError:
    """Connect, introduce ourselves, and ask."""
    handshake = Handshake(query, name)
    try:
        scope.begin_wait(query.where.connect_timeout)
        connection.connect()
        return handshake.answers(exchange(connection, handshake.data, handshake.count, scope))
    except (redis.RedisError, OSError, ServerReplyError) as error:
        problem = failed(query.where, error)
        problem.__cause__ = error
        return problem


def close(connection: Any) -> None:
    """Hang up."""
    if connection is not None:
        connection.disconnect()


def is_quiet(connection: Any) -> bool:
    """Whether an idle connection is open and has nothing to read; a server that hung up makes it readable."""
    try:
        return not connection.can_read(0)
    except (redis.RedisError, OSError):
        return False
