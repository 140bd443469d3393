"""Ends all processes of a session once its standard input ends: ``python sessions.py LEADER``.

The tests hold the other end of the pipe, so a worker is gone with them even where they are killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys


def end_session(leader: int) -> None:
    """Kills all processes of a session: some frameworks give their children groups of their own.

    The leader is killed first, lest it replace children.
    """
    for number in [leader, *all_processes()]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(number) == leader:
                os.kill(number, signal.SIGKILL)


def all_processes() -> list[int]:
    listing = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True, text=True, check=True)
    return [int(word) for word in listing.stdout.split()]


if __name__ == "__main__":
    sys.stdin.read()
    end_session(int(sys.argv[1]))
