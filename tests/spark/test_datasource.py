"""What Spark calls, called by PySpark's own workers; no Java. Needs the extra."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.targets import Address
from pressure.spark import OptionError
from tests.spark.conftest import Place, some

pytest.importorskip("pyspark", reason="PySpark is not installed; it is in the extra 'spark'")
pa: Any = pytest.importorskip("pyarrow")
datasource: Any = pytest.importorskip("pressure.spark.datasource")
writing: Any = pytest.importorskip("pressure.spark.writing")
cloudpickle: Any = pytest.importorskip("pyspark.cloudpickle")
types: Any = pytest.importorskip("pyspark.sql.types")
runner: Any = pytest.importorskip("pyspark.sql.streaming.python_streaming_source_runner")
planning: Any = pytest.importorskip("pyspark.sql.worker.plan_data_source_read")

pytestmark = pytest.mark.filterwarnings("default")

VALUES = {"text": types.StringType(), "binary": types.BinaryType()}


def elsewhere(thing: Any) -> Any:
    """As it comes out in another process."""
    return cloudpickle.loads(cloudpickle.dumps(thing))


def source(place: Place, **given: str) -> Any:
    options = {
        "queue": place.name,
        "url": place.url,
        "kind": place.kind,
        "format": "text",
        "lease": "1",
        **given,
    }
    return elsewhere(datasource.PressureDataSource)(options)


def schema(form: str = "text") -> Any:
    fields = {
        "position": types.LongType(), "id": types.StringType(), "value": VALUES[form],
        "enqueued": types.TimestampType(), "deliveries": types.IntegerType(),
    }  # fmt: skip
    return types.StructType([types.StructField(name, kind) for name, kind in fields.items()])


def rows(reader: Any, partitions: list[Any], made: Any) -> list[dict[str, Any]]:
    """What the workers make of partitions; they check each batch."""
    found = []
    for each in partitions:
        batches = planning.records_to_arrow_batches(
            elsewhere(reader).read(elsewhere(each)), 10_000, schema(), made
        )
        found += [row for batch in batches for row in batch.to_pylist()]
    return found


def test_a_batch_reader_returns_the_queue_as_a_table(place: Place) -> None:
    place.put(*some(0, 2500))
    made = source(place)
    assert made.schema().startswith("position BIGINT, id STRING, value STRING")
    reader = made.reader(schema())
    found = rows(reader, list(reader.partitions()), made)
    assert [row["value"].encode() for row in found] == some(0, 2500)
    assert [row["position"] for row in found] == list(range(2500))


class Streaming:
    """A reader as the driver's worker holds it, asked through its own functions."""

    def __init__(self, made: Any) -> None:
        self.made, self.reader = made, made.streamReader(schema())
        self.admits = hasattr(runner, "latest_offset_admission_control_func")

    def ask(self, function: Any, *offsets: dict[str, Any]) -> dict[str, Any]:
        out = io.BytesIO()
        words = b"".join(
            len(text).to_bytes(4, "big") + text for text in (json.dumps(o).encode() for o in offsets)
        )
        function(self.reader, *((io.BytesIO(words),) if offsets else ()), out)
        answer: dict[str, Any] = json.loads(out.getvalue()[4:] or b"null")
        return answer

    def latest(self, start: dict[str, Any], most: int | None) -> dict[str, Any]:
        if not self.admits:
            return self.ask(runner.latest_offset_func)
        limit = {"_type": "ReadAllAvailable"} if most is None else {"_type": "ReadMaxRows", "max_rows": most}
        return self.ask(runner.latest_offset_admission_control_func, start, limit)

    def first(self) -> dict[str, Any]:
        return self.ask(runner.initial_offset_func)

    def rows(self, start: dict[str, Any], end: dict[str, Any]) -> list[bytes]:
        another = self.made.streamReader(schema())
        found = rows(another, self.reader.partitions(start, end), self.made)
        return [row["value"].encode() for row in found]


def test_a_stream_that_is_run_again_reads_the_same_rows(place: Place) -> None:
    place.put(*some(0, 30))
    one = Streaming(source(place))
    first = one.first()
    end = one.latest(first, 20)
    middle = 20 if one.admits else 30
    assert (first["row"], end["row"]) == (0, middle)
    assert one.reader.partitions(end, end) == []
    one.reader.stop()
    two = Streaming(source(place))  # the same query, run again
    assert two.rows(first, end) == some(0, middle)
    place.put(*some(30, 40))
    last = two.latest(end, None)
    two.reader.commit(end)
    assert two.rows(end, last) == some(middle, 40)
    two.reader.commit(last)
    two.reader.stop()
    assert place.look() == []


def test_draining_a_stream_in_parts_ends_at_the_length_it_had_at_the_start(place: Place) -> None:
    place.put(*some(0, 12))
    one = Streaming(source(place, rowsPerBatch="5"))
    if not one.admits:
        pytest.skip("this version of Spark reads all that a stream has at once")
    out = io.BytesIO()
    runner.check_support_func(one.reader, out)
    assert int.from_bytes(out.getvalue(), "big") == 3
    out = io.BytesIO()
    runner.get_default_read_limit_func(one.reader, out)
    assert json.loads(out.getvalue()[4:]) == {"max_rows": 5, "_type": "ReadMaxRows"}
    offsets = [one.first()]
    runner.prepare_for_trigger_available_now_func(one.reader, io.BytesIO())
    place.put(*some(12, 20))
    while (end := one.latest(offsets[-1], 5)) != offsets[-1]:
        offsets.append(end)
    assert [offset["row"] for offset in offsets] == [0, 5, 10, 12]
    assert one.ask(runner.report_latest_offset_func)["row"] == 20
    one.reader.stop()


def test_a_batch_waits_for_enough_rows_or_for_the_longest_delay(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("pressure.spark.streaming.time", SimpleNamespace(monotonic=lambda: now[0]))
    place.put(b"one", b"two")
    reader = source(place, minRowsPerBatch="3", maxBatchDelay="60").streamReader(schema())

    def latest(start: dict[str, Any] | None) -> int:
        return int(reader.latestOffset(start)["row"])

    first = reader.initialOffset()
    assert (latest(first), latest(None)) == (0, 0)
    now[0] = 59.0
    assert latest(first) == 0
    now[0] = 60.0
    end = reader.latestOffset(first)
    assert end["row"] == 2
    assert latest(end) == 2
    place.put(b"three", b"four", b"five")
    assert latest(end) == 5
    reader.stop()


def test_an_aborted_write_puts_nothing_and_a_committed_write_is_put_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = SimpleNamespace(partitionId=lambda: 0, getLocalProperty=lambda name: f"value of {name[-7:]}")
    monkeypatch.setattr(writing, "_task", lambda: task)
    columns = types.StructType([types.StructField("value", types.StringType())])
    batch = pa.record_batch([pa.array(["row 0", "row 1"])], names=["value"])
    writer = elsewhere(source(place).writer(columns, False))
    message = elsewhere(writer.write(iter([batch])))
    elsewhere(writer).abort([message, None])
    assert place.look() == []
    message = elsewhere(writer.write(iter([batch])))
    elsewhere(writer).commit([message])
    assert place.look() == some(0, 2)
    for _ in range(2):
        stream: Any = elsewhere(source(place).streamWriter(columns, False))
        message = elsewhere(stream.write(iter([batch])))
        stream = source(place).streamWriter(columns, False)
        stream.commit([message], 4)
    assert place.look() == [*some(0, 2), *some(0, 2)]


def test_each_batch_of_a_writer_is_written_once(
    place: Place, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_task", lambda: SimpleNamespace(partitionId=lambda: 0))
    columns = types.StructType([types.StructField("value", types.StringType())])
    batch = pa.record_batch([pa.array(["row"])], names=["value"])

    def write(**options: str) -> None:
        writer = source(place, **options).writer(columns, False)
        writer.commit([writer.write(iter([batch]))])

    for _ in range(3):
        write()
    assert not raw.keys(f"__spark__:*{place.name}")
    write(writer="nightly", batch="7")
    for number in ("7", "6"):
        with pytest.warns(match="nothing was written, since writer 'nightly' has written batch"):
            write(writer="nightly", batch=number)
    write(writer="nightly", batch="20261122")
    assert place.look() == [b"row"] * 5
    assert len(raw.keys(f"__spark__:*{place.name}")) == 1


def test_an_older_spark_warns_of_options_that_end_a_query_before_the_queue_is_empty(
    embedded_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasource, "ADMITS", False)
    given = {"queue": "q", "url": embedded_server.url, "kind": "backup"}
    for option in ("rowsPerBatch", "maxBytesPerBatch", "minRowsPerBatch"):
        with pytest.warns(match=f"leave {option} out to drain the queue"):
            datasource.PressureDataSource({**given, option: "5"}).streamReader(schema("binary"))


def test_wrong_options_columns_and_modes_are_refused(embedded_server: Address) -> None:
    options = {"queue": "q", "kind": "backup", "url": embedded_server.url}
    made = datasource.PressureDataSource
    columns = types.StructType([types.StructField("value", types.StringType())])
    attempts: dict[str, Any] = {
        "option schema is missing": lambda: made({**options, "format": "json"}).schema(),
        r"leave out \.schema": lambda: made(options).reader(columns),
        "the column value is binary": lambda: made(options).reader(schema()),
        "cannot be overwritten": lambda: made(options).writer(columns, True),
        "cannot be written with outputMode": lambda: made(options).streamWriter(columns, True),
        "for batch writes": lambda: made({**options, "writer": "w", "batch": "1"}).streamWriter(
            columns, False
        ),
    }
    for told, attempt in attempts.items():
        with pytest.raises(OptionError, match=told):
            attempt()


def test_a_process_that_plans_or_commits_a_batch_imports_no_arrow() -> None:
    """Spark starts some for each batch, and Arrow takes longer to import than all the rest."""
    program = "import sys, pressure.spark.datasource; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
