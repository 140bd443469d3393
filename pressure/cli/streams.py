"""Read and write messages, without buffers in which a message could be lost.

Rules:
    - ``wait_ready`` is called before messages are taken from the queue. A pipe that is ready accepts 4096
      bytes at once, so messages of up to that many bytes together are then written without waiting.
    - A message is written completely, or ``write`` raises.
    - On a terminal each message is one line, with control characters escaped. Elsewhere it is unchanged.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from typing import Final

from pressure.cli.framing import Framing
from pressure.cli.stop import Signals, is_closed, output_closed
from pressure.text import printable

_CHUNK: Final = 1 << 16


def read_messages(fd: int, framing: Framing, signals: Signals) -> Iterator[list[bytes]]:
    """Read messages from ``fd``; yields lists of those that arrived together.

    Raises:
        FormatError: The input breaks its format. All messages before that place have been yielded.
    """
    while chunk := _read(fd, signals):
        if messages := framing.feed(chunk):
            yield messages
        framing.check()
    if messages := framing.end():
        yield messages
    framing.check()


def _read(fd: int, signals: Signals) -> bytes:
    while True:
        signals.wait_for(fd, select.POLLIN)
        try:
            return os.read(fd, _CHUNK)
        except BlockingIOError:
            continue


def _as_line(message: bytes) -> bytes:
    return printable(message).encode() + b"\n"


def _unchanged(message: bytes) -> bytes:
    return message


class Writer:
    """Writes whole messages to ``fd``.

    Args:
        fd: The file descriptor.
        framing: The format of the output.
        signals: A signal ends a wait.
        form: Converts a message to the bytes to write, before the framing is applied.
    """

    def __init__(
        self, fd: int, framing: Framing, signals: Signals, form: Callable[[bytes], bytes] = _unchanged
    ) -> None:
        self._fd = fd
        self._signals = signals
        self._form = form
        self._pack = _as_line if os.isatty(fd) else framing.pack

    def wait_ready(self) -> None:
        """Wait until output can be written. Raises Stop if a signal arrives or the reader has gone."""
        if self._signals.wait_for(self._fd, select.POLLOUT) & select.POLLERR or is_closed(self._fd):
            raise output_closed()

    def write(self, message: bytes) -> int:
        """Write a message; returns how many bytes that were. Raises Stop if the reader has gone."""
        data = self._pack(self._form(message))
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
            except BrokenPipeError:
                raise output_closed() from None
        return len(data)
