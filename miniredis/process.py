"""What an engine asks of the process around it: memory, processor time, the system, a way to run Lua."""

from __future__ import annotations

import os
import platform
import resource
import selectors
import sys
import time
from pathlib import Path

from .engine import Environment
from .scripting import new_interpreter

__all__ = ["this_process"]


def this_process() -> Environment:
    """This process, but for what depends on the server: its clock, and who is let in while a script runs."""
    return Environment(
        pid=os.getpid(),
        executable=sys.executable,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        memory=resident_memory,
        cpu=cpu_seconds,
        stopwatch=time.perf_counter,
        new_interpreter=new_interpreter,
        poller=selectors.DefaultSelector.__name__.removesuffix("Selector").lower(),
    )


def resident_memory() -> int:
    """Bytes of this process in memory; its peak where the system tells no more."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def cpu_seconds() -> tuple[float, float]:
    """How long this process has run, in the system and by itself."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_stime, usage.ru_utime
