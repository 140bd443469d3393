"""Workers as processes of their own, and how a test waits for what they do.

Nothing here sleeps for a while and hopes: a test waits for an element of a list, or until a condition holds, and
fails at a deadline. A worker and whatever it started is gone when its context ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from tests import waiting

T = TypeVar("T")

PATIENCE: Final = 60
"""Seconds until a test gives up: far more than anything here takes on a busy machine."""

ROOT: Final = Path(__file__).parents[2]
"""Where the processes run: modules of tests are importable by their full names."""

RUNNING: Final[list[Program]] = []
"""Those that run, for the report of a test that fails."""


@dataclass(frozen=True, slots=True)
class Program:
    """A process in a session of its own.

    Attributes:
        name: what it is, for reports.
        process: the leader of the session.
        log: what it and its children print.
    """

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def printed(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace")

    def says(self, words: str) -> None:
        """Waits until it has printed ``words``."""
        until(lambda: words in self.printed() or self.process.poll() is not None)
        assert words in self.printed(), f"{self.name} ended with {self.process.returncode}:\n{self.printed()}"

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to end and gives its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


Starter = Callable[..., Program]
"""What the fixture ``start`` is: takes a name, a command and variables of the environment."""


def needed(module: str, extra: str = "frameworks") -> Any:
    """A module of a framework; skips the tests of the module that asks for it where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of their code, not of ours
        return pytest.importorskip(module, reason=f"{module} is not installed; it is in the extra `{extra}`")


def python(module: str, *words: str) -> list[str]:
    """The command that runs a module with the interpreter of the tests."""
    return [sys.executable, "-m", module, *words]


@contextlib.contextmanager
def program(command: list[str], url: str, log: Path, **environment: str) -> Iterator[Program]:
    """A program that finds the server in ``REDIS_URL``, for as long as the context lasts."""
    here = {**os.environ, "REDIS_URL": url, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **environment}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, env=here, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    running = Program(log.stem, process, log)
    RUNNING.append(running)
    try:
        with gone_with_us(process.pid):
            yield running
    finally:
        RUNNING.remove(running)
        process.wait()


@contextlib.contextmanager
def gone_with_us(leader: int) -> Iterator[None]:
    """Ends a session when the context does, or when this process is gone."""
    command = [sys.executable, "-S", str(Path(__file__).with_name("sessions.py")), str(leader)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):
        yield  # then the pipe is closed, and it is waited for


def until(condition: Callable[[], T]) -> T:
    """What the condition gives once it is true."""
    return waiting.until(condition, limit=PATIENCE)


def taken(client: Any, key: str, count: int = 1, within: float = PATIENCE) -> list[bytes]:
    """The next ``count`` elements of a list, waiting for each until all of ``within`` seconds is used up."""
    deadline = time.monotonic() + within
    elements: list[bytes] = []
    while len(elements) < count:
        left = deadline - time.monotonic()
        answer = client.blpop([key], timeout=left) if left > 0 else None
        assert answer is not None, f"{len(elements)} of {count} elements of {key} within {within} seconds"
        elements.append(answer[1])
    return elements


def numbers(client: Any, key: str, count: int) -> list[int]:
    """The next ``count`` numbers of a list, sorted."""
    return sorted(int(element) for element in taken(client, key, count))


def moment(client: Any, key: str) -> float:
    """When a job ran that notes the time; in seconds since 1970."""
    return float(taken(client, key)[0])
