"""What is to be sent to one client, as pieces: large ones are kept by reference, small ones are put together.

Nothing of it is copied again when a part of it has been sent, however much there is and however slowly the
client takes it.
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
"""The most bytes that are sent to one client in one tick, so that it does not keep the others waiting."""

PIECES_AT_ONCE: Final = 64
"""The most pieces of them."""


class Unsent:
    """Bytes in order; its length is how many there are."""

    __slots__ = ("_at", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: deque[bytes | bytearray] = deque()
        self._at = 0  # so much of the first piece is gone
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, output: Output) -> None:
        """Adds bytes at the end."""
        if type(output) is Pieces:
            for part in output.parts:
                self._add(part)
        else:
            self._add(output)  # type: ignore[arg-type]  # no class is derived from Pieces

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
        """Takes the next bytes, at most so many."""
        first = self._pieces[0] if self._pieces else b""
        if not self._at and len(first) <= most and (len(self._pieces) == 1 or len(first) == most):
            data = bytes(first)  # the very same where it is bytes
        else:
            data = b"".join(self._next(most))
        self._drop(len(data))
        return data

    def send(self, transmit: Callable[[list[memoryview]], int]) -> None:
        """Sends what there is room for, but not too much at once.

        Args:
            transmit: sends pieces of bytes, and tells how many bytes were taken.

        Raises:
            OSError: the client is gone.
        """
        try:
            sent = transmit(self._next(SENT_AT_ONCE))
        except (BlockingIOError, InterruptedError):
            return
        self._drop(sent)

    def _next(self, most: int) -> list[memoryview]:
        """The next bytes, at most so many; nothing may be added while these are in use."""
        at, views = self._at, list[memoryview]()
        for piece in islice(self._pieces, PIECES_AT_ONCE):
            view = memoryview(piece)[at : at + most]
            views.append(view)
            most -= len(view)
            at = 0
            if not most:
                break
        return views

    def clear(self) -> None:
        """Forgets it all."""
        self._pieces.clear()
        self._at = self._size = 0

    def _drop(self, count: int) -> None:
        self._size -= count
        self._at += count
        while self._pieces and self._at >= len(self._pieces[0]):
            self._at -= len(self._pieces.popleft())
