"""Servers as processes of their own, each on a free port of 127.0.0.1 and ended with its context.

``start_real`` knows the words of redis-server, and so of Valkey and other programs like it; ``at_free_port``
starts anything that can be told its port.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = [
    "START_LIMIT",
    "NoRealRedisError",
    "NotInstalledError",
    "accepts",
    "at_free_port",
    "end",
    "free_port",
    "options_of",
    "start_real",
    "version_of",
]

START_LIMIT: Final = 15.0
"""Seconds a server may take to accept connections."""

TRIES: Final = 5
"""How often a server is started anew; another process may take the free port first."""


class NotInstalledError(Exception):
    """A server that was to be judged is not installed, does not start, or cannot be used.

    The text says which, and what to install or change.
    """


class NoRealRedisError(NotInstalledError):
    """No redis-server was found on this machine, or the one that was found does not start."""


def start_real(executable: Path, folder: Path, *flags: str) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a redis-server on a free port of 127.0.0.1; the process is the caller's to end.

    Raises:
        NoRealRedisError: it does not start.
    """
    for _ in range(TRIES):
        port = free_port()
        settings = {
            "port": str(port),
            "bind": "127.0.0.1",
            "save": "",
            "appendonly": "no",
            "dir": str(folder),
        }
        words = [word for name, value in settings.items() for word in (f"--{name}", value)]
        process = launch([str(executable), *words, *flags])
        try:
            if accepts(port, process):
                return process, port
        except BaseException:
            end(process)
            raise
        end(process)
    with_flags = f" with the directives {options_of(flags)}" if flags else ""
    raise NoRealRedisError(f"{executable} does not start as a redis-server does{with_flags}; is it one?")


def options_of(flags: Sequence[str]) -> str:
    """The names of the directives among flags, for people."""
    return ", ".join(flag.removeprefix("--") for flag in flags if flag.startswith("--"))


@contextmanager
def at_free_port(
    name: str, command: Callable[[int], Sequence[str]]
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Any server that is told its port, and where it is.

    Raises:
        NotInstalledError: it does not start.
    """
    for _ in range(TRIES):
        port = free_port()
        process = launch(command(port))
        try:
            if accepts(port, process):
                yield process, port
                return
        finally:
            end(process)
    raise NotInstalledError(f"{name} does not start")


def launch(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (found by those who call)
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.005)
        else:
            return process.poll() is None
    return False


def version_of(executable: Path) -> str:
    """What a program like redis-server says that it is: ``Redis 7.0.15``, ``Valkey 8.0.1``."""
    try:
        done = subprocess.run(  # noqa: S603
            [executable, "--version"], capture_output=True, text=True, check=True, timeout=START_LIMIT
        )
    except (OSError, subprocess.SubprocessError):
        return "which tells no version"
    name, *words = done.stdout.split() or ["nameless"]
    told = dict(word.split("=", 1) for word in words if "=" in word)
    return f"{name} {told.get('v', 'of unknown version')}"
