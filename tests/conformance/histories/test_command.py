"""The command that records and judges histories, also of clients that are processes."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from conformance.histories import fifo, read, worst, write
from conformance.histories.__main__ import main
from conformance.histories.processes import processes
from conformance.histories.runs import Plan
from conformance.targets import Address

from .notation import history

pytestmark = pytest.mark.usefixtures("forked")

KEPT = Path(__file__).parent / "kept"
"""Histories in files: one of clients that were killed, as it was recorded, and the same with one thing wrong."""


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("killed.jsonl", 0, "2 of them open"),
        ("swapped.jsonl", 1, "fifo: illegal"),
        ("dropped.jsonl", 1, "no-loss: illegal"),
        ("doubled.jsonl", 1, "no-duplicate: illegal"),
        ("crowded.jsonl", 1, "bound: illegal"),
    ],
)
def test_kept_histories_get_their_verdict_and_exit_status(
    name: str, status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(KEPT / name)]) == status
    assert says in capsys.readouterr().out


def test_a_history_with_an_unknown_verdict_has_exit_status_three(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(history("p put a 0 1\np put a 2 3"), tmp_path / "file")
    assert main([str(tmp_path / "file")]) == 3
    assert "unknown: b'a' was put 2 times" in capsys.readouterr().out


def test_a_missing_file_is_reported_with_how_to_record_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none")]) == 2
    said = f"{tmp_path / 'none'}: there is no such file; --record TARGET records a history to it"
    assert said in capsys.readouterr().out


def test_the_svg_option_writes_a_picture_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(KEPT / "swapped.jsonl"), "--html", str(tmp_path / "picture.html")])
    assert "┌" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "picture.html").read_text(encoding="utf-8")


def test_the_record_option_records_a_run_and_judges_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--record embedded --operations 10 --clients 2 --kill 0 --bound 2".split()
    assert main([str(tmp_path / "file"), *words]) == 0
    assert "fifo: ok" in capsys.readouterr().out
    recorded = read(tmp_path / "file")
    assert recorded.facts.bounds == {"jobs": 2}
    assert {each.client for each in recorded.operations} == {"p0", "c0", "closer"}
    assert sum(each.name.startswith("put") and each.name != "put_back" for each in recorded.operations) == 10


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["sync", "plain", "aio", "trio"])
@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
def test_histories_of_killed_clients_are_ok(
    server: str, flavour: str, request: pytest.FixtureRequest
) -> None:
    address: Address = request.getfixturevalue(server)
    opened = 0
    for seed in range(3):
        recorded = processes(address, Plan(600, 4, 4, kills=6, seed=seed), flavour)
        assert worst(fifo.rules_of(recorded).values()).reason == ""
        assert len(recorded.facts.killed) == 6
        opened += sum(each.returned is None for each in recorded.operations)
    assert opened > 0
    with redis.Redis.from_url(address.url) as client:
        assert client.keys("histories:*") == []
