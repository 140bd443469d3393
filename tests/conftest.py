"""The servers that tests run on: miniredis in this process, and a real Redis where there is one."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Iterator

import pytest
import redis

import miniredis
import pressure.protocol
from conformance.targets import Address, NoRealRedisError, embedded, real_redis

from .in_process import without_sockets


def pytest_configure() -> None:
    """Interrupts work even where a shell started the tests in the background, and had them ignored.

    While tests are collected nobody looks for garbage: there are thousands, and all of them stay.
    """
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What PySpark warns of is not ours to mend."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Long tests have limits of their own; to be shown in the middle of its work has crashed a busy Python."""
    if item.get_closest_marker("slow") or item.get_closest_marker("spark"):
        faulthandler.cancel_dump_traceback_later()


def pytest_collection_finish() -> None:
    """What is there by now stays to the end; looking through it for garbage takes a twentieth of the time.

    Where hypothesis is to be imported later that is not done: it asks who refers to what.
    """
    if "hypothesis" in sys.modules:
        gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two for each processor: a test waits for other processes about half of its time."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture(autouse=True, scope="session")
def quick_looks() -> Iterator[None]:
    """Repair looks twice at who may be dead; test_protocol sees that these looks are five seconds apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[f"{pressure.protocol.__name__}.repair"], "LOOK_APART", 0.05)
        yield


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[Address]:
    with embedded() as address:
        yield address


@pytest.fixture(scope="session")
def streams_server() -> Iterator[Address]:
    with embedded(loop="streams") as address:
        yield address


@pytest.fixture(scope="session")
def local_handle() -> Iterator[miniredis.Server]:
    with miniredis.start() as server:
        yield server


@pytest.fixture
def local_server(local_handle: miniredis.Server, monkeypatch: pytest.MonkeyPatch) -> Address:
    without_sockets(local_handle, monkeypatch)
    return Address(local_handle.url, "miniredis in this process, without sockets")


@pytest.fixture(scope="session")
def real_server() -> Iterator[Address]:
    try:
        with real_redis() as address:
            yield address
    except NoRealRedisError as error:
        pytest.skip(str(error))


SERVERS = {
    "miniredis": "embedded_server",  # on its poll loop
    "streams": "streams_server",  # with a task per stream
    "in-process": "local_server",  # without sockets
    "redis-server": "real_server",
}
"""The fixture of each kind of server."""


@pytest.fixture(params=SERVERS)
def server_address(request: pytest.FixtureRequest) -> Address:
    """A server of either kind, with whatever earlier tests left on it."""
    address: Address = request.getfixturevalue(SERVERS[request.param])
    return address


@pytest.fixture
def empty_server(server_address: Address) -> Address:
    """A server of either kind, with nothing on it."""
    with redis.Redis.from_url(server_address.url) as client:
        client.flushall()
    return server_address


@pytest.fixture
def address(server_address: Address) -> tuple[str, int]:
    """Where a server of either kind is."""
    return server_address.host, server_address.port


@pytest.fixture
def empty_address(empty_server: Address) -> tuple[str, int]:
    """Where a server of either kind is that has nothing on it."""
    return empty_server.host, empty_server.port


@pytest.fixture
def embedded_address(embedded_server: Address) -> tuple[str, int]:
    return embedded_server.host, embedded_server.port


@pytest.fixture(scope="session")
def real_address(real_server: Address) -> tuple[str, int]:
    return real_server.host, real_server.port
