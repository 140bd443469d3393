"""The connections of the synchronous flavour, those of redis-py: opening, using and closing them.

Rules:
    - Each has a name of its own (CLIENT SETNAME). A hold on it is alive while this connection is open.
    - ``discovery`` finds the server anew for each. ``pool`` says which operation uses which.
    - A read wakes up every ``TICK`` and asks a ``CancelScope`` whether to go on. So neither a silent server
      nor a slow one keeps a program from ending.
    - Where replies come quickly one after the other, a read spins for a moment before it sleeps: a wake-up
      takes 50 to 100 us, as long as a server needs for a step. The flavours with coroutines do not spin:
      their event loops have other tasks to run meanwhile.
    - redis-py opens connections and parses replies. Its pipelines, packing and handshake are not used:
      hiredis packs a step, which is sent at once. That is a good deal less Python per operation.
"""

from __future__ import annotations

import math
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import hiredis
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

#: Seconds between two checks, while the server is silent, whether to go on waiting.
TICK: Final = 0.1
#: Seconds for which a read spins before it sleeps.
AWAKE: Final = 0.0001
#: A read spins if the last reply came within so many seconds.
SOON: Final = 2 * AWAKE
#: Called before each wait, and while the server is silent: an exception to stop with, or None to go on.
Interrupt: TypeAlias = Callable[[], BaseException | None]


class CancelScope:
    """Decides when an operation is cancelled, and when it gives up waiting for the server.

    Args:
        interrupt: See ``Interrupt``.
        deadline: When to give up in any case, in monotonic seconds.

    Attributes:
        reason: The exception to stop the operation with, once ``interrupt`` has returned one.
    """

    __slots__ = ("_deadline", "_interrupt", "_limit", "_on_cancel", "_silent", "_timeout", "reason")

    def __init__(self, interrupt: Interrupt | None, deadline: float = float("inf")) -> None:
        self._interrupt = interrupt
        self._deadline = deadline
        self._timeout = float("inf")
        self._limit = float("inf")
        self._silent = 0.0
        self._on_cancel: Callable[[], float] | None = None
        self.reason: BaseException | None = None

    def begin_wait(
        self, timeout: float, on_cancel: Callable[[], float] | None = None, *, in_all: bool = False
    ) -> None:
        """Begin another wait, in which the server may be silent for ``timeout`` seconds.

        Args:
            timeout: How many seconds.
            on_cancel: Called if the operation is cancelled: it ends the wait, and returns how many seconds
                that takes at most.
            in_all: The wait takes no longer than that, even if the server sends something now and then.
        """
        self._timeout, self._on_cancel, self._silent = timeout, on_cancel, 0.0
        self._limit = time.monotonic() + timeout if in_all else math.inf

    def cancelled(self) -> BaseException | None:
        """The exception to stop the operation with; None to go on."""
        if self.reason is None and self._interrupt is not None:
            self.reason = self._interrupt()
            if self.reason is not None:
                left = STOP_TIMEOUT if self._on_cancel is None else self._on_cancel()
                self._deadline = min(self._deadline, time.monotonic() + left)
        return self.reason

    def tick(self, *, is_silent: bool = True) -> None:
        """``TICK`` seconds have passed, in which the server was silent, or something was sent or received.

        Raises:
            TimeoutError: It is time to give up.
        """
        self._silent = self._silent + TICK if is_silent else 0.0
        self.cancelled()
        if time.monotonic() > self._deadline:
            why = "" if self.reason is None else " to an operation that was to be stopped"
            raise TimeoutError(f"no answer in time{why}")
        if self._silent > self._timeout or time.monotonic() > self._limit:
            raise TimeoutError(f"no answer in {self._timeout:g} s")


class FairLock:
    """A lock for threads that is fair: they get it in the order in which they ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._is_taken = False

    def acquire(self, tick: Callable[[], object]) -> None:
        """Wait for the lock; ``tick`` is called every ``TICK`` seconds meanwhile, and may raise."""
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
        """Hand the lock to the thread that has waited longest, if any."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False


class Connections:
    """The connections of one queue object; safe to share between threads.

    Attributes:
        settings: How they connect.
        pool: Which operation uses which connection.
    """

    def __init__(self, where: Settings, keys: QueueKeys | None = None) -> None:
        self.settings = self._where = where
        self._keys = keys
        self.pool = Pool(where.max_connections, FairLock)

    def ready(self, member: Member, scope: CancelScope, again: bytes = b"") -> None:
        """Make sure that a member has a connection that works, as far as can be seen.

        Args:
            member: The member.
            scope: When to give up.
            again: The name of a new connection; without it, a name that was never used.

        Raises:
            ConnectionFailedError: The server cannot be reached, or refuses the login.
            ClusterError: The server is part of a cluster, and the queue's name has no hash tag.
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
        """Open a member's connection again under its name, so that its holds go on living; see ``ready``."""
        close(member.take_out())
        self.ready(member, scope, member.name)

    def give_back(self, member: Member) -> None:
        """Give a member back to the pool."""
        for connection in self.pool.give_back(member):
            close(connection)

    def disconnect(self) -> None:
        """Close the idle connections, and those in use as soon as they are given back."""
        for connection in self.pool.drain():
            close(connection)


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


PROCESSORS: Final = _processors()


def is_alone() -> bool:
    """Whether spinning holds up neither another thread nor, on the same processor, the server."""
    return threading.active_count() == 1 < PROCESSORS


class SpinningReader:
    """Reads the beginning of each reply that comes through a socket.

    Args:
        receive: Sleeps until there is something to read, and reads it into a buffer.
        poll: Whether there is something to read now; called with 0.
        clock: Seconds since some fixed point.
        is_alone: Whether spinning holds up nobody.
    """

    __slots__ = ("_clock", "_comes_soon", "_is_alone", "_poll", "_receive")

    def __init__(
        self,
        receive: Callable[[bytearray], int],
        poll: Callable[[int], object],
        clock: Callable[[], float] = time.perf_counter,
        is_alone: Callable[[], bool] = is_alone,
    ) -> None:
        self._receive, self._poll, self._clock, self._is_alone = receive, poll, clock, is_alone
        self._comes_soon = False

    def recv_into(self, buffer: bytearray) -> int:
        """Read as ``receive`` does; after an exception, the next read does not spin."""
        poll, clock = self._poll, self._clock
        begin = clock()
        if self._comes_soon and self._is_alone():
            while not poll(0) and clock() < begin + AWAKE:
                pass
        self._comes_soon = False
        size = self._receive(buffer)
        self._comes_soon = clock() < begin + SOON
        return size


def first_read(sock: Any) -> Callable[[bytearray], int]:
    """The function that reads the beginning of a reply from a socket; if it can, by a ``SpinningReader``.

    That spins on a poll, which does not see what TLS has decrypted already, nor a server in this process.
    """
    if type(sock) is not socket.socket:
        return sock.recv_into  # type: ignore[no-any-return]
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return SpinningReader(sock.recv_into, poll.poll).recv_into


class Paced:
    """A socket as redis-py's parser reads it: a read ends every ``TICK`` seconds, also while data come.

    Otherwise the parser would return only with a whole reply, however slowly the server sends its bytes.
    """

    __slots__ = ("_first", "_has_heard", "_receive", "_socket", "_until")

    def __init__(self, sock: Any) -> None:
        self._socket, self._receive, self._first = sock, sock.recv_into, first_read(sock)
        self._has_heard = False
        self._until = 0.0  # when the next read ends, once there were two

    def recv_into(self, buffer: bytearray) -> int:
        """Read as a socket does; raises TimeoutError after ``TICK`` seconds without a whole reply."""
        if self._has_heard:
            now = time.monotonic()
            if not self._until:
                self._until = now + TICK
            elif now >= self._until:
                raise TimeoutError
            return self._receive(buffer)  # type: ignore[no-any-return]
        size = self._first(buffer)
        self._has_heard = True
        return size

    def has_heard(self) -> bool:
        """Whether something came since the last call; the time of the next read begins."""
        heard, self._has_heard, self._until = self._has_heard, False, 0.0
        return heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def exchange(connection: Any, data: bytes, count: int, scope: CancelScope) -> list[Reply]:
    """Send packed commands, and read ``count`` replies.

    Raises:
        LOST: The connection was lost, or it is time to give up.
    """
    _send(connection, data, scope)
    connection.paced.has_heard()
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
            sock.sendall(data)
        except BrokenPipeError as error:
            raise NotDoneError(str(error)) from error
        return
    rest, taken, until = memoryview(data), 0, time.monotonic() + TICK
    while rest:
        try:
            taken += (size := sock.send(rest))
            rest = rest[size:]
        except TimeoutError:
            until = 0.0
        if rest and time.monotonic() >= until:  # where some bytes go now and then, no send times out
            scope.tick(is_silent=not taken)
            taken, until = 0, time.monotonic() + TICK


def _reply(connection: Any, scope: CancelScope) -> Reply:
    """The next reply on a connection; an error reply, also in one of a transaction, is a value."""
    while True:
        try:
            reply = connection._parser.read_response()
        except ERROR_REPLIES as error:  # those that redis-py takes for the end of the connection
            return error_reply(error)
        except redis.TimeoutError:
            scope.tick(is_silent=not connection.paced.has_heard())
        else:
            if type(reply) is list:
                return [error_reply(item) if isinstance(item, ERROR_REPLIES) else item for item in reply]
            return error_reply(reply) if isinstance(reply, ERROR_REPLIES) else reply


def _made(query: ServerQuery, member: Member) -> Any:
    """A connection that is not open yet, and sends nothing by itself when it opens."""

    def prepare(connection: Any) -> None:
        member.open_as(connection._sock)
        connection.socket_timeout = TICK  # the parser reads it
        connection._sock.settimeout(TICK)
        connection._parser.on_connect(connection)
        connection._parser._sock = connection.paced = Paced(connection._sock)
        connection.has_input = _input_check(connection)

    limit = query.where.connect_timeout
    kwargs = {**query.where.kwargs, "socket_timeout": limit, "redis_connect_func": prepare}
    return query.where.connection_class(**kwargs)


def _queried(
    connection: Any, query: ServerQuery, name: bytes, scope: CancelScope
) -> list[Reply] | ConnectionFailedError:
    """Connect, log in, and ask; the replies, or why there are none."""
    handshake = Handshake(query, name)
    try:
        scope.begin_wait(query.where.connect_timeout, in_all=True)
        connection.connect()
        return handshake.answers(exchange(connection, handshake.data, handshake.count, scope))
    except (redis.RedisError, OSError, ServerReplyError) as error:
        problem = failed(query.where, error)
        problem.__cause__ = error
        return problem


def close(connection: Any) -> None:
    """Close a connection, if there is one."""
    if connection is not None:
        connection.disconnect()


def is_quiet(connection: Any) -> bool:
    """Whether an idle connection is open and has nothing to read; a server that hung up makes it readable."""
    try:
        return not connection.has_input()
    except (redis.RedisError, OSError):
        return False


def _input_check(connection: Any) -> Callable[[], object]:
    """The function that tells whether a connection has something to read; redis-py's prepares a poll anew."""
    sock, reader = connection._sock, getattr(connection._parser, "_reader", None)

    def asked() -> object:
        connection.paced.has_heard()  # some versions of redis-py look by reading
        return connection.can_read(0)

    if not isinstance(reader, hiredis.Reader) or not hasattr(sock, "fileno"):
        return asked
    poll, decrypted = select.poll(), getattr(sock, "pending", int)
    poll.register(sock, select.POLLIN)
    return lambda: reader.has_data() or decrypted() or poll.poll(0)
