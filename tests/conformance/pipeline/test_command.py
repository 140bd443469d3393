"""The command that judges large histories: its text, its files and its exit status."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="this test needs the extra 'spark'")

from conformance.histories import records
from conformance.histories.model import History, Operation
from conformance.histories.parquet import __main__ as command
from conformance.histories.parquet import files, session

pytestmark = pytest.mark.spark

PUT = Operation("p", "<q>", "put", (b"<b>",), None, 1000, 2500)
GET = Operation("c", "<q>", "get", (), (b"<b>",), 3000, 4000)
AGAIN = replace(GET, client="d", invoked=5000, returned=6000)
OPEN = replace(GET, result=None, returned=None, outcome="open")
TWICE = replace(PUT, client="e", invoked=9000, returned=9500)


def written(path: Path, *operations: Operation) -> str:
    files.write(History(operations), path)
    return str(path)


@pytest.mark.parametrize(
    ("operations", "status"),
    [((PUT, GET), 0), ((PUT, OPEN), 0), ((PUT, GET, AGAIN), 1), ((PUT, TWICE, GET), 3), ((), 0)],
)
def test_the_exit_status_tells_the_verdict(
    tmp_path: Path, operations: tuple[Operation, ...], status: int
) -> None:
    assert command.main([written(tmp_path / "a.parquet", *operations)]) == status


def test_the_command_prints_text_and_writes_json_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a.parquet", PUT, GET, AGAIN)
    assert command.main([path, "--json", str(tmp_path / "a.json"), "--report", str(tmp_path / "report")]) == 1
    said = capsys.readouterr().out
    assert re.search(r"put +1 +0 +[\d,]+ +1.5 µs +1.5 µs +1.5 µs +1.5 µs", said)
    assert "<q>: illegal: duplicate: b'<b>' was got twice" in said
    found = json.loads((tmp_path / "a.json").read_text())
    assert (found["answer"], found["queues"], found["violations"]) == (
        "illegal",
        {"illegal": 1},
        {"duplicate": 1},
    )
    assert found["latencies"]["get"]["max"] == 1000
    assert [each["client"] for each in found["findings"][0]["operations"]] == ["c", "d"]
    assert [each["client"] for each in found["findings"][0]["around"]] == ["p", "c", "d"]
    page = (tmp_path / "report" / "index.html").read_text()
    assert "b&#x27;&lt;b&gt;&#x27; was got twice" in page
    assert "<svg" in page
    assert "<script" not in page
    assert "<q>" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_recordings_become_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, operations in (("a", [PUT, OPEN]), ("b", [AGAIN])):
        records.write(History(operations), tmp_path / f"{name}.jsonl")
    sources = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert command.main(["--from-jsonl", *sources, "--to", str(tmp_path / "a.parquet")]) == 0
    assert "3 operations" in capsys.readouterr().out
    assert len(files.read(tmp_path / "a.parquet").operations) == 3


def test_a_file_that_is_missing_or_is_no_table_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.parquet").write_text("no table")
    (tmp_path / "empty").mkdir()
    for name, words in (
        ("none.parquet", "none.parquet"),
        ("text.parquet", "arquet"),
        ("empty", "there are no files of the kind *.parquet in "),
    ):
        assert command.main([str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().out
    for bad in (
        [],
        ["--to", "x"],
        ["--from-jsonl", "a"],
        ["a", "--from-jsonl", "a", "--to", "x"],
        ["a", "--spark", "--no-spark"],
    ):
        with pytest.raises(SystemExit):
            command.main(bad)


def test_large_histories_are_judged_on_spark_unless_an_option_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a.parquet", PUT, GET)
    monkeypatch.setattr(session, "session", no_session)
    assert command.main([path]) == 0
    assert command.main([path, "--spark"]) == 2
    assert "no Spark today" in capsys.readouterr().out
    monkeypatch.setattr(command, "SPARK_FROM", 2)
    assert command.main([path, "--no-spark"]) == 0
    assert command.main([path]) == (2 if find_spec("pyspark") else 0)


def no_session(_: str) -> None:
    raise session.MissingSparkError("no Spark today")
