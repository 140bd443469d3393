"""A client's socket, and what has not been sent to it yet."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .engine import Session

__all__ = ["Connection"]

READ_SIZE: Final = 64 * 1024
"""The most bytes read from one client in one tick, so that none keeps the others waiting."""


class Connection:
    """The bytes of one client.

    Attributes:
        socket: non-blocking.
        session: its conversation with the engine.
        watched_for: the events a poller watches its socket for, in the poller's terms.
    """

    __slots__ = ("_unsent", "session", "socket", "watched_for")

    def __init__(self, sock: socket.socket, session: Session) -> None:
        self.socket = sock
        self.session = session
        self.watched_for = 0
        self._unsent = bytearray()

    @property
    def has_unsent(self) -> bool:
        """Whether the client has yet to take what was sent to it."""
        return bool(self._unsent)

    def read(self) -> bytes | None:
        """What the client sent: empty if it hung up, None if it sent nothing."""
        try:
            return self.socket.recv(READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""

    def send(self, data: bytes) -> None:
        """Sends what the client takes, and keeps the rest for ``send_rest``.

        Raises:
            OSError: the client is gone.
        """
        if self._unsent:
            self._unsent += data
            return
        sent = self._try_send(data)
        if sent < len(data):
            self._unsent += data[sent:]

    def send_rest(self) -> None:
        """Goes on with what was kept; raises ``OSError`` as ``send`` does."""
        sent = self._try_send(self._unsent)
        del self._unsent[:sent]

    def _try_send(self, data: bytes | bytearray) -> int:
        try:
            return self.socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0

    def close(self) -> None:
        """Hangs up."""
        with contextlib.suppress(OSError):
            self.socket.close()
