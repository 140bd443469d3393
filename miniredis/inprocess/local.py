"""Clients in the server's process, without sockets.

Such a client runs ticks on its own thread, under the lock of the ``TickRunner``. It waits only in a command
that waits for another client, such as BLPOP.
"""

from __future__ import annotations

import errno
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Final

from ..engine.clients.client_flags import CLOSING
from ..engine.clients.output_limits import FREE
from ..engine.protocol.replies import NO_REPLY, NOT_ASKED, Encoded
from ..engine.protocol.unsent import Unsent
from ..ticks.re_entrance import RE_ENTRANT
from ..ticks.tick_runner import PARENTS

if TYPE_CHECKING:
    from ..engine import Instant, Session
    from ..engine.protocol.replies import NoReply, Value
    from ..ticks.tick_runner import TickRunner

__all__ = ["LocalClient", "LocalSocket"]

AT_ONCE: Final = 64 * 1024
"""The most bytes of requests that a client runs before other threads may take the lock."""

LARGEST: Final = 16 * 1024 * 1024
"""The same while one large argument arrives."""

GAP: Final = 0.00005
"""Seconds for which the client then leaves the lock free, at least."""

WAITS_FOR_ITSELF = (
    "this command has to wait, but the server runs on this very thread and could never answer it; "
    "call it on another thread (trio.to_thread.run_sync)"
)


class LocalClient:
    """A client without a socket; its replies wait in an inbox until it reads them.

    Args:
        runner: runs the engine's ticks.

    Raises:
        ConnectionRefusedError: the server has stopped, or this process was forked from the server's.
        RuntimeError: the caller is re-entrant (see ``TickRunner.in_tick``).
    """

    def __init__(self, runner: TickRunner) -> None:
        self._runner = runner
        self._engine = runner.engine
        self._inbox = Unsent()
        self._ended = False  # the client or the server has hung up
        if not runner.is_here:  # this process has only a copy of the engine
            raise ConnectionRefusedError(errno.ECONNREFUSED, PARENTS)
        with runner.lock:
            if runner.in_tick:
                raise RuntimeError(RE_ENTRANT)
            now = runner.clock.now()
            self._session = runner.connect(now)
            runner.attach(self._session, WeakOutlet(self, runner, self._session))
            runner.settle(now)

    def close(self) -> None:
        """Disconnects the client."""
        runner = self._runner
        if not runner.is_here:
            return
        with runner.lock:
            if runner.in_tick:
                runner.disconnect_soon(self._session)
                return
            now = runner.clock.now()
            runner.disconnect(self._session, now)
            self.hang_up()
            runner.settle(now)

    def flush(self, now: Instant) -> None:
        """Moves the session's output to the inbox; called with the lock held."""
        session = self._session
        self._inbox.add(session.take_pieces())
        was_hung_up_on = session.closing and not session.connected
        if self._reads_too_little(now) or (was_hung_up_on and len(self._inbox) > FREE):
            self._inbox.clear()
            session.flags |= CLOSING
        if session.closing:
            self._ended = True
            self._runner.disconnect(session, now)
        self._arrive()

    @property
    def unsent(self) -> int:
        """Bytes that were flushed and that the client has not read yet."""
        return len(self._inbox)

    def hang_up(self) -> None:
        """Ends the connection; called with the lock held."""
        self._ended = True
        self._arrive()

    def leave_to_parent(self) -> None:
        """In a forked child: ends the connection, because no server runs there."""
        self._ended = True

    def _arrive(self) -> None:
        """Wakes the reader for new replies, or the end of the connection; called with the lock held."""
        raise NotImplementedError

    def _reads_too_little(self, now: Instant) -> bool:
        size = len(self._inbox)
        return size > FREE and self._engine.output_limits.is_too_long(self._session, size, now)

    def ask(self, args: list[bytes]) -> Value | NoReply:
        """Runs one request, given as values; returns its reply as bytes, an int, None, or a list of such.

        Returns:
            ``NOT_ASKED`` if the request has to be sent as bytes; then nothing was done. ``NO_REPLY`` if the
            reply has to be read, which may take until another client does something.
        """
        if self._ended or self._inbox or args[0] not in self._engine.commands.by_value:
            return NOT_ASKED  # a tick would find out, too, but other threads would have to wait for it
        engine = self._engine
        reply = self._runner.share_tick(engine.ask, self._session, args, engine.ask_unless_slow)
        if self._ended:  # also if the command could not be kept on the disk
            return NO_REPLY
        if type(reply) is Encoded:
            with self._runner.lock:
                self._inbox.add(reply)
                self._arrive()
            return NO_REPLY
        return reply

    def ask_all(self, requests: list[list[bytes]]) -> list[Value | Encoded] | NoReply:
        """Runs requests, given as values; returns their replies, in their wire form if they are no values.

        Returns:
            ``NOT_ASKED`` or ``NO_REPLY``, as ``Engine.ask_all``.
        """
        if self._ended or self._inbox:
            return NOT_ASKED
        replies = self._runner.share_tick(self._engine.ask_all, self._session, requests)
        return NO_REPLY if self._ended else replies

    def ask_transaction(self, requests: list[list[bytes]]) -> Encoded | NoReply:
        """Runs requests, given as values, as a transaction; see ``Engine.ask_transaction``."""
        if self._ended or self._inbox:
            return NOT_ASKED
        reply = self._runner.share_tick(self._engine.ask_transaction, self._session, requests)
        return NO_REPLY if self._ended else reply

    def let_others_in(self) -> None:
        """Lets other threads take the lock, between parts of much work."""
        if not self._runner.is_own_thread:
            time.sleep(GAP)

    def _send(self, data: bytes) -> None:
        if self._ended:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        if len(data) <= AT_ONCE:
            self._receive(data)
        else:
            self._send_in_turns(data)

    def _send_in_turns(self, data: bytes) -> None:
        """Sends many bytes in pieces, and lets other threads take the lock in between."""
        at = 0
        while at < len(data) and not self._ended:
            piece = data[at : at + max(AT_ONCE, min(self._session.parser.appetite, LARGEST))]
            self._receive(piece)
            at += len(piece)
            self.let_others_in()

    def _receive(self, data: bytes) -> None:
        runner, engine, session = self._runner, self._engine, self._session
        runner.share_tick(engine.receive, session, data, engine.receive_and_defer_scripts)
        if session in engine.scripts.deferred:
            runner.tick(engine.run_deferred, session, b"")


class WeakOutlet:
    """An outlet with a weak reference to its client: a client that is garbage collected is disconnected."""

    def __init__(self, client: LocalClient, runner: TickRunner, session: Session) -> None:
        self._client = weakref.ref(client, lambda _: runner.disconnect_soon(session))

    def flush(self, now: Instant) -> None:
        """Hands replies to the client."""
        if client := self._client():
            client.flush(now)

    @property
    def unsent(self) -> int:
        """Bytes that were flushed and that the client has not read yet."""
        client = self._client()
        return client.unsent if client else 0

    def hang_up(self) -> None:
        """Ends the connection."""
        if client := self._client():
            client.hang_up()

    def leave_to_parent(self) -> None:
        """In a forked child: ends the connection."""
        if client := self._client():
            client.leave_to_parent()


class LocalSocket(LocalClient):
    """A client with the methods of a connected socket, for any thread."""

    def __init__(self, runner: TickRunner) -> None:
        self._timeout: float | None = None
        self._arrived = threading.Condition(runner.lock)
        super().__init__(runner)

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        """Runs the requests before it returns.

        Raises:
            BrokenPipeError: the server has hung up.
        """
        self._send(bytes(data))

    def recv(self, size: int) -> bytes:
        """Returns up to ``size`` bytes of replies; none if the server has hung up.

        Raises:
            TimeoutError: no reply came in time.
            BlockingIOError: the timeout is 0, and there is no reply.
            RuntimeError: there is no reply, and none can come, because the server runs on this thread.
        """
        with self._runner.lock:
            inbox = self._inbox
            if not inbox:
                self._wait()
                if not inbox:
                    return b""
            piece = inbox.take(size)
            if self._engine.output_limits.over:
                self._reads_too_little(self._runner.clock.now())  # forgets the soft limit if it read enough
            return piece

    def recv_into(self, buffer: bytearray | memoryview) -> int:
        """As ``recv``, into a buffer; returns the number of bytes."""
        piece = self.recv(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def can_read(self, timeout: float | None) -> bool:
        """Whether ``recv`` can return at once; waits for that for up to ``timeout`` seconds."""
        with self._runner.lock:
            return self._await(timeout)

    @property
    def is_over(self) -> bool:
        """Whether the server has hung up, and all replies were received."""
        return self._ended and not self._inbox

    @property
    def is_silent(self) -> bool:
        """Whether the connection is open, and all replies were received."""
        return not (self._ended or self._inbox)

    def settimeout(self, seconds: float | None) -> None:
        """Sets for how many seconds ``recv`` may wait; None: for ever."""
        self._timeout = seconds

    def gettimeout(self) -> float | None:
        """The seconds for which ``recv`` may wait; None: for ever."""
        return self._timeout

    def setblocking(self, flag: bool) -> None:
        """Lets ``recv`` wait for ever, or not at all."""
        self._timeout = None if flag else 0

    def shutdown(self, _how: int) -> None:
        """Disconnects, as the server disconnects a TCP client that sends no more."""
        self.close()

    def getsockname(self) -> tuple[str, int]:
        """The client's address, as CLIENT LIST shows it."""
        return split_address(self._session.address)

    def getpeername(self) -> tuple[str, int]:
        """The server's address."""
        return split_address(self._session.local_address)

    def _arrive(self) -> None:
        self._arrived.notify_all()

    def _is_ready(self) -> bool:
        return bool(self._inbox) or self._ended

    def _await(self, timeout: float | None) -> bool:
        if self._is_ready() or timeout == 0:
            return self._is_ready()
        if self._runner.in_tick:
            raise RuntimeError(RE_ENTRANT)
        if self._runner.is_own_thread:
            raise RuntimeError(WAITS_FOR_ITSELF)
        return self._arrived.wait_for(self._is_ready, timeout)

    def _wait(self) -> None:
        if not self._await(self._timeout):
            if self._timeout == 0:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            raise TimeoutError("timed out")


def split_address(address: bytes) -> tuple[str, int]:
    host, _, port = address.decode().rpartition(":")
    return host, int(port)
