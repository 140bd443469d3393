"""What the tests of healing share: both servers, all flavours, clients that are cut off or killed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from conformance.clients.flavours import FLAVOURS, MAKERS
from tests.pressure.conftest import DEADLINE, JOBS, ROOT, execute, until
from tests.tools.forking import Forked, ForkServer

from ..conftest import server_fixture

SOON = 10.0
"""Seconds that suffice for many looks at a dead holder, however busy the machine is."""

A_WHILE = 0.5
"""Seconds in which whoever waits looks several times."""

Make = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[str]"]


server_address = server_fixture("miniredis", "redis-server")


@pytest.fixture(params=FLAVOURS)
def flavour(request: pytest.FixtureRequest) -> str:
    """The name of a flavour of the client."""
    name: str = request.param
    return name


@pytest.fixture
def make(flavour: str, redis_url: str) -> Iterator[Make]:
    """Makes queue objects of a flavour, which are disconnected at the end."""
    with contextlib.ExitStack() as stack:

        def made(name: str = "jobs", **options: Any) -> Any:
            queue = MAKERS[flavour]("Queue", name, **{"url": redis_url, **options})
            stack.callback(queue.disconnect)
            return queue

        yield made


@pytest.fixture
def start(flavour: str, redis_url: str, fork_server: ForkServer) -> Iterator[Start]:
    """Starts processes that do one thing each, and returns when they are about to; see ``worker``."""
    running: list[subprocess.Popen[str]] = []

    def process(work: str, pid: str = "") -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "tests.pressure.healing.worker", flavour, redis_url, work, pid]
        running.append(
            Forked(fork_server, words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        assert said(running[-1]) == "begun"
        return running[-1]

    yield process
    for each in running:
        end(each)


def said(process: subprocess.Popen[str]) -> str:
    """The next line of a process."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    """Kills a process."""
    process.kill()
    process.wait(DEADLINE)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def cut(raw: redis.Redis, flag: str = "") -> None:
    """Hangs up on all other clients; or on those in whose flags is a letter, such as ``b`` for blocked."""
    for client in raw.client_list():
        if client["id"] != str(raw.client_id()) and flag in client["flags"]:
            with contextlib.suppress(redis.ResponseError):  # it has left by itself
                execute(raw, "CLIENT", "KILL", "ID", client["id"])


def taken(raw: redis.Redis, role: str) -> None:
    """Waits until a role is held by somebody who has said so."""
    until(lambda: not raw.llen(f"{JOBS}:{role}_free") and raw.exists(f"{JOBS}:{role}"), f"{role} taken")


def set_looks(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """How long those who wait for a role do so before they look, and between two looks."""
    patch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", seconds)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits looks after a moment whether somebody is dead."""
    monkeypatch.setattr("pressure.queue.SLICE", 0.1)


@pytest.fixture
def no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody finds out by looking that a holder is dead; a client that is blocked stays so until it is cut."""
    set_looks(monkeypatch, 1e6)
    monkeypatch.setattr("pressure.queue.SLICE", 1e6)
