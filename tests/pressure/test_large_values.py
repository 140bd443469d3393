"""Values of 1 to 400 MB: none is lost, even when the consumer is killed.

To run it: ``pytest -n 0 -m slow tests/pressure/test_large_values.py``. It takes about 3 GB of memory.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from miniredis.testing.real_servers import at_free_port
from pressure import Queue, QueueEmptyError

from .conftest import DEADLINE, ROOT

pytestmark = pytest.mark.slow

MB = 1_000_000
SIZES = (1, 400, 2, 60, 300, 8, 150, 3)
KILLS = 12
PATIENCE = 120.0
"""Seconds in which a consumer gets on with something on a busy machine."""

#: Takes messages, one by one, and says of each that it has it, and that it is done with it.
CONSUMER = """
import sys
from pressure import Queue, QueueEmptyError

def say(what, value):
    number, size = bytes(value[:32]).split()[:2]
    assert len(value) == int(size), "it was cut"
    sys.stdout.write(f"{what} {number.decode()}\\n")
    sys.stdout.flush()

queue = Queue("jobs", url=sys.argv[1], scripts=sys.argv[2] == "scripts")
try:
    while True:
        if sys.argv[3] == "receive":
            with queue.receive(timeout=0.2) as message:
                say("has", message.data)
            say("done", message.data)
        elif sys.argv[3] == "get":
            value = queue.get(timeout=0.2)
            say("done", value)
        else:
            for value in queue.get_many(3, timeout=0.2):
                say("done", value)
except QueueEmptyError:
    pass
"""


@pytest.fixture(params=["miniredis", "redis-server"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A server process of the test's own, with nothing in it."""
    is_ours = request.param == "miniredis"
    program = (
        [sys.executable, "-m", "miniredis"] if is_ours else [str(request.getfixturevalue("redis_program"))]
    )

    def command(port: int) -> list[str]:
        return [*program, "--port", str(port), "--dir", str(tmp_path), "--save", ""]

    with at_free_port(request.param, command) as (_, port):
        yield f"redis://127.0.0.1:{port}/0"


def value(number: int, size: int) -> bytes:
    head = b"%d %d " % (number, size * MB)
    return head + b"x" * (size * MB - len(head))


@pytest.fixture(params=["scripts", "plain"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def queue(url: str, way: str) -> Iterator[Queue]:
    with Queue("jobs", url=url, scripts=way == "scripts") as queue:
        queue.create()
        for number, size in enumerate(SIZES):
            queue.put(value(number, size))
        yield queue


class Consumers:
    """Consumers, one after the other, most of which are killed."""

    def __init__(self, url: str, way: str, method: str, out: Path) -> None:
        self.words = [sys.executable, "-c", CONSUMER, url, way, method]
        self.out = out
        self.out.touch()

    def run(self, seconds: float) -> bool:
        """Run one; whether it came to its end before it was killed."""
        with self.out.open("ab") as out:
            process = subprocess.Popen(self.words, stdout=out, env={"PYTHONPATH": str(ROOT)})
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait(DEADLINE)
            return False

    @property
    def done(self) -> list[int]:
        """The messages that were done with, in their order."""
        lines = [line.split() for line in self.out.read_text().splitlines()]
        return [int(words[1]) for words in lines if words[0] == "done" and len(words) == 2]


@pytest.mark.parametrize("method", ["receive", "get", "get_many"])
def test_killed_consumers_lose_no_large_value(
    queue: Queue, url: str, way: str, method: str, tmp_path: Path
) -> None:
    consumers, rng = Consumers(url, way, method, tmp_path / "out"), random.Random(f"{way} {method}")  # noqa: S311
    kills = 0
    while kills < KILLS and not consumers.run(rng.uniform(0.1, 2.0)):
        kills += 1
        queue.repair(force=True)
    assert consumers.run(PATIENCE) or queue.length() == 0
    done, there = consumers.done, queue.length()
    assert there == 0
    if method == "receive":
        assert sorted(set(done)) == list(range(len(SIZES)))
        assert len(done) <= len(SIZES) + kills
    else:  # at most once: what a killed consumer had taken is gone with it
        assert len(set(done)) == len(done)
        assert done == sorted(done)
        assert len(SIZES) - len(done) <= kills * (3 if method == "get_many" else 1)
    queue.repair()
    stats = queue.stats()
    assert stats.produced_messages == stats.consumed_messages == len(SIZES)
    assert stats.produced_bytes == stats.consumed_bytes


def test_every_method_works_with_large_values(queue: Queue) -> None:
    with pytest.raises(ZeroDivisionError), queue.receive() as message:
        _ = len(message.data) / 0
    found: list[tuple[int, ...]] = []
    while queue.length():
        run = queue.get_many(9)
        found.append(tuple(len(each) // MB for each in run))
    assert [size for run in found for size in run] == list(SIZES)
    queue.put_many([value(1, 300), b"short", value(2, 20)])
    assert len(queue.peek()) == 300 * MB
    with queue.receive() as message:
        message.reject()
    assert queue.redrive(1) == 1
    assert [len(queue.get()) for _ in range(3)] == [5, 20 * MB, 300 * MB]
    with pytest.raises(QueueEmptyError):
        queue.get_nowait()
    assert queue.doctor().problems == ()
