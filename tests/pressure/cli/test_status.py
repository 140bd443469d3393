"""Errors of the command line: one line on standard error, and one exit status each."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import pressure
from pressure.cli import main, table
from pressure.cli.framing import FormatError
from pressure.cli.status import STATUSES, LostError, lost_messages, status_of
from pressure.cli.stop import Stop
from pressure.errors import PressureError
from tests.cases import for_each

ROOT = Path(__file__).parents[3]

CODES: dict[Exception, int] = {
    ValueError("v"): 2,
    pressure.QueueDoesNotExistError("q"): 3,
    pressure.ConnectionFailedError("c"): 4,
    pressure.QueueAlreadyExistsError("q"): 5,
    pressure.QueueClosedError("q"): 6,
    pressure.QueueInUseError("q"): 7,
    pressure.QueueFullError("q"): 8,
    pressure.QueueEmptyError("q"): 9,
    pressure.OutcomeUnknownError("c"): 10,
    pressure.ServerReplyError("OOM no"): 11,
    pressure.ClusterError("MOVED"): 11,
    FormatError("f"): 12,
    OSError(5, "io"): 12,
    LostError("l", [b"a"]): 14,
    PressureError("p"): 15,
    ZeroDivisionError("z"): 70,
    Stop("s", 143): 143,
}


@for_each("error", CODES, ids=lambda error: type(error).__name__)
def test_each_error_has_its_exit_status(error: Exception) -> None:
    assert status_of(error) == CODES[error]


def test_values_that_were_taken_and_lost_are_read_from_the_error() -> None:
    warning = pressure.PressureWarning("not counted")
    warning.taken = (b"1", b"2")
    assert (
        lost_messages(warning)
        == lost_messages(pressure.OutcomeUnknownError("c", [b"1", b"2"]))
        == [b"1", b"2"]
    )
    assert lost_messages(LostError("l", [b"a"])) == [b"a"]
    assert lost_messages(ValueError("v")) == []


def test_no_exit_status_and_no_error_is_in_the_table_twice() -> None:
    codes = [status.code for status in STATUSES]
    errors = [error for status in STATUSES for error in status.errors]
    assert len(set(codes)) == len(codes)
    assert len(set(errors)) == len(errors)


def helped(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as exit_:
        main(line.split())
    assert exit_.value.code == 0
    return capsys.readouterr().out


def test_help_has_the_table_of_exit_statuses_and_names_redis_url(capsys: pytest.CaptureFixture[str]) -> None:
    out = helped("--help", capsys)
    assert all(f"{status.code:<4} {status.meaning}\n" in out for status in STATUSES)
    assert "REDIS_URL" in out
    assert all(f"\n    {name} " in out for name in table.COMMANDS)


@pytest.mark.parametrize("command", table.COMMANDS)
def test_the_help_of_a_command_does_not_repeat_the_table(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = helped(f"{command} --help", capsys)
    assert "another client held the role" not in out
    assert "'pressure --help' explains the exit statuses" in out
    assert out.endswith("\n")


def test_version_prints_the_version_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert helped("--version", capsys) == f"pressure {version('pressure-queues')}\n"


def test_an_unexpected_exception_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("what\na mess")

    monkeypatch.setattr("pressure.cli.lookup.survey", fail)
    assert main(["ls"]) == 70
    assert capsys.readouterr().err == "pressure: unexpected ZeroDivisionError: what a mess\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("put", "pressure put: the following arguments are required: QUEUE"),
        ("put jobs --bound x", "pressure put: argument --bound: 'x' is not a whole number of 0 or more"),
        ("get jobs --timeout -1", "pressure get: argument --timeout: '-1' is not a number of seconds"),
        (
            "get jobs --timeout nan",
            "pressure get: argument --timeout: 'nan' is not a number of seconds, 0 or more",
        ),
        ("get jobs -n 0", "pressure get: argument -n/--count: '0' is not a whole number of 1 or more"),
        ("length jobs more", "pressure length: unrecognized arguments: more"),
        ("pipe a b", "pressure pipe: write the command between two --, as in: "),
        ("pipe a -- -- b", "pressure pipe: there is no command between the two --"),
        ("pipeline --from a --to b", "pressure pipeline: the following arguments are required: --checkpoint"),
        (
            "pipeline --from a --to b --checkpoint c --transform x",
            "pressure: a transform must be MODULE:FUNCTION",
        ),
        (
            "pipeline --from a --to b --checkpoint c --transform x.y:z",
            "pressure: transform x.y:z cannot be imported",
        ),
        ("ls --port 70000", "pressure: port must be from 1 to 65535, not 70000"),
        ("ls --url redis://h --db 3", "pressure: pass either url or host, port and db, not both"),
        (
            "ls --url redis://h/x",
            "pressure: the URL of the Redis server is wrong: the database must be a number",
        ),
        ("ls --url redis://h:x", "pressure: the URL of the Redis server is wrong: Port could not be cast"),
        (
            "ls --url redis://h/0?tyop=1",
            "pressure: the URL of the Redis server is wrong: it has an option that ",
        ),
        ("ls --url me:secret@h:1", "pressure: the URL of a Redis server must begin with one of redis://"),
        ("get jobs --run 0", "pressure get: argument --run: '0' is not a whole number of 1 or more"),
        ("get jobs -0 -n -1", "pressure get: argument -n/--count: '-1' is not a whole number of 1 or more"),
        ("create jobs --bound 9223372036854775808", "pressure: bound must be an integer from 0 to "),
        *(
            (
                f"ls --url {url}",
                "pressure: the URL of the Redis server is wrong: write / as %2F, ? as %3F and # as %23",
            )
            for url in (
                "redis://:sec/secret@h:1/0",
                "redis://u:secret?secret@h",
                "redis://:1/secret@h",
                "redis+sentinel://u:secret#secret@h/m",
            )
        ),
        ("ls --url http://h", "pressure: the URL of a Redis server must begin with one of redis://"),
    ],
)
def test_wrong_usage_is_reported_in_one_line_without_passwords(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: Any = main(line.split())
    except SystemExit as exit_:
        status = exit_.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1
    assert "secret" not in err


@pytest.mark.parametrize("module", ["pressure", "pressure.cli.table"])
def test_importing_the_command_line_does_not_import_rich(module: str) -> None:
    code = f"import sys, {module}; sys.exit('rich' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    "line", ["--help", "--version", "put --help", "completion bash", "put", "get jobs -n 0"]
)
def test_what_needs_no_server_does_not_import_redis(line: str) -> None:
    code = f"""
import sys, pressure.cli
try:
    pressure.cli.main({line.split()!r})
finally:
    assert "redis" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "AssertionError" not in done.stderr


@pytest.mark.parametrize(
    "line", ["create jobs --exist-ok", "put jobs one two", "get jobs -n 2", "length jobs"]
)
def test_a_command_about_one_queue_imports_only_what_it_needs(redis_url: str, line: str) -> None:
    with pressure.Queue("jobs", url=redis_url) as queue:
        queue.create()
        queue.put_many(["one", "two"])
    code = f"""
import sys, pressure.cli
status = pressure.cli.main({line.split()!r})
heavy = {{"redis", "asyncio", "logging", "ssl", "miniredis", "pickle", "pressure.kinds"}}
heavy |= {{"pressure.protocol.doctor", "pressure.protocol.repair", "pressure.cli.completion"}}
print(status, heavy.intersection(sys.modules))
"""
    words = [sys.executable, "-c", code]
    environment = {**os.environ, "REDIS_URL": redis_url}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert done.stdout.splitlines()[-1:] == ["0 set()"], done.stderr


def test_every_subcommand_has_its_function() -> None:
    for name, command in table.COMMANDS.items():
        module, _, function = command.does.partition(".")
        assert callable(getattr(importlib.import_module(f"pressure.cli.{module}"), function)), name
