"""An honest client that sends PING all the while others misbehave, and tells how long it ever waited.

It runs in a process of its own, so that neither the server's nor the hostile client's work in this process
delays it::

    with Honest(host, port) as honest:
        ...  # what might hold the server up
    assert honest.worst < 1
"""

from __future__ import annotations

import math
import select
import socket
import subprocess
import sys
import time
from types import TracebackType
from typing import Final, Self

__all__ = ["Honest"]

BETWEEN: Final = 0.002
"""Seconds between a reply and the next PING."""

PATIENCE: Final = 300.0
"""Seconds after which a server that does not answer is taken to hang."""

PING: Final = b"*1\r\n$4\r\nPING\r\n"


class Honest:
    """A client in a process of its own that sends PING from ``__enter__`` to ``__exit__``.

    Args:
        host: the server's address.
        port: its port.

    Attributes:
        worst: seconds for which it waited longest for a reply; infinite where the server hung up on it, or
            did not answer for five minutes. Known once the ``with`` block is over.
        count: how many PINGs were answered. Likewise.
        trouble: what ended it, where ``worst`` is infinite.
    """

    def __init__(self, host: str, port: int) -> None:
        self.worst = math.inf
        self.count = 0
        self.trouble = ""
        self._command = [sys.executable, "-m", __name__, host, str(port)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # the first reply has come
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        told, self.trouble = self._process.communicate()
        if self._process.returncode == 0:
            worst, count = told.split()
            self.worst, self.count = float(worst), int(count)


def ping_until_told(host: str, port: int) -> tuple[float, int]:
    """Sends PING until standard input ends, and once more; the worst wait, and how many were answered."""
    worst, count, is_over = 0.0, 0, False
    with socket.create_connection((host, port), timeout=PATIENCE) as connected:
        while not is_over:
            is_over = bool(count and select.select([sys.stdin], [], [], BETWEEN)[0])
            began = time.perf_counter()
            connected.sendall(PING)
            if not connected.recv(64):
                raise ConnectionResetError("the server hung up")
            worst = max(worst, time.perf_counter() - began)
            count += 1
            if count == 1:
                print("answered", flush=True)  # noqa: T201  (the parent process waits for it)
    return worst, count


if __name__ == "__main__":
    try:
        print(*ping_until_told(sys.argv[1], int(sys.argv[2])))  # noqa: T201
    except OSError as error:
        sys.exit(f"the honest client: {error}")
