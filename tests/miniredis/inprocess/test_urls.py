"""``server.url`` and the clients without sockets: they can be used as they are, whatever the server's directives."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
import redis

import miniredis

from ..loops import started
from ..network.test_protected_mode import ipv6_works

PASSWORDS = ["secret", "a b/c:d@e%f?g#h", "schlüssel"]


@pytest.mark.parametrize("password", PASSWORDS)
def test_the_url_has_the_password(password: str, loop: str) -> None:
    with started(loop, requirepass=password) as server, redis.Redis.from_url(server.url) as client:
        assert client.ping()
        assert password not in repr(server)
        assert server.public_url == f"redis://127.0.0.1:{server.port}"
        assert server.public_url in repr(server)


def test_the_url_has_the_password_that_config_set_gave() -> None:
    with miniredis.start() as server:
        with redis.Redis.from_url(server.url) as client:
            client.config_set("requirepass", "secret")
        with redis.Redis.from_url(server.url) as client:
            assert client.ping()


EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "*": "127.0.0.1", "* -::*": "127.0.0.1", "::": "::1", "::*": "::1"}  # noqa: S104


@pytest.mark.parametrize(("bind", "host"), EVERY_ADDRESS.items())
def test_the_url_of_a_wildcard_address_is_that_of_the_loopback(bind: str, host: str) -> None:
    if "::1" in host and not ipv6_works():
        pytest.skip("this machine has no IPv6")
    with miniredis.start(bind=bind) as server:
        assert server.host == host
        with redis.Redis.from_url(server.url) as by_url, redis.Redis(server.host, server.port) as by_host:
            assert by_url.ping()
            assert by_host.ping()


@pytest.mark.parametrize("password", PASSWORDS)
def test_clients_without_sockets_log_in_by_themselves(password: str) -> None:
    async def ping(server: miniredis.Server) -> bool:
        async with server.async_client() as client:
            return bool(await client.ping())

    with miniredis.start(requirepass=password) as server:
        with server.client() as client, server.client(protocol=3) as newer:
            assert client.ping()
            assert newer.ping()
        assert asyncio.run(ping(server))


def test_a_password_of_the_caller_is_the_one_that_is_tried() -> None:
    with miniredis.start(requirepass="secret") as server:
        with server.client(password="wrong") as client, pytest.raises(redis.AuthenticationError):  # noqa: S106
            client.ping()
        with server.client(password=None) as client, pytest.raises(redis.AuthenticationError):
            client.ping()


def test_the_command_shows_its_password_nowhere(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [
        sys.executable,
        "-m",
        "miniredis",
        "--port",
        "0",
        "--requirepass",
        "sesame",
        "--loglevel",
        "debug",
    ]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        with redis.Redis(port=int(line.rpartition(":")[2]), password="sesame") as client:  # noqa: S106
            assert client.ping()
        process.terminate()
    assert "sesame" not in line + log.read_text()
    assert "ready to accept connections" in log.read_text()
