"""Standard streams that were closed when the command began, as by ``>&-`` in a shell.

Rules:
    - Their file descriptors are taken by the null device, so that no connection gets one of them.
    - A command that needs standard input or output ends with an error before it takes anything; one
      that does not need them works. Standard error is discarded, since there is nobody to tell.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn


class MissingStream:
    """A standard stream that is closed: each use is an error.

    Args:
        name: Its name for people.
        instead: What to do if the command is meant to run without it.
    """

    closed = True  # so Python does not flush it at exit

    def __init__(self, name: str, instead: str) -> None:
        self._error = f"{name} is closed, and this command needs it; {instead}"

    def __getattr__(self, name: str) -> NoReturn:
        raise ValueError(self._error)


def replace_missing_streams() -> None:
    """Put something in the place of each standard stream that Python found closed."""
    streams: Any = sys
    if streams.stdin and streams.stdout and streams.stderr:
        return
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
    streams.stdin = streams.stdin or MissingStream("standard input", "for no input, add </dev/null")
    streams.stdout = streams.stdout or MissingStream("standard output", "to discard it, add >/dev/null")
    streams.stderr = streams.stderr or open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115, it stays open
