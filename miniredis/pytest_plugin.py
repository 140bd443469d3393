"""Pytest fixtures that give each test a fresh Redis-compatible server.

pytest finds them as soon as the package is installed; nothing has to be imported or registered::

    def test_greeting(redis_client):
        redis_client.set("greeting", "hello")
        assert redis_client.get("greeting") == b"hello"

The report of a test that failed shows the last twenty requests to each of its servers, with their replies.
``miniredis_report`` in pytest's configuration is another number; with 0 nothing is recorded.

With ``miniredis_version = 7.2`` there, or ``--miniredis-version 7.2``, the servers answer as that version.

``@pytest.mark.miniredis_fault(...)`` puts a rule on each server that the fixtures of a test give, with the
arguments of ``server.faults.add``.

``pytest --miniredis-real URL|PROGRAM`` runs the same tests on a real Redis: see ``pytest_real``.

A fixture of your own of the same name, in a ``conftest.py``, takes precedence. Use that for directives::

    @pytest.fixture
    def miniredis_server():
        with miniredis.start(databases=1, requirepass="secret") as server:
            yield server
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from .testing.pytest_faults import FAULT, SERVERS, ServersOfTest

if TYPE_CHECKING:
    import redis.asyncio

    from .embedded import EmbeddedServer
    from .testing.fault_handles import Faults
    from .testing.pytest_real import RealServer
    from .topologies.clusters import Cluster
    from .topologies.sentinels import Sentinels


REPORT = "miniredis_report"

VERSION = "miniredis_version"

TARGET = pytest.StashKey[Any]()
"""The ``real_servers.Target`` that takes the place of miniredis, if one is to."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the setting and the option."""
    parser.addini(
        REPORT, "how many requests to a miniredis server the report of a failed test shows", default="20"
    )
    parser.addini(VERSION, "what miniredis servers answer as, such as 7.2 or valkey-8.1", default="")
    parser.getgroup("miniredis").addoption(
        "--miniredis-version", metavar="VERSION", help=f"the same, instead of {VERSION}"
    )
    parser.getgroup("miniredis").addoption(
        "--miniredis-real",
        metavar="URL|PROGRAM",
        help="run tests on this Redis instead of miniredis: redis://HOST:PORT of a server without keys, "
        "which each test empties, or a program such as redis-server",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker, checks the version, and looks for the real server."""
    if named := version_of(config):
        from .engine.versions.version import version_named

        try:
            version_named(named)
        except ValueError as refusal:
            raise pytest.UsageError(f"{VERSION}: {refusal}") from None
    shown_requests(config)
    config.addinivalue_line(
        "markers", f"{FAULT}(...): a fault on each server of the test; see server.faults.add"
    )
    if named := config.getoption("--miniredis-real"):
        from .testing.pytest_real import found_target

        config.stash[TARGET] = found_target(config, named)


def version_of(config: pytest.Config) -> str | None:
    """The version that the servers of the fixtures answer as; None for the default."""
    return config.getoption("--miniredis-version") or config.getini(VERSION) or None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Looks whether the servers of the test are to get something."""
    is_marked = item.get_closest_marker(FAULT) is not None
    if is_marked and TARGET in item.config.stash:
        from .testing.pytest_real import ONLY_MINIREDIS, skip

        skip(ONLY_MINIREDIS["faults"])
    shown = shown_requests(item.config)
    if is_marked or shown:
        item.stash[SERVERS] = ServersOfTest(item, shown)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
    """Puts the faults of the test on a server that a fixture gives, whoever wrote the fixture."""
    value = yield
    meet(request, value)
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The same for servers of fixtures of a wider scope; a marked test without a server fails."""
    servers = item.stash.get(SERVERS, None)
    if servers is None:
        return (yield)
    for value in getattr(item, "funcargs", {}).values():
        servers.meet(value)
    result = yield
    servers.check()
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Ends the faults and the recordings of the test."""
    if servers := item.stash.get(SERVERS, None):
        servers.end()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Has the report of a failure show the last requests; forgets the servers when the test is over."""
    servers = item.stash.get(SERVERS, None)
    if servers is None:
        return
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        servers.show(call.when)
    if call.when == "teardown":
        del item.stash[SERVERS]


def meet(request: pytest.FixtureRequest, value: object) -> None:
    """A fixture, or the factory, gives this to the test."""
    if servers := request.node.stash.get(SERVERS, None):
        servers.meet(value)


def shown_requests(config: pytest.Config) -> int:
    """How many requests the report of a failed test shows."""
    number: str = config.getini(REPORT)
    if not number.isdecimal():
        raise pytest.UsageError(f"{REPORT}: the number of requests to show, not {number!r}")
    return int(number)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says that a real server is in the place of miniredis."""
    return f"miniredis: replaced by {config.stash[TARGET].name}" if TARGET in config.stash else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says which tests could not run on the real server, and why."""
    if TARGET in config.stash:
        from .testing.pytest_real import tell_what_was_skipped

        tell_what_was_skipped(terminalreporter)


@pytest.fixture(scope="session")
def miniredis_real(request: pytest.FixtureRequest) -> Iterator[RealServer | None]:
    """The server of ``--miniredis-real``, as the tests before left it; None without that option."""
    if TARGET not in request.config.stash:
        yield None
        return
    from .testing.pytest_real import server_of

    yield from server_of(request.config.stash[TARGET])


@pytest.fixture
def miniredis_server(
    request: pytest.FixtureRequest, miniredis_real: RealServer | None
) -> Iterator[EmbeddedServer | RealServer]:
    """A fresh ``miniredis.EmbeddedServer`` on a free port of 127.0.0.1, stopped after the test."""
    from . import start  # imported only for tests that use a server

    if miniredis_real:
        from .testing.pytest_real import fresh

        with fresh(miniredis_real, request) as server:
            yield server
        return
    with start(version=version_of(request.config)) as server:
        yield server


@pytest.fixture
def held_miniredis_server(
    pytestconfig: pytest.Config, miniredis_real: RealServer | None
) -> Iterator[EmbeddedServer]:
    """A fresh server whose clock stands still until the test calls its ``fast_forward(seconds)``."""
    from . import start

    if miniredis_real:
        from .testing.pytest_real import skip

        skip("its clock cannot be held")
    with start(clock="held", version=version_of(pytestconfig)) as server:
        yield server


@pytest.fixture
def miniredis_factory(
    request: pytest.FixtureRequest, miniredis_real: RealServer | None
) -> Iterator[Callable[..., Any]]:
    """Starts one more server at each call, with the arguments of ``start``; all end after the test."""
    from . import start

    with contextlib.ExitStack() as stack:

        def started(**options: Any) -> EmbeddedServer | RealServer:
            if miniredis_real:
                from .testing.pytest_real import one_more

                return stack.enter_context(one_more(miniredis_real, options))
            server = stack.enter_context(start(**{"version": version_of(request.config), **options}))
            meet(request, server)
            return server

        yield started


@pytest.fixture
def miniredis_cluster(pytestconfig: pytest.Config, miniredis_real: RealServer | None) -> Iterator[Cluster]:
    """A fresh ``miniredis.Cluster`` of three primaries with a replica each, stopped after the test."""
    from . import cluster

    if miniredis_real:
        from .testing.pytest_real import skip

        skip("it is no cluster")
    with cluster(nodes=3, replicas=1, version=version_of(pytestconfig)) as nodes:
        yield nodes


@pytest.fixture
def miniredis_sentinel(pytestconfig: pytest.Config, miniredis_real: RealServer | None) -> Iterator[Sentinels]:
    """A fresh ``miniredis.Sentinels``: a primary, a replica and three sentinels, stopped after the test."""
    from . import sentinel

    if miniredis_real:
        from .testing.pytest_real import skip

        skip("it has no sentinels")
    with sentinel(version=version_of(pytestconfig)) as servers:
        yield servers


@pytest.fixture(scope="session")
def shared_miniredis_server(
    pytestconfig: pytest.Config, miniredis_real: RealServer | None
) -> Iterator[EmbeddedServer | RealServer]:
    """The server of ``miniredis_session``, for fixtures of a wider scope: as the tests before left it."""
    from . import start

    if miniredis_real:
        yield miniredis_real
        return
    with start(version=version_of(pytestconfig)) as server:
        yield server


@pytest.fixture
def miniredis_session(
    shared_miniredis_server: EmbeddedServer,
    miniredis_real: RealServer | None,
) -> Iterator[EmbeddedServer | RealServer]:
    """A server that all tests of a session share; it has no keys and no faults when a test begins."""
    if miniredis_real:
        miniredis_real.reset()
        yield miniredis_real
        return
    yield shared_miniredis_server
    shared_miniredis_server.faults.clear()
    shared_miniredis_server.reset()


@pytest.fixture
def miniredis_faults(miniredis_server: EmbeddedServer) -> Faults:
    """What goes wrong on demand on ``miniredis_server``: its ``faults``."""
    return miniredis_server.faults


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


@pytest.fixture
def async_redis_client(miniredis_server: EmbeddedServer) -> Iterator[redis.asyncio.Redis]:
    """A ``redis.asyncio.Redis`` client of ``miniredis_server``, closed after the test.

    It works in whichever event loop the test runs: of pytest-asyncio, of AnyIO, or of ``asyncio.run``.
    """
    from .inprocess.clients import close_afterwards

    client = miniredis_server.async_client()
    yield client
    close_afterwards(client)
