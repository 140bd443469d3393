"""The ``miniredis`` command."""

from __future__ import annotations

import importlib.metadata
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

import miniredis
from miniredis.__main__ import main

pytestmark = pytest.mark.usefixtures("forked")


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


def refused(*flags: str, status: int) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "miniredis", *flags], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == status
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_address_and_stops_on_a_signal(number: signal.Signals) -> None:
    with running("--port", "0", "--databases", "2") as (process, line):
        found = re.fullmatch(r"listening on redis://127\.0\.0\.1:(\d+)\n", line)
        assert found
        with redis.Redis(port=int(found[1]), db=1) as client:
            assert client.ping()
            assert client.config_get("databases") == {"databases": "2"}
        process.send_signal(number)
        _, log = process.communicate(timeout=600)
        assert process.returncode == 0
        assert f"received {number.name}, stopping" in log
        assert "Traceback" not in log


def test_a_port_in_use_is_named_in_the_error() -> None:
    with miniredis.start() as server:
        log = refused("--port", str(server.port), status=1)
    assert f"could not listen on 127.0.0.1:{server.port}: Address already in use" in log
    assert "--port 0 picks a free port" in log


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--nosuch", "1"], "--nosuch 1: Bad directive or wrong number of arguments\n"),
        (["--prt", "1"], "--prt 1: Bad directive or wrong number of arguments (did you mean --port?)\n"),
        (["--password", "1"], "--password 1: Bad directive or wrong number of arguments (did you mean --requirepass?)\n"),
        (["--port=6379"], "--port=6379: Bad directive or wrong number of arguments (write --port 6379)\n"),
        (["--sentinel", "x"], "--sentinel x: Bad directive or wrong number of arguments (not supported by miniredis)\n"),
        (["--user", "x", "nosuch"], "--user x nosuch: Error in user declaration 'x': Syntax error\n"),
        (["--port", "abc"], "--port abc: argument couldn't be parsed into an integer\n"),
        (["--port", "70000"], "--port 70000: argument must be between 0 and 65535 inclusive\n"),
        (["--port", "1", "2"], "--port 1 2: wrong number of arguments\n"),
        (["--port"], "--port: wrong number of arguments\n"),
        (["--save", "60"], "--save 60: Invalid save parameters (write it as in --save 60 100)\n"),
        (["--databases", "0"], "--databases 0: argument must be between 1 and 2147483647 inclusive\n"),
        (["--loglevel", "x"], "--loglevel x: argument(s) must be one of the following: debug, verbose, notice, warning\n"),
        (["--port", "0", "--tls-cluster", "yes"], "--tls-cluster yes: not supported by miniredis, which accepts only 'no' (the default)\n"),
        ([os.devnull, "redis.conf"], "'redis.conf' is neither the configuration file, which comes first, nor a flag\n"),
        (["-p", "6379"], "unknown flag -p: flags start with two dashes, such as --port 6379\n"),
    ],
)  # fmt: skip
def test_a_bad_flag_is_named_with_redis_servers_reason(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags) == 2
    assert capsys.readouterr() == ("", f"miniredis: error: {message}Run 'miniredis --help' for the flags.\n")


def test_a_bad_flag_ends_the_process_with_status_2() -> None:
    assert refused("--prt", "1", status=2).startswith("miniredis: error: --prt 1:")


def test_a_unix_socket_that_cannot_be_created_is_named_in_the_error(tmp_path: Path) -> None:
    log = refused("--port", "0", "--unixsocket", str(tmp_path / "none" / "s"), status=1)
    assert "none/s: No such file or directory" in log


def test_directives_of_unsupported_features_are_accepted_with_their_off_value() -> None:
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


def test_the_flags_that_pytest_redis_gives_to_a_redis_server_are_accepted(tmp_path: Path) -> None:
    flags = (
        "--daemonize no --rdbcompression no --rdbchecksum no --appendonly no --databases 8 --timeout 15"
        " --pidfile redis.pid --unixsocket redis.sock --dbfilename dump.rdb --logfile redis.log"
        " --loglevel notice --syslog-enabled no --bind 127.0.0.1 --port 0"
    )
    with running(*flags.split(), "--dir", str(tmp_path)) as (_, line):
        assert line.startswith("listening on ")
        with redis.Redis(unix_socket_path=str(tmp_path / "redis.sock")) as client:
            assert client.config_get("timeout") == {"timeout": "15"}
        assert (tmp_path / "redis.pid").exists()


@pytest.mark.parametrize("flags", [["--help"], ["-h"], ["--port", "0", "--help"]])
def test_help_shows_the_flags_in_at_most_85_columns(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags) == 0
    usage = capsys.readouterr().out
    assert "--port 6379" in usage
    assert max(map(len, usage.splitlines())) <= 85


def test_the_defaults_in_the_help_are_the_real_ones(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    shown = dict(re.findall(r"^  --([a-z-]+) (\S+)  ", capsys.readouterr().out, re.MULTILINE))
    assert len(shown) == 17
    assert {name: miniredis.Config()[name] for name in shown} == {
        name: value.replace("''", "") for name, value in shown.items()
    }


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_version_names_the_package_and_the_redis_it_answers_as(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([flag]) == 0
    ours = importlib.metadata.version("pressure-queues")
    assert capsys.readouterr().out == f"Redis server v={miniredis.VERSION} (miniredis {ours})\n"
