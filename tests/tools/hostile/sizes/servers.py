"""The two servers, each a process that can be killed and started again, and what one request costs them."""

from __future__ import annotations

import resource
import secrets
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from conformance.targets import find_real_redis
from conformance.wire import encode
from miniredis.testing.real_servers import Command, NotInstalledError, end, options_of, start

__all__ = ["Cost", "GoneError", "Party", "StalledError", "miniredis_words", "parties", "redis_words"]

MOST_MEMORY: Final = 4 << 30
"""Bytes of addresses a server may use: a server that wants more fails, and the machine does not."""

SETUP_LIMIT: Final = 120.0
"""Seconds in which a server must have built a key."""

CHUNK: Final = 1 << 20
"""Bytes of requests that are sent before their replies are read."""

SWITCHES: Final = ("--enable-debug-command", "yes", "--save", "", "--maxclients", "5000")


class StalledError(Exception):
    """The server did not answer in time."""


class GoneError(Exception):
    """The server ended, or hung up on everybody."""


class Cost(NamedTuple):
    """What a request took.

    Attributes:
        seconds: of processor time of the server; of the clock where the system does not tell.
        memory: bytes by which the resident memory was larger at its peak than before.
        traffic: bytes sent and received, and bytes that were sent before to build a key.
        reply: how it begins.
    """

    seconds: float
    memory: int
    traffic: int
    reply: bytes = b""


def redis_words(port: int) -> list[str]:
    """How to start the real server."""
    return [str(find_real_redis()), "--port", str(port), "--bind", "127.0.0.1", *SWITCHES]


def miniredis_words(port: int) -> list[str]:
    """How to start miniredis."""
    return [sys.executable, "-m", "miniredis", "--port", str(port), "--bind", "127.0.0.1", *SWITCHES]


class Party:
    """A server in a process of its own.

    Args:
        name: for people.
        words: makes the command line from a port.
        folder: where it runs.
    """

    def __init__(self, name: str, words: Command, folder: str) -> None:
        self.name = name
        self.starts = 0
        self._words = words
        self._folder = folder
        self._line: Line | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.kept = ""  # the setting whose keys are kept beside the first database
        self.sent: dict[tuple[str, int], int] = {}  # bytes that it took to build a setting of a size
        self.loaded: tuple[str, int, tuple[str, ...]] | None = None  # what is in the first database

    def start(self) -> None:
        """Starts it, or starts it again: whatever was kept there is gone."""
        self.stop()
        self.kept = ""
        self.loaded = None
        self.starts += 1
        try:
            self._process, self._port = start(self.name, self._words, self._folder)
        except NotInstalledError as error:
            raise GoneError(f"{error}; does it take the directives {options_of(SWITCHES)}?") from None
        resource.prlimit(self._process.pid, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    def stop(self) -> None:
        """Kills it, if it runs."""
        if self._line is not None:
            self._line.__exit__()
            self._line = None
        if self._process is not None:
            end(self._process)
            self._process = None

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def connect(self) -> Line:
        """A client of it."""
        try:
            return Line(self._port)
        except OSError as error:
            raise GoneError(f"{self.name}: {error}") from error

    def line(self) -> Line:
        """A client of it that is used again and again."""
        if self._line is None or self._line.ended:
            self._line = self.connect()
        return self._line

    def resident(self) -> int:
        """Bytes of memory it has now."""
        return self._status("VmRSS:")

    def measure(self, line: Line, request: bytes, limit: float) -> Cost:
        """Sends a request and reads its whole reply.

        Raises:
            StalledError: no whole reply came within so many seconds.
            GoneError: the server ended.
        """
        with suppress(OSError):
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        memory, worked, began = self.resident(), self._worked(), time.perf_counter()
        received, reply = line.ask(request, limit)
        passed, worked = time.perf_counter() - began, self._worked() - worked
        if not self.runs:
            raise GoneError(f"{self.name} ended")
        grown = self._status("VmHWM:") - memory
        return Cost(worked or passed, max(grown, 0), len(request) + received, reply)

    def _worked(self) -> float:
        total = 0
        for task in Path(f"/proc/{self.pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                total += int(task.read_text().split()[0])
        return total / 1e9

    def _status(self, field: str) -> int:
        with suppress(OSError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                if line.startswith(field):
                    return int(line.split()[1]) << 10
        return 0


class Line:
    """One connection, on which a request is over when the PING behind it is answered.

    Attributes:
        ended: the server hung up, or did not answer.
    """

    def __init__(self, port: int) -> None:
        self.ended = False
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SETUP_LIMIT)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def ask(self, request: bytes, limit: float) -> tuple[int, bytes]:
        """The size of the replies to some requests, and how they begin; a server that hangs up has replied.

        Raises:
            StalledError: they did not end within so many seconds.
        """
        word = b"end-%s" % secrets.token_hex(8).encode()
        ending, deadline = b"\r\n%b\r\n" % word, time.monotonic() + limit
        rest = memoryview(request + encode("PING", word))
        size, first, tail = 0, b"", b""
        try:
            while not tail.endswith(ending):
                readable, writable, _ = select.select(
                    [self._socket], [self._socket] if rest else [], [], max(deadline - time.monotonic(), 0)
                )
                if not readable and not writable:
                    self.ended = True
                    raise StalledError(f"no reply in {limit:.1f} s")
                if writable:
                    rest = rest[self._socket.send(rest[:CHUNK]) :]
                if readable:
                    data = self._socket.recv(CHUNK)
                    if not data:
                        self.ended = True
                        break
                    size += len(data)
                    first = first or data[:200]
                    tail = (tail + data)[-64:]
        except (ConnectionResetError, BrokenPipeError):
            self.ended = True
        return size, first

    def build(self, requests: Iterable[bytes]) -> int:
        """Sends requests whose replies do not matter, so that neither side fills up; returns their size."""
        pieces, size, sent = [], 0, 0
        for request in requests:
            pieces.append(request)
            size += len(request)
            if size > CHUNK:
                self.ask(b"".join(pieces), SETUP_LIMIT)
                sent += size
                pieces, size = [], 0
        self.ask(b"".join(pieces), SETUP_LIMIT)
        return sent + size


@contextmanager
def parties(ours: Command = miniredis_words, theirs: Command = redis_words) -> Iterator[Sequence[Party]]:
    """Both servers, miniredis first, for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="sizes-") as folder:
        both = [Party("miniredis", ours, folder), Party("redis-server", theirs, folder)]
        try:
            for party in both:
                party.start()
            yield both
        finally:
            for party in both:
                party.stop()
