"""Other processes that use the queues of a directory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

import miniredis
from miniredis.processes.shared import LOCK, SERVERS
from tests.forks import popen
from tests.waiting import PATIENCE, until


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "queues"
    SERVERS.stop()


@pytest.fixture
def url(folder: Path) -> str:
    return f"miniredis://{folder}"


def owner(folder: Path) -> int:
    """The process that runs the server of a directory."""
    return int((folder / LOCK).read_text().removeprefix("process "))


class Other:
    """Another process, which runs a program line by line as it is told to."""

    def __init__(self, *lines: str) -> None:
        program = "import sys\nfor line in sys.stdin:\n    exec(line)\n    print('done', flush=True)"
        self.process = popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.do(*lines)

    def do(self, *lines: str) -> None:
        for line in lines:
            self.tell(line)
            self.wait()

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")

    def wait(self) -> None:
        assert self.process.stdout
        assert self.process.stdout.readline() == "done\n"

    def end(self) -> None:
        """As a program ends by itself."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def other(url: str) -> Iterator[Callable[..., Other]]:
    made: list[Other] = []

    def make(*lines: str) -> Other:
        first = f"import pressure; jobs = pressure.Queue('jobs', url={url!r})"
        made.append(Other(first, *lines))
        return made[-1]

    yield make
    for each in made:
        each.kill()
        for pipe in (each.process.stdin, each.process.stdout):
            if pipe:
                pipe.close()


def blocked(folder: Path, count: int) -> None:
    """Waits until so many clients are blocked."""
    with redis.Redis(unix_socket_path=miniredis.join(folder)) as client:
        until(lambda: client.info("clients")["blocked_clients"] == count, f"do {count} wait")
