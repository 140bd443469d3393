"""Commands whose standard input, output or error is closed, as by ``>&-`` in a shell."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pressure import Queue, ReliableQueue
from tests.pressure.conftest import ROOT

from .conftest import Run

#: The stream that is closed, the command, its exit status, and what is in the queue then; it had "a" and "b".
CASES = {
    "get without output": ("stdout", "get jobs -n 1", 2, [b"a", b"b"]),
    "ls without output": ("stdout", "ls", 2, [b"a", b"b"]),
    "put without input": ("stdin", "put jobs", 2, [b"a", b"b"]),
    "put, with arguments, without input": ("stdin", "put jobs c", 0, [b"a", b"b", b"c"]),
    "put without output": ("stdout", "put jobs c", 0, [b"a", b"b", b"c"]),
    "put without error": ("stderr", "put jobs c", 0, [b"a", b"b", b"c"]),
    "get without error": ("stderr", "get jobs -n 1", 0, [b"b"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_command_that_needs_a_closed_stream_does_nothing(
    case: str, run: Run, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, command, expected, left = CASES[case]
    queue.create()
    queue.put_many(["a", "b"])
    monkeypatch.setattr(sys, stream, None)
    status, _, err = run(*command.split())
    assert (status, queue.peek_many(9)) == (expected, left)
    assert ("is closed, and this command needs it" in err) == (expected == 2), err


def test_get_of_a_reliable_queue_without_output_takes_nothing(
    run: Run, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ReliableQueue("mails", url=redis_url) as mails:
        mails.push("a")
        monkeypatch.setattr(sys, "stdout", None)
        assert run("get", "mails", "--kind", "reliable", "-n", "1")[0] == 2
        assert (mails.info().undelivered, mails.info().delivered) == (1, 0)


def test_no_connection_gets_the_number_of_a_closed_stream(queue: Queue, redis_url: str) -> None:
    """The whole of it, in a process: the message is put although there is nobody to tell."""
    queue.create()
    command = f"exec '{sys.executable}' -m pressure put jobs c <&- >&- 2>&-"
    environment = {**os.environ, "REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(["sh", "-c", command], env=environment).returncode == 0
    assert queue.peek_many(9) == [b"c"]
