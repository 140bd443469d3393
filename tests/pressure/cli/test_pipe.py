"""``pipe``: a command between two queues, how it ends, and that no message is lost."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from pressure import Queue
from pressure.cli.filter import Filter
from pressure.cli.framing import FORMATS
from pressure.cli.stop import Signals
from tests.pressure.conftest import PREFIX, invariant, until, waiting

from .conftest import Cli, Run, finish

PREFIXED = ("sh", "-c", 'while read -r line; do echo "x$line"; done')
SILENT = ("sh", "-c", "cat > /dev/null")


@pytest.fixture
def source(make: Callable[..., Queue]) -> Queue:
    """A closed queue with three messages."""
    queue = make("jobs")
    queue.create()
    queue.put_many([b"1", b"2", b"3"])
    queue.shutdown()
    return queue


@pytest.fixture
def target(make: Callable[..., Queue]) -> Queue:
    """An empty queue."""
    queue = make("out")
    queue.create()
    return queue


def untouched(raw: redis.Redis, source: Queue, *left: bytes) -> None:
    assert source.peek_many(9) == list(left)
    assert not raw.exists(f"{PREFIX}jobs:unacked")
    invariant(raw)
    invariant(raw, "out")


def test_each_message_is_replaced_by_one_line_of_the_command(
    run: Run, source: Queue, target: Queue, raw: redis.Redis
) -> None:
    assert run("pipe", "jobs", "--", *PREFIXED, "--", "out") == (
        0,
        "",
        "pressure pipe: 3 messages acknowledged\n",
    )
    assert target.peek_many(9) == [b"x1", b"x2", b"x3"]
    assert not target.closed()
    untouched(raw, source)


@pytest.mark.usefixtures("source")
def test_close_closes_the_destination_when_the_source_is_closed(run: Run, target: Queue) -> None:
    assert run("pipe", "jobs", "--", *PREFIXED, "--", "out", "--close")[0] == 0
    assert list(target) == [b"x1", b"x2", b"x3"]


def test_pipe_ends_after_the_given_number_of_messages(
    run: Run, source: Queue, target: Queue, raw: redis.Redis
) -> None:
    assert run("pipe", "jobs", "-n", "2", "--close", "--", *PREFIXED, "--", "out")[0] == 0
    assert target.peek_many(9) == [b"x1", b"x2"]
    assert not target.closed()
    untouched(raw, source, b"3")


@pytest.mark.usefixtures("source")
def test_lines_that_the_command_prints_at_its_end_are_put(run: Run, target: Queue) -> None:
    counts = 'n=0; while read -r line; do echo "$line"; n=$((n + 1)); done; echo $n; exit 7'
    status, _, err = run("pipe", "jobs", "--", "sh", "-c", counts, "--", "out", "--close")
    assert (status, err.splitlines()[-1]) == (13, "pressure: command sh failed with status 7")
    assert target.peek_many(9) == [b"1", b"2", b"3", b"3"]
    assert not target.closed()


@pytest.mark.parametrize("options", [[], ["--each"]])
@pytest.mark.parametrize(
    ("end", "how"), [("exit 3", "failed with status 3"), ("kill -9 $$", "ended by signal 9")]
)
def test_the_message_of_a_command_that_fails_goes_back_to_its_queue(
    run: Run, source: Queue, target: Queue, raw: redis.Redis, options: list[str], end: str, how: str
) -> None:
    script = f"while read -r line; do [ $line = 2 ] && {{ {end}; }}; echo $line; done"
    status, _, err = run("pipe", "jobs", *options, "--", "sh", "-c", script, "--", "out", "--close")
    assert status == 13
    assert how in err
    assert err.endswith("; the message went back to queue 'jobs'\n")
    assert target.peek_many(9) == [b"1"]
    assert not target.closed()
    untouched(raw, source, b"2", b"3")


def test_a_command_that_ends_early_with_status_0_ends_pipe_with_status_0(
    run: Run, source: Queue, target: Queue, raw: redis.Redis
) -> None:
    once = 'read -r line; echo "$line"'
    assert run("pipe", "jobs", "--", "sh", "-c", once, "--", "out", "--close")[0] == 0
    assert target.peek_many(9) == [b"1"]
    assert not target.closed()
    untouched(raw, source, b"2", b"3")


@pytest.mark.parametrize(("word", "status"), [("no-such-command", 127), ("/dev/null", 126)])
@pytest.mark.parametrize("options", [[], ["--each"]])
@pytest.mark.usefixtures("target")
def test_a_command_that_cannot_be_run_has_its_own_exit_status_and_takes_no_message(
    run: Run, source: Queue, raw: redis.Redis, word: str, status: int, options: list[str]
) -> None:
    assert run("pipe", "jobs", *options, "--", word, "--", "out")[0] == status
    untouched(raw, source, b"1", b"2", b"3")


@pytest.mark.parametrize(("state", "status"), [("deleted", 3), ("closed", 6), ("full", 8)])
def test_a_message_whose_result_cannot_be_put_goes_back_to_its_queue(
    run: Run, source: Queue, make: Callable[..., Queue], raw: redis.Redis, state: str, status: int
) -> None:
    target = make("out")
    if state != "deleted":
        target.create(1)
        target.put(b"already there")
    if state == "closed":
        target.shutdown()
    assert run("pipe", "jobs", "--timeout", "0", "--", *PREFIXED, "--", "out")[0] == status
    assert source.peek_many(9) == [b"1", b"2", b"3"]
    invariant(raw)


def test_pipe_waits_while_the_destination_is_full(
    cli: Cli, source: Queue, make: Callable[..., Queue], raw: redis.Redis
) -> None:
    target = make("out")
    target.create(1)
    pipe = cli("pipe", "jobs", "--close", "--", *PREFIXED, "--", "out")
    waiting(raw)
    assert (target.length(), raw.llen(f"{PREFIX}jobs:unacked"), source.length()) == (1, 1, 1)
    assert list(target) == [b"x1", b"x2", b"x3"]
    assert finish(pipe)[0] == 0
    untouched(raw, source)


# Once for each message


def test_with_each_one_message_can_become_any_number_of_lines(
    run: Run, source: Queue, target: Queue, raw: redis.Redis
) -> None:
    script = 'read -r n; [ $n = 2 ] || { echo "$n"; printf "%s again" "$n"; }'
    assert run("pipe", "jobs", "--each", "--", "sh", "-c", script, "--", "out")[0] == 0
    assert target.peek_many(9) == [b"1", b"1 again", b"3", b"3 again"]
    untouched(raw, source)


@pytest.mark.parametrize(
    ("option", "script", "made"),
    [
        ("--binary", "cat", [b"a\nb\0c"]),
        ("--binary", "cat > /dev/null", [b""]),
        ("--null", "tr -d '\\n'", [b"ab", b"c"]),
        ("--each", "cat", [b"a", b"b\0c"]),
    ],
)
def test_with_each_the_output_is_read_in_the_format_given(
    run: Run, make: Callable[..., Queue], target: Queue, option: str, script: str, made: list[bytes]
) -> None:
    source = make("jobs")
    source.create()
    source.put(b"a\nb\0c")
    source.shutdown()
    assert run("pipe", "jobs", "--each", option, "--", "sh", "-c", script, "--", "out")[0] == 0
    assert target.peek_many(9) == made


# One that runs all the time


@pytest.mark.parametrize("message", [b"x" * 1_000_000, b"", b"two\nlines"])
def test_with_binary_any_bytes_go_through_unchanged(
    run: Run, make: Callable[..., Queue], target: Queue, message: bytes
) -> None:
    source = make("jobs")
    source.create()
    source.put_many([message, b"after it"])
    source.shutdown()
    assert run("pipe", "jobs", "--binary", "--", "cat", "--", "out")[0] == 0
    assert target.peek_many(9) == [message, b"after it"]


@pytest.mark.usefixtures("target")
def test_a_message_that_contains_the_separator_is_refused(
    run: Run, make: Callable[..., Queue], raw: redis.Redis
) -> None:
    source = make("jobs")
    source.create()
    source.put(b"two\nlines")
    status, _, err = run("pipe", "jobs", "--", "cat", "--", "out")
    assert status == 12
    assert "a message contains the separator" in err
    untouched(raw, source, b"two\nlines")


@pytest.mark.usefixtures("target")
def test_output_that_is_not_in_the_format_given_is_refused(run: Run, source: Queue, raw: redis.Redis) -> None:
    status, _, err = run("pipe", "jobs", "--binary", "--", "echo", "hello", "--", "out")
    assert status == 12
    assert "no message in the format of --binary at byte 0" in err
    untouched(raw, source, b"1", b"2", b"3")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("options", "work"),
    [([], "exec sleep 1000"), (["--each"], "sleep 1000 | cat"), (["--each"], "sleep 1000 & exit")],
)
@pytest.mark.usefixtures("target")
def test_a_signal_ends_pipe_and_all_that_its_command_runs_and_the_message_goes_back(
    cli: Cli, source: Queue, raw: redis.Redis, tmp_path: Path, number: int, options: list[str], work: str
) -> None:
    note = tmp_path / "pid"
    pipe = cli("pipe", "jobs", *options, "--", "sh", "-c", f"echo $$ > {note}; {work}", "--", "out")
    until(lambda: raw.llen(f"{PREFIX}jobs:unacked") and note.exists() and note.read_text().endswith("\n"))
    pipe.send_signal(number)
    status, *_ = finish(pipe, limit=60)  # there is no end while a process has its standard error
    assert status == 128 + number
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)
    untouched(raw, source, b"1", b"2", b"3")


#: Ends when its program says so, in a group whose first process ends at once.
LEFT_BEHIND = """
import os, signal, time
if os.fork():
    os._exit(0)
{prepare}
print(os.getpid(), flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize(
    ("prepare", "is_ended"),
    [("signal.signal(signal.SIGTERM, signal.SIG_IGN)", True), ("os.setsid()", False)],
    ids=["ignores SIGTERM", "has left the group"],
)
def test_what_a_command_has_started_is_killed_unless_it_has_left_its_group(
    monkeypatch: pytest.MonkeyPatch, prepare: str, is_ended: bool
) -> None:
    monkeypatch.setattr("pressure.cli.filter._GRACE", 0.1)
    program = (sys.executable, "-c", LEFT_BEHIND.format(prepare=prepare))
    with Signals() as signals, Filter(program, FORMATS["lines"], signals) as command:
        number = int(command.ask(b""))
        until(lambda: command._process.poll() is not None, "the first process has ended")
    if not is_ended:
        os.kill(number, signal.SIGKILL)
    until(lambda: not is_running(number), "it has ended")


def is_running(number: int) -> bool:
    """Whether there is a process with this number."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_killed_pipe_loses_no_message(
    cli: Cli, source: Queue, target: Queue, raw: redis.Redis, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    script = f"read -r line; echo $line; cat > /dev/null; touch {over}"
    pipe = cli("pipe", "jobs", "--", "sh", "-c", script, "--", "out")
    until(lambda: raw.lrange(f"{PREFIX}jobs:unacked", 0, -1) == [b"2"], "is the second one at work")
    pipe.kill()
    pipe.wait()
    assert finish(cli("repair", "jobs", "--force"))[0] == 0
    until(over.exists, "has the command ended")
    assert target.peek_many(9) == [b"1"]
    untouched(raw, source, b"2", b"3")


class Slow(Exception):  # noqa: N818
    """What a test does about it."""


def test_a_command_that_does_not_answer_in_time_is_reported() -> None:
    def slow() -> None:
        raise Slow

    with Signals() as signals:
        with Filter(SILENT, FORMATS["lines"], signals, slow, slow_after=0.01) as running, pytest.raises(Slow):
            running.ask(b"1")
        with Filter(("cat",), FORMATS["lines"], signals, slow, slow_after=60) as running:
            assert running.ask(b"1") == b"1"
