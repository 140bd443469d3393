"""Each test runs on miniredis in this process and on a real redis-server, with a framework's own worker processes.

The servers are not emptied between tests, since workers live longer than a test: each test has keys of its own.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from conformance.targets import Address, NoRealRedisError, embedded, real_redis

from .node import installed
from .programs import RUNNING, Program, Starter, program

SERVERS: dict[str, Callable[[], AbstractContextManager[Address]]] = {
    "miniredis": embedded,
    "redis-server": real_redis,
}
KEYS = itertools.count()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all tests in this folder; what a framework warns of is not ours to fail on."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.frameworks)
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Address]:
    """A server of either kind."""
    try:
        with SERVERS[request.param]() as address:
            yield address
    except NoRealRedisError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def client(server: Address) -> Iterator[redis.Redis]:
    """A client of that server; it speaks for the test, not for the framework."""
    with redis.Redis.from_url(server.url) as client:
        yield client


@pytest.fixture
def key() -> str:
    """The name of a key that no other test has."""
    return f"key-{next(KEYS)}"


@pytest.fixture(scope="module")
def start(server: Address, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    """Starts programs that live until the last test of a module: ``start(name, command, **environment)``."""
    logs = tmp_path_factory.mktemp("logs")
    with ExitStack() as programs:

        def started(name: str, command: list[str], **environment: str) -> Program:
            return programs.enter_context(program(command, server.url, logs / f"{name}.log", **environment))

        yield started


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which Node finds the packages that are tested."""
    return installed(tmp_path_factory.mktemp("node"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Shows what the workers printed when a test fails."""
    report = yield
    if report.failed:
        report.sections.extend((f"{each.name} printed", each.printed()[-4000:]) for each in RUNNING)
    return report
