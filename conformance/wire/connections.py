"""Raw connections: the bytes that go to a server, and the very bytes that come back.

Decoded values hide differences (a null bulk string from a null array, a status from a bulk string), so the
checks of commands compare replies as they are on the wire.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import Any, Final, Self

from ..judging.limits import countdown

__all__ = ["Hangup", "RawConnection", "ReplyEnd", "encode"]

PATIENCE: Final = 5.0
"""Seconds to wait for a reply that is due."""

WHOLE: Final = 30.0
"""Seconds in which a whole reply has to come, however much of it there is."""


class Hangup(Exception):  # noqa: N818  (it is what a server does)
    """The server closed the connection instead of answering."""


def encode(*arguments: str | bytes) -> bytes:
    """A command as a RESP array; ``str`` is UTF-8."""
    words = [each.encode() if isinstance(each, str) else each for each in arguments]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


class RawConnection:
    """One client of a server, speaking RESP2 unless it says HELLO 3.

    Args:
        host: the server's address.
        port: its port.
        db: the database to SELECT.
        password: what to AUTH with, if need be.
        user: as whom.

    Attributes:
        unknown: the last command before each reply that it is unknown, with that reply.
    """

    def __init__(
        self, host: str, port: int, db: int = 0, password: str | None = None, user: str | None = None
    ) -> None:
        self._begin(socket.create_connection((host, port), timeout=PATIENCE))
        if password:
            self.command("AUTH", *([user] if user else []), password)
        if db:
            self.command("SELECT", str(db))

    @classmethod
    def over(cls, connected: Any) -> Self:
        """One over a socket that is connected, or what may be used as one."""
        connection = cls.__new__(cls)
        connected.settimeout(PATIENCE)
        connection._begin(connected)
        return connection

    def _begin(self, connected: socket.socket) -> None:
        self.socket = connected
        self._buffer = bytearray()
        self._end = ReplyEnd()
        self._sent = ""
        self.unknown: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Hangs up."""
        self.socket.close()

    def send(self, *arguments: str | bytes) -> None:
        """Sends a command, without waiting for its reply."""
        name = arguments[0] if arguments else ""
        self._sent = name if isinstance(name, str) else name.decode("latin-1")
        self.socket.sendall(encode(*arguments))

    def command(self, *arguments: str | bytes) -> bytes:
        """Sends a command; returns its reply as it is on the wire."""
        self.send(*arguments)
        return self.reply()

    def reply(self) -> bytes:
        """The next reply as it is on the wire, whole.

        Raises:
            Hangup: the server closed the connection.
            TimeoutError: no whole reply came in time.
        """
        deadline = time.monotonic() + WHOLE
        while (end := self._end.find(self._buffer)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError("the reply does not end")
            self._receive()
        reply = bytes(self._buffer[:end])
        del self._buffer[:end]
        self._end = ReplyEnd()
        if reply[:20].lower() == b"-err unknown command":
            error = reply.partition(b", with args")[0][:200].decode("latin-1").strip()
            self.unknown.append(f"{self._sent}: {error}")
        return reply

    def take_all(self) -> bytes:
        """All bytes that have come so far, whatever they are."""
        size = -1
        while size < len(self._buffer):
            size = len(self._buffer)
            self.is_silent()
        data = bytes(self._buffer)
        self._buffer.clear()
        self._end = ReplyEnd()
        return data

    def _receive(self) -> None:
        data = self._next_bytes()
        if not data:
            raise Hangup(f"hung up after {bytes(self._buffer)!r}")
        self._buffer += data

    def _next_bytes(self) -> bytes:
        try:
            for seconds in countdown(PATIENCE):
                self.socket.settimeout(seconds)
                with suppress(TimeoutError):
                    return self.socket.recv(65536)
        finally:
            self.socket.settimeout(PATIENCE)
        raise TimeoutError("timed out")

    def is_silent(self) -> bool:
        """Whether nothing has come so far that was not asked for yet."""
        self.socket.setblocking(False)
        try:
            self._buffer += self.socket.recv(65536)
        except BlockingIOError:
            pass
        finally:
            self.socket.settimeout(PATIENCE)
        return not self._buffer


AGGREGATES: Final = {b"*": 1, b"~": 1, b">": 1, b"%": 2}
BULKS: Final = {b"$", b"=", b"!"}


class ReplyEnd:
    """Finds where a reply ends that comes in pieces, and looks at no byte of it twice.

    A push inside another reply, which only that of EXEC should have, is not one of its items.

    Args:
        at: where the reply begins.
    """

    def __init__(self, at: int = 0) -> None:
        self._at = at
        self._open: list[tuple[int, bool]] = []  # of each aggregate the items to come, and whether it is one

    def find(self, data: bytes | bytearray) -> int | None:
        """Where it ends, or None if it has not wholly come."""
        while (header_end := data.find(b"\r\n", self._at)) >= 0:
            kind, end, count = bytes(data[self._at : self._at + 1]), header_end + 2, 0
            if kind in BULKS:
                size = int(data[self._at + 1 : header_end])
                end += size + 2 if size >= 0 else 0
                if end > len(data):
                    return None
            elif kind in AGGREGATES:
                count = int(data[self._at + 1 : header_end]) * AGGREGATES[kind]
            self._at = end
            if count > 0:
                self._open.append((count, kind != b">"))
            elif self._is_over(counts=kind != b">"):
                return end
        return None

    def _is_over(self, *, counts: bool) -> bool:
        """An item is whole: is the reply, too?"""
        while self._open:
            left, counts_itself = self._open.pop()
            if left > counts:
                self._open.append((left - counts, counts_itself))
                return False
            counts = counts_itself
        return True


def reply_end(data: bytes | bytearray, at: int) -> int | None:
    """Where the reply that begins at ``at`` ends, or None if it has not wholly come."""
    return ReplyEnd(at).find(data)
