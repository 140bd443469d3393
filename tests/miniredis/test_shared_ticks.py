"""Threads of one process that share ticks, and so a write to the disk and the wait for it."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from miniredis import shared_ticks
from miniredis.journal.disk import File

from ..cases import exhaustive
from ..waiting import PATIENCE, until

THREADS = 8


class Disk:
    """A disk that is asked to keep something, and does so when it is allowed to.

    Attributes:
        begun: how often it was asked.
        go_on: is set while it may end.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0
        self.go_on = threading.Event()
        self.go_on.set()
        sync = File.sync

        def when_allowed(file: File) -> None:
            self.begun += 1
            assert self.go_on.wait(PATIENCE)
            sync(file)

        monkeypatch.setattr(File, "sync", when_allowed)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def server(tmp_path: Path, disk: Disk) -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start(appendonly="yes", appendfsync="always", dir=str(tmp_path), save="") as server:
        yield server
        disk.go_on.set()


@pytest.fixture
def clients(server: miniredis.EmbeddedServer) -> Iterator[list[redis.Redis]]:
    with ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(THREADS)]
        for each in clients:
            each.ping()
        yield clients


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(THREADS) as threads:
        yield threads


def waiting(server: miniredis.EmbeddedServer) -> int:
    """How many threads wait for a tick."""
    return len(server._runner._shared_ticks.waiting)


def push_all(
    server: miniredis.EmbeddedServer, disk: Disk, clients: list[redis.Redis], threads: ThreadPoolExecutor
) -> list[Future[Any]]:
    """Lets the first client push, and all others when the disk is asked to keep that."""
    disk.begun = 0
    disk.go_on.clear()
    pushes = [threads.submit(clients[0].rpush, "jobs", 0)]
    until(lambda: disk.begun == 1, "is the disk asked")
    pushes += [threads.submit(each.rpush, "jobs", number) for number, each in enumerate(clients[1:], 1)]
    until(lambda: waiting(server) == len(clients) - 1, "do the others wait")
    return pushes


@pytest.mark.parametrize("seconds", [shared_ticks.AT_FIRST, 2 * PATIENCE])
def test_what_comes_while_the_disk_works_is_kept_together(
    seconds: float,
    server: miniredis.EmbeddedServer,
    disk: Disk,
    clients: list[redis.Redis],
    threads: ThreadPoolExecutor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_ticks, "AT_FIRST", seconds)  # so long that nobody goes on who is not woken
    for _ in range(2):
        pushes = push_all(server, disk, clients, threads)
        disk.go_on.set()
        assert sorted(each.result(PATIENCE) for each in pushes) == [*range(1, THREADS + 1)]
        assert disk.begun == 2
        jobs = clients[0].lpop("jobs", THREADS)
        assert isinstance(jobs, list)
        assert sorted(jobs) == [b"%d" % number for number in range(THREADS)]
    (file,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
    assert file.read_bytes().count(b"rpush") + file.read_bytes().count(b"RPUSH") == 2 * THREADS


def test_nobody_is_answered_before_the_disk_has_what_was_done(
    server: miniredis.EmbeddedServer, disk: Disk, clients: list[redis.Redis], threads: ThreadPoolExecutor
) -> None:
    pushes = push_all(server, disk, clients, threads)
    first, disk.go_on = disk.go_on, threading.Event()
    first.set()
    assert pushes[0].result(PATIENCE) == 1
    until(lambda: disk.begun == 2, "is the disk asked once more")
    assert not any(each.done() for each in pushes[1:])
    disk.go_on.set()
    assert sorted(each.result(PATIENCE) for each in pushes[1:]) == [*range(2, THREADS + 1)]


def test_where_the_disk_fails_no_thread_is_told_that_its_command_was_done(
    server: miniredis.EmbeddedServer,
    disk: Disk,
    clients: list[redis.Redis],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pushes = push_all(server, disk, clients, threads)

    def fail(_file: File) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(File, "sync", fail)
    disk.go_on.set()
    assert pushes[0].result(PATIENCE) == 1
    for each in pushes[1:]:
        with pytest.raises(redis.ConnectionError):
            each.result(PATIENCE)


def test_a_refused_command_is_the_matter_of_its_own_thread(
    server: miniredis.EmbeddedServer, disk: Disk, clients: list[redis.Redis], threads: ThreadPoolExecutor
) -> None:
    clients[0].set("text", "no list")
    disk.go_on.clear()
    disk.begun = 0
    first = threads.submit(clients[0].rpush, "jobs", 0)
    until(lambda: disk.begun == 1, "is the disk asked")
    wrong = threads.submit(clients[1].rpush, "text", 1)
    until(lambda: waiting(server) == 1, "does the first wait")
    right = threads.submit(clients[2].rpush, "jobs", 2)
    until(lambda: waiting(server) == 2, "do both wait")
    disk.go_on.set()
    assert (first.result(PATIENCE), right.result(PATIENCE)) == (1, 2)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        wrong.result(PATIENCE)


def test_a_thread_is_not_left_alone_by_one_that_was_interrupted(
    server: miniredis.EmbeddedServer, clients: list[redis.Redis], threads: ThreadPoolExecutor
) -> None:
    def interrupt(_now: Any) -> None:
        raise KeyboardInterrupt

    runner = server._runner
    with runner.lock:  # the thread of this test is the one that is interrupted
        pushes = [threads.submit(each.rpush, "jobs", number) for number, each in enumerate(clients)]
        until(lambda: waiting(server) == THREADS, "do all wait")
        now = runner.begin_tick()
        with pytest.raises(KeyboardInterrupt):
            runner._shared_ticks.run(now, interrupt)
        runner.in_tick = False
    for each in pushes:
        with pytest.raises(redis.ConnectionError):
            each.result(PATIENCE)
    assert clients[0].llen("jobs") == THREADS  # perhaps done, as they were told


def test_who_waits_for_the_first_in_line_goes_on_when_that_is_gone(
    server: miniredis.EmbeddedServer, clients: list[redis.Redis], threads: ThreadPoolExecutor
) -> None:
    shared = server._runner._shared_ticks
    with server._runner.lock:
        shared._is_next.acquire()  # by a thread that then ends
        push = threads.submit(clients[0].rpush, "jobs", 0)
        until(lambda: waiting(server) == 1, "does it wait")
        shared._is_next.release()
    assert push.result(PATIENCE) == 1


def test_a_thread_runs_its_scripts_itself_and_others_wait_no_longer_than_for_busy(
    server: miniredis.EmbeddedServer, disk: Disk, clients: list[redis.Redis], threads: ThreadPoolExecutor
) -> None:
    pytest.importorskip("lupa")
    clients[0].config_set("busy-reply-threshold", 20)
    pushes = push_all(server, disk, clients[:4], threads)
    script = threads.submit(clients[5].eval, "while true do end", 0)
    disk.go_on.set()
    try:
        until(lambda: server._runner.engine.conditions.busy, "is the script too slow")
        refused = [threads.submit(each.rpush, "jobs", 0).exception(PATIENCE) for each in clients[:4]]
        early = [each.exception(PATIENCE) for each in pushes]
    finally:
        assert clients[6].script_kill()
    assert {"busy" in str(each) for each in [*refused, *filter(None, early)]} == {True}
    with pytest.raises(redis.ResponseError, match="killed by user"):
        script.result(PATIENCE)


def test_a_command_during_another_on_the_same_thread_is_refused(
    server: miniredis.EmbeddedServer, clients: list[redis.Redis], monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[str] = []
    end_tick = server._runner.end_tick

    def interrupt(now: Any) -> None:
        if not met:
            met.append("")
            with pytest.raises(RuntimeError) as error:
                clients[1].rpush("jobs", 1)
            met.append(str(error.value))
        end_tick(now)

    monkeypatch.setattr(server._runner, "end_tick", interrupt)
    assert clients[0].rpush("jobs", 0) == 1
    assert "in the middle of a command" in met[1]
    assert clients[1].ping()
    assert clients[0].llen("jobs") == 1


def test_a_command_during_a_tick_of_the_server_is_refused_and_never_runs(
    server: miniredis.EmbeddedServer, clients: list[redis.Redis]
) -> None:
    def interrupt(_now: Any) -> None:
        with pytest.raises(RuntimeError, match="in the middle of a command"):
            clients[0].rpush("jobs", 1)

    server._runner.tick_with(interrupt)
    assert clients[1].llen("jobs") == 0


HANDLER = """
import miniredis, os, signal, sys, threading

refused = []

def ask(*_):
    try:
        other.ping()
    except RuntimeError as error:
        refused.append(str(error))

with miniredis.start(appendonly="yes", appendfsync="always", dir=sys.argv[1], save="") as server:
    with server.client() as client, server.client() as other:
        client.ping(), other.ping()
        signal.signal(signal.SIGUSR1, ask)
        held, over = threading.Event(), threading.Event()

        def hold():
            with server._runner.lock:
                held.set()
                while not server._runner._shared_ticks.waiting:
                    over.wait(0.001)
                while not refused:
                    os.kill(os.getpid(), signal.SIGUSR1)
                    over.wait(0.001)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        print(client.rpush("jobs", 0), "in the middle of a command" in refused[0])
        thread.join()
"""


def test_a_signal_handler_on_a_thread_that_waits_is_refused(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HANDLER, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("1 True\n", "")


WORKERS = """
import itertools, os, sys, threading
import miniredis

with miniredis.start(dir=sys.argv[1]) as server:
    def work(name):
        with server.client() as client:
            begin = client.llen(name)
            for number in itertools.count(begin):
                client.rpush(name, number)
                os.write(1, f"{name} {number}\\n".encode())

    for name in range(8):
        threading.Thread(target=work, args=(name,)).start()
    threading.Event().wait()
"""


@pytest.mark.parametrize("kills", [exhaustive(50), pytest.param(500, marks=pytest.mark.slow)])
def test_what_threads_were_answered_is_there_after_their_process_was_killed(
    kills: int, tmp_path: Path
) -> None:
    chance = random.Random(20261126)  # noqa: S311  (no secret)
    answered = dict.fromkeys(range(THREADS), -1)
    for _ in range(kills):
        words = [sys.executable, "-c", WORKERS, str(tmp_path)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in range(chance.randrange(1, 400))]
            process.kill()
            told += process.stdout.read().splitlines()
        for line in told:
            name, number = map(int, line.split())
            answered[name] = number
        with miniredis.start(dir=str(tmp_path)) as server, server.client() as client:
            for name, last in answered.items():
                numbers = [int(each) for each in client.lrange(str(name), 0, -1)]
                assert numbers == [*range(len(numbers))]
                assert len(numbers) > last
    assert sum(answered.values()) > kills
