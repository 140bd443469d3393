"""Spark gives a history the same verdict as one process, for whole queues and for pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="this test needs the extra 'spark'")
pytest.importorskip("pyspark", reason="this test needs the extra 'spark'")

from conformance.histories.model import Facts, History, Operation
from conformance.histories.parquet.alone import check_alone
from conformance.histories.parquet.cluster import check_on_spark
from conformance.histories.parquet.cuts import Limits
from conformance.histories.parquet.files import write
from conformance.histories.parquet.summary import Summary

from .changes import CHANGES, changed
from .spoilt_samples import write_sample
from .test_one_process import strange

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]

WHOLE = Limits(part=5000, piece=10**6, most=10**7)


@pytest.fixture(autouse=True)
def shows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.histories.parquet.summary.SHOWN", 10**6)


def said(summary: Summary) -> dict[str, Any]:
    return {
        "answer": summary.answer, "answers": summary.total.answers, "violations": summary.total.violations,
        "operations": summary.total.operations, "findings": summary.findings, "figures": summary.figures,
    }  # fmt: skip


def together(histories: Sequence[tuple[str, list[Operation], Facts]], path: Path) -> Path:
    bounds = {queue: bound for _, _, facts in histories for queue, bound in facts.bounds.items()}
    final = {queue: values for _, _, facts in histories for queue, values in facts.final.items()}
    operations = [each for _, mine, _ in histories for each in mine]
    write(History(operations, Facts(server="a server", slack=0, bounds=bounds, final=final)), path)
    return path


@pytest.mark.parametrize("corruption", ["", "duplicate"])
def test_spark_gives_the_verdicts_of_one_process(spark: Any, tmp_path: Path, corruption: str) -> None:
    path = tmp_path / "history.parquet"
    write_sample(path, 20_000, 1000, seed=5, corruption=corruption)
    alone, on_spark = check_alone([path]), check_on_spark(spark, [path], WHOLE)
    assert said(on_spark) == said(alone)
    assert alone.answer == ("illegal" if corruption else "ok")
    assert on_spark.total.answers == ({"ok": 999, "illegal": 1} if corruption else {"ok": 1000})
    assert "Spark" in on_spark.way


@pytest.mark.parametrize("names", [[], ["SORT"], ["EVAL"]])
def test_spark_groups_keys_as_one_process_does(spark: Any, tmp_path: Path, names: list[str]) -> None:
    path = tmp_path / "history.parquet"
    operations = [*moved("moved")[1], *strange("RPOPLPUSH", "BLPOP", *names)]
    write(History(operations), path)
    alone, on_spark = check_alone([path]), check_on_spark(spark, [path], WHOLE)
    assert said(on_spark) == said(alone)
    assert alone.answer == ("unknown" if names else "illegal")


def test_pieces_get_the_verdict_of_the_whole_history(spark: Any, tmp_path: Path) -> None:
    histories = [changed(seed, 30) for seed in range(20 * len(CHANGES))]
    path = together(
        [*histories, busy("busy"), listed("listed"), moved("moved")], tmp_path / "history.parquet"
    )
    whole = {judged.queue: judged for judged in check_alone([path]).total.bad}
    summary = check_on_spark(spark, [path], Limits(part=5000, piece=4, most=100))
    found = {judged.queue: judged for judged in summary.total.bad}
    for queue in ("busy", "listed"):  # too large for a worker, and nowhere to cut
        assert found.pop(queue).answer == "unknown"
        assert queue not in whole
    assert {queue: each.answer for queue, each in found.items()} == {
        queue: each.answer for queue, each in whole.items()
    }
    assert len({queue.partition("-")[0] for queue in found}) == len(CHANGES) - 1  # what was not changed is ok
    assert max(finding.piece for judged in found.values() for finding in judged.findings) > 3
    for queue, judged in whole.items():
        if judged.answer == "illegal" and not queue.startswith("drop"):  # it may be named by what follows
            names = {finding.verdict.violation for finding in found[queue].findings}
            assert judged.findings[0].verdict.violation in names, queue
    assert summary.total.operations == summary.figures.operations


def busy(queue: str) -> tuple[str, list[Operation], Facts]:
    """Values that go through while one get is open from the beginning on."""
    values = [b"%d" % number for number in range(100)]
    operations = [Operation("waiting", queue, "get", (), None, 1, None, "open")]
    for place, value in enumerate(values):
        operations.append(Operation("p", queue, "put", (value,), None, 100 * place + 10, 100 * place + 20))
        operations.append(Operation("c", queue, "get", (), (value,), 100 * place + 30, 100 * place + 40))
    return queue, operations, Facts()


def listed(queue: str) -> tuple[str, list[Operation], Facts]:
    """A list."""
    operations = [
        Operation("c", queue, "RPUSH", (b"x",), (b"%d" % place,), 10 * place, 10 * place + 1)
        for place in range(1, 200)
    ]
    return queue, operations, Facts()


def moved(queue: str) -> tuple[str, list[Operation], Facts]:
    """Two lists, of which one is filled from the other only."""
    push = Operation("c", f"{queue} from", "RPUSH", (b"x",), (b"1",), 1, 2)
    move = replace(push, name="LMOVE", argument=(b"%b to" % queue.encode(), b"LEFT", b"LEFT"), result=(b"x",))
    pop = replace(push, queue=f"{queue} to", name="LPOP", argument=(), result=(b"x",), invoked=5, returned=6)
    return queue, [push, replace(move, invoked=3, returned=4), pop], Facts()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "corruption"), [(1, "duplicate"), (2, "loss"), (3, "invented")])
def test_a_bad_key_among_a_million_is_found(spark: Any, tmp_path: Path, seed: int, corruption: str) -> None:
    path = tmp_path / "history.parquet"
    write_sample(path, 4_000_000, 1_000_000, seed, corruption=corruption)
    summary = check_on_spark(spark, [path])
    assert summary.total.answers["illegal"] == 1
    assert summary.total.violations == {corruption: 1}


@pytest.mark.slow
@pytest.mark.parametrize("corruption", ["", "duplicate", "loss", "order"])
def test_one_huge_key_is_judged_in_pieces(spark: Any, tmp_path: Path, corruption: str) -> None:
    path = tmp_path / "history.parquet"
    write_sample(path, 1_000_000, 1, 4, corruption=corruption, apart=200_000)
    summary = check_on_spark(spark, [path], Limits(piece=50_000, most=200_000))
    assert summary.answer == check_alone([path]).answer == ("illegal" if corruption else "ok")
    assert summary.total.operations == summary.figures.operations
