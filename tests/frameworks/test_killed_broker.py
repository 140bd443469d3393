"""A broker with an append-only file is killed and started again while RQ and Celery work: no job is lost.

A job writes its number to a file beside the broker. Where a worker was in the middle of a job, the job may be run
later or by hand: it must be where the framework keeps such jobs.

Celery itself can lose a job, also on a real Redis: kombu takes a message with BRPOP, and only then notes that it has
it. If the server dies between the two, nobody has the message. So of Celery's jobs each must be in the broker's file,
and those that nobody has can only be as many as workers were taking at that moment.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from conformance.targets import find_real_redis
from miniredis.testing.real_servers import end, free_port, launch

from ..servers import answers, found
from .programs import Program, needed, program, python, until

KILLS: Final = 20

GONE: Final = (OSError, redis.RedisError, needed("kombu.exceptions").OperationalError)
"""What a client meets whose broker is killed."""

BROKERS: Final[dict[str, Callable[[], list[str]]]] = {
    "miniredis": lambda: [sys.executable, "-m", "miniredis"],
    "redis-server": lambda: [str(found(find_real_redis)), "--save", ""],
}


class Broker:
    """A server that keeps what it answered, and that a test kills and starts again on the same port."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._words = [
            *command, "--port", str(self.port), "--bind", "127.0.0.1",
            "--appendonly", "yes", "--appendfsync", "always", "--dir", str(folder),
        ]  # fmt: skip
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def recorded(self) -> str:
        """All that the append-only file has: these servers rewrite nothing."""
        parts = sorted((self._folder / "appendonlydir").iterdir())
        return "".join(part.read_text("latin-1") for part in parts)

    def start(self) -> None:
        self._process = launch(self._words)
        until(lambda: answers(self.port))

    def client(self) -> Any:
        return redis.Redis.from_url(self.url, retry=Retry(NoBackoff(), 0))

    def kill(self) -> None:
        assert self._process is not None
        end(self._process)


@pytest.fixture(params=BROKERS)
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    made = Broker(BROKERS[request.param](), tmp_path)
    made.start()
    yield made
    made.kill()


class Framework(ABC):
    """How jobs are queued, and where those are that were not run.

    Attributes:
        worker: the command that starts a worker.
        may_lose: how many jobs the workers may lose each time that the broker is killed.
        queued: the number of each job that was acknowledged, by its id.
    """

    worker: list[str]
    may_lose = 0

    def __init__(self, broker: Broker, notes: Path) -> None:
        self.broker, self.notes = broker, notes
        self.queued: dict[str, int] = {}
        self._numbers = itertools.count()

    @abstractmethod
    def enqueue(self, number: int) -> str:
        """Queues a job; returns its id once that is acknowledged."""

    @abstractmethod
    def kept(self) -> Container[str]:
        """The ids of the jobs that the broker has."""

    def put(self) -> int:
        """Queues the next job."""
        number = next(self._numbers)
        self.queued[self.enqueue(number)] = number
        return number

    def ran(self) -> set[int]:
        """The numbers of the jobs that were run."""
        return set(map(int, self.notes.read_text().split())) if self.notes.exists() else set()

    def lost(self) -> list[str]:
        """The ids of those that were not run, and that the broker has not; or of one that is on its way."""
        kept, ran = self.kept(), self.ran()
        return [each for each, number in self.queued.items() if number not in ran and each not in kept]


class Rq(Framework):
    def __init__(self, broker: Broker, notes: Path) -> None:
        super().__init__(broker, notes)
        self._rq = needed("rq")
        self.worker = python("rq.cli", "worker", "--url", broker.url, "work")
        self._queue = self._rq.Queue("work", connection=broker.client())

    def enqueue(self, number: int) -> str:
        job = self._queue.enqueue("tests.frameworks.apps.effects.write_down", str(self.notes), number)
        return str(job.id)

    def kept(self) -> Container[str]:
        queue = self._queue
        registries = (queue.started_job_registry, queue.failed_job_registry)
        taken = [each.decode() for each in queue.connection.lrange(queue.intermediate_queue_key, 0, -1)]
        return {*queue.job_ids, *taken, *(each for kept in registries for each in kept.get_job_ids())}


class Celery(Framework):
    may_lose = 2

    def __init__(self, broker: Broker, notes: Path) -> None:
        super().__init__(broker, notes)
        needed("celery")
        app = "tests.frameworks.apps.celery_tasks"
        self._tasks = needed(app).app_of(broker.url).all
        flags = ["--concurrency=2", "--loglevel=INFO", "--without-mingle", "--without-gossip"]
        self.worker = [*python("celery", "-A", app, "worker", "--hostname=%n-%i"), *flags]

    def enqueue(self, number: int) -> str:
        arguments = (str(self.notes), number)
        sent = self._tasks.write_down.apply_async(arguments, retry=False, ignore_result=True)
        return str(sent.id)

    def kept(self) -> Container[str]:
        with self.broker.client() as client:
            return b"".join([*client.lrange("celery", 0, -1), *client.hvals("unacked")]).decode()


class Workers:
    """Two workers; one that ends is replaced."""

    def __init__(self, jobs: Framework, folder: Path, stack: ExitStack) -> None:
        self._jobs, self._folder, self._stack = jobs, folder, stack
        self._running: list[Program] = []

    def look(self) -> None:
        """Replaces those that have ended."""
        self._running = [each for each in self._running if each.process.poll() is None]
        while len(self._running) < 2:
            log = self._folder / f"worker-{next(COUNT)}.log"
            self._running.append(
                self._stack.enter_context(program(self._jobs.worker, self._jobs.broker.url, log))
            )


COUNT = itertools.count()


def put_until_it_fails(jobs: Framework) -> None:
    with contextlib.suppress(*GONE):
        while True:
            jobs.put()


@pytest.mark.parametrize("framework", [Rq, Celery])
def test_no_job_is_lost_when_the_broker_is_killed(
    broker: Broker, framework: type[Framework], tmp_path: Path
) -> None:
    luck = random.Random(1)  # noqa: S311
    jobs = framework(broker, tmp_path / "notes")
    with ExitStack() as stack:
        workers = Workers(jobs, tmp_path, stack)

        def until_it_ran(number: int) -> None:
            def has_run() -> bool:
                workers.look()
                return number in jobs.ran()

            until(has_run)

        for _ in range(KILLS):
            until_it_ran(jobs.put())
            enough = len(jobs.queued) + luck.randrange(1, 30)
            producer = threading.Thread(target=put_until_it_fails, args=(jobs,))
            producer.start()
            until(lambda: len(jobs.queued) >= enough)  # noqa: B023
            broker.kill()
            producer.join()
            broker.start()
        until_it_ran(jobs.put())  # what was queued before is taken by now
        until(lambda: len(jobs.lost()) <= jobs.may_lose * KILLS)
        assert all(each in broker.recorded() for each in jobs.lost())
