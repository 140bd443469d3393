"""The command writes its reports, also after an interrupt or a missing target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import conformance.command as command
from conformance.documents import CHECKS
from conformance.failure import Evidence
from conformance.judging import runner
from conformance.judging.environment import Environment, Failure
from conformance.targets import Address
from tests.servers import start_redis

CLAUSES = ["--clause", "list.llen", "--clause", "list.lrange"]
ASKED = ["--target", "embedded", *CLAUSES]


def judged(folder: Path, *options: str) -> tuple[int, Any, str]:
    """The exit status, the JSON and the page."""
    status = command.main([*options, "--json", str(folder / "run.json"), "--report", str(folder / "page")])
    return status, json.loads((folder / "run.json").read_text()), (folder / "page" / "index.html").read_text()


def spoil(monkeypatch: pytest.MonkeyPatch, check: Any) -> None:
    monkeypatch.setitem(CHECKS, "list.llen", [check])


def test_the_json_report_the_page_and_junit_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "deep" / "junit.xml"
    status, document, page = judged(tmp_path, *ASKED, "--junit", str(junit))
    assert status == 0
    assert {each["verdict"] for each in document["judgements"][0]["outcomes"]} == {"passed"}
    assert "list.llen" in page
    assert "list.llen" in junit.read_text()
    assert capsys.readouterr().out.count("written: ") == 3


@pytest.mark.usefixtures("real_server")
def test_the_exchange_with_the_server_is_shown_beside_that_with_a_real_redis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_here(env: Environment) -> None:
        server = env.connect().command("INFO", "server")
        env.connect().command("ECHO", "what was asked")
        if b"run_id:" in server and env.redis.config_get("maxmemory") is not None:
            raise Failure("wanted one thing, got another")

    spoil(monkeypatch, fails_here)
    status, document, page = judged(tmp_path, *ASKED)
    assert status == 1
    (said,) = document["judgements"][0]["outcomes"][0]["evidence"]
    assert said["title"] == "Conversation with the server"
    assert said["text"].count(r"*2\r\n$4\r\nECHO\r\n$14\r\nwhat was asked\r\n") == 2
    assert said["text"].count(r"$14\r\nwhat was asked\r\n") == 4
    assert "redis-server, Redis" in said["text"]
    assert 'class="talk"' in page


def test_a_check_that_passes_when_it_is_run_again_has_still_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[int] = []

    def fails_once(env: Environment) -> None:
        env.connect().command("PING")
        times.append(1)
        if len(times) == 1:
            raise Failure("not the first time")

    spoil(monkeypatch, fails_once)
    status, document, _ = judged(tmp_path, *ASKED)
    outcome = document["judgements"][0]["outcomes"][0]
    assert (status, outcome["verdict"], outcome["reason"]) == (1, "violated", "not the first time")
    assert "passed when it was run again" in outcome["evidence"][0]["text"]


def test_a_check_that_hangs_is_recorded_no_longer_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "CHECK_LIMIT", 0.3)
    monkeypatch.setattr("conformance.reports.replay.CHECK_LIMIT", 0.3)
    spoil(monkeypatch, lambda env: env.connect().command("BLPOP", env.key("none"), "20"))
    status, document, _ = judged(tmp_path, *ASKED)
    outcome = document["judgements"][0]["outcomes"][0]
    assert (status, "hung" in outcome["reason"]) == (1, True)
    assert "BLPOP" in outcome["evidence"][0]["text"]


def test_a_failure_that_has_its_own_evidence_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Environment) -> None:
        raise Failure("illegal", Evidence("A picture", "as text", "<svg></svg>"))

    spoil(monkeypatch, fails)
    _, document, page = judged(tmp_path, *ASKED)
    evidence = document["judgements"][0]["outcomes"][0]["evidence"]
    assert evidence == [{"title": "A picture", "text": "as text"}]
    assert '<div class="picture"><svg></svg></div>' in page


def test_an_interrupt_leaves_a_report_of_what_was_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner.Judging, "judge", second_time(runner.Judging.judge, interrupted))
    with pytest.raises(KeyboardInterrupt):
        judged(tmp_path, *ASKED)
    document = json.loads((tmp_path / "run.json").read_text())
    (judgement,) = document["judgements"]
    assert (len(judgement["outcomes"]), judgement["chosen"], judgement["problem"]) == (1, 2, "interrupted")
    assert document["complete"] is False


def second_time(first: Any, then: Any) -> Any:
    """A method that is another one from its second call on."""
    calls: list[int] = []

    def method(*args: Any) -> Any:
        calls.append(1)
        return first(*args) if len(calls) == 1 else then(*args)

    return method


def test_a_missing_target_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFORMANCE_REDIS_SERVER", "/nowhere/redis-server")
    status, document, page = judged(tmp_path, "--target", "real", *ASKED)
    assert status == 2
    away, here = document["judgements"]
    assert "CONFORMANCE_REDIS_SERVER" in away["problem"]
    assert len(here["outcomes"]) == 2
    assert "CONFORMANCE_REDIS_SERVER" in page


def test_a_report_folder_that_cannot_be_made_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit):
        command.main([*ASKED, "--report", str(tmp_path / "file")])
    assert "file" in capsys.readouterr().err


@pytest.mark.usefixtures("real_server")
def test_a_password_is_in_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(env: Environment) -> None:
        env.connect().command("PING")
        raise Failure(f"it was {env.address.url}")

    spoil(monkeypatch, fails)
    folder = tmp_path / "redis"
    folder.mkdir()
    junit = tmp_path / "junit.xml"
    with start_redis(folder, "--requirepass", "open:sesame") as server:
        url = f"redis://:open%3Asesame@127.0.0.1:{server.port}/0"
        status, _, page = judged(tmp_path, "--target", url, *CLAUSES, "--junit", str(junit))
    assert status == 1
    written = page + junit.read_text() + (tmp_path / "run.json").read_text()
    assert "sesame" not in written
    assert r"AUTH\r\n$3\r\n***" in page


def test_the_recorder_passes_every_byte_on_and_keeps_a_limited_number(embedded_server: Address) -> None:
    from conformance.wire import RawConnection, recording

    with recording.Recorder(embedded_server) as recorder:
        to = recorder.address
        with RawConnection(to.host, to.port) as connection:
            for _ in range(3):
                assert connection.command("ECHO", "x" * 100_000).endswith(b"x\r\n")
        moves = list(recorder.moves())
    assert recorder.lost > 0
    assert sum(len(move.data) for move in moves) <= recording.KEPT
    assert {move.side for move in moves} == {"client", "server"}
