"""Programs move from miniredis to a real Redis while they work: no message is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import miniredis
from pressure import OutcomeUnknownError, PressureError, ReliableQueue
from tests.waiting import until

from .replicas import address_of, info, real_replica, wait_until_up

MESSAGES = 150
"""How many are pushed before the move, and how many after it, at least."""


class Programs:
    """Producers and a worker, who connect again wherever the server is by now.

    Attributes:
        url: where the server is.
        pushed: how many messages have been pushed, for certain or perhaps.
        seen: the messages that the worker has acknowledged.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.pushed: set[bytes] = set()
        self.seen: set[bytes] = set()
        self._must_end = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(act,))
            for act in (self._producer("a"), self._producer("b"), self._work)
        ]

    def _run(self, act: Callable[[ReliableQueue], None]) -> None:
        while not self._must_end.is_set():
            try:
                with ReliableQueue("jobs", url=self.url) as jobs:
                    while not self._must_end.is_set():
                        act(jobs)
            except PressureError:  # the server is another one by now
                continue

    def _producer(self, name: str) -> Callable[[ReliableQueue], None]:
        number = 0

        def push(jobs: ReliableQueue) -> None:
            nonlocal number
            message = f"{name}{number}".encode()
            try:
                jobs.push(message)
            except OutcomeUnknownError:
                jobs.disconnect()
                raise  # it is pushed again; a worker may see it twice
            number += 1
            self.pushed.add(message)

        return push

    def _work(self, jobs: ReliableQueue) -> None:
        for message in jobs.pop(10, timeout=0.2):
            jobs.ack(message)
            self.seen.add(message.value)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._must_end.set()
        for thread in self._threads:
            thread.join()


def move(old: Any, new: Any) -> None:
    """What the guide tells to do, with a replica whose link is up."""
    old.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
    until(lambda: info(new)["slave_repl_offset"] == info(old)["master_repl_offset"], "all has come")
    new.execute_command("REPLICAOF", "NO", "ONE")


@pytest.mark.usefixtures("redis_7_0_program")
def test_no_message_is_lost_when_programs_move_to_a_real_redis(tmp_path: Path) -> None:
    with miniredis.start() as server, server.client() as old:
        programs = Programs(server.url)
        programs.start()
        try:
            until(lambda: len(programs.seen) > MESSAGES, "messages have been worked on")
            with real_replica(tmp_path, (server.host, server.port)) as new:
                wait_until_up(new)
                move(old, new)
                host, port = address_of(new)
                programs.url = f"redis://{host}:{port}"
                server.stop()
                enough = len(programs.seen) + MESSAGES
                until(lambda: len(programs.seen) > enough, "messages have been worked on at the new server")
                programs.end()
                with ReliableQueue("jobs", url=programs.url) as jobs:
                    left = [*jobs.recover(min_idle=0, count=10_000), *jobs.pop(10_000)]
                missing = programs.pushed - programs.seen - {message.value for message in left}
                assert not missing
        finally:
            programs.end()
