"""Protected mode: without a password, a server answers clients of its own machine only."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

import miniredis
from conformance.targets import Address, NoRealRedisError, real_redis
from conformance.wire import RawConnection, encode

from ..command_line.test_command_line import running
from ..loops import started

STRANGER: Final = "127.0.0.5"
"""Linux takes it for the machine's own, and Redis for a stranger's: Redis knows 127.0.0.1 and ::1 only."""

COUNTS: Final = re.compile(rb"(?:total_connections_received|rejected_connections):\d+")


@contextlib.contextmanager
def embedded(*flags: str) -> Iterator[int]:
    with started("poll", clock=None, **directives(flags)) as server:
        yield server.port


@contextlib.contextmanager
def streams(*flags: str) -> Iterator[int]:
    with started("streams", clock=None, **directives(flags)) as server:
        yield server.port


@contextlib.contextmanager
def command(*flags: str) -> Iterator[int]:
    with running("--port", "0", *flags) as (_, line):
        yield int(line.rpartition(":")[2])


def directives(flags: tuple[str, ...]) -> dict[str, str]:
    names = [flag.removeprefix("--").replace("-", "_") for flag in flags[::2]]
    return dict(zip(names, flags[1::2], strict=True))


OURS: Final[dict[str, Callable[..., AbstractContextManager[int]]]] = {
    "embedded": embedded,
    "streams": streams,
    "command": command,
}


@contextlib.contextmanager
def redis_server(*flags: str) -> Iterator[int]:
    try:
        with real_redis(*flags) as address:
            yield address.port
    except NoRealRedisError as error:  # an older one does not know all directives
        pytest.skip(str(error))


def heard(port: int, host: str = "127.0.0.1", source: str | None = None) -> bytes:
    """What a server says to a client that says nothing, but that it is over: nothing, unless it is refused."""
    with socket.create_connection((host, port), 20, (source, 0) if source else None) as client:
        client.shutdown(socket.SHUT_WR)
        said = b""
        while piece := client.recv(65536):
            said += piece
        return said


def played(port: int) -> list[bytes]:
    """What strangers and others hear, while the mode, the password and the room for clients change."""
    with RawConnection("127.0.0.1", port) as client:

        def configure(*words: str) -> bytes:
            return client.command("CONFIG", *words)

        def all_hear() -> list[bytes]:
            return [heard(port), heard(port, "127.0.0.2"), heard(port, source=STRANGER)]

        first = int(client.command("CLIENT", "ID")[1:])
        story = [configure("RESETSTAT"), configure("GET", "protected-mode"), *all_hear()]
        story += COUNTS.findall(client.command("INFO", "stats"))
        story += [client.command("INFO", "errorstats")]
        story += [
            configure("SET", "protected-mode", "no"),
            *all_hear(),
            configure("SET", "protected-mode", "yes"),
        ]
        story += [configure("SET", "requirepass", "secret"), *all_hear(), configure("SET", "requirepass", "")]
        story += [*all_hear(), client.command("PING"), configure("SET", "maxclients", "1"), *all_hear()]
        story += [configure("SET", "maxclients", "100"), *COUNTS.findall(client.command("INFO", "stats"))]
    with RawConnection("127.0.0.1", port) as client:
        return [*story, b"%d clients" % (int(client.command("CLIENT", "ID")[1:]) - first)]


ANYWHERE: Final = ("--bind", "0.0.0.0")  # noqa: S104


@pytest.fixture(scope="module")
def real_story(redis_7_0: Address) -> list[bytes]:
    with redis_server(*ANYWHERE) as port:
        return played(port)


@pytest.mark.parametrize("kind", OURS)
def test_remote_clients_get_the_error_of_a_real_server(kind: str, real_story: list[bytes]) -> None:
    with OURS[kind](*ANYWHERE) as port:
        story = played(port)
    assert story == real_story
    assert sum(said.startswith(b"-DENIED Redis is running in protected mode") for said in story) == 2


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize("flags", [("--protected-mode", "no"), ("--requirepass", "secret")])
def test_without_protected_mode_nobody_is_refused(kind: str, flags: tuple[str, str]) -> None:
    with OURS[kind](*ANYWHERE, *flags) as port:
        assert heard(port, source=STRANGER) == b""


@pytest.mark.usefixtures("redis_7_0")
def test_clients_that_connect_by_other_interfaces_are_remote() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: it finds the interface that would
        except OSError as error:
            pytest.skip(f"this machine has no interface but loopback: {error}")
        host = str(probe.getsockname()[0])
    with redis_server(*ANYWHERE) as theirs, embedded(*ANYWHERE) as ours:
        said = heard(theirs, host)
        assert said.startswith(b"-DENIED")
        assert heard(ours, host) == said
        assert heard(ours, host, "127.0.0.1") == heard(theirs, host, "127.0.0.1") == b""


def test_clients_by_loopback_by_unix_socket_and_in_this_process_are_local(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with miniredis.start(bind="127.0.0.1 -::1", unixsocket=path) as server:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(encode("PING"))
            assert client.recv(100) == b"+PONG\r\n"
        with server.client() as local:
            assert local.ping()
        if ipv6_works():
            assert heard(server.port, "::1") == b""


def ipv6_works() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("kind", ["redis-server", *OURS])
def test_enable_debug_command_local_allows_loopback_clients_only(kind: str) -> None:
    servers = {"redis-server": redis_server, **OURS}
    with servers[kind](*ANYWHERE, "--enable-debug-command", "local", "--protected-mode", "no") as port:
        with RawConnection("127.0.0.1", port) as client:
            assert not client.command("DEBUG", "OBJECT", "nosuch").startswith(
                b"-ERR DEBUG command not allowed"
            )
        stranger = socket.create_connection(("127.0.0.1", port), 20, (STRANGER, 0))
        with RawConnection.over(stranger) as client:
            assert client.command("DEBUG", "OBJECT", "nosuch").startswith(b"-ERR DEBUG command not allowed")
