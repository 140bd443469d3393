"""A driver killed at critical moments, then run again.

A keyspace event tells the test of the change of a key, so that it kills the process in the middle of its work.
The Python workers of the process are in groups of their own, and go on until they notice.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.spark.conftest import Place, some

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_installed")]

ROOT = Path(__file__).parents[3]
LIMIT = 400.0
"""Seconds a run may take on a busy machine."""

MOMENTS = {
    "rows are claimed, and Spark has not noted it": (r"__spark__:source:*", b"hincrby"),
    "rows are staged": ("__spark__:stage:*", b"lpush"),
    "rows are moved": ("__spark__:sink:*", b"hincrby"),
    "a batch is put, and Spark has not noted it": ("__spark__:sink:*", b"hdel"),
}
"""When to kill: the keys, and what is done with one of them."""


@contextmanager
def program(place: Place, target: Place, checkpoint: Path, master: str = "local[2]") -> Iterator[Any]:
    words = [place.url, place.name, target.name, str(checkpoint), master, "1000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.real.program", *words],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


STARVED = "connect back"
"""What Spark says when a Python worker took more than ten seconds to start; then the program is run again."""


class Feed:
    """Rows for one queue, each run with some of its own: an orphan may have done what the next run would do."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.rows = 0

    def more(self) -> None:
        self.place.put(*some(self.rows, self.rows + 1500))
        self.rows += 1500


@dataclass(frozen=True, slots=True)
class Heard:
    """Listens for what is done with keys."""

    moment: str
    messages: Any
    deadline: float

    def comes(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether the moment comes before the process ends."""
        while time.monotonic() < self.deadline:
            ended = process.poll() is not None
            found = self.messages.get_message(ignore_subscribe_messages=True, timeout=0.5)
            if found and found["data"] == MOMENTS[self.moment][1] and not ended:
                return True
            if ended and not found:
                return False
        raise AssertionError(f"it never came to it that {self.moment}: time is up")


@contextmanager
def heard_of(moment: str, raw: Any) -> Iterator[Heard]:
    raw.config_set("notify-keyspace-events", "KA")
    with raw.pubsub() as messages:
        messages.psubscribe(f"__keyspace@0__:{MOMENTS[moment][0]}")
        yield Heard(moment, messages, time.monotonic() + LIMIT)


def killed_at(moment: str, feed: Feed, target: Place, checkpoint: Path, raw: redis.Redis) -> None:
    """Run it until that moment, and kill it there."""
    with heard_of(moment, raw) as heard:
        feed.more()
        while not came(heard, feed.place, target, checkpoint):
            feed.more()


def came(heard: Heard, place: Place, target: Place, checkpoint: Path) -> bool:
    """Whether it was killed; False if it ended before that."""
    with program(place, target, checkpoint) as process:
        if heard.comes(process):
            os.killpg(process.pid, signal.SIGKILL)
            return True
        check(process.returncode, process.stderr.read().decode())
        return False


def check(status: int, errors: str) -> None:
    assert status == 0 or STARVED in errors, errors[-4000:]


def run_to_its_end(place: Place, target: Place, checkpoint: Path, master: str = "local[2]") -> None:
    """Before 4.2 a run that had a batch to do again may end with that."""
    deadline = time.monotonic() + LIMIT
    while place.queue.length() or place.queue.stats().unacknowledged:
        assert time.monotonic() < deadline, "time is up"
        with program(place, target, checkpoint, master) as process:
            _, errors = process.communicate(timeout=LIMIT)
        check(process.returncode, errors.decode())


def expected(first: int, last: int) -> list[bytes]:
    return [row + b" " + row for row in some(first, last)]


@pytest.mark.parametrize("moments", [tuple(MOMENTS)], ids=["all"])
def test_a_driver_killed_and_run_again_loses_and_doubles_no_row(
    moments: tuple[str, ...], on_real: Any, tmp_path: Path
) -> None:
    place, target = on_real(), on_real()
    feed = Feed(place)
    with redis.Redis.from_url(place.url) as raw:
        for moment in moments:
            killed_at(moment, feed, target, tmp_path, raw)
        feed.more()
        run_to_its_end(place, target, tmp_path)
        assert target.look() == expected(0, feed.rows)
        assert place.queue.doctor().problems == target.queue.doctor().problems == ()
        leftovers: Any = raw.keys("__spark__:stage:*")
        assert all(raw.ttl(key) > 0 for key in leftovers)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_drivers_killed_at_all_moments_ten_times_lose_and_double_no_row(
    number: int, on_real: Any, tmp_path: Path
) -> None:
    moments = tuple(MOMENTS)
    test_a_driver_killed_and_run_again_loses_and_doubles_no_row(
        moments[number % 4 :] + moments[: number % 4], on_real, tmp_path
    )
