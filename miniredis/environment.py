"""The engine's ``Environment`` in this process: memory, processor time, the system, an interpreter of Lua."""

from __future__ import annotations

import contextlib
import os
import platform
import selectors
import socket
import sys
from pathlib import Path

from .clock import Machine
from .engine import Environment
from .scripting import new_interpreter

with contextlib.suppress(ImportError):  # on Windows
    import resource

__all__ = ["this_process"]


def this_process() -> Environment:
    """The environment, without what ``TickRunner`` adds: the server's clock, and functions of the runner."""
    return Environment(
        pid=os.getpid(),
        executable=sys.executable,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        memory=resident_memory,
        cpu=cpu_seconds,
        stopwatch=Machine.perf_counter,
        new_interpreter=new_interpreter,
        dial=dial,
        poller=selectors.DefaultSelector.__name__.removesuffix("Selector").lower(),
    )


def dial(host: str, port: int, seconds: float) -> socket.socket:
    """A connection to a server, whose steps take so many seconds at most."""
    return socket.create_connection((host, port), seconds)


def resident_memory() -> int:
    """Resident memory of this process in bytes; its peak where the system tells only that; 0 on Windows."""
    if sys.platform == "win32":
        return 0
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def private_memory() -> int:
    """Bytes of memory that this process has written and shares with no other; 0 if the system tells none."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_Dirty:"))


def cpu_seconds() -> tuple[float, float]:
    """Processor time of this process in seconds: in the system, and in user mode."""
    if sys.platform == "win32":
        times = os.times()
        return times.system, times.user
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_stime, usage.ru_utime
