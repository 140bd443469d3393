"""The connections of the synchronous flavour: opening, using and closing them.

Rules:
    - Each has a name of its own (CLIENT SETNAME). A hold on it is alive while this connection is open.
    - ``discovery`` finds the server anew for each. ``pool`` says which operation uses which.
    - A read wakes up every ``TICK`` and asks a ``CancelScope`` whether to go on. So neither a silent server
      nor a slow one keeps a program from ending.
    - Where replies come quickly one after the other, a read spins for a moment before it sleeps: a wake-up
      takes 50 to 100 us, as long as a server needs for a step. The flavours with coroutines do not spin:
      their event loops have other tasks to run meanwhile.
    - ``sockets`` opens them, hiredis packs a step and parses its replies.
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
from dataclasses import replace
from typing import Any, Final, TypeAlias

import hiredis

from pressure.connections.directory import reach
from pressure.connections.discovery import Discovery, QueryResult, ServerQuery, failed
from pressure.connections.error_replies import AT_ONCE, NotDoneError, checked
from pressure.connections.handshake import Handshake
from pressure.connections.pool import HOLDS, Member, Pool
from pressure.connections.settings import STOP_TIMEOUT, Settings
from pressure.connections.sockets import Opened, open_socket
from pressure.errors import ServerReplyError
from pressure.keys import QueueKeys
from pressure.protocol.operation import AtNodes, Reply

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

    def end_wait(self) -> None:
        """The wait is over, so there is nothing to end if the operation is cancelled."""
        self._on_cancel = None

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
            if member.connection.is_quiet():
                return
            close(member.take_out())
        generation, discovery = self.pool.generation, Discovery(self._where, self._keys)
        connection = None
        try:
            while (query := discovery.query) is not None:
                close(connection)
                name = again or HOLDS.connection_name()
                connection, result = _asked(query, name, member, scope)
                discovery.receive(result)
        except BaseException:
            close(connection)
            raise
        self._where = discovery.where
        member.set(connection, name, discovery.number, generation)

    def reconnect(self, member: Member, scope: CancelScope) -> None:
        """Open a member's connection again under its name, so that its holds go on living; see ``ready``."""
        life = member.life
        close(member.take_out())
        self.ready(member, scope, member.name)
        member.life = life

    def ask_nodes(self, step: AtNodes, scope: CancelScope) -> list[QueryResult]:
        """The replies of each node to the commands of a step, or why there are none."""
        results = []
        for node in step.nodes:
            query = ServerQuery(self.settings.at(*node), step.commands)
            connection, result = _asked(query, HOLDS.connection_name(), Member(), scope)
            close(connection)
            results.append(result)
        return results

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


_INCOMPLETE: Final = object()
#: How many bytes are read at once.
_SIZE: Final = 1 << 16


class Connection:
    """A connection, which one operation at a time uses; ``Connections.ready`` opens it.

    Args:
        opened: Its socket.

    Attributes:
        close: Closes it.
    """

    __slots__ = ("_buffer", "_first", "_has_input", "_reader", "_sock", "close")

    def __init__(self, opened: Opened) -> None:
        self._sock: Any = opened.sock
        self.close = opened.close
        self._sock.settimeout(TICK)
        self._first = first_read(self._sock)
        self._buffer = bytearray(_SIZE)
        self._reader = hiredis.Reader(
            protocolError=ConnectionError, replyError=ServerReplyError, notEnoughData=_INCOMPLETE
        )
        self._has_input = opened.can_read
        if hasattr(self._sock, "fileno"):  # redis-py's own look prepares a poll anew each time
            poll, decrypted = select.poll(), getattr(self._sock, "pending", int)
            poll.register(self._sock, select.POLLIN)
            self._has_input = lambda: decrypted() or poll.poll(0)

    def __del__(self) -> None:
        """Close the connection of a queue object that was not closed; as with redis-py, without a warning."""
        self.close()

    def is_quiet(self) -> bool:
        """Whether it is open and has nothing to read; if the server has closed it, there is something."""
        try:
            return not (self._reader.has_data() or self._has_input())
        except OSError:
            return False

    def exchange(self, data: bytes, count: int, scope: CancelScope) -> list[Reply]:
        """Send packed commands, and read ``count`` replies.

        Raises:
            LOST: The connection was lost, or it is time to give up.
        """
        _send(self._sock, data, scope)
        replies: list[Reply] = []
        try:
            self._read(replies, count, scope)
        except NotDoneError as end:
            raise end if not replies else ConnectionError(str(end)) from None
        return replies

    def _read(self, replies: list[Reply], count: int, scope: CancelScope) -> None:
        """Read replies; an error reply, also in one of a transaction, is a value."""
        receive, until = self._first, 0.0  # when to ask the scope next, once something was received
        while len(replies) < count:
            reply = self._reader.gets()
            if reply is _INCOMPLETE:
                try:
                    size = receive(self._buffer)
                except TimeoutError:
                    scope.tick(is_silent=not until)
                    until = 0.0
                    continue
                if not size:
                    raise ConnectionError("Connection closed by server.")
                self._reader.feed(self._buffer, 0, size)  # type: ignore[arg-type]  # it takes any buffer
                now = time.monotonic()
                if until and now >= until:  # where some bytes come now and then, no read times out
                    scope.tick(is_silent=False)
                    until = 0.0
                receive, until = self._sock.recv_into, until or now + TICK
            elif type(reply) is ServerReplyError:
                replies.append(checked(reply))
            elif not isinstance(reply, hiredis.PushNotification):
                replies.append(reply)


def _send(sock: Any, data: bytes, scope: CancelScope) -> None:
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


def _asked(
    query: ServerQuery, name: bytes, member: Member, scope: CancelScope
) -> tuple[Connection | None, QueryResult]:
    """Connect, log in, and ask; the connection and the replies, or why there are none."""
    where, handshake, connection = query.where, Handshake(query, name), None
    if where.directory is not None:
        scope.begin_wait(math.inf)
        where = replace(where, kwargs={**where.kwargs, "path": reach(where, scope.tick)})
    try:
        scope.begin_wait(where.connect_timeout, in_all=True)
        opened = open_socket(where)
        member.open_as(opened.sock)
        connection = Connection(opened)
        return connection, handshake.answers(connection.exchange(handshake.data, handshake.count, scope))
    except BaseException as error:
        close(connection)
        if not isinstance(error, OSError | ServerReplyError):
            raise
        problem = failed(where, error)
        problem.__cause__ = error
        return None, problem


def close(connection: Connection | None) -> None:
    """Close a connection, if there is one."""
    if connection is not None:
        connection.close()
