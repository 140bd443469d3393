"""Plays hostile cases on a server: what the client gets, and whether others are served all the same.

Nothing sleeps. A server attends its clients in turn, reading ``READ`` bytes of each, or as many as are there:
less, while the system holds some back until the server's receive buffer has room. So once the system holds
nothing back, and another client has then been answered as often as what was sent takes turns, and a little
more, the server is done with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import re
import select
import socket
import struct
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from conformance.wire import PATIENCE, RawConnection, encode

from .case import Case, commands

__all__ = ["Outcome", "Stage"]

READ: Final = 16 * 1024
"""The fewest bytes a server reads in one turn, if they are there."""

IN_BETWEEN: Final = 16 * 1024 * 1024
"""The most bytes of one connection that may be on their way, in the buffers of both sockets."""

RECEIVE_BUFFER: Final = 8 * 1024 * 1024
"""The most bytes that a server has to read before the system lets more come."""

TELL_UNSENT: Final = 0x894B
"""Linux's SIOCOUTQNSD: asks how many bytes of a socket have not been sent yet."""

TURNS: Final = 3
"""How many turns answer what was read, and hang up on who is to be hung up on."""

RESET: Final = struct.pack("ii", 1, 0)
"""Makes a socket go with a reset instead of saying that it goes."""

IDENTITY: Final = re.compile(rb"(\$2\r\nid\r\n):\d+")
"""In what HELLO says, the one thing that is each connection's own."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a hostile client.

    Attributes:
        reply: all bytes it got, but for its number.
        hung_up: the server ended the connection.
    """

    reply: bytes
    hung_up: bool

    def same_as(self, other: Outcome, case: Case) -> bool:
        """Whether two servers did the same, as far as the case asks for it."""
        if case.may_differ:
            return True
        lines, others = self.reply.split(b"\r\n"), other.reply.split(b"\r\n")
        same = lines == others if case.in_order else sorted(lines) == sorted(others)
        return same and self.hung_up == other.hung_up


class Hostile:
    """The client that misbehaves; it never waits for anything."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setblocking(False)
        self.reply = bytearray()
        self.hung_up = False

    def send(self, data: bytes, *, read: bool) -> None:
        """Sends it all, unless it is hung up on; reads meanwhile, so that nobody waits for anybody."""
        rest = memoryview(data)
        while rest and not self.hung_up:
            readable, writable, _ = select.select([self.socket] if read else [], [self.socket], [])
            if readable:
                self.read()
            if writable:
                with contextlib.suppress(BlockingIOError):
                    rest = rest[self._try_send(rest) :]

    def _try_send(self, data: memoryview) -> int:
        try:
            return self.socket.send(data)
        except (ConnectionResetError, BrokenPipeError):
            self.read()
            self.hung_up = True
            return len(data)

    def read(self) -> bool:
        """Takes what has come; tells whether anything had."""
        before = len(self.reply)
        try:
            while not self.hung_up:
                data = self.socket.recv(1 << 20)
                self.reply += data
                self.hung_up = not data
        except BlockingIOError:
            pass
        except ConnectionResetError:
            self.hung_up = True
        return len(self.reply) > before

    def held_back(self) -> int:
        """How many bytes have yet to get to the server's receive buffer; 0 where the system does not tell."""
        if self.hung_up or sys.platform != "linux":
            return 0
        return int.from_bytes(fcntl.ioctl(self.socket, TELL_UNSENT, bytes(4)), sys.byteorder)

    def leave(self, case: Case) -> None:
        with contextlib.suppress(OSError):
            if case.ending == "half-closes":
                self.socket.shutdown(socket.SHUT_WR)
            elif case.ending in {"resets", "never reads"}:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        if case.ending != "half-closes":
            self.socket.close()


class Stage:
    """A server, a client that watches over it and one that is blocked; cases are played beside these.

    Args:
        host: the server's address.
        port: its port.
        password: what all but the hostile client tell it, if need be.
        patience: seconds in which it has to answer others.
    """

    def __init__(self, host: str, port: int, password: str | None = None, patience: float = PATIENCE) -> None:
        self.address = (host, port)
        self._password = password
        self.control = RawConnection(host, port, password=password)
        self.blocked = RawConnection(host, port, password=password)
        for each in (self.control, self.blocked):
            each.socket.settimeout(patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.control.close()
        self.blocked.close()

    def play(self, case: Case) -> Outcome:
        """Plays one case on empty databases, and checks that the others are served.

        Raises:
            AssertionError: they are not.
        """
        assert self.control.command("FLUSHALL") == b"+OK\r\n"
        for line in case.before:
            assert self.control.command(*line.split(" ")) == b"+OK\r\n", line
        self.blocked.send("BLPOP", "others:list", "0")
        try:
            return self._perform(case)
        finally:
            self._check_others(case)

    def _perform(self, case: Case) -> Outcome:
        client = Hostile(self.address)
        reads = case.ending != "never reads"
        try:
            for piece in case.pieces:
                client.send(piece, read=reads)
                self._let_it_come(client, len(piece), read=reads)
            outcome = Outcome(IDENTITY.sub(rb"\1:0", bytes(client.reply)), client.hung_up)
            client.leave(case)
            self._take_turns(TURNS)
            return outcome
        finally:
            client.socket.close()

    def _let_it_come(self, client: Hostile, size: int, *, read: bool) -> None:
        """Until the server is done with what was sent, and the client has all it gets."""
        before = 0
        while (held_back := client.held_back()) != before:  # or the server takes no more
            before = held_back
            self._take_turns(RECEIVE_BUFFER // READ)
            if read:
                client.read()
        self._take_turns(min(size, IN_BETWEEN) // READ + TURNS)
        while read and client.read():
            self._take_turns(TURNS)

    def _take_turns(self, count: int) -> None:
        for _ in range(count):
            assert self.control.command("PING") == b"+PONG\r\n"

    def _check_others(self, case: Case) -> None:
        for line in case.after:
            assert self.control.command(*line.split(" ")) == b"+OK\r\n", line
        assert self.control.command("SELECT", "0") == b"+OK\r\n"
        assert self.control.command("RPUSH", "others:list", "x") == b":1\r\n"
        assert self.blocked.reply() == commands("others:list x")
        with RawConnection(*self.address, password=self._password) as newcomer:
            assert newcomer.command("ECHO", "hello") == encode("hello").removeprefix(b"*1\r\n")
