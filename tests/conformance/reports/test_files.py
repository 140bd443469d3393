"""Reports for programs: JSON and JUnit XML, and lines for people."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from conformance.reports.data import as_json
from conformance.reports.junit import as_junit
from conformance.reports.table import as_table
from conformance.reports.terminal import Progress, told

from .sample import CLAUSES, HOSTILE, RUN


def test_the_json_report_has_every_clause_target_and_outcome() -> None:
    document = json.loads(as_json(RUN))
    assert document["format"] == 2
    assert document["complete"] is False
    assert set(document["clauses"]) == {clause.id for clause in CLAUSES}
    assert document["clauses"]["pop.first"] == {
        "suites": ["lists", "queues"], "place": "§ 1", "level": "must", "text": "LPOP takes the <first> value.",
    }  # fmt: skip
    good, bad, there, away = document["judgements"]
    assert good["target"] == "good"
    assert good["origin"] == "good, Redis 7.0.15"
    assert good["started"] == "2024-05-06T07:08:09+00:00"
    assert good["suites"]["queues"] == {"passed": 0, "violated": 1, "error": 1, "not asked": 0}
    assert [each["verdict"] for each in good["outcomes"]] == ["passed", "violated", "error", "not asked"]
    (said,) = good["outcomes"][1]["evidence"]
    assert r"$1\r\n2\r\n" in said["text"]
    assert r"$1\r\n1\r\n" in said["text"]
    assert bad["outcomes"][3]["reason"] == HOSTILE
    assert (there["problem"], there["excused"]) == ("interrupted", False)
    assert (away["problem"], away["excused"]) == ("no real Redis: none on PATH", True)


def test_a_run_that_lacks_only_excused_targets_is_complete() -> None:
    assert json.loads(as_json([RUN[0], RUN[3]]))["complete"] is True


def test_the_table_counts_what_was_passed_of_what_was_asked() -> None:
    assert as_table(RUN).splitlines() == [
        "| suite | good | bad | there |",
        "| --- | --- | --- | --- |",
        "| `hostile` | not asked | 0 of 1 | not asked |",
        "| `lists` | 1 of 2 | 2 of 2 | 1 of 1 |",
        "| `queues` | 0 of 2 | 1 of 1 | not asked |",
        "",
        "* good: good, Redis 7.0.15",
        "* bad: bad, Redis 7.0.15",
        "* there: there, Redis 7.0.15; interrupted",
        "* away: not there; no real Redis: none on PATH",
        "* judged on 2024-05-06",
    ]


def suites() -> dict[str, ET.Element]:
    root = ET.fromstring(as_junit(RUN))  # noqa: S314  (our own)
    return {str(suite.get("name")): suite for suite in root}


def test_junit_has_a_suite_for_each_suite_and_target() -> None:
    found = suites()
    assert list(found) == [
        "hostile good", "lists good", "queues good", "hostile bad", "lists bad", "queues bad",
        "lists there", "run there", "run away",
    ]  # fmt: skip
    queues = found["queues good"]
    counts = [queues.get(name) for name in ("tests", "failures", "errors", "skipped", "time")]
    assert counts == ["2", "1", "1", "0", "0.500"]
    cases = queues.findall("testcase")
    assert [(case.get("name"), case.get("classname")) for case in cases] == [
        ("pop.first", "good.queues"), ("wait.order", "good.queues"),
    ]  # fmt: skip
    failure = cases[0].find("failure")
    assert failure is not None
    assert failure.get("message") == "wanted 1, got 2"
    assert r"$1\r\n2\r\n" in str(failure.text)


def test_junit_reports_interrupted_and_missing_targets_and_skipped_clauses() -> None:
    found = suites()
    assert found["run there"].find("testcase/error[@message='interrupted']") is not None
    assert found["run away"].find("testcase/skipped") is not None
    assert found["hostile good"].find("testcase/skipped[@message='the server has no errors']") is not None


def test_junit_totals_match_its_test_cases() -> None:
    root = ET.fromstring(as_junit(RUN))  # noqa: S314
    for count, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
        assert int(str(root.get(count))) == len(root.findall(f".//{tag}"))
    assert int(str(root.get("tests"))) == len(root.findall(".//testcase"))


def test_reports_escape_control_characters() -> None:
    """Control characters would break XML, and could write all over a terminal."""
    bad = [outcome for each in RUN for outcome in each.outcomes if outcome.is_bad]
    for text in (as_junit(RUN), "\n".join(map(told, bad))):
        assert not {"\x1b", "\u202e", "\ud800"} & set(text)
        assert r"\x1b[31m" in text


def test_progress_is_shown_only_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress("good", CLAUSES)
    progress(RUN[0].outcomes[0])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress(RUN[0].outcomes[1])
    progress.clear()
    assert "good 2/4, 1 not passed, about 0 s left: violated pop.first" in capsys.readouterr().err
