"""Bytes in and bytes out, without buffers in which a message could be lost.

Rules:
    - Output is waited for before a message is taken from the queue. A pipe that is ready takes 4096 bytes at
      once, so that no shorter message is held up once it was taken.
    - A message is written whole, or ``write`` raises.
    - On a terminal each message is a line without control characters; anywhere else it is as it is.
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


def read_runs(fd: int, framing: Framing, signals: Signals) -> Iterator[list[bytes]]:
    """The messages that can be read from ``fd``, as many together as have come together.

    Raises:
        FormatError: They are not in the format; all messages before the break have been given.
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


def _shown(message: bytes) -> bytes:
    return printable(message).encode() + b"\n"


def _as_it_is(message: bytes) -> bytes:
    return message


class Writer:
    """Writes whole messages to ``fd``.

    Args:
        fd: The file.
        framing: How messages are told apart.
        signals: End a wait.
        form: Makes the bytes to write of a message.
    """

    def __init__(
        self, fd: int, framing: Framing, signals: Signals, form: Callable[[bytes], bytes] = _as_it_is
    ) -> None:
        self._fd = fd
        self._signals = signals
        self._form = form
        self._pack = _shown if os.isatty(fd) else framing.pack

    def wait_ready(self) -> None:
        """Wait until a message can be written. Raises Stop if a signal comes, or when nobody reads."""
        if self._signals.wait_for(self._fd, select.POLLOUT) & select.POLLERR or is_closed(self._fd):
            raise output_closed()

    def write(self, message: bytes) -> None:
        """Write the message. Raises Stop when nobody reads any more."""
        left = memoryview(self._pack(self._form(message)))
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
            except BrokenPipeError:
                raise output_closed() from None
