"""What a server tells of its process, in INFO: memory, processor time, the system that it runs on."""

from __future__ import annotations

import os
import platform
import resource
import selectors
import sys
import time
from pathlib import Path

from .engine import Facts

__all__ = ["facts_of_process"]


def facts_of_process(port: int) -> Facts:
    """What INFO tells of this process, which listens on a TCP port."""
    return Facts(
        pid=os.getpid(),
        port=port,
        executable=sys.executable,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        memory=resident_memory,
        cpu=cpu_seconds,
        stopwatch=time.perf_counter,
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
