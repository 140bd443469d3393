"""Pytest fixtures that give each test a fresh Redis-compatible server.

pytest finds them as soon as the package is installed; nothing has to be imported or registered::

    def test_greeting(redis_client):
        redis_client.set("greeting", "hello")
        assert redis_client.get("greeting") == b"hello"

With ``miniredis_report = 20`` in pytest's configuration, the report of a test that failed shows the last
twenty requests to its server, each with its reply.

``@pytest.mark.miniredis_fault(...)`` puts a rule on the server of a test, with the arguments of
``server.faults.add``.

A fixture of your own of the same name, in a ``conftest.py``, takes precedence. Use that for directives::

    @pytest.fixture
    def miniredis_server():
        with miniredis.start(databases=1, requirepass="secret") as server:
            yield server
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import redis

    from .clock import ClockChoice
    from .embedded import EmbeddedServer


REPORT = "miniredis_report"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the setting."""
    parser.addini(
        REPORT, "how many requests to a miniredis server the report of a failed test shows", default="0"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.addinivalue_line(
        "markers", "miniredis_fault(...): a fault on the test's miniredis server; see server.faults.add"
    )


@pytest.fixture
def miniredis_server(request: pytest.FixtureRequest) -> Iterator[EmbeddedServer]:
    """A fresh ``miniredis.EmbeddedServer`` on a free port of 127.0.0.1, stopped after the test."""
    yield from started_for(request)


@pytest.fixture
def held_miniredis_server(request: pytest.FixtureRequest) -> Iterator[EmbeddedServer]:
    """A fresh server whose clock stands still until the test calls its ``fast_forward(seconds)``."""
    yield from started_for(request, clock="held")


@pytest.fixture(scope="session")
def shared_miniredis_server() -> Iterator[EmbeddedServer]:
    """The server of ``miniredis_session``, for fixtures of a wider scope: as the tests before left it."""
    from . import start

    with start() as server:
        yield server


@pytest.fixture
def miniredis_session(
    shared_miniredis_server: EmbeddedServer, request: pytest.FixtureRequest
) -> Iterator[EmbeddedServer]:
    """A server that all tests of a session share; it has no keys and no faults when a test begins."""
    yield from with_faults(shared_miniredis_server, request)
    shared_miniredis_server.faults.clear()
    shared_miniredis_server.reset()


def started_for(request: pytest.FixtureRequest, clock: ClockChoice = None) -> Iterator[EmbeddedServer]:
    """A fresh server, with the faults that a test is marked with."""
    from . import start  # imported only for tests that use a server

    with start(clock=clock) as server:
        yield from with_faults(server, request)


def with_faults(server: EmbeddedServer, request: pytest.FixtureRequest) -> Iterator[EmbeddedServer]:
    """The server, with the faults that a test is marked with; its last requests are told with a failure."""
    for marker in reversed([*request.node.iter_markers("miniredis_fault")]):
        server.faults.add(*marker.args, **marker.kwargs)
    shown = int(request.config.getini(REPORT))
    if not shown:
        yield server
        return
    with server.record() as calls:
        yield server
    request.node.add_report_section("teardown", "requests to miniredis", "\n".join(map(str, calls[-shown:])))


@pytest.fixture
def redis_url(miniredis_server: EmbeddedServer) -> str:
    """The URL of ``miniredis_server``: ``redis://127.0.0.1:PORT``."""
    return miniredis_server.url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A ``redis.Redis`` client of ``miniredis_server``, closed after the test."""
    import redis

    with redis.Redis.from_url(redis_url) as client:
        yield client
