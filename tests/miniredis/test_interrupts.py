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


SPAWNED = """
import os, sys
from multiprocessing.connection import Connection
import miniredis

def interrupted(move):
    def interrupt(channel, *given):
        setattr(Connection, name, move)
        if name == "_send":
            given = [bytes(given[0])[:-1]]
        if name != "_poll":
            move(channel, *given)
        raise KeyboardInterrupt
    return interrupt

name = sys.argv[1]
miniredis.spawn().stop()
before = os.listdir("/proc/self/fd")
server = miniredis.spawn()
setattr(Connection, name, interrupted(getattr(Connection, name)))
try:
    server.connected_clients()
except KeyboardInterrupt:
    pass
try:
    print(server.connected_clients())
except RuntimeError as error:
    print(error)
server.stop()
print(os.path.exists(f"/proc/{server.pid}"), os.listdir("/proc/self/fd") == before)
"""


@pytest.mark.parametrize(
    ("operation", "then"),
    [("_poll", "[]"), ("_recv", "the server has stopped"), ("_send", "the server has stopped")],
)
def test_an_interrupt_in_a_call_of_a_spawned_server_ends_it_only_in_the_middle_of_a_message(
    operation: str, then: str
) -> None:
    assert printed_by(SPAWNED, operation) == f"{then}\nFalse True\n"
