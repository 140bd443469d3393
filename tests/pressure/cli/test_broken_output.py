"""``get`` whose reader leaves or whose disk is full: each message is written, put back, or shown in the error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from pressure import Queue
from tests.pressure.conftest import PREFIX, ROOT, invariant, until, waiting

from .conftest import Cli, finish, stream

LONG = b"x" * 200_000  # longer than a pipe
FULL = Path("/dev/full")
on_full_disks = pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")


def lost(err: bytes) -> list[bytes]:
    """The messages that standard error shows."""
    lines = [line.removeprefix("pressure: lost: ") for line in err.decode().splitlines() if "lost: " in line]
    return [json.loads(line)["text"].encode() for line in lines]


def leave_in_the_middle(cli: Cli, queue: Queue, *options: str) -> tuple[int, bytes]:
    """The reader goes away while a message is being written."""
    queue.create()
    queue.put_many([LONG, b"next"])
    get = cli("get", "jobs", *options)
    assert stream(get.stdout).read(1) == b"x"
    stream(get.stdout).close()
    get.stdout = None
    status, _, err = finish(get)
    return status, err


def test_a_message_that_get_cannot_write_is_shown_in_the_error(
    cli: Cli, queue: Queue, raw: redis.Redis
) -> None:
    status, err = leave_in_the_middle(cli, queue)
    assert status == 14
    assert lost(err) == [LONG]
    assert b"pressure get: 0 lines acknowledged\n" in err
    assert b"the reader of the output has gone; a message was taken and could not be written\n" in err
    assert queue.peek_many(9) == [b"next"]
    invariant(raw)


def test_a_message_that_reliable_get_cannot_write_goes_back_to_the_queue(
    cli: Cli, queue: Queue, raw: redis.Redis
) -> None:
    status, err = leave_in_the_middle(cli, queue, "--reliable")
    assert (status, lost(err)) == (0, [])
    assert queue.peek_many(9) == [LONG, b"next"]
    invariant(raw)


@on_full_disks
@pytest.mark.parametrize(("options", "taken"), [((), 1), (("--run", "3"), 3), (("--run", "3", "-n", "2"), 2)])
def test_get_takes_as_many_messages_at_once_as_its_options_say(
    cli: Cli, queue: Queue, options: tuple[str, ...], taken: int
) -> None:
    values = [b"one", b"two", b"three", b"four"]
    queue.create()
    queue.put_many(values)
    with FULL.open("wb") as full:
        status, _, err = finish(cli("get", "jobs", *options, stdout=full))
    assert (status, lost(err)) == (14, values[:taken])
    assert queue.get_many(9) == values[taken:]


@on_full_disks
def test_a_lost_message_that_is_not_text_is_shown_as_base64(cli: Cli, queue: Queue) -> None:
    queue.create()
    queue.put(b"\xff")
    with FULL.open("wb") as full:
        status, _, err = finish(cli("get", "jobs", stdout=full))
    assert status == 14
    assert b'pressure: lost: {"base64": "/w=="}\n' in err
    assert b"No space left on device; a message was taken and could not be written" in err


@on_full_disks
@pytest.mark.parametrize(
    ("arguments", "expected"), [("get jobs", 14), ("put jobs b --timeout 0", 8), ("put others --create a", 0)]
)
@pytest.mark.parametrize("has_reader", [True, False], ids=["full disk", "no reader"])
def test_the_status_is_the_same_where_standard_error_cannot_be_written(
    cli: Cli, queue: Queue, arguments: str, expected: int, has_reader: bool
) -> None:
    queue.create(1)
    queue.put("a")
    reader, errors = os.pipe()
    os.close(reader)
    with FULL.open("wb") as full:
        status, *_ = finish(cli(*arguments.split(), stdout=full, stderr=full if has_reader else errors))
    os.close(errors)
    assert status == expected


@on_full_disks
def test_reliable_get_on_a_full_disk_takes_no_message(cli: Cli, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put_many(["a", "b"])
    with FULL.open("wb") as full:
        status, _, err = finish(cli("get", "jobs", "--reliable", stdout=full))
    assert status == 12
    assert b"No space left on device" in err
    assert queue.peek_many(9) == [b"a", b"b"]
    invariant(raw)


def test_messages_that_do_not_fit_on_the_disk_are_shown_in_the_error(
    redis_url: str, queue: Queue, raw: redis.Redis, tmp_path: Path
) -> None:
    queue.create()
    messages = [b"%03d" % number * 30 for number in range(100)]
    queue.put_many(messages)
    out = tmp_path / "out"
    environment = {**os.environ, "REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)}
    line = f"ulimit -f 4; exec {sys.executable} -B -m pressure get jobs --run 256 > {out}"  # 4 kB, or 2; no bytecode, which would be cut, too
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, check=False)
    assert done.returncode == 14
    *written, part = out.read_bytes().split(b"\n")
    assert written + lost(done.stderr) == messages
    assert lost(done.stderr)[0].startswith(part)
    assert queue.length() == 0
    invariant(raw)


@pytest.mark.parametrize(("options", "most"), [([], 15), (["--run", "256"], 8), (["--run", "1"], 1010)])
def test_get_takes_together_what_is_in_the_queue(
    cli: Cli, queue: Queue, raw: redis.Redis, tmp_path: Path, options: list[str], most: int
) -> None:
    queue.create()
    messages = [b"%d" % number for number in range(1000)]
    queue.put_many(messages)
    queue.shutdown()
    raw.config_resetstat()
    with (tmp_path / "out").open("wb") as out:
        assert finish(cli("get", "jobs", *options, stdout=out))[0] == 0
    asked = raw.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert (tmp_path / "out").read_bytes() == b"".join(message + b"\n" for message in messages)
    assert most / 2 < asked <= most
    invariant(raw)


def test_a_killed_reliable_get_loses_nothing(cli: Cli, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put_many([LONG, b"next"])
    get = cli("get", "jobs", "--reliable")
    until(lambda: raw.llen(f"{PREFIX}jobs:unacked"))
    get.kill()
    get.wait()
    status, out, _ = finish(cli("repair", "jobs", "--force"))
    assert status == 0
    assert b"put 1 unacknowledged message back into the queue" in out
    assert queue.peek_many(9) == [LONG, b"next"]
    invariant(raw)


@pytest.mark.parametrize("options", [[], ["--reliable"]])
def test_get_loses_nothing_when_its_reader_leaves_while_the_queue_is_empty(
    cli: Cli, queue: Queue, raw: redis.Redis, options: list[str]
) -> None:
    queue.create()
    get = cli("get", "jobs", *options)
    waiting(raw)
    stream(get.stdout).close()
    get.stdout = None
    status, _, err = finish(get)
    assert (status, lost(err)) == (0, [])
    invariant(raw)
