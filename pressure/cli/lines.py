"""Lines in and lines out, as bytes, without buffers in which a line could be lost.

Rules:
    - A line is what stands before a newline; what follows the last newline is a line too, unless it is empty.
    - Output is waited for before a line is taken from the queue. A pipe that is ready takes 4096 bytes at
      once, so that no shorter line is held up once it was taken.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from typing import Final

from pressure.cli.stop import Signals, is_closed, output_closed

_CHUNK: Final = 1 << 16


def read_lines(fd: int, signals: Signals) -> Iterator[bytes]:
    """The lines that can be read from ``fd``, without their newlines."""
    parts: list[bytes] = []
    while chunk := _read(fd, signals):
        head, newline, tail = chunk.partition(b"\n")
        parts.append(head)
        if not newline:
            continue
        yield b"".join(parts)
        *whole, rest = tail.split(b"\n")
        yield from whole
        parts = [rest] if rest else []
    if parts:
        yield b"".join(parts)


def _read(fd: int, signals: Signals) -> bytes:
    while True:
        signals.wait_for(fd, select.POLLIN)
        try:
            return os.read(fd, _CHUNK)
        except BlockingIOError:
            continue


class LineWriter:
    """Writes whole lines to ``fd`` at once."""

    def __init__(self, fd: int, signals: Signals) -> None:
        self._fd = fd
        self._signals = signals

    def wait_ready(self) -> None:
        """Wait until a line can be written. Raises Stop if a signal comes, or when nobody reads."""
        if self._signals.wait_for(self._fd, select.POLLOUT) & select.POLLERR or is_closed(self._fd):
            raise output_closed()

    def write(self, line: bytes) -> None:
        """Write the line and a newline. Raises Stop when nobody reads any more."""
        left = memoryview(line + b"\n")
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
            except BrokenPipeError:
                raise output_closed() from None
