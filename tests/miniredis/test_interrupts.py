"""Ctrl-C, or a signal handler that raises, at an awkward moment: nothing hangs, and nothing is left."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ..waiting import PATIENCE


def printed_by(program: str, *words: str) -> str:
    """What a program prints that ends in time; its errors, too."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.stdout + done.stderr


STARTING = """
import os, signal, sys, threading
import miniredis, trio
from miniredis.tick_runner import TickRunner

async def load_for_ever(_):
    os.kill(os.getpid(), signal.SIGINT)
    await trio.sleep_forever()

start = getattr(miniredis, sys.argv[1])
start().stop()  # what the first one loads stays loaded
before, load = os.listdir("/proc/self/fd"), TickRunner.load_files
TickRunner.load_files = load_for_ever
try:
    start()
except KeyboardInterrupt:
    print(threading.active_count(), os.listdir("/proc/self/fd") == before)
TickRunner.load_files = load
start().stop()
"""


@pytest.mark.parametrize("function", ["start", "cluster", "sentinel"])
def test_an_interrupt_while_servers_start_ends_them(function: str) -> None:
    assert printed_by(STARTING, function) == "1 True\n"
