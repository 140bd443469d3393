"""The ``miniredis`` command."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

import miniredis


@contextmanager
def running(*flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the first line it prints."""
    command = [sys.executable, "-m", "miniredis", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


def refused(*flags: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "miniredis", *flags], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_listens_and_stops_on_a_signal(number: signal.Signals) -> None:
    with running("--port", "0", "--databases", "2") as (process, line):
        found = re.fullmatch(r"listening on redis://127\.0\.0\.1:(\d+)\n", line)
        assert found
        with redis.Redis(port=int(found[1]), db=1) as client:
            assert client.ping()
            assert client.config_get("databases") == {"databases": "2"}
        process.send_signal(number)
        _, log = process.communicate(timeout=10)
        assert process.returncode == 0
        assert f"received {number.name}, stopping" in log
        assert "Traceback" not in log


def test_a_port_that_is_taken() -> None:
    with miniredis.start() as server:
        log = refused("--port", str(server.port))
    assert f"could not listen on 127.0.0.1:{server.port}: Address already in use" in log
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--nosuch", "1"], "line 2\n>>> 'nosuch \"1\"'\nBad directive or wrong number of arguments"),
        (["--port", "abc"], "line 2\n>>> 'port \"abc\"'\nargument couldn't be parsed into an integer"),
        (["--port", "70000"], "line 2\n>>> 'port \"70000\"'\nargument must be between 0 and 65535 inclusive"),
        (["--port", "1", "2"], "line 2\n>>> 'port \"1\" \"2\"'\nwrong number of arguments"),
        (["--databases", "0"], "line 2\n>>> 'databases \"0\"'\nargument must be between 1 and 2147483647 inclusive"),
        (["--loglevel", "x"], "line 2\n>>> 'loglevel \"x\"'\nargument(s) must be one of the following: debug, verbose, notice, warning"),
        (["--port", "0", "--appendonly", "maybe"], "line 3\n>>> 'appendonly \"maybe\"'\nargument must be 'yes' or 'no'"),
        (["--port", "0", "--appendonly", "yes"], "line 3\n>>> 'appendonly \"yes\"'\nthis server takes only 'no' here"),
        (["redis.conf"], "takes flags only"),
    ],
)  # fmt: skip
def test_bad_flags_get_redis_servers_own_error(flags: list[str], message: str) -> None:
    error = refused(*flags)
    assert "*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***" in error
    assert message in error


def test_directives_of_what_is_not_there_are_taken_at_their_off_value() -> None:
    off = [
        "--save",
        "",
        "--appendonly",
        "no",
        "--daemonize",
        "no",
        "--protected-mode",
        "no",
        "--maxmemory",
        "0",
    ]
    with running("--port", "0", *off) as (_, line):
        assert line.startswith("listening on ")


def test_help_and_version() -> None:
    for flag, words in [("--help", "--port 6379"), ("--version", miniredis.VERSION)]:
        done = subprocess.run(
            [sys.executable, "-m", "miniredis", flag], check=True, capture_output=True, text=True
        )
        assert words in done.stdout
