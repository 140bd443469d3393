"""Messages through put and get in each format, as arguments and by standard input."""

from __future__ import annotations

import json
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

pytestmark = pytest.mark.usefixtures("forked")

MESSAGES = [b"one", b"", b"two\nlines", b"\xff\0\r\n", b"x" * 200_000]


def packed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def test_binary_goes_through_byte_for_byte(cli: Cli, queue: Queue) -> None:
    queue.create()
    text = b"".join(map(packed, MESSAGES))
    assert finish(cli("put", "jobs", "--binary", "--close"), text)[0] == 0
    assert queue.peek_many(9) == MESSAGES
    assert finish(cli("get", "jobs", "--binary"))[1] == text


def test_malformed_binary_input_is_reported_before_the_input_ends(cli: Cli, queue: Queue) -> None:
    queue.create()
    put = cli("put", "jobs", "--binary")
    feed(put, packed(b"one") + b"more than that")
    assert put.wait(60) == 12
    assert queue.peek_many(9) == [b"one"]


def test_messages_are_got_as_lines_of_json(run: Run, queue: Queue) -> None:
    queue.create()
    queue.put_many(MESSAGES[:4])
    queue.shutdown()
    status, out, err = run("get", "jobs", "--json")
    assert (status, err) == (0, "pressure get: 4 lines acknowledged\n")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"text": "one"}, {"text": ""}, {"text": "two\nlines"}, {"base64": "/wANCg=="},
    ]  # fmt: skip


def test_nul_goes_through_byte_for_byte(cli: Cli, queue: Queue) -> None:
    queue.create()
    text = b"a\nb\0\0c\0"
    assert finish(cli("put", "jobs", "--null", "--close"), text)[0] == 0
    assert queue.peek_many(9) == [b"a\nb", b"", b"c"]
    assert finish(cli("get", "jobs", "-0"))[1] == text


@pytest.mark.parametrize(
    ("rest", "said"),
    [(b"\0\0\0\5ab", b"in the format of --binary at byte 13: "), (b"hello\n", b"more than Redis takes")],
)
def test_messages_before_malformed_binary_input_are_put(
    cli: Cli, queue: Queue, rest: bytes, said: bytes
) -> None:
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


def test_quiet_prints_nothing_on_standard_error(run: Run, queue: Queue) -> None:
    queue.create()
    assert run("put", "jobs", "-q", "one") == (0, "", "")
    assert run("get", "jobs", "-n", "1", "--quiet") == (0, "one\n", "")


def test_put_stores_each_line_as_soon_as_it_is_complete(cli: Cli, queue: Queue) -> None:
    queue.create()
    put = cli("put", "jobs")
    for number in range(3):
        feed(put, b"%d\nhalf" % number)
        assert until(queue.length) == 1
        assert queue.get(timeout=0) == (b"%d" % number if not number else b"half%d" % number)
    feed(put, b"", end=True)
    assert finish(put)[0] == 0
    assert queue.get() == b"half"


def test_lines_that_arrive_together_are_put_with_few_commands(
    cli: Cli, queue: Queue, raw: redis.Redis
) -> None:
    queue.create()
    raw.config_resetstat()
    assert finish(cli("put", "jobs"), b"".join(b"%d\n" % number for number in range(1000)))[0] == 0
    calls = sum(int(each["calls"]) for each in raw.info("commandstats").values())
    assert queue.length() == 1000
    assert calls < 100
    invariant(raw)


def test_put_of_more_lines_than_the_bound_puts_them_as_room_appears(
    cli: Cli, queue: Queue, raw: redis.Redis
) -> None:
    queue.create(2)
    put = cli("put", "jobs")
    feed(put, b"1\n2\n3\n4\n5\n", end=True)
    waiting(raw)
    assert queue.length() == 2
    assert [queue.get() for _ in range(5)] == [b"1", b"2", b"3", b"4", b"5"]
    assert finish(put)[0] == 0
    invariant(raw)


@pytest.mark.parametrize("bound", ["1", "3"])
def test_put_on_a_full_queue_has_its_own_exit_status(run: Run, queue: Queue, bound: str) -> None:
    queue.create(int(bound))
    status, _, err = run("put", "jobs", *"abcd", "--timeout", "0")
    assert (status, queue.length()) == (8, int(bound))
    count = "1 line" if bound == "1" else f"{bound} lines"
    assert err == f"pressure put: {count} acknowledged\npressure: queue 'jobs' is full\n"


def test_the_timeout_of_put_starts_again_after_each_message_that_was_put(
    run: Run, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_get_from_an_empty_queue_has_its_own_exit_status(run: Run, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put("one")
    assert run("get", "jobs", "--timeout", "0") == (
        9,
        "one\n",
        "pressure get: 1 line acknowledged\npressure: queue 'jobs' is empty\n",
    )
    raw.rpop(f"{PREFIX}jobs:consumer_free")
    assert run("get", "jobs", "--timeout", "0")[0] == 7


def test_get_ends_after_the_given_number_of_messages(run: Run, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    queue.put_many(list("abcde"))
    queue.shutdown()
    assert run("get", "jobs", "-n", "2", "--delete")[:2] == (0, "a\nb\n")
    assert run("get", "jobs", "-n", "2", "--reliable")[:2] == (0, "c\nd\n")
    assert queue.length() == 1
    assert run("get", "jobs", "-n", "2", "--delete")[:2] == (0, "e\n")
    assert raw.keys() == []


def test_get_writes_each_message_at_once(cli: Cli, queue: Queue, raw: redis.Redis) -> None:
    queue.create()
    get = cli("get", "jobs", "--reliable", "--null")
    for word in (b"one", b"two"):
        waiting(raw)
        queue.put(word)
        assert stream(get.stdout).read(4) == word + b"\0"
    queue.shutdown()
    assert finish(get)[0] == 0
    invariant(raw)
