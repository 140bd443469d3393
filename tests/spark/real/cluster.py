"""A cluster on this machine, a master and workers, from what the package from pip brings."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pressure.spark.sessions import prepare

__all__ = ["Cluster", "Daemon", "cluster"]

LIMIT = 120.0
"""Seconds a daemon may take to start on a busy machine."""

DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True, slots=True)
class Daemon:
    """A master or a worker; executors are in its process group."""

    process: subprocess.Popen[bytes]
    log: Path

    def told(self, pattern: str) -> str:
        """What the first group of a pattern is in its log, once that says it."""
        deadline = time.monotonic() + LIMIT
        while not (found := re.search(pattern, self.log.read_text())):
            ended = time.monotonic() > deadline or self._ends_within(0.1)
            assert not ended, f"{self.log} never said {pattern}:\n{self.log.read_text()[-2000:]}"
        return found[1]

    def _ends_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """With all its executors, whose Python workers are in groups of their own."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master's URL, and the workers."""

    url: str
    workers: tuple[Daemon, ...]


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and so many workers of one core each."""
    with ExitStack() as stack:
        master = stack.enter_context(daemon(folder, "master.Master", "--host", "127.0.0.1", "--port", "0"))
        url = master.told(r"Starting Spark master at (spark://127.0.0.1:\d+)")
        words = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", f"{folder}/work", url)
        started = [stack.enter_context(daemon(folder, "worker.Worker", *words)) for _ in range(workers)]
        for each in started:
            each.told(r"(Successfully registered) with master")
        yield Cluster(url, tuple(started))


@contextmanager
def daemon(folder: Path, name: str, *words: str) -> Iterator[Daemon]:
    """One of Spark's own programs."""
    prepare()
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    home = Path(found.origin).parent
    log = folder / f"{name}-{len(list(folder.iterdir()))}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", f"{DEPLOY}.{name}", *words, "--webui-port", "0"],
            env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
    running = Daemon(process, log)
    try:
        yield running
    finally:
        running.kill()
