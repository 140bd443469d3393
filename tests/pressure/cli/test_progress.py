"""The progress display of a long put or get: on a terminal only, with rich or without."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest
import redis

from pressure import Queue
from pressure.cli.progress import Meter, Progress
from pressure.errors import ConnectionFailedError
from tests.pressure.conftest import waiting

from .conftest import Process, feed, finish
from .terminal import Terminal, terminal


@pytest.fixture
def screen() -> Iterator[Terminal]:
    with terminal() as found:
        yield found


def test_put_shows_its_progress_on_a_terminal(
    start: Callable[..., Process], screen: Terminal, queue: Queue, raw: redis.Redis
) -> None:
    queue.create(2)
    put = start("put", "jobs", stdin=subprocess.PIPE, stderr=screen.fd)
    feed(put, b"a\nb\nc\n", end=True)
    waiting(raw)
    screen.wait_for(b"put: 2 messages, 2 B, ", b"/s", b"2/2")
    queue.get()
    assert finish(put)[0] == 0
    screen.wait_for(b"pressure put: 3 lines acknowledged")


def test_get_shows_its_progress_on_a_terminal(
    start: Callable[..., Process], screen: Terminal, queue: Queue, raw: redis.Redis
) -> None:
    queue.create()
    queue.put(b"x" * 1500)
    get = start("get", "jobs", stdout=subprocess.PIPE, stderr=screen.fd)
    waiting(raw)
    screen.wait_for(b"get: 1 messages, 1.5 kB, ", b"queue 0")
    queue.shutdown()
    assert finish(get)[0] == 0


@pytest.mark.parametrize("options", [["-q"], []])
def test_progress_is_not_shown_when_quiet_or_when_the_terminal_is_the_input(
    start: Callable[..., Process], screen: Terminal, queue: Queue, options: list[str]
) -> None:
    """Neither where it is to be quiet, nor on the terminal that the messages are read from."""
    queue.create(1)
    source = subprocess.PIPE if options else screen.fd
    put = start("put", "jobs", "--timeout", "0.6", *options, stdin=source, stderr=screen.fd)
    if options:
        feed(put, b"a\nb\n", end=True)
    else:
        screen.press(b"a\nb\n")
    assert finish(put)[0] == 8
    assert b"messages" not in screen.wait_for(b"queue 'jobs' is full")


def test_progress_is_not_shown_in_a_pipe(start: Callable[..., Process], queue: Queue) -> None:
    queue.create(1)
    put = start("put", "jobs", "--timeout", "0.6", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    feed(put, b"a\nb\n", end=True)
    status, _, err = finish(put)
    assert (status, err) == (8, b"pressure put: 1 line acknowledged\npressure: queue 'jobs' is full\n")


def test_the_rate_is_measured_over_the_last_seconds() -> None:
    now, meter = 100.0, Meter()
    progress = Progress("put", meter, lambda: (1, 2), lambda: now)
    assert progress.frame().rate == 0
    for _ in range(10):
        meter.add(b"xx")
    now += 2
    assert progress.frame().rate == 5
    for _ in range(8):
        meter.add(b"x")
    now += 8
    assert progress.frame().rate == 1
    now += 10
    frame = progress.frame()
    assert (frame.messages, frame.bytes, frame.rate, frame.fill) == (18, 28, 0, (1, 2))


def test_a_lost_server_does_not_break_the_display() -> None:
    def fill() -> tuple[int, int]:
        raise ConnectionFailedError("gone")

    assert Progress("put", Meter(), fill).frame().fill is None
