"""How long it takes until a role works again whose holder has died, without anybody's help.

Each death is that of a consumer of a queue of its own, in the block of a message, while another consumer
waits for the role. All deaths of a turn happen at once; what is measured is the median over the queues.

To add a kind of death: a function that does it, and a row in ``DEATHS``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from statistics import median
from time import perf_counter, sleep
from typing import Final, TypeAlias

import redis

import pressure

from .servers import RunningServer
from .turns import Pair
from .workbench import Measure, Workbench

__all__ = ["DEATHS", "own_hold", "until_it_works"]

LEASE: Final = 5.0
"""Seconds of the leases of those who are frozen."""

MOST: Final = 50
"""Deaths in a turn."""

HOLD: Final = """
import os, sys, time
import pressure

url, count, lease, pid = sys.argv[1:]
if pid:
    os.getpid = lambda: int(pid)
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

Holder: TypeAlias = "subprocess.Popen[bytes]"


def kill(holder: Holder, *_: object) -> None:
    """The process is killed."""
    holder.kill()


def freeze(holder: Holder, *_: object) -> None:
    """The process is stopped, and stays connected; its lease runs out."""
    holder.send_signal(signal.SIGSTOP)


def fail_over(holder: Holder, client: redis.Redis, replica: RunningServer) -> None:
    """The process is killed, and so is the server, at whose address its replica answers from now on."""
    port, server = client.info("server")["tcp_port"], client.info("server")["process_id"]
    holder.kill()
    client.wait(1, 0)
    os.kill(server, signal.SIGKILL)
    replica.ask("REPLICAOF", "NO", "ONE")
    while not replica.ask("CONFIG", "SET", "port", str(port)).startswith(b"+"):
        sleep(0.01)  # the killed server still has it


def cut(holder: Holder, client: redis.Redis, _: object) -> None:
    """The process lives, and does not come back after it has lost its connections."""
    for each in client.client_list():
        if f":{holder.pid}:" in each["name"]:
            client.client_kill_filter(_id=each["id"])


@dataclass(frozen=True, slots=True)
class Death:
    """How holders die.

    Attributes:
        strike: does it, given the holders' process, a client of the server, and the server's replica.
        lease: the seconds of the holders' leases; 0 for none.
        same_pid: whether the holders believe to have the process number of those who wait, as a container has
            that was started again.
    """

    strike: Callable[[Holder, redis.Redis, RunningServer], None]
    lease: float = 0.0
    same_pid: bool = False


DEATHS: Final[Mapping[str, Death]] = {
    "killed": Death(kill),
    "disconnected": Death(cut),
    "frozen": Death(freeze, lease=LEASE),
    "restarted": Death(kill, same_pid=True),
    "failed-over": Death(fail_over),
}


def until_it_works(death: str) -> Measure:
    """Seconds until those who wait have the role."""
    how = DEATHS[death]

    def measure(bench: Workbench) -> Generator[Pair]:
        count = bench.effort.scaled(MOST)
        for _ in bench.turns():
            with (
                bench.fresh("redis-server") as replica,
                _queues(bench, count) as (queues, url),
                redis.Redis.from_url(url) as client,
                _holder(url, count, how) as holder,
                ThreadPoolExecutor(count) as pool,
            ):
                got = [pool.submit(_got, queue) for queue in queues]
                while client.info("clients")["blocked_clients"] < count:
                    sleep(0.01)
                _follow(replica, client)
                begin = perf_counter()
                how.strike(holder, client, replica)
                times = [each.result() - begin for each in got]
            yield Pair(median(times))

    return measure


def _got(queue: pressure.Queue) -> float:
    """When a message has come, whatever becomes of connections and servers meanwhile."""
    while True:
        with suppress(ConnectionError):
            queue.get(timeout=60)
            return perf_counter()


def _follow(replica: RunningServer, client: redis.Redis) -> None:
    """Has the replica follow the server, and waits until it does."""
    server = client.info("server")
    client.config_set("repl-diskless-sync-delay", 0)
    replica.ask("REPLICAOF", "127.0.0.1", str(server["tcp_port"]))
    while not client.wait(1, 100):
        pass


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
def _holder(url: str, count: int, how: Death) -> Iterator[Holder]:
    """A process that has a role of each queue."""
    pid = str(os.getpid()) if how.same_pid else ""
    command = [sys.executable, "-c", HOLD, url, str(count), str(how.lease), pid]
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
