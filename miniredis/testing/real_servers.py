"""Servers as processes of their own, each on a free port of 127.0.0.1 and ended with its context.

``real_at_free_port`` knows the words of redis-server, and so of Valkey and other programs like it;
``at_free_port`` starts anything that can be told its port.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Final

from .address import Address

__all__ = [
    "CLUSTER_NODE",
    "FREE_PORT",
    "START_LIMIT",
    "Command",
    "NoRealRedisError",
    "NotInstalledError",
    "Target",
    "accepts",
    "at_free_port",
    "end",
    "free_port",
    "options_of",
    "program",
    "real_at_free_port",
    "start",
    "version_of",
]

START_LIMIT: Final = 60.0
"""Seconds a server may take to accept connections: far more than one needs on a busy machine."""

TRIES: Final = 5
"""How often a server is started anew; another process may take a free port first."""

FREE_PORT: Final = "{free port}"
"""A word of a command line that becomes a free port, another one at each try to start the server."""

CLUSTER_NODE: Final = ("--cluster-enabled", "yes", "--cluster-port", FREE_PORT)
"""Flags that make a redis-server a node of a cluster; it tells its cluster port to CONFIG GET."""

Command = Callable[[int], Sequence[str]]
"""Makes a server's command line from its port."""


class NotInstalledError(Exception):
    """A server is not installed, does not start, or cannot be used.

    The text says which, and what to install or change.
    """


class NoRealRedisError(NotInstalledError):
    """No redis-server was found on this machine, or the one that was found does not start."""


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of server that can be started.

    Attributes:
        name: for people.
        up: makes a context manager that starts the server, gives its ``Address``, and stops it at the end.
            Entering it raises ``NotInstalledError`` if the server is not there.
    """

    name: str
    up: Callable[[], AbstractContextManager[Address]]


@contextmanager
def program(find: Callable[[], Path], *flags: str) -> Iterator[Address]:
    """Starts a program like redis-server on a free port, in a folder of its own that is removed at the end.

    Args:
        find: says where the program is.
        flags: as on redis-server's command line.

    Raises:
        NoRealRedisError: it is not there, or does not start.
    """
    executable = find()
    with (
        TemporaryDirectory(prefix="redis-") as folder,
        real_at_free_port(executable, Path(folder), *flags) as (_, port),
    ):
        origin = f"{executable}, {version_of(executable)}"
        yield Address(f"redis://127.0.0.1:{port}/0", origin, another=partial(program, find))


@contextmanager
def real_at_free_port(
    executable: Path, folder: Path, *flags: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A redis-server, and its port on 127.0.0.1; the server ends with the context.

    Args:
        executable: the program.
        folder: where it keeps its files.
        *flags: its other directives; ``FREE_PORT`` among them becomes a port.

    Raises:
        NoRealRedisError: it does not start.
    """
    settings = {"bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": str(folder)}
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    try:
        running = start(str(executable), lambda port: [str(executable), "--port", str(port), *words, *flags])
    except NotInstalledError as error:
        with_flags = f" that takes the directives {options_of(flags)}" if flags else ""
        raise NoRealRedisError(f"{error}; is it a redis-server{with_flags}?") from None
    try:
        yield running
    finally:
        end(running[0])


def options_of(flags: Sequence[str]) -> str:
    """The names of the directives among flags, for people."""
    return ", ".join(flag.removeprefix("--") for flag in flags if flag.startswith("--"))


@contextmanager
def at_free_port(name: str, command: Command) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Any server that is told its port, and that port; the server ends with the context.

    Raises:
        NotInstalledError: it does not start.
    """
    process, port = start(name, command)
    try:
        yield process, port
    finally:
        end(process)


def start(name: str, command: Command, folder: str | None = None) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a server on a free port; the process is the caller's to end.

    Args:
        name: for the error.
        command: makes the command line from a port; ``FREE_PORT`` in it becomes another port.
        folder: where the server runs.

    Raises:
        NotInstalledError: it does not start; the text ends with the last line that it wrote.
    """
    said = ""
    for _ in range(TRIES):
        port = free_port()
        words = [str(free_port()) if word == FREE_PORT else word for word in command(port)]
        with TemporaryFile() as output:
            process = launch(words, output, folder)
            is_up = hangs = False
            try:
                is_up = accepts(port, process)
                hangs = not is_up and process.poll() is None
            finally:
                if not is_up:
                    end(process)
            if is_up:
                return process, port
            said = last_line(output)
            if hangs:  # another port would not help
                break
    raise NotInstalledError(f"{name} does not start" + (f" and says: {said}" if said else ""))


def last_line(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read().rstrip().rpartition(b"\n")[2].decode(errors="replace")


def launch(
    command: Sequence[str], output: IO[bytes] | int = subprocess.DEVNULL, folder: str | None = None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (found by those who call)
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder
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
