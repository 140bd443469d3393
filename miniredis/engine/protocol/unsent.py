"""The output of one client that is not sent yet, in pieces: large strings by reference, small ones joined.

Sending a part of it copies nothing again, however much output there is and however slowly the client reads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Final

from .replies import LARGE, Pieces

if TYPE_CHECKING:
    from .replies import Output

__all__ = ["SENT_AT_ONCE", "Unsent"]

SENT_AT_ONCE: Final = 1024 * 1024
"""The most bytes sent to one client in one tick, so that other clients need not wait."""

PIECES_AT_ONCE: Final = 64
"""The most pieces sent at once."""


class Unsent:
    """Bytes in order; ``len`` is their number."""

    __slots__ = ("_at", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: deque[bytes | bytearray] = deque()
        self._at = 0  # the number of bytes of the first piece that were sent
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, output: Output) -> None:
        """Appends output."""
        if type(output) is Pieces:
            for part in output.parts:
                self._add(part)
        else:
            self._add(output)  # type: ignore[arg-type]  # Pieces has no subclasses

    def _add(self, data: bytes) -> None:
        pieces = self._pieces
        self._size += len(data)
        if pieces and len(data) < LARGE and len(pieces[-1]) < LARGE:
            last = pieces[-1]
            if type(last) is not bytearray:  # bytes, or a reply that is encoded already
                last = pieces[-1] = bytearray(last)
            last += data
        elif data:
            pieces.append(data)

    def take(self, most: int) -> bytes:
        """Removes and returns up to ``most`` bytes."""
        first = self._pieces[0] if self._pieces else b""
        if not self._at and len(first) <= most and (len(self._pieces) == 1 or len(first) == most):
            data = bytes(first)  # not a copy if it is bytes
        else:
            data = b"".join(self._next(most))
        self._drop(len(data))
        return data

    def send(self, transmit: Callable[[list[memoryview]], int]) -> None:
        """Sends as much as the socket takes, up to the limits.

        Args:
            transmit: sends pieces of bytes, and returns how many bytes were accepted.

        Raises:
            OSError: the client is gone.
        """
        try:
            sent = transmit(self._next(SENT_AT_ONCE))
        except (BlockingIOError, InterruptedError):
            return
        self._drop(sent)

    def _next(self, most: int) -> list[memoryview]:
        """The next bytes, up to ``most``; add nothing while they are in use."""
        at = self._at
        views: list[memoryview] = []
        for piece in islice(self._pieces, PIECES_AT_ONCE):
            view = memoryview(piece)[at : at + most]
            views.append(view)
            most -= len(view)
            at = 0
            if not most:
                break
        return views

    def clear(self) -> None:
        """Drops all bytes."""
        self._pieces.clear()
        self._at = self._size = 0

    def _drop(self, count: int) -> None:
        self._size -= count
        self._at += count
        while self._pieces and self._at >= len(self._pieces[0]):
            self._at -= len(self._pieces.popleft())
