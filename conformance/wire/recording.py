"""A way to a server that writes down every byte, both ways, of all connections, in order.

A recorder stands between all clients of one check and a server. What it keeps is limited, and polling counts
once: an exchange that a connection repeats word for word is kept as one that came so many times. The clients
know nothing of it: they are given its address. What they say to prove who they are is not told to anybody.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, Self, TypeAlias

from .address import Address
from .gate import hang_up
from .masking import masked, without

__all__ = ["Move", "Recorder", "Side"]

Side: TypeAlias = Literal["client", "server"]

SIZE: Final = 1 << 16
"""Bytes to read at once."""

CONNECT_LIMIT: Final = 5.0
"""Seconds that the server may take to accept a connection."""

KEPT: Final = 1 << 18
"""Bytes that are kept of a recording; what comes later is passed on and counted."""


@dataclass(frozen=True, slots=True)
class Move:
    """What one side of a connection said before anybody else said something.

    Attributes:
        connection: its number, from 1 on, in the order in which they were made.
        number: which move of all it is, from 1 on.
        at: seconds since the recording began.
        side: who spoke.
        data: the bytes.
        times: how often this and its answer, or what it answers, were said in a row.
    """

    connection: int
    number: int
    at: float
    side: Side
    data: bytes
    times: int = 1


class Recorder:
    """A listener on a free port of 127.0.0.1 that connects every client to a server, and writes down.

    Args:
        address: the server.

    Attributes:
        lost: how many bytes were passed on and not kept.
    """

    def __init__(self, address: Address) -> None:
        self._server = address
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._over = False
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._talks: list[list[Move]] = []
        self._began = time.monotonic()
        self._number = self._kept = self.lost = 0

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *error: object) -> None:
        hang_up(self._listener)
        self._listener.close()
        with self._lock:
            self._over, ends = True, list(self._ends)
        for end in ends:
            hang_up(end)
        for thread in list(self._threads):
            thread.join()

    @property
    def address(self) -> Address:
        """Where the server seems to be."""
        return self._server.at(*self._listener.getsockname()[:2])

    def moves(self) -> Iterator[Move]:
        """All that was said, without secrets, connection by connection."""
        with self._lock:
            talks = [list(talk) for talk in self._talks]
        for talk in talks:
            yield from self._without_secrets(talk)

    def _without_secrets(self, talk: list[Move]) -> Iterator[Move]:
        stream, parts = b"", []
        for move in talk:
            if move.side == "client":
                parts.append((len(stream), len(stream) + len(move.data)))
                stream += move.data
        said = masked(stream, parts, self._server.password)
        for move in talk:
            data = next(said) if move.side == "client" else without(move.data, self._server.password)
            yield replace(move, data=data)

    def _run(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="recorder", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # the recording is over
            try:
                server = socket.create_connection((self._server.host, self._server.port), CONNECT_LIMIT)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self._connect(client, server)

    def _connect(self, client: socket.socket, server: socket.socket) -> None:
        with self._lock:
            if self._over:
                client.close()
                server.close()
                return
            self._ends += client, server
            self._talks.append([])
            number = len(self._talks)
        for end in (client, server):  # what was sent in two parts is not to wait for the other side
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        other_is_over = threading.Event()
        once = threading.Lock()

        def over() -> None:
            with once:
                if other_is_over.is_set():
                    self._close(client, server)
                other_is_over.set()

        self._run(lambda: self._pass(number, "client", client, server, over))
        self._run(lambda: self._pass(number, "server", server, client, over))

    def _pass(
        self, number: int, side: Side, source: socket.socket, target: socket.socket, over: Callable[[], None]
    ) -> None:
        """Moves bytes one way until that side ends, and tells the other that it has."""
        try:
            while data := source.recv(SIZE):
                self._note(number, side, data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            hang_up(source)
            hang_up(target)
        finally:
            over()

    def _close(self, *ends: socket.socket) -> None:
        with self._lock:
            for end in ends:
                end.close()
                self._ends.remove(end)

    def _note(self, connection: int, side: Side, data: bytes) -> None:
        with self._lock:
            if self._kept + len(data) > KEPT:
                self.lost += len(data)
                return
            self._kept += len(data)
            talk = self._talks[connection - 1]
            last = talk[-1] if talk else None
            if last and last.side == side and last.number == self._number:
                talk[-1] = replace(last, data=last.data + data)
                return
            if side == "client":
                self._kept -= fold(talk)
            self._number += 1
            talk.append(Move(connection, self._number, time.monotonic() - self._began, side, data))


def fold(talk: list[Move]) -> int:
    """Counts the last exchange with the one before if they are the same; how many bytes that frees."""
    if len(talk) < 4 or [(move.side, move.data) for move in talk[-4:-2]] != [
        (move.side, move.data) for move in talk[-2:]
    ]:
        return 0
    *_, first, answer, again, _ = talk
    talk[-4:] = [replace(each, times=each.times + again.times) for each in (first, answer)]
    return len(again.data) + len(answer.data)
