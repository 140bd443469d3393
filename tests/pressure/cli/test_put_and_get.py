"""``put`` and ``get`` as processes: lines, signals, closed pipes, kills, exit statuses."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import redis

from pressure import Queue
from tests.pressure.conftest import JOBS, ROOT, invariant, roles_free, until, waiting

from .conftest import Cli, finish, stream

pytestmark = pytest.mark.usefixtures("forked")


def test_exists_length_and_closed_answer_by_text_and_exit_status(run: Any) -> None:
    assert run("exists", "jobs") == (1, "false\n", "")
    assert run("create", "jobs", "--bound", "3") == (0, "", "")
    assert run("exists", "jobs") == (0, "true\n", "")
    assert run("length", "jobs") == (0, "0\n", "")
    assert run("closed", "jobs") == (1, "false\n", "")
    assert run("close", "jobs") == (0, "", "")
    assert run("closed", "jobs") == (0, "true\n", "")
    assert run("repair", "jobs") == (0, "nothing to repair\n", "")
    assert run("delete", "jobs", "--timeout", "5") == (0, "", "")
    assert run("exists", "jobs") == (1, "false\n", "")


def test_an_error_is_one_line_and_an_exit_status(run: Any) -> None:
    assert run("length", "jobs") == (
        3,
        "",
        "pressure: queue 'jobs' does not exist: it was never created, or it has been deleted; create it first\n",
    )
    assert run("create", "jobs", "--bound", "-1")[0] == 2
    assert run("create", "jobs", "--bound", "x")[0] == 2
    assert run("create", "jobs")[0] == 0
    assert run("create", "jobs")[::2] == (
        5,
        "pressure: queue 'jobs' already exists; with exist_ok, create accepts it if its bound is the same\n",
    )
    assert run("length", "jobs", "--url", "redis://127.0.0.1:1/0")[0] == 4
    assert run("length", "jobs", "--url", "http://127.0.0.1/0")[0] == 2
    assert run("frobnicate", "jobs")[0] == 2
    assert run("put", "jobs", "--bound", "3")[::2] == (2, "pressure: --bound works only with --create\n")


def test_create_with_exist_ok_leaves_a_queue_alone_that_has_the_same_bound(run: Any) -> None:
    create = ("create", "jobs", "--exist-ok", "--bound")
    assert run(*create, "3") == (0, "", "")
    assert run("put", "jobs", "one", "--quiet")[0] == 0
    assert run(*create, "3") == (0, "", "")
    assert run("length", "jobs") == (0, "1\n", "")
    refused = (
        "pressure: queue 'jobs' already exists, with bound 3 instead of 4, and a bound cannot be changed\n"
    )
    assert run(*create, "4") == (5, "", refused)


def test_prefix_and_url_can_be_given_before_or_after_the_command(run: Any, redis_url: str) -> None:
    assert run("create", "jobs", "--prefix", "mine")[0] == 0
    assert run("--prefix", "mine", "exists", "jobs")[0] == 0
    assert run("--url", redis_url, "exists", "jobs")[0] == 1


@pytest.mark.parametrize("command", ["", *"create put get length closed close delete exists repair".split()])
def test_help_documents_the_exit_statuses(run: Any, command: str) -> None:
    status, out, _ = run(*filter(None, [command]), "--help")
    assert status == 0
    assert "exit status" in out


def test_lines_go_through_byte_for_byte(cli: Cli, raw: redis.Redis) -> None:
    text = b"one\n\n\xff\0\r\n" + b"x" * 200_000 + b"\nlast line without a newline"
    put = cli("put", "jobs", "--create", "--bound", "9", "--close")
    stream(put.stdin).write(text)
    stream(put.stdin).close()
    put.stdin = None
    until(lambda: raw.exists(f"{JOBS}:bound"))
    assert finish(cli("get", "jobs", "--delete")) == (
        0,
        text + b"\n",
        b"pressure get: 5 lines acknowledged\n",
    )
    assert finish(put) == (0, b"", b"pressure put: 5 lines acknowledged\n")
    assert raw.keys() == []


def test_put_neither_creates_nor_closes_unless_told(cli: Cli, raw: redis.Redis, queue: Queue) -> None:
    status, _, err = finish(cli("put", "jobs"), b"1\n")
    assert status == 3
    assert (
        b"pressure: queue 'jobs' does not exist: it was never created, or it has been deleted; create it first\n"
        in err
    )
    assert b"0 lines acknowledged" in err
    queue.create()
    assert finish(cli("put", "jobs"), b"1\n2\n")[0] == 0
    assert (queue.length(), queue.closed()) == (2, False)
    invariant(raw)


def test_queue_names_on_the_command_line_can_be_any_bytes(redis_url: str, raw: redis.Redis) -> None:
    environment = {**os.environ, "REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)}
    name = b"\xff\xc3\xbc"
    subprocess.run([sys.executable, "-m", "pressure", "create", name], env=environment, check=True)
    assert raw.exists(b"__pressure__:" + name + b":bound")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_put_on_a_full_queue_cleanly(
    cli: Cli, raw: redis.Redis, queue: Queue, number: int, status: int
) -> None:
    queue.create(2)
    put = cli("put", "jobs")
    stream(put.stdin).write(b"1\n2\n3\n")
    stream(put.stdin).flush()
    waiting(raw)
    put.send_signal(number)
    found, _, err = finish(put)
    assert found == status
    assert b"pressure put: 2 lines acknowledged\n" in err
    assert [queue.get(), queue.get()] == [b"1", b"2"]
    invariant(raw)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_get_on_an_empty_queue_cleanly(
    cli: Cli, raw: redis.Redis, queue: Queue, number: int, status: int
) -> None:
    queue.create()
    queue.put(b"1")
    get = cli("get", "jobs")
    assert stream(get.stdout).readline() == b"1\n"  # each line is flushed
    waiting(raw)
    get.send_signal(number)
    found, out, err = finish(get)
    assert (found, out) == (status, b"")
    assert b"pressure get: 1 line acknowledged\n" in err
    invariant(raw)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_put_at_once_while_it_waits_for_input(
    cli: Cli, raw: redis.Redis, queue: Queue, number: int
) -> None:
    queue.create()
    put = cli("put", "jobs")
    stream(put.stdin).write(b"1\n2")
    stream(put.stdin).flush()
    until(queue.length)
    put.send_signal(number)
    status, _, err = finish(put)
    assert status == 128 + number
    assert b"1 line acknowledged" in err
    invariant(raw)


def test_get_takes_no_message_after_its_reader_has_left(cli: Cli, raw: redis.Redis, queue: Queue) -> None:
    queue.create()
    get = cli("get", "jobs")
    waiting(raw)
    stream(get.stdout).close()
    get.stdout = None
    status, _, err = finish(get)
    assert status == 0
    assert b"the reader of the output has gone" in err
    queue.put(b"not lost")
    assert queue.get() == b"not lost"
    invariant(raw)


def test_get_ends_when_its_reader_leaves(cli: Cli, raw: redis.Redis, queue: Queue) -> None:
    queue.create()
    queue.put_many([b"%d" % number for number in range(1000)])
    get = cli("get", "jobs")
    head = [stream(get.stdout).readline() for _ in range(5)]
    stream(get.stdout).close()
    get.stdout = None
    assert head == [b"%d\n" % number for number in range(5)]
    status, _, err = finish(get)
    assert status in (0, 14)  # 14: it had just taken one
    assert b" lines acknowledged" in err
    invariant(raw)


def test_get_stops_taking_messages_while_its_reader_does_not_read(
    cli: Cli, raw: redis.Redis, queue: Queue
) -> None:
    queue.create()
    for _ in range(100):
        queue.put(b"x" * 4000)
    get = cli("get", "jobs")
    fd = stream(get.stdout).fileno()
    until(lambda: select.select([fd], [], [], 0)[0])
    until(lambda: queue.length() <= 100 - 15)
    get.send_signal(signal.SIGTERM)
    status, out, err = finish(get)
    assert status == 143
    told = re.search(rb"(\d+) lines? acknowledged", err)
    assert told
    assert int(told[1]) == out.count(b"\n") == 100 - queue.length()
    assert int(told[1]) <= 17, "more than a pipe of 64 KiB holds"
    invariant(raw)


def test_an_unreachable_server_is_reported_in_one_line(cli: Cli) -> None:
    status, _, err = finish(cli("put", "jobs", "--url", "redis://127.0.0.1:1/0"), b"1\n")
    assert status == 4
    first, second = err.splitlines()
    assert b"0 lines acknowledged" in first
    assert second.startswith(b"pressure: cannot use the Redis server at 127.0.0.1:1")


def test_acks_number_the_lines_that_were_put(cli: Cli, queue: Queue) -> None:
    queue.create()
    assert finish(cli("put", "jobs", "--acks"), b"a\nb\nc\n")[1] == b"1\n2\n3\n"


def acknowledged(path: Path) -> int:
    lines = path.read_bytes().split(b"\n")[:-1]
    return int(lines[-1]) if lines else 0


def crash_and_resend(cli: Cli, queue: Queue, folder: Path, count: int, kill_at: int, wait: bool) -> list[int]:
    """Put numbered lines, kill the process in the middle, repair, send the rest again; what comes out."""
    queue.create(0 if wait else 10)
    data, acks = folder / "in", folder / "acks"
    data.write_bytes(b"".join(b"%d\n" % number for number in range(count)))
    with data.open("rb") as source, acks.open("wb") as numbers:
        put = cli("put", "jobs", "--acks", stdin=source, stdout=numbers)
        until(lambda: acknowledged(acks) >= kill_at)
        put.kill()
        put.wait()
    assert finish(cli("repair", "jobs", "--force"))[0] == 0
    rest = b"".join(data.read_bytes().splitlines(keepends=True)[acknowledged(acks) :])
    assert finish(cli("put", "jobs", "--overfill", "--close"), rest)[0] == 0
    return [int(line) for line in queue]


@pytest.mark.parametrize("kill_at", [1, 40, 77])
def test_after_a_kill_a_repair_and_a_resend_no_line_is_missing(
    cli: Cli, queue: Queue, raw: redis.Redis, tmp_path: Path, kill_at: int
) -> None:
    got = crash_and_resend(cli, queue, tmp_path, 300, kill_at, wait=True)
    repeated = [second for first, second in pairwise(got) if first == second]
    assert sorted(set(got)) == list(range(300))
    assert got == sorted(got)
    assert len(repeated) <= 1
    invariant(raw)


def test_a_put_killed_while_it_waits_for_room_loses_and_doubles_no_line(
    cli: Cli, queue: Queue, raw: redis.Redis, tmp_path: Path
) -> None:
    got = crash_and_resend(cli, queue, tmp_path, 30, 10, wait=False)
    assert got == list(range(30))
    assert roles_free(raw)


@pytest.mark.slow
def test_100_000_lines_are_got_in_order(cli: Cli, queue: Queue, raw: redis.Redis, tmp_path: Path) -> None:
    queue.create(1000)
    text = b"".join(b"%d\n" % number for number in range(1, 100_001))
    (tmp_path / "in").write_bytes(text)
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        put = cli("put", "jobs", "--close", stdin=source)
        get = cli("get", "jobs", "--delete", stdout=target)
        assert finish(put, limit=600)[0] == finish(get, limit=600)[0] == 0
    assert (tmp_path / "out").read_bytes() == text
    assert raw.keys() == []
