"""Judging many queues in one process: the one wrong queue is found, and what was not judged is never called ok."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="this test needs the extra 'spark'")

from conformance.histories import judged, worst
from conformance.histories.model import Facts, History, Operation
from conformance.histories.parquet import alone, files
from conformance.histories.parquet.alone import check_alone
from conformance.histories.parquet.columns import table_of
from conformance.histories.parquet.figures import COLUMNS, added, counts_of
from conformance.histories.parquet.summary import SHOWN, Summary, Total, complete

from . import spoilt_samples as samples
from .changes import changed

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("corruption", samples.CORRUPTIONS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_bad_key_among_a_thousand_is_found(tmp_path: Path, corruption: str, seed: int) -> None:
    path = tmp_path / "history.parquet"
    samples.write_sample(path, 20_000, 1000, seed, corruption=corruption)
    summary = check_alone([path])
    assert summary.total.answers == {"ok": 999, "illegal": 1}
    names = {finding.verdict.violation for finding in summary.findings if finding.verdict.violation}
    assert names == {"loss" if corruption == "twice put" else corruption}
    assert summary.answer == "illegal"
    assert summary.findings[0].verdict.answer == "illegal"


@pytest.mark.slow
@pytest.mark.parametrize("corruption", ["duplicate", "loss", "invented"])
def test_a_bad_key_among_a_million_is_found_in_one_process(tmp_path: Path, corruption: str) -> None:
    path = tmp_path / "history.parquet"
    samples.write_sample(path, 4_000_000, 1_000_000, 7, corruption=corruption)
    summary = check_alone([path])
    assert summary.total.violations == {corruption: 1}
    assert summary.total.operations == summary.figures.operations


def test_samples_are_legal_overlap_and_are_the_same_each_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    for path in (one, other):
        samples.write_sample(path, 10_000, 50, 3, skew=0.5)
    history = files.read(one)
    assert history == files.read(other)
    assert worst(judged(history).values()).answer == "ok"
    ordered = sorted(history.operations, key=lambda each: each.invoked)
    assert sum(one.end > other.invoked for one, other in pairwise(ordered)) > 9000
    assert len(history.queues()["queue-0"]) > 5000
    for client in {each.client for each in ordered}:
        mine = [each for each in ordered if each.client == client]
        assert all(one.end < other.invoked for one, other in pairwise(mine))


def test_queues_are_judged_as_by_the_checkers_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "PART", 100)  # many parts, and queues that are larger than one
    histories = [changed(seed, 40) for seed in range(26)]
    operations = [each for _, mine, _ in histories for each in mine]
    Random(1).shuffle(operations)  # noqa: S311
    final = {queue: values for _, _, facts in histories for queue, values in facts.final.items()}
    bounds = {queue: bound for _, _, facts in histories for queue, bound in facts.bounds.items()}
    files.write(History(operations, Facts(final=final, bounds=bounds)), tmp_path / "a.parquet")
    summary = check_alone([tmp_path / "a.parquet"])
    found = {each.queue: each.answer for each in summary.total.bad}
    for queue, mine, facts in histories:
        assert found.get(queue, "ok") == worst(judged(History(mine, facts)).values()).answer, queue
    assert "illegal" in found.values()
    assert summary.total.operations == len(operations)


def test_a_violation_is_shown_with_the_operations_around_it(tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    samples.write_sample(path, 5000, 1, 1, corruption="duplicate", apart=1000)
    finding = check_alone([path]).findings[0]
    assert [each.result for each in finding.verdict.operations] == [finding.verdict.operations[0].result] * 2
    assert set(finding.verdict.operations) < set(finding.around)
    assert len(finding.around) == 18  # each of the two with four on either side
    assert list(finding.around) == sorted(finding.around, key=lambda each: each.invoked)


def test_keys_between_which_values_move_are_judged_together(tmp_path: Path) -> None:
    push = Operation("c", "z", "RPUSH", (b"x",), (b"1",), 1, 2)
    move = Operation("c", "z", "LMOVE", (b"a", b"LEFT", b"LEFT"), (b"x",), 3, 4)
    pop = Operation("c", "a", "LPOP", (), (b"x",), 5, 6)
    for last, answer in ((pop, "ok"), (replace(pop, result=(b"y",)), "illegal")):
        files.write(History([push, move, last]), tmp_path / "a.parquet")
        summary = check_alone([tmp_path / "a.parquet"])
        assert (summary.answer, summary.total.answers) == (answer, {answer: 1})


def strange(*names: str) -> list[Operation]:
    """An operation on two keys with each of these names, and one on each of the keys."""
    push = Operation("c", "a", "RPUSH", (b"x",), (b"1",), 1, 2)
    pop = Operation("c", "z", "LPOP", (), (b"x",), 9, 10)
    alone = Operation("c", "other", "LPOP", (), None, 11, 12)
    between = (Operation("c", "a", name, (b"z", b"1"), (b"9",), 3, 4) for name in names)
    return [push, pop, alone, *between]


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("RPOPLPUSH", {"illegal": 1, "ok": 1}),
        ("SORT", {"unknown": 1, "ok": 1}),
        ("EVAL", {"unknown": 1}),
        ("LPUSH", {"illegal": 2, "ok": 1}),
    ],
)
def test_keys_that_a_command_may_concern_are_judged_together(
    tmp_path: Path, name: str, answers: dict[str, int]
) -> None:
    files.write(History(strange(name)), tmp_path / "a.parquet")
    assert check_alone([tmp_path / "a.parquet"]).total.answers == answers


def test_an_operation_that_cannot_be_read_makes_the_verdict_unknown(tmp_path: Path) -> None:
    bad = Operation("c", "q", "put_many", (b"a",), (b"none",), 1, 2, "error", "QueueFullError")
    files.write(History([bad]), tmp_path / "a.parquet")
    summary = check_alone([tmp_path / "a.parquet"])
    assert summary.answer == "unknown"
    assert "cannot be read" in str(summary.findings[0])


def test_a_history_with_queues_not_judged_is_unknown() -> None:
    figures = added(counts_of(table_of([Operation("c", "q", "put", (b"a",), None, 1, 2)])).to_pylist())
    assert complete(Summary(figures, Total(), "nobody", 1.0)).answer == "unknown"


def test_many_bad_queues_are_all_counted(tmp_path: Path) -> None:
    gets = [Operation("c", f"q{n}", "get", (), (b"x",), n, n + 1) for n in range(3 * SHOWN)]
    files.write(History(gets), tmp_path / "a.parquet")
    total = check_alone([tmp_path / "a.parquet"]).total
    assert total.answers == {"illegal": 3 * SHOWN}
    assert len(total.bad) == SHOWN


def test_percentiles_are_true_to_four_parts_in_a_thousand_and_counts_of_parts_add_up() -> None:
    random = Random(1)  # noqa: S311
    times = [int(random.lognormvariate(10, 3)) for _ in range(5000)] + [0, 1, 511, 512, 513, 2**40]
    operations = [Operation("c", "q", "get", (), (), 100, 100 + time) for time in times]
    operations.append(Operation("c", "q", "get", (), None, 90, None, "open"))
    whole = added(counts_of(table_of(operations)).to_pylist())
    parts = [counts_of(table_of(operations[place::7]).select(COLUMNS)).to_pylist() for place in range(7)]
    assert added(row for part in parts for row in part) == whole
    times.sort()
    for percent in (50, 95, 99, 100):
        exact = times[-(-len(times) * percent // 100) - 1]
        found = whole.percentile("get", percent)
        assert found is not None
        assert found <= exact <= found * 1.004 + 1
    assert whole.longest == {"get": 2**40}
    assert whole.endings == {"get": {"ok": len(times), "open": 1}}
    assert (whole.first, whole.last) == (90, 100 + 2**40)
