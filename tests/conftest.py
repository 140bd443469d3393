"""The servers that tests run on: miniredis in this process, and a real Redis where there is one."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

import miniredis


def wait_until_listening(port: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def embedded_address() -> Iterator[tuple[str, int]]:
    with miniredis.start() as server:
        yield server.host, server.port


@pytest.fixture(scope="session")
def real_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    executable = shutil.which("redis-server")
    if executable is None:
        pytest.skip("no redis-server on this machine")
    port, folder = free_port(), tmp_path_factory.mktemp("redis")
    process = subprocess.Popen(
        [executable, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until_listening(port)
        yield "127.0.0.1", port
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["miniredis", "redis-server"])
def address(request: pytest.FixtureRequest) -> tuple[str, int]:
    """A server of either kind, as host and port."""
    name = {"miniredis": "embedded_address", "redis-server": "real_address"}[request.param]
    found: tuple[str, int] = request.getfixturevalue(name)
    return found


@pytest.fixture
def empty_address(address: tuple[str, int]) -> tuple[str, int]:
    """Its databases are empty."""
    import redis

    with redis.Redis(*address) as client:
        client.flushall()
    return address
