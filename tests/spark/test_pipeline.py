"""The pipeline as a program, with a stand-in for Spark; the real one is in tests/spark/real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pressure.cli import main
from pressure.spark import OptionError, PipelineError, pipeline, sessions
from pressure.spark.pipeline import Batch, Plan, cause_of, function_named, running, started


class Query:
    """Ends a batch with each wait, as many as it is told; then it ends, or fails, or waits for more."""

    def __init__(self, batches: int, *, ends: bool = True, error: Exception | None = None) -> None:
        self.recentProgress: list[dict[str, Any]] = []
        self.isActive = True
        self.status = {"isTriggerActive": True}
        self.waits: list[float] = []
        self._batches, self._ends, self._error = batches, ends, error

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802
        return self.recentProgress[-1] if self.recentProgress else None

    def awaitTermination(self, seconds: float) -> bool:  # noqa: N802
        self.waits.append(seconds)
        number = len(self.recentProgress)
        if self.isActive and number < self._batches:
            self.recentProgress.append(
                {"batchId": number, "numInputRows": 10, "processedRowsPerSecond": 5.0, "sources": []}
            )
        elif self.isActive:
            self.status["isTriggerActive"] = False
            self.isActive = not self._ends
            if self._error:
                raise self._error
        return not self.isActive

    def stop(self) -> None:
        self.isActive = False


SparkError = type("SparkError", (Exception,), {"__module__": "pyspark.errors"})


def test_batches_are_reported_until_the_query_ends() -> None:
    query = Query(3)
    assert list(running(query, lambda: False)) == [Batch(number, 10, 5.0) for number in range(3)]


def test_a_stopped_query_finishes_the_batch_under_way() -> None:
    query = Query(5, ends=False)
    seen = running(query, lambda: len(query.recentProgress) >= 2)
    assert [batch.number for batch in seen] == [0, 1, 2]
    assert not query.isActive


def test_an_idle_query_is_stopped_without_waiting_for_a_batch() -> None:
    query = Query(0, ends=False)
    query.status["isTriggerActive"] = False
    assert list(running(query, lambda: True)) == []
    assert query.waits == [pipeline.GRACE]  # for what was stopped


def test_a_query_that_fails_raises_an_error_with_its_cause() -> None:
    query = Query(1, error=SparkError(JAVA))
    seen: list[Batch] = []
    with pytest.raises(PipelineError) as caught:
        seen.extend(running(query, lambda: False))
    assert str(caught.value) == "QueueInUseError: queue 'jobs' is read by another query (host:1/spark/2)"


JAVA = """[STREAM_FAILED] Query [id = 1] terminated with exception: Error from streaming
Traceback (most recent call last):
  File "/x/pressure/spark/source.py", line 99, in _take
    raise self._problem(b"lost", found[0])
pressure.errors.QueueInUseError: queue 'jobs' is read by another query (host:1/spark/2)

\tat org.apache.spark.sql.execution.python.PythonException: something: else
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (JAVA, "QueueInUseError: queue 'jobs' is read by another query (host:1/spark/2)"),
        ("pressure.spark.errors.PayloadError: a row's value is null", "PayloadError: a row's value is null"),
        ("first\nZeroDivisionError: division by zero\n\tat java", "ZeroDivisionError: division by zero"),
        ("[TABLE_NOT_FOUND] no such table\nmore", "[TABLE_NOT_FOUND] no such table"),
    ],
)
def test_the_cause_is_found_in_the_text_of_a_spark_error(text: str, cause: str) -> None:
    assert cause_of(text) == cause


def test_a_transform_is_found_by_its_name() -> None:
    assert function_named("json:dumps")({}) == "{}"
    for name, told in (
        ("json", "MODULE:FUNCTION"),
        ("json:no", "cannot be imported"),
        ("json:__name__", "not a function"),
    ):
        with pytest.raises(OptionError, match=told):
            function_named(name)


class Table:
    """Notes what it is told, and gives itself."""

    def __init__(self, notes: list[Any]) -> None:
        self.notes = notes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def note(*args: Any, **given: Any) -> Table:
            self.notes.append((name, *args, given))
            return self

        return self if name in ("readStream", "writeStream", "sparkContext") else note


def test_a_plan_becomes_the_calls_to_spark() -> None:
    notes: list[Any] = []
    started(Table(notes), Plan({"queue": "q"}, "out.parquet", "c", drain=True))
    assert notes == [
        ("format", "pressure", {}),
        ("options", {"queue": "q"}),
        ("load", {}),
        ("format", "parquet", {}),
        ("option", "path", "out.parquet", {}),
        ("option", "checkpointLocation", "c", {}),
        ("trigger", {"availableNow": True}),
        ("start", {}),
    ]


def test_a_transform_that_does_not_return_a_dataframe_is_an_error() -> None:
    with pytest.raises(OptionError, match="must return a DataFrame, not int"):
        started(Table([]), Plan({}, "x", "c", lambda _: 1))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Query], list[Any]]:
    """Has the command run a query, and notes what Spark is told."""

    def use(query: Query) -> list[Any]:
        notes: list[Any] = []

        def start(_: Any, plan: Plan) -> Query:
            notes.append(plan)
            return query

        def session(_: str, master: str, *, folder: str, **settings: str) -> Table:
            notes.append(master)
            assert folder
            assert settings["spark__log__level"] == "OFF"
            return Table([])

        def finish(_: Any, url: str) -> int:
            notes.append(url)
            return 2

        monkeypatch.setattr(pipeline, "started", start)
        monkeypatch.setattr(sessions, "session", session)
        monkeypatch.setattr("pressure.spark.finishing.finish", finish)
        return notes

    return use


def test_the_command_turns_its_options_into_a_plan_and_prints_progress(
    fake: Callable[[Query], list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    notes = fake(Query(2))
    line = "--host h --port 7000 --db 3 pipeline --from a --to b --checkpoint c --to-kind backup --rows 9 --drain"
    assert main([*line.split(), "--master", "m", "--timeout", "5"]) == 0
    master, plan, url = notes
    common = {"url": "redis://h:7000/3", "timeout": "5.0"}
    assert (master, url) == ("m", "redis://h:7000/3")
    assert plan.source == {"queue": "a", "kind": "pressure", "format": "text", "rowsPerBatch": "9", **common}
    assert plan.target == {"queue": "b", "kind": "backup", **common}
    assert (plan.checkpoint, plan.drain) == ("c", True)
    assert capsys.readouterr().err.splitlines() == [
        "pressure: pipeline: batch 0: 10 rows, 5/s",
        "pressure: pipeline: batch 1: 10 rows, 5/s",
        "pressure: pipeline: 20 rows done, 2 are claimed for the next run",
    ]


@pytest.mark.parametrize("target", ["x.parquet", "folder/x"])
def test_the_command_can_write_parquet(fake: Callable[[Query], list[Any]], target: str) -> None:
    notes = fake(Query(0))
    assert main(["pipeline", "--from", "a", "--to", target, "--checkpoint", "c", "-q"]) == 0
    assert notes[1].target == target


def test_the_command_prints_the_cause_when_the_query_fails(
    fake: Callable[[Query], list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    fake(Query(0, error=SparkError(JAVA)))
    assert main(["pipeline", "--from", "a", "--to", "b", "--checkpoint", "c"]) == 18
    assert "QueueInUseError: queue 'jobs' is read by another query" in capsys.readouterr().err
