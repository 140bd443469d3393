"""A terminal that a test can look at."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Iterator

from tests.pressure.conftest import DEADLINE


class Terminal:
    """A pseudo-terminal; ``fd`` is the end for a process, ``ours`` the other."""

    def __init__(self) -> None:
        self.ours, self.fd = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        self.text = b""

    def wait_for(self, *words: bytes) -> bytes:
        """Read until all of the words have come, in any order; everything so far."""
        end = time.monotonic() + DEADLINE
        while not all(word in self.text for word in words):
            ready, _, _ = select.select([self.ours], [], [], max(end - time.monotonic(), 0))
            assert ready, f"no {words!r} in {self.text!r}"
            self.text += os.read(self.ours, 1 << 16)
        return self.text

    def press(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.ours, keys)

    def echoes(self) -> bool:
        """Whether it is in the mode that shells use."""
        return bool(termios.tcgetattr(self.fd)[3] & termios.ICANON)

    def close(self) -> None:
        """Both ends."""
        os.close(self.ours)
        os.close(self.fd)


@contextlib.contextmanager
def terminal() -> Iterator[Terminal]:
    """A terminal for the length of a block."""
    found = Terminal()
    try:
        yield found
    finally:
        found.close()
