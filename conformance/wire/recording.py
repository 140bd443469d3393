"""A way to a server that writes down every byte, both ways, of all connections, in order.

A recorder stands between all clients of one check and a server. What it keeps is limited, and polling counts
once: an exchange that a connection repeats word for word is kept as one that came so many times. The clients
know nothing of it: they are given its address. What they say to prove who they are is not told to anybody.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from miniredis.testing.address import Address

from .masking import masked, without
from .relay import Relay, hang_up

__all__ = ["Move", "Recorder", "Side"]

Side: TypeAlias = Literal["client", "server"]

SIZE: Final = 1 << 16
"""Bytes to read at once."""

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


class Recorder(Relay):
    """A way to a server on which everything is written down.

    Attributes:
        lost: how many bytes were passed on and not kept.
    """

    def __init__(self, server: Address) -> None:
        super().__init__(server)
        self._talks: dict[int, list[Move]] = {}  # by the number of the connection
        self._began = time.monotonic()
        self._number = self._kept = self.lost = 0

    def moves(self) -> Iterator[Move]:
        """All that was said, without secrets, connection by connection."""
        with self._lock:
            talks = [list(talk) for _, talk in sorted(self._talks.items())]
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

    def _pass(self, number: int, client: socket.socket, server: socket.socket) -> None:
        answers = self._run(lambda: self._move(number, "server", server, client))
        self._move(number, "client", client, server)
        answers.join()
        with self._lock:
            self._threads.remove(answers)

    def _move(self, number: int, side: Side, source: socket.socket, target: socket.socket) -> None:
        """Moves bytes one way until that side ends, and tells the other that it has."""
        try:
            while data := source.recv(SIZE):
                self._note(number, side, data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            hang_up(source)
            hang_up(target)

    def _note(self, connection: int, side: Side, data: bytes) -> None:
        with self._lock:
            if self._kept + len(data) > KEPT:
                self.lost += len(data)
                return
            self._kept += len(data)
            talk = self._talks.setdefault(connection, [])
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
