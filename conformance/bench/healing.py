"""How long it takes until a role works again whose holder has died, without anybody's help.

Each death is that of a consumer of a queue of its own, in the block of a message, while another consumer
waits for the role. All deaths of a turn happen at once; what is measured is the median over the queues.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from statistics import median
from time import perf_counter, sleep
from typing import Any, Final

import redis

import pressure

from .model import Measure, Pair
from .workbench import Workbench

__all__ = ["DEATHS", "own_hold", "until_it_works"]

LEASE: Final = 5.0
"""Seconds of the leases of those who are frozen."""

MOST: Final = 50
"""Deaths in a turn."""

HOLD: Final = """
import sys, time
import pressure

url, count, lease = sys.argv[1:]
queues = [
    pressure.Queue(f"bench{at}", url=url, lease=float(lease) or None) for at in range(int(count))
]
blocks = [queue.receive() for queue in queues]
for block in blocks:
    block.__enter__()
print("ready", flush=True)
time.sleep(600)
"""
"""What the process does that dies: it receives a message of each queue."""


def kill(holder: subprocess.Popen[bytes], _: redis.Redis) -> None:
    """The process is killed."""
    holder.kill()


def freeze(holder: subprocess.Popen[bytes], _: redis.Redis) -> None:
    """The process is stopped, and stays connected; its lease runs out."""
    holder.send_signal(signal.SIGSTOP)


def cut(holder: subprocess.Popen[bytes], client: redis.Redis) -> None:
    """The process lives, and does not come back after it has lost its connections."""
    for each in client.client_list():
        if f":{holder.pid}:" in each["name"]:
            client.client_kill_filter(_id=each["id"])


DEATHS: Final[Mapping[str, tuple[Callable[[Any, Any], None], float]]] = {
    "killed": (kill, 0.0),
    "disconnected": (cut, 0.0),
    "frozen": (freeze, LEASE),
}
"""How holders die, and the seconds of their leases; 0 for none."""


def until_it_works(death: str) -> Measure:
    """Seconds until those who wait have the role."""
    strike, lease = DEATHS[death]

    def measure(bench: Workbench) -> Generator[Pair]:
        count = bench.effort.scaled(MOST)
        for _ in bench.turns():
            with (
                _queues(bench, count) as (queues, url),
                redis.Redis.from_url(url) as client,
                _holder(url, count, lease) as holder,
                ThreadPoolExecutor(count) as pool,
            ):
                got = [pool.submit(_got, queue) for queue in queues]
                while client.info("clients")["blocked_clients"] < count:
                    sleep(0.01)
                begin = perf_counter()
                strike(holder, client)
                times = [each.result() - begin for each in got]
            yield Pair(median(times))

    return measure


def _got(queue: pressure.Queue) -> float:
    """When a message has come."""
    queue.get(timeout=60)
    return perf_counter()


@contextmanager
def _queues(bench: Workbench, count: int) -> Iterator[tuple[list[pressure.Queue], str]]:
    """So many queues with a message each, and the server's URL."""
    url = f"redis://127.0.0.1:{bench.server('redis-server').port}/0"
    with ExitStack() as stack:
        queues = [stack.enter_context(pressure.Queue(f"bench{at}", url=url)) for at in range(count)]
        for queue in queues:
            queue.create()
            queue.put(b"v")
        yield queues, url


@contextmanager
def _holder(url: str, count: int, lease: float) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has a role of each queue."""
    command = [sys.executable, "-c", HOLD, url, str(count), str(lease)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603  (our own program)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def own_hold(bench: Workbench) -> Generator[Pair]:
    """Seconds until a process has the role back that it held itself over a connection that was cut."""
    for _ in bench.turns():
        times = []
        with (
            _queues(bench, bench.effort.scaled(MOST)) as (queues, url),
            redis.Redis.from_url(url) as client,
            ThreadPoolExecutor(1) as pool,
        ):
            for queue in queues:
                queue.get()
                waits = pool.submit(queue.get)
                while not (blocked := [each for each in client.client_list() if "b" in each["flags"]]):
                    sleep(0.001)
                client.client_kill_filter(_id=blocked[0]["id"])
                assert isinstance(waits.exception(), pressure.OutcomeUnknownError)
                queue.put(b"v")
                begin = perf_counter()
                queue.get()
                times.append(perf_counter() - begin)
        yield Pair(median(times))
