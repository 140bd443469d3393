"""The servers that are compared, each a process of its own on a free port of 127.0.0.1.

To compare another one, add a context manager and a row to ``SERVERS``.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

from miniredis.testing.real_programs import find_valkey
from miniredis.testing.real_servers import START_LIMIT, Command, at_free_port, real_at_free_port

from ..targets import fakeredis_command, find_real_redis, go_miniredis_command
from ..wire import RawConnection
from .turns import MissingError

__all__ = ["SERVERS", "RunningServer", "processor_seconds"]

CROWD: Final = ("--maxclients", "20000")
"""Room for all clients of the rows with crowds."""


def processor_seconds(client: RawConnection) -> float:
    """The processor time that a server has used since it was started, as INFO tells."""
    lines = client.command("INFO", "cpu").decode().split("\r\n")
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    return float(told["used_cpu_sys"]) + float(told["used_cpu_user"])


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that is up.

    Attributes:
        name: as in ``SERVERS``.
        port: where it listens on 127.0.0.1.
        process: it.
    """

    name: str
    port: int
    process: subprocess.Popen[bytes]

    def connect(self) -> RawConnection:
        """A client of it."""
        return RawConnection("127.0.0.1", self.port)

    def ask(self, *arguments: str | bytes) -> bytes:
        """The reply to one command, from a connection of its own, as it is on the wire."""
        with self.connect() as connection:
            return connection.command(*arguments)

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self.process.poll() is None

    def cpu_seconds(self) -> float:
        """The processor time it has used so far, its own and the system's on its behalf, as INFO tells."""
        with self.connect() as client:
            return processor_seconds(client)

    def resident_bytes(self) -> int:
        """Its resident memory, as the system tells.

        Raises:
            MissingError: this system does not tell.
        """
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except OSError:
            raise MissingError("no /proc on this system to read memory from") from None
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def miniredis(*flags: str) -> Iterator[RunningServer]:
    """The ``miniredis`` command; its files, if it has any, are in a temporary folder."""
    command = [sys.executable, "-m", "miniredis", "--port", "0", *CROWD, *flags]
    with tempfile.TemporaryFile() as complaints, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        process = subprocess.Popen(  # noqa: S603  (ours)
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints
        )
        with process:
            try:
                assert process.stdout is not None
                line = first_line(process.stdout)
                if not line.startswith("listening on "):
                    complaints.seek(0)
                    raise OSError(f"miniredis does not start: {line}{complaints.read().decode()}")
                yield RunningServer("miniredis", int(line.rpartition(":")[2].strip("/\n")), process)
            finally:
                process.kill()


def first_line(stream: IO[bytes]) -> str:
    """What a program says first; nothing if it takes too long."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        return stream.readline().decode() if selector.select(START_LIMIT) else ""


@contextmanager
def real_server(name: str, find: Callable[[], Path], *flags: str) -> Iterator[RunningServer]:
    """A real Redis or Valkey, which keeps nothing unless flags say so."""
    executable = find()
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        real_at_free_port(executable, Path(folder), *CROWD, *flags) as (process, port),
    ):
        yield RunningServer(name, port, process)


def redis_server(*flags: str) -> AbstractContextManager[RunningServer]:
    """A redis-server; see ``real_server``."""
    return real_server("redis-server", find_real_redis, *flags)


def valkey() -> AbstractContextManager[RunningServer]:
    """A valkey-server; see ``real_server``."""
    return real_server("valkey", find_valkey)


def fakeredis() -> AbstractContextManager[RunningServer]:
    """The TCP server of fakeredis, a thread per client."""
    return told_its_port("fakeredis", fakeredis_command)


def go_miniredis() -> AbstractContextManager[RunningServer]:
    """Go's miniredis: ``miniredis-server``, which takes ``-addr``."""
    return told_its_port("go-miniredis", go_miniredis_command)


@contextmanager
def told_its_port(name: str, command: Command) -> Iterator[RunningServer]:
    """Any server that is told its port."""
    with at_free_port(name, command) as (process, port):
        yield RunningServer(name, port, process)


def durable(policy: str) -> tuple[str, ...]:
    """The flags for an append-only file."""
    return "--appendonly", "yes", "--appendfsync", policy


SERVERS: Final[Mapping[str, Callable[[], AbstractContextManager[RunningServer]]]] = {
    "miniredis": miniredis,
    "redis-server": redis_server,
    "miniredis, appendfsync always": partial(miniredis, *durable("always")),
    "redis-server, appendfsync always": partial(redis_server, *durable("always")),
    "miniredis, appendfsync everysec": partial(miniredis, *durable("everysec")),
    "valkey": valkey,
    "fakeredis": fakeredis,
    "go-miniredis": go_miniredis,
}
