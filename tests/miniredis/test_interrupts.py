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

async def load_for_ever(_):
    os.kill(os.getpid(), signal.SIGINT)
    await trio.sleep_forever()

start = getattr(miniredis, sys.argv[1])
start().stop()  # what the first one loads stays loaded
before, load = os.listdir("/proc/self/fd"), miniredis.server.load_files
miniredis.server.load_files = load_for_ever
try:
    start()
except KeyboardInterrupt:
    print(threading.active_count(), os.listdir("/proc/self/fd") == before)
miniredis.server.load_files = load
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
    def interrupt(channel, what):
        if name == "_recv" and what == 4:
            return move(channel, what)  # the length of the message
        setattr(Connection, name, move)
        if name != "_poll":
            move(channel, what - 1 if name == "_recv" else bytes(what)[:-1])
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


HANDLER = """
import contextlib, signal, sys, threading
import miniredis, redis

start, use, moment = sys.argv[1:]
handle = getattr(miniredis, start)()
server = handle.nodes[0] if start == "cluster" else handle
client, waiter = server.client(), server.client().pubsub(ignore_subscribe_messages=True)
client.ping()
waiter.subscribe("news")
waiter.get_message()
runner = server._runner
begin = runner.begin_tick

def interrupt(*_):
    try:
        eval(use)
    except RuntimeError as error:
        print("in the middle of a command" in str(error))
    else:
        print("returned")

def interrupted():
    runner.begin_tick = begin
    if moment == "before":
        signal.raise_signal(signal.SIGUSR1)
    now = begin()
    if moment == "in it":
        signal.raise_signal(signal.SIGUSR1)
    return now

signal.signal(signal.SIGUSR1, interrupt)
runner.begin_tick = interrupted
with contextlib.suppress(redis.ConnectionError):  # the server may have stopped by now
    client.ping()
handle.stop()
print(threading.active_count())
"""


@pytest.mark.parametrize("moment", ["before", "in it"])
@pytest.mark.parametrize(
    ("start", "use", "outcome"),
    [
        ("start", "server.stop()", "returned"),
        ("start", "server.fast_forward(1)", "True"),
        ("cluster", "handle.stop()", "returned"),
        ("cluster", "server.stop()", "returned"),
        ("cluster", "server.fast_forward(1)", "True"),
        ("cluster", "handle.wait_for_replicas()", "True"),
    ],
)
def test_a_signal_handler_in_the_middle_of_a_command_stops_the_server_and_waits_for_nothing(
    start: str, use: str, outcome: str, moment: str
) -> None:
    assert printed_by(HANDLER, start, use, moment) == f"{outcome}\n1\n"


@pytest.mark.parametrize("use", ["waiter.parse_response()", "server.wait_until(lambda: False)"])
def test_a_signal_handler_in_the_middle_of_a_command_cannot_wait_for_another_one(use: str) -> None:
    assert printed_by(HANDLER, "start", use, "in it") == "True\n1\n"
