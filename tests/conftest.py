"""The servers that tests run on: miniredis in this process, and a real Redis where there is one."""

from __future__ import annotations

import faulthandler
import functools
import gc
import importlib.metadata
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import redis
from _pytest.runner import runtestprotocol

import miniredis
import pressure.protocol.liveness
from conformance.clients.flavours import FLAVOURS
from conformance.judging.capabilities import is_no_redis_7_0
from conformance.judging.environment import Environment
from conformance.targets import Address, NoRealRedisError, embedded, real_redis
from conformance.targets.programs import find_real_redis
from miniredis.testing.real_programs import wheels_redis
from tests.tools.forking import ForkServer

from .cases import exhaustive
from .forks import forks, popen
from .in_process import without_sockets
from .servers import RealServer, answers, find_redis_7_0, found, start_redis
from .waiting import until

WORTH_TELLING = 0.1
"""Seconds that a set-up or tear-down takes that is among the slowest."""


def pytest_configure(config: pytest.Config) -> None:
    """Turns on SIGINT, which a shell turns off for tests in the background, and prepares for many tests.

    The garbage collector is off while tests are collected: there are thousands, and all of them stay.
    """
    gc.disable()
    importlib.metadata.version = functools.cache(importlib.metadata.version)  # redis-py's, at each connection
    if config.getoption("numprocesses", None):
        keep_bytecode()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def keep_bytecode() -> None:
    """Lets the workers and the processes they start keep compiled modules, which git ignores.

    Where Python is told to keep none, each of them would compile all that it imports: a sixth of the run. Not
    without workers: ``tests.tools.mutation`` runs so, and changes files too quickly for what is kept of them.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lets tests pass in spite of PySpark's warnings, which we cannot mend."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Dumps no stacks after a time in long tests: they have limits of their own, and a dump has crashed Python."""
    if any(item.get_closest_marker(name) for name in ("slow", "spark", "faults")):
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker runs a test as pytest does, but tells nothing of a set-up and a tear-down that were all right.

    Every report is a message to another process, and most of them would say nothing.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > WORTH_TELLING:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_collection_finish() -> None:
    """Hides the objects that exist now from the garbage collector, which saves a twentieth of the time.

    Not before hypothesis is imported: it asks the garbage collector which objects refer to others.
    """
    if "hypothesis" in sys.modules:
        gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Writes one line for each reason to skip tests, with their number; ``-rs`` writes one for each test."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    if reasons:
        terminalreporter.section("what was skipped, and why")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:5} {reason}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers for each processor: tests wait for other processes some of their time.

    Each more would collect all tests once more, which takes as long as five hundred of them.
    """
    return 2 * (os.cpu_count() or 1)


@pytest.fixture
def held() -> Iterator[miniredis.EmbeddedServer]:
    """A miniredis whose clock stands still."""
    with miniredis.start(clock="held") as server:
        yield server


@pytest.fixture(autouse=True, scope="session")
def quick_probes() -> Iterator[None]:
    """Shortens the time between a repair's two probes, where ``probes_as_for_users`` does not say otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pressure.protocol.liveness, "PROBE_INTERVAL", 0.2)
        yield


@pytest.fixture(scope="session")
def fork_server() -> ForkServer:
    """Forks processes that have imported both packages: they cost a tenth of a process that Python starts."""
    return forks()


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forks each ``python -c`` or ``python -m`` that the test, or what it tests, starts by ``subprocess``."""
    forks()  # before the test counts open files
    monkeypatch.setattr(subprocess, "Popen", popen)


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
    """The real Redis of this machine, of any version; in a test that takes ``redis_7_0`` as well, one of 7.0."""
    try:
        with real_redis() as address:
            yield address
    except NoRealRedisError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def redis_7_0(real_server: Address) -> Address:
    """A real Redis 7.0, for tests that compare miniredis with it in what other versions answer differently."""
    skip_unless_7_0(real_server)
    return real_server


@pytest.fixture
def as_redis_7_0(server_address: Address) -> None:
    """Skips a test of replies that only Redis 7.0 gives, on servers that give others."""
    skip_unless_7_0(server_address)


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[RealServer]:
    """A real Redis of the test's own that keeps its data when it is started again."""
    with start_redis(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as server:
        until(lambda: answers(server.port), "did it start")
        yield server


@pytest.fixture(scope="session")
def redis_program() -> Path:
    """The program of the real Redis, of any version, for tests that start their own."""
    return found(find_real_redis)


@pytest.fixture(scope="session")
def redis_7_0_program() -> Path:
    """The program of a real Redis 7.0."""
    return found(find_redis_7_0)


@pytest.fixture(scope="session")
def older_redis() -> Path:
    """The program of a Redis 6.2, if the wheel that has one is installed."""
    return found(wheels_redis)


def skip_unless_7_0(server: Address) -> None:
    if not is_7_0(server):
        pytest.skip(
            f"the replies expected here are those of Redis 7.0, and the only real Redis here is {server.origin}"
        )


@cache
def is_7_0(server: Address) -> bool:
    """Whether a server's replies are those of Redis 7.0; test_clauses.py tests that miniredis' are."""
    with Environment(server, FLAVOURS["sync"]) as env:
        return not is_no_redis_7_0(env)


SERVERS = {
    "miniredis": "embedded_server",  # on its poll loop
    "streams": "streams_server",  # with a task per stream
    "in-process": "local_server",  # without sockets
    "redis-server": "real_server",
}
"""The fixture of each kind of server."""


@pytest.fixture(params=SERVERS)
def server_address(request: pytest.FixtureRequest) -> Address:
    """A server of each kind, with the data that earlier tests left."""
    address: Address = request.getfixturevalue(SERVERS[request.param])
    return address


ANY_LOOP = pytest.mark.parametrize(
    "server_address",
    [
        "miniredis",
        "redis-server",
        *(exhaustive(each) for each in ("streams", "in-process")),
    ],
    indirect=True,
)
"""For behaviour that no loop can change: the default run has one loop, the exhaustive run has the others, too."""


@pytest.fixture
def empty_server(server_address: Address) -> Address:
    """A server of each kind, without data."""
    with redis.Redis.from_url(server_address.url) as client:
        client.flushall()
    return server_address


@pytest.fixture
def address(server_address: Address) -> tuple[str, int]:
    """The host and port of a server of each kind."""
    return server_address.host, server_address.port


@pytest.fixture
def empty_address(empty_server: Address) -> tuple[str, int]:
    """The host and port of a server of each kind, without data."""
    return empty_server.host, empty_server.port


@pytest.fixture
def embedded_address(embedded_server: Address) -> tuple[str, int]:
    return embedded_server.host, embedded_server.port


@pytest.fixture(scope="session")
def redis_7_0_address(redis_7_0: Address) -> tuple[str, int]:
    return redis_7_0.host, redis_7_0.port
