"""The pipeline as a program, with a stand-in for Spark; the real one is in tests/spark/real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pressure.cli import main
from pressure.spark import OptionError, PipelineError, pipeline, sessions
from pressure.spark.pipeline import Batch, Plan, cause_of, check, function_named, place_of, running, started
from tests.cases import for_each

from .conftest import Place


class Query:
    """Ends a batch with each wait, as many as it is told; then it ends, or fails, or waits for more."""

    def __init__(self, batches: int, *, ends: bool = True, error: Exception | None = None) -> None:
        self.recentProgress: list[dict[str, Any]] = []
        self.isActive = True
        self.status = {"isTriggerActive": True, "message": "Processing new data"}
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

    def pause(self) -> None:
        """Only the batch under way is left."""
        self._batches = min(self._batches, len(self.recentProgress) + 1)


SparkError = type("SparkError", (Exception,), {"__module__": "pyspark.errors"})


def test_batches_are_reported_until_the_query_ends() -> None:
    query = Query(3)
    assert list(running(query, lambda: False)) == [Batch(number, 10, 5.0) for number in range(3)]


def test_a_stopped_query_finishes_the_batch_under_way() -> None:
    query = Query(5, ends=False)
    seen = running(query, lambda: len(query.recentProgress) >= 2, query.pause)
    assert [batch.number for batch in seen] == [0, 1, 2]
    assert not query.isActive


def test_a_query_that_is_stopped_while_it_starts_ends_its_first_batch() -> None:
    query = Query(3, ends=False)
    query.status = {"isTriggerActive": False, "message": "Initializing sources"}

    def pause() -> None:
        if query.waits:  # by now it has started
            query.status = {
                "isTriggerActive": len(query.recentProgress) < 2,
                "message": "Processing new data",
            }

    assert [batch.number for batch in running(query, lambda: True, pause)] == [0, 1]


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


@for_each(
    ("text", "cause"),
    [
        (JAVA, "QueueInUseError: queue 'jobs' is read by another query (host:1/spark/2)"),
        ("pressure.spark.errors.PayloadError: a row's value is null", "PayloadError: a row's value is null"),
        ("first\nZeroDivisionError: division by zero\n\tat java", "ZeroDivisionError: division by zero"),
        ("[TABLE_NOT_FOUND] no such table\nmore", "[TABLE_NOT_FOUND] no such table"),
        (
            "An error occurred while calling o56.start.\n: java.io.IOException: mkdir failed\n\tat x.y(Z.java)",
            "IOException: mkdir failed",
        ),
        (
            "An error occurred\n: a.b.C: outer\n\tat x\nCaused by: a.b.Inner$Exception: inner\n\tat y",
            "Inner$Exception: inner",
        ),
    ],
)
def test_the_cause_is_found_in_the_text_of_a_spark_error(text: str, cause: str) -> None:
    assert cause_of(text) == cause


def test_the_place_of_an_error_is_the_last_line_of_the_users_own_code() -> None:
    text = """Traceback
  File "/venv/lib/python3.11/site-packages/pyspark/worker.py", line 9, in main
  File "/home/ann/mine.py", line 3, in outer
  File "/home/ann/mine.py", line 7, in inner
  File "pyarrow/array.pxi", line 683, in pyarrow.lib._normalize_index
  File "/usr/lib/python3.11/json/decoder.py", line 337, in decode
ValueError: bad"""
    assert place_of(text) == "/home/ann/mine.py:7 in inner"
    assert place_of("no trace") == ""


def test_a_transform_that_fails_is_reported_with_its_line() -> None:
    def broken(_: Any) -> Any:
        return 1 // 0

    with pytest.raises(PipelineError, match=r"ZeroDivisionError: .* \(.*test_pipeline\.py:\d+ in broken\)"):
        started(Table([]), Plan({}, "x", "c", broken))


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
        ("outputMode", "append", {}),
        ("option", "checkpointLocation", "c", {}),
        ("trigger", {"availableNow": True}),
        ("start", {}),
    ]


def test_a_transform_that_does_not_return_a_dataframe_is_an_error() -> None:
    with pytest.raises(OptionError, match="must return a DataFrame, not int"):
        started(Table([]), Plan({}, "x", "c", lambda _: 1))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Has the command run a query, and notes what Spark is told."""

    def use(*queries: Query) -> list[Any]:
        notes: list[Any] = []
        left = list(queries)

        def start(_: Any, plan: Plan) -> Query:
            notes.append(plan)
            return left.pop(0)

        def session(_: str, master: str, *, folder: str, apart: bool, **settings: str) -> Table:
            notes.append(master)
            assert folder
            assert apart
            notes.append(settings)
            return Table([])

        def finish(_: Any, url: str, *, lease: float, options: dict[str, str]) -> int:
            notes.append(url)
            assert options["queue"] == "a"
            return 2

        monkeypatch.setattr(pipeline, "started", start)
        monkeypatch.setattr(pipeline, "check", lambda _: None)
        monkeypatch.setattr(sessions, "session", session)
        monkeypatch.setattr("pressure.spark.finishing.finish", finish)
        return notes

    return use


def test_the_command_turns_its_options_into_a_plan_and_prints_progress(
    fake: Callable[..., list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    notes = fake(Query(2))
    line = "--host h --port 7000 --db 3 pipeline --from a --to b --checkpoint c --to-kind backup --rows 9 --drain"
    assert main([*line.split(), "--master", "m", "--timeout", "5"]) == 0
    master, settings, plan, url = notes
    assert settings == {**sessions.QUIET, "spark__log__level": "OFF"}
    common = {"url": "redis://h:7000/3", "timeout": "5.0"}
    assert (master, url) == ("m", "redis://h:7000/3")
    assert plan.source == {
        "queue": "a",
        "kind": "pressure",
        "format": "binary",
        "rowsPerBatch": "9",
        **common,
    }
    assert plan.target == {"queue": "b", "kind": "backup", **common}
    assert (plan.checkpoint, plan.drain) == ("c", True)
    assert capsys.readouterr().err.splitlines() == [
        "pressure: pipeline: batch 0: 10 rows, 5/s",
        "pressure: pipeline: batch 1: 10 rows, 5/s",
        "pressure: pipeline: 20 rows done, 2 are claimed for the next run",
    ]


@pytest.mark.parametrize("target", ["x.parquet", "folder/x"])
def test_the_command_can_write_parquet(fake: Callable[..., list[Any]], target: str) -> None:
    notes = fake(Query(0))
    assert main(["pipeline", "--from", "a", "--to", target, "--checkpoint", "c", "-q"]) == 0
    assert notes[2].target == target
    assert notes[2].source["format"] == "text"


def test_the_command_passes_on_what_spark_and_the_queues_are_to_do(
    fake: Callable[..., list[Any]],
) -> None:
    notes = fake(Query(0))
    line = (
        "pipeline --from a --to b --checkpoint c --format json --schema x --malformed keep --dead d "
        "--partitions 3 --key n --output-mode update --conf spark.executor.memory=2g --verbose "
        "--on-server-rollback resume"
    )
    assert main(line.split()) == 0
    _, settings, plan, _ = notes
    assert settings == {"spark__executor__memory": "2g"}
    assert plan.source == {
        "queue": "a", "kind": "pressure", "format": "json", "schema": "x", "dead": "d", "partitions": "3",
        "onServerRollback": "resume",
    }  # fmt: skip
    target = {"queue": "b", "kind": "pressure", "key": "n", "onServerRollback": "resume"}
    assert (plan.target, plan.mode) == (target, "update")


def test_a_setting_of_spark_without_a_value_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("pipeline --from a --to b --checkpoint c --conf x".split()) == 2
    assert capsys.readouterr().err == "pressure: --conf must be NAME=VALUE, not 'x'\n"


def test_the_command_prints_the_cause_when_the_query_fails(
    fake: Callable[..., list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    fake(Query(0, error=SparkError(JAVA)))
    assert main(["pipeline", "--from", "a", "--to", "b", "--checkpoint", "c"]) == 7
    assert "QueueInUseError: queue 'jobs' is read by another query" in capsys.readouterr().err


@for_each(("rows", "status"), [((0, 0, 1, 0, 0, 0, 0, 2), 0), ((0,) * 6, 18)])
def test_a_query_is_started_again_when_the_machine_is_so_busy_that_spark_waits_for_a_process_in_vain(
    fake: Callable[..., list[Any]], rows: tuple[int, ...], status: int
) -> None:
    """Five times after each batch that was completed; the last query of the first case ends well."""
    starved = SparkError("org.apache.spark.SparkException: Python worker failed to connect back.")
    notes = fake(*(Query(each, error=starved if each < 2 else None) for each in rows))
    assert main(["pipeline", "--from", "a", "--to", "b", "--checkpoint", "c"]) == status
    assert sum(isinstance(each, Plan) for each in notes) == len(rows)


def test_the_status_is_that_of_the_error_in_the_query(fake: Callable[..., list[Any]]) -> None:
    fake(Query(0, error=SparkError("ZeroDivisionError: division by zero")))
    assert main(["pipeline", "--from", "a", "--to", "b", "--checkpoint", "c"]) == 18


def test_all_that_spark_says_is_printed_on_request(
    fake: Callable[..., list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    fake(Query(0, error=SparkError(JAVA)))
    assert main(["pipeline", "--from", "a", "--to", "b", "--checkpoint", "c", "--verbose"]) == 7
    assert JAVA in capsys.readouterr().err


def test_a_missing_queue_or_server_is_found_before_spark_starts(
    make: Callable[..., Place], capsys: pytest.CaptureFixture[str]
) -> None:
    place = make()
    line = ["pipeline", "--url", place.url, "--checkpoint", "c", "--from"]
    assert main([*line, "none", "--to", place.name]) == 3
    assert main([*line, place.name, "--to", "none"]) == 3
    assert main([*line, place.name, "--to", "x.parquet", "--dead", "none"]) == 3
    assert main(["pipeline", "--port", "1", "--from", "a", "--to", "b", "--checkpoint", "c"]) == 4
    assert main([*line, place.name, "--to", place.name, "--malformed", "keep"]) == 2
    assert "name a queue for such" in capsys.readouterr().err


def test_a_plan_with_a_transform_may_keep_malformed_messages(make: Callable[..., Place]) -> None:
    place = make()
    where = {"queue": place.name, "url": place.url}
    check(Plan({**where, "malformed": "keep"}, where, "c", lambda table: table))
