"""Servers with an append-only file that are killed under load, again and again: nothing answered is lost.

``conformance.histories`` judges a queue from what its clients noted. Beside it, pushes of several elements at once
have to be there as a whole, and moves must neither lose nor double an element.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from conformance.histories import Facts, History, Operation, as_text, judged, worst
from conformance.histories.recorder import Notebook

from ...waiting import until
from .rdb_states import patient
from .test_append_only_file import DURABLE, process_in

pytestmark = pytest.mark.usefixtures("forked")

AT_ONCE: Final = Retry(NoBackoff(), 0)
"""A client that does not connect again. None of the clients here gives up a slow server, as redis-py's would."""

FREQUENT: Final = ("--auto-aof-rewrite-min-size", "20kb", "--auto-aof-rewrite-percentage", "30")
"""Rewritings, so that servers are killed in them, too."""

TOGETHER: Final = {
    "transaction": 3,
    "script": 3,
    "one command": 3,
}
"""Lists to which as many elements are pushed at once."""

SCRIPT: Final = "for _, each in ipairs(ARGV) do redis.call('RPUSH', KEYS[1], each) end"

Client = redis.Redis


class Crowd:
    """Clients that work until the server dies, one after the other on servers with the same data.

    Attributes:
        notebook: what those did who put to the queue ``jobs`` and get from it.
        answered: of each list in ``TOGETHER``, how many elements there are at least.
        fed: how many elements were pushed to ``in``, at least, to be moved to ``out``.
        count: how many answers there were.
    """

    def __init__(self) -> None:
        self.notebook = Notebook()
        self.answered = dict.fromkeys(TOGETHER, 0)
        self.fed = 0
        self.count = 0
        self._numbers = itertools.count()
        self._threads: list[threading.Thread] = []

    @property
    def works(self) -> dict[str, Callable[[Client], None]]:
        """What the clients do, each a thing again and again."""
        return {
            "producer": self._produce,
            "other producer": self._produce,
            "consumer": self._consume,
            "feeder": self._feed,
            "mover": lambda client: self._answer(client.blmove, "in", "out", 0, "LEFT", "RIGHT"),
            **{name: self._push_to(name) for name in TOGETHER},
        }

    def begin(self, port: int) -> None:
        """All begin."""
        self._threads = [
            threading.Thread(target=self._work, args=(name, work, port)) for name, work in self.works.items()
        ]
        for thread in self._threads:
            thread.start()

    def await_answers(self, number: int) -> None:
        """Returns when there were so many more, however long they take; fails where none comes any more."""
        enough = self.count + number
        while (count := self.count) < enough:
            until(lambda: self.count > count, "something more is answered")

    def join(self) -> None:
        """Returns when all have noticed that the server is gone."""
        for thread in self._threads:
            thread.join()

    def _work(self, name: str, work: Callable[[Client], None], port: int) -> None:
        client_name = name.replace(" ", "-")
        with patient(port, retry=AT_ONCE, client_name=client_name) as client:
            try:
                while True:
                    work(client)
            except redis.ConnectionError:
                pass

    def _answer(self, ask: Callable[..., Any], *words: Any) -> Any:
        reply = ask(*words)
        self.count += 1
        return reply

    def _note(self, name: str, *words: bytes) -> Callable[[bytes | None], None]:
        begun = Operation(
            threading.current_thread().name, "jobs", name, words, None, time.monotonic_ns(), None, "open"
        )
        self.notebook(begun)

        def returned(value: bytes | None) -> None:
            result = None if value is None else (value,)
            self.notebook(
                Operation(begun.client, "jobs", name, words, result, begun.invoked, time.monotonic_ns())
            )

        return returned

    def _produce(self, client: Client) -> None:
        value = b"%d" % next(self._numbers)
        returned = self._note("put", value)
        self._answer(client.rpush, "jobs", value)
        returned(None)

    def _consume(self, client: Client) -> None:
        returned = self._note("get")
        popped = self._answer(client.blpop, "jobs", 0)
        returned(popped[1])

    def _feed(self, client: Client) -> None:
        self._answer(client.rpush, "in", self.fed)
        self.fed += 1

    def _push_to(self, name: str) -> Callable[[Client], None]:
        def push(client: Client) -> None:
            at = self.answered[name]
            numbers = [*range(at, at + TOGETHER[name])]
            if name == "transaction":
                with client.pipeline(transaction=True) as pipeline:
                    for number in numbers:
                        pipeline.rpush(name, number)
                    self._answer(pipeline.execute)
            elif name == "script":
                self._answer(client.eval, SCRIPT, 1, name, *numbers)
            else:
                self._answer(client.rpush, name, *numbers)
            self.answered[name] = at + len(numbers)

        return push


def check_lists(client: Client, crowd: Crowd) -> None:
    """What was answered is there, and what was not, as a whole or not at all; then the crowd knows of it."""
    for name, answered in crowd.answered.items():
        found = client.lrange(name, 0, -1)
        assert found == [b"%d" % number for number in range(len(found))], f"{name}: {found}"
        assert len(found) in (answered, answered + TOGETHER[name]), f"{name}: {answered}, {len(found)} found"
        crowd.answered[name] = len(found)
    moved = [*client.lrange("out", 0, -1), *client.lrange("in", 0, -1)]
    assert moved == [b"%d" % number for number in range(len(moved))]
    assert len(moved) in (crowd.fed, crowd.fed + 1)
    crowd.fed = len(moved)


def check_queue(client: Client, crowd: Crowd) -> None:
    """No value is missing, came twice or out of order."""
    left: Any = tuple(client.lrange("jobs", 0, -1))
    history = History(crowd.notebook.operations, Facts(final={"jobs": left}))
    verdict = worst(judged(history).values())
    assert verdict.answer == "ok", as_text(history, verdict)


@contextmanager
def server_with(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, Client]]:
    with process_in(folder, *FREQUENT) as (process, port), patient(port) as client:
        yield process, port, client


@pytest.mark.parametrize(
    ("kills", "seed"), [(2, 0), *(pytest.param(100, seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_no_kill_loses_what_was_answered(kills: int, seed: int, tmp_path: Path) -> None:
    """Also in the middle of rewritings, and of the start."""
    luck = random.Random(seed)  # noqa: S311
    crowd = Crowd()
    in_rewriting = 0
    for _ in range(kills):
        began = time.monotonic()
        with server_with(tmp_path) as (process, port, client):
            start = time.monotonic() - began
            check_lists(client, crowd)
            crowd.begin(port)
            crowd.await_answers(luck.randrange(10, 300))
            with suppress(redis.ResponseError):  # one is under way: the file has grown so much
                client.bgrewriteaof()
            crowd.await_answers(luck.randrange(luck.choice((5, 50, 200))))
            process.kill()
            crowd.join()
        in_rewriting += any(tmp_path.glob("*/temp-rewriteaof-*"))
        if luck.random() < 0.5:
            kill_while_it_starts(tmp_path, luck.random() * start)
    assert in_rewriting >= kills // 20
    with server_with(tmp_path) as (_, _, client):
        check_lists(client, crowd)
        check_queue(client, crowd)


def kill_while_it_starts(folder: Path, seconds: float) -> None:
    """Kills a server so many seconds after its process has begun."""
    words = ["-m", "miniredis", "--port", "0", "--dir", str(folder), *DURABLE]
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
