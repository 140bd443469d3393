"""The command that runs Redis's own suite: its table, its reading of results, its limits, and its errors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.targets import Address
from tests.tools.redis_suite import __main__ as command
from tests.tools.redis_suite.__main__ import main
from tests.tools.redis_suite.expected import MINIREDIS, REDIS, Cause, Row, Table, Tag
from tests.tools.redis_suite.output import OUTSIDE, Failure, Results, read
from tests.tools.redis_suite.sources import TCLSH
from tests.tools.redis_suite.verdict import UNFINISHED, denied_tags, idle_anywhere, judged, not_run

from ..waiting import until

needs_tclsh = pytest.mark.skipif(
    not any(map(shutil.which, TCLSH)), reason="no tclsh on PATH: apt-get install tcl"
)

# What the suite prints

PRINTED = """\
Cleanup: may take some time... OK
Starting test server at port 21079
[ready]: 4711
Testing unit/made/up
[ok]: LPOP and RPOP (3 ms)
[skip]: Hangs
[ignore]: Replicates: Tag: needs:repl denied
[ignore]: Not supported on external server
[ok]: Blocks [sic] (120 ms) twice (0 ms)
[err]: Counts in tests/unit/made/up.tcl
Expected '1' to be equal to '2'
  (context: type eval)
[err]: Expected in tests/unit/type/list-2.tcl in tests/unit/made/up.tcl
no
[err]: n't read it
can't read it
    while executing
[1/1 done]: unit/made/up (7 seconds)

                   The End

Execution time of different units:
  7 seconds - unit/made/up

!!! WARNING The following tests failed:

*** [err]: Counts in tests/unit/made/up.tcl
Expected '1' to be equal to '2'
"""


def test_results_are_read_with_the_whole_message_of_each_failure() -> None:
    assert read(PRINTED) == Results(
        passed=["LPOP and RPOP", "Blocks [sic] (120 ms) twice"],
        failed=[
            Failure("Counts", "Expected '1' to be equal to '2'\n  (context: type eval)"),
            Failure("Expected in tests/unit/type/list-2.tcl", "no"),
            Failure(OUTSIDE, "n't read it\ncan't read it\n    while executing"),
        ],
        skipped=["Hangs"],
        ignored=["Replicates: Tag: needs:repl denied", "Not supported on external server"],
        complete=True,
    )


def test_output_that_was_cut_off_is_not_complete() -> None:
    results = read(PRINTED[: PRINTED.index("[1/1 done]")])
    assert (len(results.passed), len(results.failed), results.complete) == (2, 3, False)


@pytest.mark.parametrize(
    "line",
    ["[exception]: Executing test client: no such channel.", "[TIMEOUT]: clients state report follows."],
)
def test_an_end_before_the_end_is_a_failure_outside_a_test(line: str) -> None:
    assert read(f"{line}\nsock1 => (IN PROGRESS) Counts\n").failed == [
        Failure(OUTSIDE, f"{line.partition(': ')[2]}\nsock1 => (IN PROGRESS) Counts")
    ]


# The table

TABLE = Table(
    tags=(Tag("needs:repl", "why"), Tag("needs:save", "why"), Tag("slow", "why", "unit/a")),
    causes=(Cause("unknown command 'SYNC'", "a reason"), Cause("unknown command 'SAVE'", "a reason")),
    rows=(
        Row("unit/a", ("named", "passes", "is not there"), "a reason"),
        Row("unit/a", ("hangs", "was renamed"), "a reason", runs=False),
        Row("unit/b", ("named",), "a reason"),
    ),
)


def verdict_on(*failures: Failure, file: str = "unit/a") -> tuple[list[str], list[str]]:
    """The tests that failed, and those whose failure is expected."""
    verdict = judged(file, Results(failed=list(failures), complete=True), TABLE)
    return [each.test for each in verdict.failed], [each.test for each in verdict.expected]


def test_a_failure_is_expected_by_its_name_in_its_file_or_by_its_cause_anywhere() -> None:
    assert verdict_on(Failure("named", "no")) == ([], ["named"])
    assert verdict_on(Failure("named", "no"), file="unit/c") == (["named"], [])
    assert verdict_on(Failure("named too", "no")) == (["named too"], [])
    assert verdict_on(Failure("x", "ERR unknown command 'SYNC', with"), file="unit/c") == ([], ["x"])
    assert verdict_on(Failure("x", "ERR unknown command 'LPUSH', with")) == (["x"], [])


def test_a_file_that_did_not_end_has_failed_whatever_is_expected() -> None:
    results = Results(failed=[Failure("named", "no")], ending="unknown command 'SYNC'")
    assert judged("unit/a", results, TABLE).failed == [Failure(UNFINISHED, "unknown command 'SYNC'")]


def test_rows_that_are_not_needed_any_more_are_reported() -> None:
    results = Results(passed=["passes"], failed=[Failure("named", "no")], skipped=["hangs"])
    assert judged("unit/a", results, TABLE).idle == [
        "unit/a: passes: it passed",
        "unit/a: is not there: it did not run",
        "unit/a: was renamed: there is no such test",
    ]


def test_tags_and_causes_that_no_file_meets_are_reported() -> None:
    first = Results(ignored=["Replicates: Tag: needs:repl denied"])
    second = Results(failed=[Failure("x", "ERR unknown command 'SAVE', with")], ignored=["Tag: slow denied"])
    verdicts = [judged("unit/a", first, TABLE), judged("unit/b", second, TABLE)]
    assert list(idle_anywhere(verdicts, TABLE)) == [
        "any file: tag needs:save: no test has it",
        "unit/a: tag slow: no test has it",
        "any file: \"unknown command 'SYNC'\": no test failed because of it",
    ]


def test_only_tests_whose_row_or_tag_says_so_are_not_run() -> None:
    assert denied_tags("unit/a", TABLE) == ["needs:repl", "needs:save", "slow"]
    assert denied_tags("unit/b", TABLE) == ["needs:repl", "needs:save"]
    assert not_run("unit/a", TABLE) == ["hangs", "was renamed"]
    assert not_run("unit/b", TABLE) == []


@pytest.mark.parametrize("table", [REDIS, MINIREDIS], ids=["redis", "miniredis"])
def test_every_row_has_a_reason_and_no_test_is_named_twice(table: Table) -> None:
    assert all(row.reason and row.tests for row in table.rows)
    assert all(cause.reason for cause in table.causes)
    assert all(tag.reason for tag in table.tags)
    names = [(row.file, test) for row in table.rows for test in row.tests]
    assert len(names) == len(set(names))


# A made-up suite

HELPER = """\
if {"--list-tests" in $argv} { puts "unit/good\\nunit/bad\\nunit/endless\\nunit/short\\nintegration/x"; exit }
proc given option { lindex $::argv [lsearch $::argv $option]+1 }
set server [socket [given --host] [given --port]]
puts "\\[ok\\]: connected (1 ms)"
if {"--skiptest" in $argv} { puts "\\[skip\\]: [given --skiptest]" }
switch [given --single] {
    unit/bad { puts "\\[err\\]: counts in tests/unit/bad.tcl\\nExpected 1, got 2" }
    unit/endless { set f [open pid w]; puts $f [exec sleep 1000 &]; close $f; vwait forever }
    unit/short { puts stderr "no room"; exit 3 }
}
puts "\\n                   The End\\n"
"""


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """A folder that looks like Redis's source code."""
    for name, text in (
        ("tests/test_helper.tcl", HELPER),
        ("src/version.h", '#define REDIS_VERSION "7.0.15"\n'),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path


Play = Callable[..., tuple[int, str]]


@pytest.fixture
def play(made_up: Path, embedded_server: Address, capfd: pytest.CaptureFixture[str]) -> Play:
    """Runs the command on the made-up suite; returns its exit status and what it printed."""

    def run(*words: str, target: str = embedded_server.url) -> tuple[int, str]:
        chosen = ["--target", target] if target else []
        status = main(["--redis-source", str(made_up), *chosen, *words])
        return status, capfd.readouterr().out

    return run


@needs_tclsh
def test_a_file_that_passes_on_a_miniredis_in_a_process_of_its_own(play: Play) -> None:
    status, out = play("unit/good", target="")
    assert status == 0
    assert out.startswith("unit/good: 1 passed, 0 failed, 0 expected failures, 0 skipped (")
    assert out.endswith("\n1 files: 1 passed, 0 failed, 0 expected failures\n")


@needs_tclsh
def test_a_failure_is_shown_with_its_message_and_gives_status_1(play: Play) -> None:
    status, out = play("unit/bad", "unit/good")
    assert status == 1
    assert "\nunit/bad: counts\n    Expected 1, got 2\n" in out
    assert out.endswith("\n2 files: 2 passed, 1 failed, 0 expected failures\n")


@needs_tclsh
def test_a_failure_in_the_table_gives_status_0(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (Row("unit/bad", ("counts", "connected"), "a reason"), Row("unit/good", ("x",), "why", runs=False))
    monkeypatch.setattr(command, "REDIS", Table((), (), rows))
    status, out = play("unit/bad", "unit/good")
    assert status == 0
    assert "unit/bad: 1 passed, 0 failed, 1 expected failures, 0 skipped" in out
    assert "unit/good: 1 passed, 0 failed, 0 expected failures, 1 skipped" in out
    assert (
        "not needed any more in tests/tools/redis_suite/expected.py:\n    unit/bad: connected: it passed\n"
        in out
    )


@needs_tclsh
def test_a_file_that_does_not_end_is_killed_and_counts_as_failed(play: Play, made_up: Path) -> None:
    status, out = play("--limit", "0.5", "unit/endless")
    assert status == 1
    assert "unit/endless: 1 passed, 1 failed" in out
    assert (
        f"{UNFINISHED}\n    the file was not done after 0.5 s; its last lines:\n    [ok]: connected (1 ms)\n"
        in out
    )
    pid = int((made_up / "pid").read_text())
    until(lambda: not Path(f"/proc/{pid}").exists() or not alive(pid), "what a test started has ended")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@needs_tclsh
def test_a_suite_that_ends_too_soon_counts_as_failed_with_what_it_said_last(play: Play) -> None:
    status, out = play("unit/short")
    assert status == 1
    assert "the suite ended too soon; its last lines:\n    [ok]: connected (1 ms)\n    no room\n" in out


@needs_tclsh
def test_other_versions_of_redis_are_run_with_a_warning(play: Play, made_up: Path) -> None:
    (made_up / "src/version.h").write_text('#define REDIS_VERSION "7.2.4"\n')
    status, out = play("unit/good")
    assert status == 0
    assert out.startswith(f"the table is for Redis 7.0.15, and {made_up} is Redis 7.2.4\n")


# Errors


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The error of a command that ends with status 2."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_folder_without_the_suite_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, "--redis-source", str(tmp_path))
    assert f"{tmp_path} is no source code of Redis: there is no tests/test_helper.tcl in it" in error


def test_without_tclsh_the_error_says_what_to_install(
    made_up: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(made_up))
    error = refused(capsys, "--redis-source", str(made_up))
    assert "no tclsh on PATH, which runs Redis's suite: install Tcl 8.5 or 8.6 (apt-get install tcl)" in error


@needs_tclsh
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("unit/goood", "there is no file 'unit/goood'; did you mean 'unit/good'?"),
        ("integration/x", "there is no file 'integration/x'"),
        ("--target embedded", "--target: give real or a redis:// URL, not 'embedded'"),
        ("--target redis://:secret@h", "Redis's suite cannot give a password"),
        ("--target redis://h:x", "redis://h:x is no URL of a Redis"),
        ("--limit 0", "--limit: 0 is not a number above 0"),
    ],
)
def test_wrong_arguments_are_refused(
    words: str, message: str, made_up: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, "--redis-source", str(made_up), *words.split())


@needs_tclsh
def test_a_suite_that_lists_no_files_is_refused(made_up: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (made_up / "tests/test_helper.tcl").write_text("error {no such suite}")
    error = refused(capsys, "--redis-source", str(made_up))
    assert "--list-tests lists no unit/ files; it said: no such suite" in error


@needs_tclsh
def test_a_server_that_is_not_there_gives_status_2(play: Play) -> None:
    status, out = play("unit/good", target="redis://127.0.0.1:1/0")
    assert status == 2
    assert "cannot connect to redis://127.0.0.1:1/0: Connection refused" in out
