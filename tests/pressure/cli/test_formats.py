"""What goes in by put and comes out by get, in each format, from arguments and from standard input."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
import redis

from pressure import Queue, QueueFullError
from tests.pressure.conftest import PREFIX, ROOT, invariant, until, waiting

from .conftest import Cli, Run, feed, finish, stream

MESSAGES = [b"one", b"", b"two\nlines", b"\xff\0\r\n", b"x" * 200_000]


def packed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def test_binary_goes_through_byte_for_byte(cli: Cli, queue: Queue) -> None:
    queue.create()
    text = b"".join(map(packed, MESSAGES))
    assert finish(cli("put", "jobs", "--binary", "--close"), text)[0] == 0
    assert queue.peek_many(9) == MESSAGES
    assert finish(cli("get", "jobs", "--binary"))[1] == text


def test_what_is_broken_is_told_at_once(cli: Cli, queue: Queue) -> None:
    queue.create()
    put = cli("put", "jobs", "--binary")
    feed(put, packed(b"one") + b"more than that")
    assert put.wait(60) == 12
    assert queue.peek_many(9) == [b"one"]


def test_nul_goes_through_byte_for_byte(cli: Cli, queue: Queue) -> None:
    queue.create()
    text = b"a\nb\0\0c\0"
    assert finish(cli("put", "jobs", "--null", "--close"), text)[0] == 0
    assert queue.peek_many(9) == [b"a\nb", b"", b"c"]
    assert finish(cli("get", "jobs", "-0"))[1] == text


@pytest.mark.parametrize(
    ("rest", "said"), [(b"\0\0\0\5ab", b"at byte 13, as --binary"), (b"hello\n", b"more than Redis takes")]
)
def test_what_is_broken_loses_nothing_before_it(cli: Cli, queue: Queue, rest: bytes, said: bytes) -> None:
    queue.create()
    status, _, err = finish(cli("put", "jobs", "--binary", "--close"), packed(b"one") + packed(b"2\n") + rest)
    assert status == 12
    assert said in err
    assert b"pressure put: 2 messages acknowledged\n" in err
    assert queue.peek_many(9) == [b"one", b"2\n"]
    assert not queue.closed()


def test_messages_may_be_arguments(run: Run, queue: Queue) -> None:
    queue.create()
    line = ("put", "jobs", "one", "--close", "", "--", "-x", "--close")
    assert run(*line) == (0, "", "pressure put: 4 lines acknowledged\n")
    assert queue.peek_many(9) == [b"one", b"", b"-x", b"--close"]
    assert queue.closed()


def test_an_argument_may_be_any_bytes(redis_url: str, queue: Queue) -> None:
    queue.create()
    environment = {**os.environ, "REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "pressure", "put", "jobs", b"\xff\n"], env=environment, check=True)
    assert queue.get() == b"\xff\n"


def test_quiet_says_nothing(run: Run, queue: Queue) -> None:
    queue.create()
    assert run("put", "jobs", "-q", "one") == (0, "", "")
    assert run("get", "jobs", "-n", "1", "--quiet") == (0, "one\n", "")


def test_no_message_waits_for_others(cli: Cli, queue: Queue) -> None:
    queue.create()
    put = cli("put", "jobs")
    for number in range(3):
        feed(put, b"%d\nhalf" % number)
        assert until(queue.length) == 1
        assert queue.get(timeout=0) == (b"%d" % number if not number else b"half%d" % number)
    feed(put, b"", end=True)
    assert finish(put)[0] == 0
    assert queue.get() == b"half"


def test_what_comes_together_is_put_together(cli: Cli, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    raw.config_resetstat()
    assert finish(cli("put", "jobs"), b"".join(b"%d\n" % number for number in range(1000)))[0] == 0
    calls = sum(int(each["calls"]) for each in raw.info("commandstats").values())
    assert queue.length() == 1000
    assert calls < 100
    invariant(raw)


def test_a_run_is_no_longer_than_the_bound(cli: Cli, queue: Queue, raw: redis.Redis) -> None:
    queue.create(2)
    put = cli("put", "jobs")
    feed(put, b"1\n2\n3\n4\n5\n", end=True)
    waiting(raw)
    assert queue.length() == 2
    assert [queue.get() for _ in range(5)] == [b"1", b"2", b"3", b"4", b"5"]
    assert finish(put)[0] == 0
    invariant(raw)


@pytest.mark.parametrize("bound", ["1", "3"])
def test_a_full_queue_has_its_own_status(run: Run, queue: Queue, bound: str) -> None:
    queue.create(int(bound))
    status, _, err = run("put", "jobs", *"abcd", "--timeout", "0")
    assert (status, queue.length()) == (8, int(bound))
    assert err == f"pressure put: {bound} lines acknowledged\npressure: queue 'jobs' is full\n"


def test_time_runs_from_message_to_message(run: Run, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of which some was put in time goes on with as much time again."""
    whole = Queue.put_many

    def in_part(self: Queue, values: Sequence[bytes], **options: Any) -> None:
        whole(self, values[:1], **options)
        if len(values) > 1:
            error = QueueFullError("full")
            error.done = 1
            raise error

    monkeypatch.setattr(Queue, "put_many", in_part)
    queue.create()
    assert run("put", "jobs", *"abc", "--timeout", "9") == (0, "", "pressure put: 3 lines acknowledged\n")
    assert queue.peek_many(9) == [b"a", b"b", b"c"]


def test_an_empty_queue_has_its_own_status(run: Run, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put("one")
    assert run("get", "jobs", "--timeout", "0") == (
        9,
        "one\n",
        "pressure get: 1 lines acknowledged\npressure: queue 'jobs' is empty\n",
    )
    raw.rpop(f"{PREFIX}jobs:consumer_free")
    assert run("get", "jobs", "--timeout", "0")[0] == 7


def test_get_ends_after_so_many(run: Run, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put_many("abcde")
    queue.close()
    assert run("get", "jobs", "-n", "2", "--delete")[:2] == (0, "a\nb\n")
    assert run("get", "jobs", "-n", "2", "--reliable")[:2] == (0, "c\nd\n")
    assert queue.length() == 1
    assert run("get", "jobs", "-n", "2", "--delete")[:2] == (0, "e\n")
    assert raw.keys() == []


def test_each_message_is_there_at_once(cli: Cli, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    get = cli("get", "jobs", "--reliable", "--null")
    for word in (b"one", b"two"):
        waiting(raw)
        queue.put(word)
        assert stream(get.stdout).read(4) == word + b"\0"
    queue.close()
    assert finish(get)[0] == 0
    invariant(raw)
