"""The bench: its rows run, its verdicts follow from the measurements, and what is not installed is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from conformance.bench import __main__ as command
from conformance.bench.chart import groups_of
from conformance.bench.model import Outcome, Row, Target
from conformance.bench.report import as_json, markdown, table
from conformance.bench.rows import ROWS
from conformance.bench.turns import Effort, MissingError, Pair
from conformance.bench.workbench import Workbench

pytestmark = pytest.mark.usefixtures("forked")

TINY = ["--pairs", "1", "--seconds", "0.01", "--size", "0.001"]
EFFORT = Effort(pairs=1, seconds=0.01, size=0.001)


def row(target: Target, measure: Callable[[Workbench], Generator[Pair]] | None = None) -> Row:
    def two_to_one(_: Workbench) -> Generator[Pair]:
        yield Pair(2.0, 1.0)

    return Row("some-row", "some", "something", "µs", "redis-server", target, measure or two_to_one)


def outcome(target: Target, *pairs: Pair, **fields: str) -> Outcome:
    return Outcome(row(target), pairs, **fields)


@pytest.mark.parametrize(
    "group",
    [
        *("hand-over", "expiring", "kinds", "healing-own"),
        *("pressure-bare-put", "pressure-bare-get", "pressure-shell", "pressure-start"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                *("crowd", "length", "memory", "start", "pressure", "healing"),
                *("durable", "durable-queues"),
            )
        ),
    ],
)
def test_rows_without_other_programs_run_from_end_to_end(group: str, tmp_path: Path) -> None:
    found, drawn = tmp_path / "found.json", tmp_path / "found.md"
    assert command.main(["--rows", group, *TINY, "--json", str(found), "--markdown", str(drawn)]) == 0
    document = json.loads(found.read_text())
    assert document["effort"] == {"pairs": 1, "seconds": 0.01, "size": 0.001}
    assert document["version"]
    assert document["machine"].keys() == {"system", "processor", "python"}
    for each in document["rows"]:
        assert each["verdict"] in {"met", "missed", "not available"}, each
        # a little memory or time may be none
        assert each["verdict"] == "not available" or each["ours"] > -1e-9
    measured = [each for each in document["rows"] if each["verdict"] != "not available"]
    assert len(drawn.read_text().splitlines()) == 2 + len(measured)


@pytest.mark.spark
@pytest.mark.parametrize(
    "name",
    [
        "spark-write-redis-server-10000",
        "spark-through-miniredis-10000",
        "spark-json",
        "histories-spark-1000000",
    ],
)
def test_rows_in_spark_run_from_end_to_end(name: str, tmp_path: Path) -> None:
    test_rows_without_other_programs_run_from_end_to_end(name, tmp_path)


def test_redis_benchmark_measures_a_rate_for_both_servers(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    assert command.main(["--rows", "plain-lpush", "cpu-rpop", *TINY, "--json", str(found)]) == 0
    for each in json.loads(found.read_text())["rows"]:
        if each["verdict"] == "not available":
            pytest.skip(each["reason"])
        assert each["ours"] > 0
        assert each["theirs"] > 0


def test_two_documents_are_compared_by_their_ratios_turn_by_turn(tmp_path: Path, capsys: Any) -> None:
    more, less = Target(1), Target(1, at_least=False)
    for target, first, second, told in (
        (more, (Pair(1, 1), Pair(1.2, 1)), (Pair(40, 20), Pair(60, 20)), "2.27 better"),
        (more, (Pair(2, 1),), (Pair(1, 1),), "0.50 WORSE"),
        (less, (Pair(2, 1),), (Pair(1, 1),), "0.50 better"),
        (less, (Pair(2, None),), (Pair(3, None),), "1.50 WORSE"),
        (more, (Pair(1, 1), Pair(3, 1)), (Pair(2, 1), Pair(4, 1)), "1.50"),
        (more, (Pair(1, 1),), (), "not measured in both"),
    ):
        files = [tmp_path / "before.json", tmp_path / "after.json"]
        for file, pairs in zip(files, (first, second), strict=True):
            file.write_text(json.dumps(as_json([outcome(target, *pairs)], EFFORT)))
        assert command.main(["--compare", *map(str, files)]) == 0
        assert " ".join(capsys.readouterr().out.splitlines()[1].split()).endswith(told)


def test_a_file_that_cannot_be_compared_is_refused(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        command.main(["--compare", str(tmp_path / "nothing"), str(tmp_path / "nothing")])
    assert "--compare: cannot read" in capsys.readouterr().err


def test_a_missed_target_is_shown_as_such() -> None:
    for target, verdict in (
        (Target(1.5), "met"),
        (Target(2.5), "missed"),
        (Target(1.5, at_least=False), "missed"),
        (Target(2.5, at_least=False), "met"),
        (Target(1.5, at_least=False, unit="µs"), "missed"),
    ):
        one = outcome(target, Pair(2.0, 1.0))
        assert one.verdict == verdict
        assert ("MISSED" in list(table([one]))[1]) == (verdict == "missed")
        assert ("missed" in list(markdown([one]))[2]) == (verdict == "missed")
        assert as_json([one], EFFORT)["rows"][0]["verdict"] == verdict


def test_the_ratio_is_that_of_the_medians() -> None:
    one = outcome(Target(1), Pair(1, 10), Pair(2, 1), Pair(30, 2))
    assert (one.ours, one.theirs, one.ratio) == (2, 2, 1)
    assert one.ratios == [0.1, 2, 15]


def test_the_exit_status_is_an_error_for_a_fault_and_with_strict_for_a_missed_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nobody(_: Workbench) -> Generator[Pair]:
        raise MissingError("nobody to compare with")
        yield

    def faulty(_: Workbench) -> Generator[Pair]:
        raise OSError("out of order")
        yield

    for target, measure, usual, strict in (
        (Target(1), None, 0, 0),
        (Target(3), None, 0, 1),
        (Target(1), nobody, 0, 0),
        (Target(1), faulty, 1, 1),
    ):
        monkeypatch.setattr(command, "ROWS", {"some-row": row(target, measure)})
        assert command.main(TINY) == usual
        assert command.main([*TINY, "--strict"]) == strict


def test_a_row_whose_peer_is_missing_is_not_available_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def nobody(_: Workbench) -> Generator[Pair]:
        raise MissingError("nobody to compare with")
        yield

    monkeypatch.setattr(command, "ROWS", {"some-row": row(Target(1), nobody)})
    assert command.main(TINY) == 0
    assert "not available: nobody to compare with" in capsys.readouterr().out


@pytest.mark.usefixtures("real_server")  # the row has no ratio without one
def test_a_chart_has_a_bar_for_each_ratio(tmp_path: Path) -> None:
    drawn = tmp_path / "found.svg"
    assert command.main(["--rows", "kinds", *TINY, "--chart", str(drawn)]) == 0
    assert drawn.read_text().startswith("<svg")
    outcomes = [
        outcome(Target(1), Pair(3.0, 1.0)),
        outcome(Target(1, at_least=False), Pair(1.0, 4.0)),
        outcome(Target(1, unit="µs"), Pair(1.0, 9.0)),
    ]
    (group,) = groups_of(outcomes)
    assert [bar.better for bar in group.bars] == [3, 4]


def test_a_chart_without_ratios_is_not_written(tmp_path: Path, capsys: Any) -> None:
    drawn = tmp_path / "found.svg"
    command.draw(drawn, [])
    assert not drawn.exists()
    assert f"{drawn} is not written, since none of these rows has a ratio" in capsys.readouterr().out


def test_a_chart_is_not_written_to_a_file_of_another_kind(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        command.main(["--rows", "start", *TINY, "--chart", str(tmp_path / "found.png")])
    assert "found.png: a chart is SVG, so name a file that ends in .svg" in capsys.readouterr().err


def test_an_unknown_row_or_group_is_refused(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        command.main(["--rows", "nosuch"])
    assert "no row or group 'nosuch'" in capsys.readouterr().err


def test_every_row_has_a_name_of_its_own_and_is_listed(capsys: Any) -> None:
    assert command.main(["--list"]) == 0
    listed = [line.split(" ", 1)[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(ROWS)
