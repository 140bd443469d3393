"""One client's socket in the poll loop: reads requests, sends replies, and keeps those not sent yet."""

from __future__ import annotations

import contextlib
import socket
import sys
from typing import TYPE_CHECKING, Final, Protocol

from ..engine.clients.output_limits import FREE
from ..engine.protocol.requests import READ_SIZE
from ..engine.protocol.unsent import Unsent
from ..windows import refusal
from .forks import close_copy
from .pollers import READ, WRITE

if TYPE_CHECKING:
    from ..engine import Instant, Session
    from ..engine.protocol.replies import Output
    from ..ticks.tick_runner import TickRunner
    from .pollers import Poller

__all__ = ["ClientConnection", "Source"]

LARGEST_READ: Final = 1024 * 1024
"""The most bytes that a tick reads from one client while a large argument arrives.

Otherwise it reads at most ``READ_SIZE``, Redis's 16 KiB, so that other clients get their turn.
"""


class Source(Protocol):
    """The owner of a descriptor that the poller watches."""

    @property
    def waits_for_script(self) -> bool:
        """Whether the source is a client whose script is running."""

    def on_ready(self, events: int, now: Instant) -> None:
        """Handles the poller's events for the descriptor; called with the lock held."""


class ClientConnection:
    """One client of the poll loop.

    Args:
        sock: non-blocking; the connection closes it.
        session: the client's session in the engine.
        runner: runs the engine's ticks.
        sources: the poll loop's, by descriptor; the connection removes itself when it ends.
        poller: the poll loop's; the caller has it watch the socket for ``READ``.
    """

    __slots__ = (
        "_appetite",
        "_descriptor",
        "_poller",
        "_receive",
        "_runner",
        "_session",
        "_socket",
        "_sources",
        "_transmit",
        "_unsent",
        "_watched_for",
    )

    def __init__(
        self,
        sock: socket.socket,
        session: Session,
        runner: TickRunner,
        sources: dict[int, Source],
        poller: Poller,
    ) -> None:
        self._socket = sock
        self._receive = sock.recv
        self._transmit = sock.send
        self._session = session
        self._runner = runner
        self._sources = sources
        self._poller = poller
        self._descriptor = sock.fileno()
        self._unsent = Unsent()
        self._appetite = READ_SIZE
        self._watched_for = READ

    @property
    def waits_for_script(self) -> bool:
        """Whether this client's script is running."""
        return self._runner.engine.scripts.is_running_for(self._session)

    def on_ready(self, events: int, now: Instant) -> None:
        """Reads, sends, or disconnects, as the poller's events say."""
        if events != READ:
            self._send_rest(now)
            if not events & ~WRITE or self._descriptor not in self._sources:
                return
        try:
            data = self._receive(self._appetite)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._drop(now)
            return
        self._runner.engine.receive(self._session, data, now)
        if self._appetite != READ_SIZE or len(data) == READ_SIZE:
            self._appetite = min(self._session.parser.appetite, LARGEST_READ)

    @property
    def unsent(self) -> int:
        """Bytes that were flushed and that the socket has not taken yet."""
        return len(self._unsent)

    def flush(self, now: Instant) -> None:
        """Sends as much of the session's output as the socket takes, and keeps the rest."""
        data = self._session.take_pieces()
        unsent = self._unsent
        if unsent or len(data) > FREE:
            self._flush_much(data, now)
            return
        sent = 0
        try:
            sent = self._transmit(data)  # type: ignore[arg-type]  # output this small is one piece
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._drop(now)
            return
        if sent < len(data):
            unsent.add(data[sent:])  # type: ignore[index]
        if unsent or self._session.closing:
            self._watch(now)

    def _flush_much(self, data: Output, now: Instant) -> None:
        if self._is_too_long(len(data), now):
            self._drop(now)
            return
        was_empty = not self._unsent
        self._unsent.add(data)
        if was_empty:
            self._send_rest(now)
        else:
            self._watch(now)

    def _send_rest(self, now: Instant) -> None:
        if sys.platform == "win32":
            raise refusal("the poll loop")
        try:
            self._unsent.send(self._socket.sendmsg)
        except OSError:
            self._drop(now)
            return
        self._is_too_long(0, now)  # forgets the soft limit if the client has read enough
        self._watch(now)

    def _is_too_long(self, more: int, now: Instant) -> bool:
        return self._runner.engine.output_limits.is_too_long(self._session, len(self._unsent) + more, now)

    def _watch(self, now: Instant) -> None:
        """Watches for the next event; disconnects a closing client once its replies are sent."""
        session = self._session
        if session.closing and not (self._unsent and session.connected):
            self._drop(now)
            return
        events = (0 if session.closing else READ) | (WRITE if self._unsent else 0)
        if events != self._watched_for:
            self._poller.change(self._descriptor, events)
            self._watched_for = events

    def _drop(self, now: Instant) -> None:
        self.hang_up()
        self._runner.disconnect(self._session, now)

    def hang_up(self) -> None:
        """Closes the connection, even if a process forked during the accept has a copy of the socket."""
        if self._sources.pop(self._descriptor, None) is not None:
            self._poller.remove(self._descriptor)
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(OSError):
                self._socket.close()

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy of the socket, which stays in the parent's poller."""
        close_copy(self._socket)
