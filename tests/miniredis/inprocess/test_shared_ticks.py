"""Threads of one process that share ticks, and so a write to the disk and the wait for it."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from miniredis.engine.scripts import scripts
from miniredis.engine.scripts.scripts import Scripts
from miniredis.persistence.disk import File
from miniredis.ticks import shared_ticks

from ...cases import exhaustive
from ...waiting import PATIENCE, until

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


def run_together(
    server: miniredis.EmbeddedServer,
    disk: Disk,
    threads: ThreadPoolExecutor,
    calls: Sequence[Callable[[], Any]],
) -> list[Future[Any]]:
    """Begins the first call, which writes, and all others once the disk is asked to keep that."""
    disk.begun = 0
    disk.go_on.clear()
    begun = [threads.submit(calls[0])]
    until(lambda: disk.begun == 1, "is the disk asked")
    begun += map(threads.submit, calls[1:])
    until(lambda: waiting(server) == len(calls) - 1, "do the others wait")
    return begun


def push_all(
    server: miniredis.EmbeddedServer, disk: Disk, clients: list[redis.Redis], threads: ThreadPoolExecutor
) -> list[Future[Any]]:
    """Lets the first client push, and all others when the disk is asked to keep that."""
    pushes = [partial(each.rpush, "jobs", number) for number, each in enumerate(clients)]
    return run_together(server, disk, threads, pushes)


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
    was_hung_up_on = isinstance(
        pushes[0].exception(PATIENCE), redis.ConnectionError
    )  # before it read its reply
    assert was_hung_up_on or pushes[0].result() == 1
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


def test_a_command_that_was_interrupted_while_it_waited_is_not_run_behind_the_next(
    server: miniredis.EmbeddedServer, clients: list[redis.Redis], threads: ThreadPoolExecutor
) -> None:
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with server._runner.lock:
            held.set()
            over.wait(PATIENCE)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    holder = threads.submit(hold)
    held.wait(PATIENCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_ticks.TickRequest, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            clients[0].set("k", "first")
    over.set()
    holder.result(PATIENCE)
    assert clients[0].set("k", "second")
    assert clients[0].get("k") == b"second"


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


def test_others_wait_no_longer_for_a_slow_script_than_for_busy(
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


PUSH = "return redis.call('rpush', KEYS[1], ARGV[1])"
LIBRARY = (
    "#!lua name=jobs\nredis.register_function('push', function(keys, args) "
    + PUSH.replace("KEYS", "keys").replace("ARGV", "args")
    + " end)"
)


def by_sha(client: redis.Redis, number: int) -> Any:
    return client.evalsha(hashlib.sha1(PUSH.encode()).hexdigest(), 1, "jobs", number)  # noqa: S324  (its name)


def in_a_transaction(client: redis.Redis, number: int) -> Any:
    with client.pipeline() as pipe:
        by_sha(pipe, number)
        return pipe.execute()[-1]


def behind_another(client: redis.Redis, number: int) -> Any:
    with client.pipeline(transaction=False) as pipe:
        pipe.incr("before")
        by_sha(pipe, number)
        pipe.incr("after")
        return pipe.execute()[1]


SCRIPTS = {
    "EVAL": lambda client, number: client.eval(PUSH, 1, "jobs", number),
    "EVALSHA": by_sha,
    "FCALL": lambda client, number: client.fcall("push", 1, "jobs", number),
    "EXEC": in_a_transaction,
    "a pipeline": behind_another,
}


@pytest.mark.parametrize("was_quick", [False, True])
@pytest.mark.parametrize("name", SCRIPTS)
def test_another_thread_runs_a_script_only_if_it_was_quick(
    name: str,
    was_quick: bool,
    server: miniredis.EmbeddedServer,
    disk: Disk,
    clients: list[redis.Redis],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("lupa")
    monkeypatch.setattr(scripts, "QUICK", PATIENCE if was_quick else 0.0)
    clients[0].function_load(LIBRARY)
    assert [SCRIPTS["EVAL"](clients[0], -1), by_sha(clients[0], -1)] == [1, 2]
    clients[0].delete("jobs")
    evaluate, ran_on = Scripts.conclude, set()

    def conclude(self: Scripts, outcome: Any) -> Any:
        ran_on.add(threading.get_ident())
        return evaluate(self, outcome)

    monkeypatch.setattr(Scripts, "conclude", conclude)
    calls = [partial(SCRIPTS[name], each, number) for number, each in enumerate(clients[1:], 1)]
    pushes = run_together(server, disk, threads, [lambda: clients[0].rpush("jobs", 0), *calls])
    disk.go_on.set()
    assert sorted(each.result(PATIENCE) for each in pushes) == [*range(1, THREADS + 1)]
    assert sorted(map(int, clients[0].lrange("jobs", 0, -1))) == [*range(THREADS)]
    assert not server._runner.engine.scripts.deferred
    if not was_quick or name not in {"EVALSHA", "a pipeline"}:
        assert len(ran_on) == THREADS - 1
    elif name == "EVALSHA":  # redis-py sends a pipeline in two steps
        assert (len(ran_on), disk.begun) == (1, 2)


@pytest.mark.parametrize("is_far", [False, True])
def test_a_script_that_was_quick_and_does_not_end_on_another_thread_can_be_killed(
    is_far: bool,
    server: miniredis.EmbeddedServer,
    disk: Disk,
    clients: list[redis.Redis],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("lupa")
    monkeypatch.setattr(scripts, "QUICK", PATIENCE)
    clients[0].config_set("busy-reply-threshold", 20)
    sha = clients[0].script_load("while ARGV[1] == 'for ever' do end")
    clients[0].evalsha(sha, 0, "once")
    first, *others = (partial(each.rpush, "jobs", 0) for each in clients[:4])
    endless = partial(clients[4].evalsha, sha, 0, "for ever")
    pushed, script, *pushes = run_together(server, disk, threads, [first, endless, *others])
    disk.go_on.set()
    assert pushed.result(PATIENCE) == 1
    until(lambda: server._runner.engine.conditions.busy, "is the script too slow")
    with pytest.raises(redis.ResponseError, match="BUSY"):
        threads.submit(clients[5].evalsha, sha, 0, "once").result(PATIENCE)
    with redis.Redis.from_url(server.url) as far:
        assert threads.submit((far if is_far else clients[6]).script_kill).result(PATIENCE)
    with pytest.raises(redis.ResponseError, match="killed by user"):
        script.result(PATIENCE)
    for each in pushes:
        each.exception(PATIENCE)


def test_a_client_that_is_gone_has_left_no_script(
    server: miniredis.EmbeddedServer, clients: list[redis.Redis]
) -> None:
    engine = server._runner.engine
    (session,) = (each for each in engine.sessions.values() if each.id == clients[0].client_id())
    with server._runner.lock:
        now = server._runner.clock.now()
        engine.receive_and_defer_scripts(session, b"*3\r\n$4\r\nEVAL\r\n$1\r\n1\r\n$1\r\n0\r\n", now)
        assert engine.scripts.deferred == {session}
        server._runner.disconnect(session, now)
    assert not engine.scripts.deferred
    assert clients[1].info("clients")["blocked_clients"] == 0


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
            by_script = client.register_script("return redis.call('rpush', KEYS[1], ARGV[1])")
            push = client.rpush if name % 2 else lambda *words: by_script(words[:1], words[1:])
            for number in itertools.count(client.llen(name)):
                push(name, number)
                os.write(1, f"{name} {number}\\n".encode())

    for name in range(8):
        threading.Thread(target=work, args=(name,)).start()
    threading.Event().wait()
"""


@pytest.mark.parametrize("kills", [exhaustive(50), pytest.param(500, marks=pytest.mark.slow)])
def test_what_threads_were_answered_is_there_after_their_process_was_killed(
    kills: int, tmp_path: Path
) -> None:
    pytest.importorskip("lupa")
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
