"""Rates as redis-benchmark, the field's own tool, measures them.

It runs as a process of its own, on the other core. How many requests it sends is found for each server
beforehand, by runs that grow until they take long enough; so both sides are measured for the same time, and
are warm.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from ..targets import NoRealRedisError, find_real_redis
from .servers import RunningServer
from .turns import MissingError, Pair
from .workbench import Measure, Workbench

__all__ = ["Load", "cpu_per_command", "rates"]

VALUE: Final = "xxx"
"""As long as redis-benchmark's own values are by default."""

LONGEST_RUN: Final = 120.0
"""Seconds after which a run is given up."""

PIECE: Final = 1000
"""Elements that one command of the filling pushes."""


def no_elements(_: int) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Load:
    """One redis-benchmark.

    Attributes:
        command: what is sent, again and again.
        clients: connections.
        pipeline: requests that each has under way.
        elements: from the number of requests, how long a list is to be there before.
    """

    command: tuple[str, ...]
    clients: int = 50
    pipeline: int = 1
    elements: Callable[[int], int] = no_elements


def rates(load: Load, reference: str, measured: str = "miniredis") -> Measure:
    """Requests per second: of a server, miniredis if it is not named, and of a reference."""
    return alternating(load, reference, run_once, measured)


def cpu_per_command(load: Load, reference: str) -> Measure:
    """Microseconds that the server's process computes for each command (INFO's used_cpu_sys and _user)."""

    def measured(server: RunningServer, load: Load, requests: int) -> float:
        before = server.cpu_seconds()
        run_once(server, load, requests)
        return (server.cpu_seconds() - before) / requests * 1e6

    return alternating(load, reference, measured)


def alternating(
    load: Load,
    reference: str,
    once: Callable[[RunningServer, Load, int], float],
    measured: str = "miniredis",
) -> Measure:
    """Turns of some measurement, each after its list is filled."""

    def measure(bench: Workbench) -> Generator[Pair]:
        tool()
        requests = {name: enough(bench, name, load) for name in (measured, reference)}

        def side(name: str) -> float:
            server = bench.server(name)
            fill(server, load, requests[name])
            return once(server, load, requests[name])

        for _ in bench.turns():
            yield Pair(side(measured), side(reference))

    return measure


def enough(bench: Workbench, name: str, load: Load) -> int:
    """How many requests take the server about as long as a run is to take."""
    requests, batch = 100, load.clients * load.pipeline
    while True:
        server = bench.server(name)
        fill(server, load, requests)
        seconds = requests / run_once(server, load, requests)
        if seconds >= bench.effort.seconds / 4:
            return max(int(requests * bench.effort.seconds / seconds), min(batch, requests), 1)
        requests = int(requests * min(bench.effort.seconds / 2 / max(seconds, 0.001), 20)) + 1


def fill(server: RunningServer, load: Load, requests: int) -> None:
    """Has the list that the load needs."""
    missing = load.elements(requests)
    with server.connect() as connection:
        while missing > 0:
            connection.command("LPUSH", "list", *[VALUE] * min(PIECE, missing))
            missing -= PIECE


def run_once(server: RunningServer, load: Load, requests: int) -> float:
    """Runs redis-benchmark; returns requests per second.

    Raises:
        OSError: it does not end, or says nothing that can be read.
    """
    options = {"-h": "127.0.0.1", "-p": server.port, "-c": load.clients, "-P": load.pipeline, "-n": requests}
    words = [str(word) for option in options.items() for word in option]
    try:
        done = subprocess.run(  # noqa: S603  (the program was looked for)
            [tool(), *words, "--csv", *load.command],
            capture_output=True, text=True, timeout=LONGEST_RUN, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise OSError(f"redis-benchmark on {server.name} takes longer than {LONGEST_RUN:g} s") from None
    return rate_in(done.stdout, f"redis-benchmark on {server.name}: {done.stderr.strip()}")


def rate_in(output: str, otherwise: str) -> float:
    """The requests per second in the last line of redis-benchmark's CSV."""
    rows = [row for row in csv.reader(output.splitlines()) if len(row) > 1]
    try:
        return float(rows[-1][1])
    except (IndexError, ValueError):
        raise OSError(otherwise) from None


@cache
def tool() -> str:
    """Where redis-benchmark is: as the environment names it, on PATH, or beside the redis-server.

    Raises:
        MissingError: nowhere.
    """
    named = os.environ.get("CONFORMANCE_REDIS_BENCHMARK", "redis-benchmark")
    if found := shutil.which(named):
        return found
    try:
        beside = find_real_redis().parent
    except NoRealRedisError:
        beside = Path()
    if found := shutil.which("redis-benchmark", path=str(beside)):
        return found
    raise MissingError(
        "no redis-benchmark: neither in the environment variable CONFORMANCE_REDIS_BENCHMARK, nor on "
        "PATH, nor beside redis-server"
    )
