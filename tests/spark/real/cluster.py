"""Spark's own programs on this machine, from what the package from pip brings: a master, workers, a Connect server."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pressure.spark.sessions import prepare

__all__ = ["Cluster", "Daemon", "cluster", "connect_server"]

LIMIT = 120.0
"""Seconds a daemon may take to start on a busy machine."""

DEPLOY = "org.apache.spark.deploy"

ANY_PORT_FOR_UI = ("--webui-port", "0")
"""A page has no fixed port, so that many masters and workers can run at once."""


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
def cluster(folder: Path, workers: int = 2, environ: Mapping[str, str] = os.environ) -> Iterator[Cluster]:
    """A master and so many workers of one core each, whose executors have this environment."""
    with ExitStack() as stack:
        master = stack.enter_context(
            daemon(folder, "master.Master", "--host", "127.0.0.1", "--port", "0", *ANY_PORT_FOR_UI)
        )
        url = master.told(r"Starting Spark master at (spark://127.0.0.1:\d+)")
        words = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", f"{folder}/work", url)
        started = [
            stack.enter_context(daemon(folder, "worker.Worker", *words, *ANY_PORT_FOR_UI, environ=environ))
            for _ in range(workers)
        ]
        for each in started:
            each.told(r"(Successfully registered) with master")
        yield Cluster(url, tuple(started))


@contextmanager
def connect_server(folder: Path, master: str = "local[2]") -> Iterator[str]:
    """The URL of a Connect server that runs its queries there."""
    conf = ("binding.address=127.0.0.1", "binding.port=0")
    words = [word for each in conf for word in ("--conf", f"spark.connect.grpc.{each}")]
    words += ["--conf", "spark.ui.enabled=false", "--master", master]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with daemon(folder, "SparkSubmit", *words) as running:
        yield f"sc://{running.told(r'Connect server started at: (127.0.0.1:[0-9]+)')}"


@contextmanager
def daemon(folder: Path, name: str, *words: str, environ: Mapping[str, str] = os.environ) -> Iterator[Daemon]:
    """One of Spark's own programs."""
    prepare()
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    home = Path(found.origin).parent
    log = folder / f"{name}-{len(list(folder.iterdir()))}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", f"{DEPLOY}.{name}", *words],
            env={**environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
    running = Daemon(process, log)
    try:
        yield running
    finally:
        running.kill()
