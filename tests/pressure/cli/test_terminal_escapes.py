"""Escape sequences in messages and names never reach a terminal, and stay as they are in a pipe."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator

import pytest
import redis

from pressure import Queue
from pressure.cli import _fail, main
from pressure.cli.status import UNEXPECTED, LostError

from ..conftest import server_fixture
from .terminal import terminal

#: A terminal would clear its screen, set its title, turn red, and send back what it is.
EVIL = b"x\x1b[2J\x1b]0;t\x07\x9b31m\x7f" + "\x9b31m\x85\u202e".encode()
NAME = os.fsdecode(EVIL)
WRONG_USAGE = 2
ROOT = b"__pressure__:" + EVIL

server_address = server_fixture("miniredis", more=("redis-server",))

#: All that shows what others wrote, and what fails over it.
COMMANDS = (
    "ls",
    "ls --names",
    "ls --json",
    "top --once",
    "top --once --json",
    "doctor",
    "doctor --json",
    "doctor EVIL",
    "inspect EVIL",
    "inspect EVIL --json",
    "inspect EVIL --kind backup",
    "length EVIL --json",
    "length GONE",
    "exists EVIL --json",
    "peek EVIL -n 9",
    "peek EVIL --null",
    "peek EVIL --binary",
    "peek EVIL --json",
    "peek EVIL --kind backup",
    "get EVIL --timeout 0.01",
    "get EVIL --kind backup -n 1",
    "put EVIL --quiet --timeout 0.01 value",
    "create EVIL",
    "close EVIL --timeout 0.01",
    "inprogress EVIL",
    "inprogress EVIL EVIL",
    "repair EVIL",
    "repair EVIL --json",
    "repair EVIL --force",
    "get BAD --timeout 0.01",
    "length BAD --json",
    "doctor BAD",
    "inspect BAD",
)


@pytest.fixture(autouse=True)
def forged(make: Callable[..., Queue], raw: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues whose names, values, holders and bounds somebody forged."""
    monkeypatch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", 0.01)
    for which in (make(EVIL), make("bad")):
        which.create()
        which.put_many([EVIL, EVIL])
    for role in (b"producer", b"consumer"):
        raw.set(ROOT + b":" + role, EVIL)
        raw.rpop(ROOT + b":" + role + b"_free")
    raw.set("__pressure__:bad:bound", EVIL)
    raw.lpush(b"queue:" + EVIL, EVIL, EVIL)
    raw.lpush(b"queue:" + EVIL + b":processing", EVIL)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, redis_url: str) -> Iterator[Callable[[str], tuple[int, str]]]:
    """Runs the command on a terminal: its status, and what the terminal is sent."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    with terminal() as found:

        def call(line: str) -> tuple[int, str]:
            words = {"EVIL": NAME, "GONE": NAME + "gone", "BAD": "bad"}
            with monkeypatch.context() as patched, os.fdopen(os.dup(found.fd), "w") as end:
                patched.setattr(sys, "stdout", end)
                patched.setattr(sys, "stderr", end)
                status = main([words.get(word, word) for word in line.split(" ")])
            while select.select([found.ours], [], [], 0)[0]:
                found.text += os.read(found.ours, 1 << 16)
            return status, found.text.decode()

        yield call


@pytest.mark.parametrize("line", COMMANDS)
def test_no_command_sends_escape_sequences_to_a_terminal(
    screen: Callable[[str], tuple[int, str]], line: str
) -> None:
    status, text = screen(line)
    assert text
    assert status not in (UNEXPECTED, WRONG_USAGE)
    assert [c for c in text.replace("\r\n", "") if not c.isprintable()] == []


def test_output_to_a_pipe_keeps_escape_sequences(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    main(["peek", NAME])
    main(["ls", "--names", "--kind", "queue"])
    main(["get", NAME, "-q", "--kind", "backup", "-n", "1"])
    assert capfdbinary.readouterr().out == EVIL + b"\n" + b"bad\n" + EVIL + b"\n" + EVIL + b"\n"


def test_a_lost_message_is_shown_with_its_spaces_unchanged(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    _fail(LostError("the disk is full", [b"two  spaces"]))
    assert b'{"text": "two  spaces"}' in capfdbinary.readouterr().err
