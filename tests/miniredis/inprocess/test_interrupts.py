"""Ctrl-C, or a signal handler that raises, at an awkward moment: nothing hangs, and nothing is left."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import miniredis
from conformance.wire import RawConnection
from miniredis.ticks.shared_ticks import TickRequest

from ...cases import exhaustive
from ...waiting import PATIENCE

pytestmark = pytest.mark.usefixtures("forked")


def printed_by(program: str, *words: str) -> str:
    """What a program prints that ends in time; its errors, too."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5 * PATIENCE, check=False)
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


LINES = """
import os, sys, tempfile, threading
import miniredis

every, place = int(sys.argv[1]), os.path.dirname(miniredis.__file__)
lines = at = 0

def trace(frame, event, _):
    global lines
    if not frame.f_code.co_filename.startswith(place):
        return None
    if event == "line":
        lines += 1
        if lines == at:
            sys.settrace(None)
            raise KeyboardInterrupt
    return trace

def use(folder):
    server = None
    try:
        sys.settrace(trace)
        server = miniredis.start(dir=folder, unixsocket=folder + "/socket", appendfsync="everysec")
        server.stop()
        return True
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(None)
        if server:
            server.stop()

is_whole = use(tempfile.mkdtemp())  # what the first one loads stays loaded
assert is_whole
before, is_whole = os.listdir("/proc/self/fd"), False
while not is_whole:
    at, lines = at + every, 0
    folder = tempfile.mkdtemp()
    is_whole = use(folder)
    left = threading.active_count(), os.listdir("/proc/self/fd"), os.path.exists(folder + "/socket")
    assert left == (1, before, False), (at, left)
print(at > every)
"""


@pytest.mark.parametrize("every", [97, exhaustive(29), pytest.param(1, marks=pytest.mark.slow)])
def test_an_interrupt_at_any_line_of_start_and_stop_leaves_no_thread_and_no_descriptor(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert printed_by(LINES, str(every)) == "True\n"


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
        exec(handler)
        return move(channel, what)
    return interrupt

name, handler = sys.argv[1:]
miniredis.spawn().stop()
before = os.listdir("/proc/self/fd")
server = miniredis.spawn()
setattr(Connection, name, interrupted(getattr(Connection, name)))
try:
    server.connected_clients()
except (KeyboardInterrupt, RuntimeError):
    pass
try:
    print(server.connected_clients())
except RuntimeError as error:
    print(error)
server.stop()
print(os.path.exists(f"/proc/{server.pid}"), os.listdir("/proc/self/fd") == before)
"""


@pytest.mark.parametrize(
    ("operation", "handler", "then"),
    [
        ("_poll", "raise KeyboardInterrupt", "[]"),
        ("_recv", "raise KeyboardInterrupt", "the server has stopped"),
        ("_send", "raise KeyboardInterrupt", "the server has stopped"),
        ("_poll", "server.stop()", "the server has stopped"),
        ("_recv", "server.stop()", "the server has stopped"),
    ],
)
def test_a_signal_in_a_call_of_a_spawned_server_ends_it_only_where_it_stops_it_or_cuts_a_message(
    operation: str, handler: str, then: str
) -> None:
    assert printed_by(SPAWNED, operation, handler) == f"{then}\nFalse True\n"


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


def was_interrupted(number: int, act: Callable[[], object]) -> bool:
    """Whether something takes so many calls that a signal came at this one, or on the way back from it."""
    calls = itertools.count(1)

    def look(_frame: Any, event: str, _what: Any) -> None:
        if event in {"call", "c_return"} and next(calls) == number:
            sys.setprofile(None)
            raise KeyboardInterrupt

    try:
        sys.setprofile(look)
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a finalizer of redis-py
@pytest.mark.parametrize("way", ["alone", "for several threads", "after another thread"])
def test_an_interrupt_at_any_call_of_a_command_keeps_the_lock_from_nobody(way: str) -> None:
    with miniredis.start() as server, server.client() as client, ThreadPoolExecutor(1) as another:
        runner = server._runner
        act: Callable[[], object] = {
            "alone": lambda: client.set("k", "v"),
            "for several threads": lambda: runner._shared_ticks.take_part(id),
            "after another thread": lambda: runner._shared_ticks._wait_for_lock(TickRequest(id)),
        }[way]

        def is_free() -> bool:
            has_lock = runner.lock.acquire(timeout=PATIENCE)
            if has_lock:
                runner.lock.release()
            return has_lock

        for number in itertools.count(1):
            if not was_interrupted(number, act):
                break
            assert another.submit(is_free).result(), number
            assert not runner._shared_ticks._is_next.locked(), number
        assert number > 10


def test_who_was_to_hear_of_an_interrupted_command_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what became of the command on the disk."""
    sync = os.fdatasync

    def interrupt(descriptor: int) -> None:
        monkeypatch.undo()
        sync(descriptor)
        raise KeyboardInterrupt

    with miniredis.start(dir=tmp_path) as server, server.client() as client:
        client.ping()
        with RawConnection(server.host, server.port) as waiter:
            waiter.send("BLPOP", "jobs", "0")
            server.wait_until(lambda: server.blocked_clients("jobs"))
            with server._runner.lock, suppress(KeyboardInterrupt):  # on this thread, not on the server's
                monkeypatch.setattr(os, "fdatasync", interrupt)
                client.rpush("jobs", "resize")
            assert client.llen("jobs") == 0
            assert waiter.socket.recv(100) == b""


def test_a_server_that_fails_while_it_stops_ends_its_thread_and_gives_up_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(threading, "excepthook", told.append)
        with miniredis.start(dir=tmp_path) as server:
            patch.setattr(server._runner, "disconnect", fail)
            client = server.client()
            assert client.ping()
        server._thread.join(PATIENCE)
        assert not server._thread.is_alive()
    assert len(told) == 1
    with miniredis.start(dir=tmp_path) as server:
        assert server.dump() == {}


def test_a_socket_whose_permissions_cannot_be_set_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", fail)
    with pytest.raises(OSError, match="Operation not permitted"):
        miniredis.start(unixsocket=str(tmp_path / "socket"), unixsocketperm="700")
    assert [*tmp_path.iterdir()] == []
