"""Errors: one line, and one number each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pressure
from pressure.cli import main, table
from pressure.cli.framing import FormatError
from pressure.cli.status import STATUSES, LostError, lost_with, status_of
from pressure.cli.stop import Stop
from pressure.errors import PressureError

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


@pytest.mark.parametrize("error", CODES, ids=lambda error: type(error).__name__)
def test_each_error_has_its_number(error: Exception) -> None:
    assert status_of(error) == CODES[error]


def test_what_was_got_and_is_lost_is_told_of_each_error_that_has_it() -> None:
    warning = pressure.PressureWarning("not counted")
    warning.taken = (b"1", b"2")
    assert lost_with(warning) == lost_with(pressure.OutcomeUnknownError("c", [b"1", b"2"])) == [b"1", b"2"]
    assert lost_with(LostError("l", [b"a"])) == [b"a"]
    assert lost_with(ValueError("v")) == []


def test_no_number_and_no_error_is_in_the_table_twice() -> None:
    codes = [status.code for status in STATUSES]
    errors = [error for status in STATUSES for error in status.errors]
    assert len(set(codes)) == len(codes)
    assert len(set(errors)) == len(errors)


def test_the_readme_has_the_table() -> None:
    text = (ROOT / "README.md").read_text()
    for status in STATUSES:
        assert f"| {status.code} | {status.meaning} |" in text


@pytest.mark.parametrize("command", ["", *table.COMMANDS])
def test_help_has_the_table_and_where_the_server_is(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([*filter(None, [command]), "--help"])
    assert exit_.value.code == 0
    out = capsys.readouterr().out
    assert all(f"{status.code:<4} {status.meaning}" in out for status in STATUSES)
    assert "$REDIS_URL" in out


def test_what_nobody_expected_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("what\na mess")

    monkeypatch.setattr("pressure.cli.looking.survey", fail)
    assert main(["ls"]) == 70
    assert capsys.readouterr().err == "pressure: unexpected ZeroDivisionError: what a mess\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("put", "pressure put: the following arguments are required: QUEUE"),
        ("put jobs --bound x", "pressure put: argument --bound: invalid whole number value: 'x'"),
        ("get jobs --timeout -1", "pressure get: argument --timeout: "),
        ("get jobs --timeout nan", "pressure get: argument --timeout: invalid seconds value"),
        ("get jobs -n 0", "pressure: --count must be 1 or more"),
        ("length jobs more", "pressure: unrecognized arguments: more"),
        ("pipe a b", "pressure pipe: the command stands between two --"),
        ("pipe a -- -- b", "pressure pipe: there is no command between the two --"),
        ("pipeline --from a --to b", "pressure pipeline: the following arguments are required: --checkpoint"),
        ("pipeline --from a --to b --checkpoint c --transform x", "pressure: a transform is module:function"),
        (
            "pipeline --from a --to b --checkpoint c --transform x.y:z",
            "pressure: there is no transform x.y:z",
        ),
        ("ls --port 70000", "pressure: port must be from 1 to 65535, not 70000"),
        ("ls --url redis://h --db 3", "pressure: pass only one of: url; host, port or db"),
        ("ls --url http://h", "pressure: Redis URL must specify"),
    ],
)
def test_wrong_usage_is_one_line(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status: Any = main(line.split())
    except SystemExit as exit_:
        status = exit_.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1


@pytest.mark.parametrize("module", ["pressure", "pressure.cli.table"])
def test_importing_it_does_not_import_rich(module: str) -> None:
    code = f"import sys, {module}; sys.exit('rich' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
