"""A producer or consumer process killed in the middle: order is kept, and at most what was on its way is lost or doubled.

That is one line with ``put --acks`` and ``get --run 1``, and one run of lines with ``get`` alone.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import redis

from pressure import Queue

from .conftest import invariant, server_fixture, until

Cli = Callable[..., "subprocess.Popen[bytes]"]


server_address = server_fixture("miniredis", more=("redis-server",))


LIMIT = 600.0
"""Seconds that the longest of these pipelines may take on a busy machine."""


def last_number(path: Path) -> int:
    """The last whole line of a file; 0 if there is none."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 32, 0))
        lines = file.read().split(b"\n")[:-1]
    return int(lines[-1]) if lines else 0


def ended(process: subprocess.Popen[bytes]) -> int:
    process.communicate(timeout=LIMIT)
    return process.returncode


def numbers(path: Path) -> list[int]:
    """The whole lines of a file."""
    return [int(line) for line in path.read_bytes().split(b"\n")[:-1]]


class Pipeline:
    """Numbered lines that go through the queue ``jobs``, from one process to another."""

    def __init__(self, cli: Cli, folder: Path, count: int) -> None:
        self.cli = cli
        self.data, self.acks, self.out = (folder / name for name in ("in", "acks", "out"))
        self.data.write_bytes(b"".join(b"%d\n" % number for number in range(1, count + 1)))
        self.acks.touch()
        self.out.touch()

    def put(self, first: int = 1) -> subprocess.Popen[bytes]:
        """Starts a producer of the lines from the one with this number on."""
        rest = self.data.read_bytes().splitlines(keepends=True)[first - 1 :]
        self.data.with_suffix(".rest").write_bytes(b"".join(rest))
        with self.data.with_suffix(".rest").open("rb") as source, self.acks.open("wb") as acks:
            return self.cli("put", "jobs", "--acks", "--close", stdin=source, stdout=acks)

    def get(self, *options: str) -> subprocess.Popen[bytes]:
        """Starts a consumer that goes on where the last one ended."""
        with self.out.open("ab") as target:
            return self.cli("get", "jobs", *options, stdout=target)

    def repair(self, role: str) -> None:
        assert ended(self.cli("repair", "jobs", "--force", "--role", role)) == 0

    def kill_the_producer(self, at: int, count: int) -> list[int]:
        """What comes out when the producer is killed, and the rest is sent again."""
        put, get = self.put(), self.get()
        until(lambda: last_number(self.acks) >= at, "were lines acknowledged", LIMIT)
        put.kill()
        put.wait()
        self.repair("producer")
        assert ended(self.put(first=last_number(self.acks) + 1)) == 0
        assert ended(get) == 0
        got = numbers(self.out)
        assert sorted(set(got)) == list(range(1, count + 1)), "lines are missing"
        return got

    def kill_the_consumer(self, at: int, *options: str) -> list[int]:
        """What comes out when the consumer is killed, and another goes on."""
        put, get = self.put(), self.get(*options)
        until(lambda: last_number(self.out) >= at, "were lines got", LIMIT)
        get.kill()
        get.wait()
        whole = self.out.read_bytes()
        self.out.write_bytes(whole[: whole.rfind(b"\n") + 1])
        self.repair("consumer")
        assert ended(self.get(*options)) == ended(put) == 0
        return numbers(self.out)


SIZES = [
    pytest.param(600, 20, 200, id="600 lines"),
    pytest.param(100_000, 1000, 50_000, id="100,000 lines", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("count", "bound", "at"), SIZES)
def test_a_killed_producer_doubles_at_most_one_line(
    cli: Cli, queue: Queue, raw: redis.Redis, tmp_path: Path, count: int, bound: int, at: int
) -> None:
    queue.create(bound)
    got = Pipeline(cli, tmp_path, count).kill_the_producer(at, count)
    assert got == sorted(got), "lines are out of order"
    assert sum(first == second for first, second in pairwise(got)) <= 1
    invariant(raw)


LONGEST_RUN = 256
"""Lines that ``get`` takes at once at most."""


@pytest.mark.parametrize(
    ("options", "lost"), [(("--run", "1"), 1), ((), LONGEST_RUN)], ids=["one by one", "in runs"]
)
@pytest.mark.parametrize(("count", "bound", "at"), SIZES)
def test_a_killed_consumer_loses_at_most_the_lines_that_it_took_last(
    cli: Cli, queue: Queue, tmp_path: Path, count: int, bound: int, at: int, options: list[str], lost: int
) -> None:
    queue.create(bound)
    got = Pipeline(cli, tmp_path, count).kill_the_consumer(at, *options)
    gaps = [after - before - 1 for before, after in pairwise([*got, count + 1]) if after != before + 1]
    assert got[0] == 1
    assert len(gaps) <= 1, "lines are out of order, come twice, or are missing in several places"
    assert sum(gaps) <= min(lost, bound)
