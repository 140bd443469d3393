"""The helpers that the tests of the ``pressure`` command share.

Tests that call the command in this process run on miniredis and on a real Redis. Those that start processes run on
miniredis alone in the default run, on a real Redis in the exhaustive one, and so do killed producers and consumers, in
tests/pressure/test_crashes.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias

import pytest

from pressure.cli import main
from tests.pressure.conftest import ROOT
from tests.tools.forking import Forked, ForkServer

from ..conftest import server_fixture

Process: TypeAlias = "subprocess.Popen[bytes]"
Cli: TypeAlias = Callable[..., Process]
Run: TypeAlias = Callable[..., tuple[int, str, str]]

HERE = f"{Path(__file__).parent}{os.sep}"
STARTING = {"cli", "start"}
"""The fixtures that start processes."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that start processes on a real Redis."""
    for item in items:
        if isinstance(item, pytest.Function) and str(item.path).startswith(HERE):
            servers = item.callspec.params.values() if hasattr(item, "callspec") else ()
            if "redis-server" in servers and STARTING & set(item.fixturenames):
                item.add_marker(pytest.mark.exhaustive)


server_address = server_fixture("miniredis", "redis-server")


@pytest.fixture
def run(redis_url: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the command in this process: exit status, output, errors."""
    monkeypatch.setenv("REDIS_URL", redis_url)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main(arguments)
        except SystemExit as exit_:
            status = exit_.code  # type: ignore[assignment]
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return call


#: With the best screen there is, and without rich.
MAINS = {
    "rich": "import sys; from pressure.cli import main; sys.exit(main())",
    "plain": "import sys; sys.modules['rich'] = None; from pressure.cli import main; sys.exit(main())",
}


@pytest.fixture(params=MAINS)
def start(
    request: pytest.FixtureRequest, redis_url: str, fork_server: ForkServer
) -> Iterator[Callable[..., Process]]:
    """Starts a command with or without rich."""
    if request.param == "rich":
        pytest.importorskip("rich")
    environment = {**os.environ, "REDIS_URL": redis_url, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    running: list[Process] = []

    def call(*arguments: str, **options: Any) -> Process:
        line = [sys.executable, "-c", MAINS[request.param], *arguments]
        running.append(Forked(fork_server, line, env=environment, **options))
        return running[-1]

    yield call
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finish(process: Process, text: bytes | None = None, limit: float = 600) -> tuple[int, bytes, bytes]:
    """Give it the text, wait for its end; exit status, output, errors."""
    out, err = process.communicate(text, timeout=limit)
    assert b"Traceback" not in (err or b"")
    return process.returncode, out, err


def feed(process: Process, data: bytes, *, end: bool = False) -> None:
    """Write to its standard input."""
    pipe = stream(process.stdin)
    pipe.write(data)
    pipe.flush()
    if end:
        pipe.close()
        process.stdin = None


def stream(file: IO[bytes] | None) -> IO[Any]:
    """One of its pipes."""
    assert file is not None
    return file
