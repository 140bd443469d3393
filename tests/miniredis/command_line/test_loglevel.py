"""``loglevel``: what the servers log of the connections of clients, on both, and what it leaves out."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import redis

import miniredis
from conformance.targets import real_redis
from conformance.wire import RawConnection

from ...waiting import until
from ..loops import started

pytestmark = pytest.mark.usefixtures("forked")

Started = tuple[int, Callable[[], str]]
"""The port of a server, and what tells its log so far."""

Launch = Callable[[Path, str], AbstractContextManager[Started]]
"""Starts one with a folder of its own and a ``loglevel``."""


@contextmanager
def our_command(folder: Path, level: str) -> Iterator[Started]:
    log = folder / "log"
    command = [sys.executable, "-m", "miniredis", "--port", "0", "--loglevel", level]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().rpartition(":")[2]), log.read_text
        finally:
            process.kill()


@contextmanager
def real(folder: Path, level: str) -> Iterator[Started]:
    log = folder / "log"
    with real_redis("--logfile", str(log), "--loglevel", level) as address:
        yield address.port, log.read_text


@pytest.fixture(params=[our_command, real])
def launch(request: pytest.FixtureRequest) -> Launch:
    if request.param is real:
        request.getfixturevalue("real_server")  # skips where there is none
    chosen: Launch = request.param
    return chosen


def come_and_go(port: int) -> str:
    """A client connects and leaves; its address."""
    with RawConnection("127.0.0.1", port) as client:
        assert client.command("PING") == b"+PONG\r\n"
        return f"127.0.0.1:{client.socket.getsockname()[1]}"


def await_alone(control: redis.Redis) -> None:
    """Waits until the server has noticed, and logged or not, that all others have left."""
    until(lambda: len(control.client_list()) == 1, "the others have left")


def test_config_set_loglevel_decides_whether_connections_are_logged(launch: Launch, tmp_path: Path) -> None:
    with launch(tmp_path, "notice") as (port, log), redis.Redis(port=port) as control:
        first = come_and_go(port)
        await_alone(control)
        assert control.config_set("loglevel", "verbose")
        second = come_and_go(port)
        until(lambda: second in log(), "a client of a verbose server is logged")
        assert control.config_set("loglevel", "notice")
        third = come_and_go(port)
        await_alone(control)
        assert control.config_set("loglevel", "debug")
        fourth = come_and_go(port)
        until(lambda: fourth in log(), "a client of a debugging server is logged")
        assert first not in log()
        assert third not in log()


@pytest.mark.parametrize(("level", "is_logged"), [("notice", True), ("warning", False)])
def test_the_level_warning_leaves_out_that_the_server_is_ready(
    launch: Launch, tmp_path: Path, level: str, is_logged: bool
) -> None:
    with launch(tmp_path, level) as (port, log):
        come_and_go(port)
        assert ("ready to accept connections" in log().lower()) == is_logged


def test_each_server_of_a_process_has_a_level_of_its_own(caplog: pytest.LogCaptureFixture, loop: str) -> None:
    caplog.set_level(logging.DEBUG, "miniredis")
    with started(loop) as quiet, started(loop, loglevel="verbose") as verbose:
        first, second = come_and_go(quiet.port), come_and_go(verbose.port)
        until(lambda: "client 1 disconnected" in caplog.text)
    assert f"client 1 connected from {second}" in caplog.text
    assert first not in caplog.text


def test_the_logger_of_the_process_may_let_less_pass_than_loglevel(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "miniredis")
    with miniredis.start(loglevel="debug") as server:
        come_and_go(server.port)
    assert caplog.text == ""
