"""How long until a server answers, or has its keys again, and what importing miniredis takes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from functools import partial
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from typing import Any, Final

import miniredis

from ..targets import NoRealRedisError, find_real_redis, free_port
from ..wire import PATIENCE, encode
from .turns import MissingError, Pair
from .workbench import Measure, Workbench

__all__ = ["CONTENTS", "command_time", "import_time", "restore_time", "start_time"]

START: Final = """
import socket, time, miniredis
for _ in range({servers}):
    begin = time.perf_counter()
    with miniredis.start() as server:
        with socket.create_connection((server.host, server.port)) as client:
            client.sendall(b"PING\\r\\n")
            assert client.recv(64) == b"+PONG\\r\\n"
            took = time.perf_counter() - begin
print(took)
"""
"""Starts some servers one after the other, and prints how long the last one took."""

IMPORT: Final = """
import time, trio, hiredis
begin = time.perf_counter()
import miniredis
print(time.perf_counter() - begin)
"""

CONTENTS: Final[dict[str, Any]] = {
    "strings": "xxx",
    "lists": ["a", "b"],
    "sets": {"a", "b"},
    "hashes": {"a": "xxx", "b": "xxx"},
    "sorted sets": {"a": 1, "b": 2},
    "streams": [("1-1", ["a", "xxx"]), ("1-2", ["b", "xxx"])],
}
"""What keys of each type hold."""

LOOK_AGAIN: Final = 0.0002
"""Seconds between two attempts to connect."""


def start_time(servers: int) -> Measure:
    """Milliseconds until the first PONG: from ``miniredis.start()``, and from spawning redis-server.

    Args:
        servers: how many the process, a new one that has imported miniredis, starts; the last one counts.
    """

    def measure(bench: Workbench) -> Generator[Pair]:
        try:
            executable = str(find_real_redis())
        except NoRealRedisError as error:
            raise MissingError(str(error)) from None
        for _ in bench.turns():
            yield Pair(told_by(START.format(servers=servers)) * 1000, spawned(executable) * 1000)

    return measure


def command_time(bench: Workbench) -> Generator[Pair]:
    """Milliseconds of processor time that a subcommand of ``pressure`` takes, and an empty Python program."""
    port = bench.server("redis-server").port
    ask = ["-m", "pressure", "--port", str(port), "exists", "bench"]
    for _ in bench.turns():
        yield Pair(processor_time(ask) * 1000, processor_time(["-c", "pass"]) * 1000)


def processor_time(arguments: list[str]) -> float:
    """Seconds of processor time that a run of Python takes, once its bytecode is there."""
    run = partial(
        subprocess.run, [sys.executable, *arguments],
        stdout=subprocess.DEVNULL, check=False, env=keeping_bytecode(),
    )  # fmt: skip
    run()
    before = getrusage(RUSAGE_CHILDREN)
    run()
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_time(bench: Workbench) -> Generator[Pair]:
    """Milliseconds that ``import miniredis`` takes in a new process that has imported trio and hiredis."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        told_by(IMPORT, compiled_to=folder)  # as installing it would
        for _ in bench.turns():
            yield Pair(told_by(IMPORT, compiled_to=folder) * 1000)


def restore_time(content: Any, count: int) -> Measure:
    """Milliseconds to restore a snapshot of many keys in a server of this process that has them already."""

    def measure(bench: Workbench) -> Generator[Pair]:
        with miniredis.start() as server:
            for number in range(count):
                server.set_content(f"key:{number}", content)
            snapshot = server.snapshot()
            for _ in bench.turns():
                begin = perf_counter()
                server.restore(snapshot)
                yield Pair((perf_counter() - begin) * 1000)

    return measure


def keeping_bytecode() -> dict[str, str]:
    """The environment, but that Python keeps the bytecode of what it imports, as for an installed package."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def told_by(program: str, compiled_to: str = "") -> float:
    """The number that a Python program prints; ``compiled_to`` keeps the bytecode of what it imports."""
    done = subprocess.run(  # noqa: S603  (one of the above)
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
        env=keeping_bytecode() | ({"PYTHONPYCACHEPREFIX": compiled_to} if compiled_to else {}),
    )  # fmt: skip
    if done.returncode:
        raise OSError(done.stderr.strip().rpartition("\n")[2])
    return float(done.stdout)


def spawned(executable: str) -> float:
    """Seconds from spawning a redis-server until it answers."""
    port = free_port()
    begin = perf_counter()
    process = subprocess.Popen(  # noqa: S603  (found by the caller)
        [executable, "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with connected(port, begin + PATIENCE) as client:
            client.sendall(encode("PING"))
            client.recv(64)
            return perf_counter() - begin
    finally:
        process.kill()
        process.wait()


def connected(port: int, deadline: float) -> socket.socket:
    """A connection, as soon as there can be one."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        except OSError:
            if perf_counter() > deadline:
                raise
            time.sleep(LOOK_AGAIN)
