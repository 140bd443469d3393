"""Several queues in one stream or table, called by PySpark's own workers; no Java. Needs the extra."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pressure.spark import OptionError, RowsGoneError, finish

from .conftest import Place, some
from .test_datasource import elsewhere
from .test_finishing import Query

pytest.importorskip("pyspark", reason="PySpark is not installed; it is in the extra 'spark'")
datasource: Any = pytest.importorskip("pressure.spark.datasource")
types: Any = pytest.importorskip("pyspark.sql.types")

pytestmark = pytest.mark.filterwarnings("default")

Make = Callable[..., Place]


def reader(places: list[Place], how: str = "streamReader", **given: str) -> Any:
    names = ",".join(place.name for place in places)
    options = {"queues": names, "url": places[0].url, "format": "text", "lease": "1", **given}
    made = elsewhere(datasource.PressureDataSource)({"includeQueue": "true", **options})
    return getattr(made, how)(_schema())


def _schema() -> Any:
    fields = {
        "position": types.LongType(), "id": types.StringType(), "value": types.StringType(),
        "enqueued": types.TimestampType(), "deliveries": types.IntegerType(), "queue": types.StringType(),
    }  # fmt: skip
    return types.StructType([types.StructField(name, kind) for name, kind in fields.items()])


def rows(made: Any, partitions: list[Any]) -> list[tuple[str, int, bytes]]:
    """The rows of partitions, as other processes read them: their queue, position and value."""
    if isinstance(made, datasource.StreamReader):  # tasks have one that the driver has not used
        made = datasource.StreamReader(made._options, made._schema)
    found = [batch for each in partitions for batch in elsewhere(made).read(elsewhere(each))]
    return [
        (row["queue"], row["position"], row["value"].encode()) for batch in found for row in batch.to_pylist()
    ]


def of(offset: dict[str, Any]) -> list[int]:
    """The row of each queue in an offset."""
    return [each["row"] for each in offset["pressure"].values()]


def test_the_queues_of_a_table_are_read_one_after_the_other_with_their_names(make: Make) -> None:
    one, two, empty = make(), make(), make()
    one.put(*some(0, 3))
    two.put(*some(3, 5))
    made = reader([one, two, empty], "reader")
    found = rows(made, list(made.partitions()))
    assert found == [
        *((one.name, at, b"row %d" % at) for at in range(3)),
        *((two.name, at, b"row %d" % (at + 3)) for at in range(2)),
    ]
    assert len(one.look()) == 3


def test_a_table_has_the_column_queue_only_if_it_is_asked_for(make: Make) -> None:
    place = make()
    given = {"queue": place.name, "url": place.url}
    schema = datasource.PressureDataSource(given).schema()
    assert (
        datasource.PressureDataSource({**given, "includeQueue": "true"}).schema() == f"{schema}, queue STRING"
    )
    assert schema.endswith("deliveries INT")


def test_a_stream_of_several_queues_that_is_run_again_reads_the_same_rows(make: Make) -> None:
    one, two = make(), make()
    one.put(*some(0, 4))
    two.put(*some(4, 6))
    made = reader([one, two])
    first = json.loads(json.dumps(made.initialOffset()))
    end = json.loads(json.dumps(made.latestOffset(first)))
    assert (of(first), of(end)) == ([0, 0], [4, 2])
    before = rows(made, made.partitions(first, end))
    assert sorted(value for _, _, value in before) == some(0, 6)
    made.stop()
    again = reader([one, two])
    assert rows(again, again.partitions(first, end)) == before
    two.put(b"row 6")
    last = again.latestOffset(end)
    again.commit(end)
    assert rows(again, again.partitions(end, last)) == [(two.name, 2, b"row 6")]
    again.commit(last)
    again.stop()
    assert one.queue.stats().consumed_messages == 4
    assert two.queue.stats().consumed_messages == 3


def test_what_a_short_queue_leaves_of_its_share_of_a_batch_is_for_the_others(make: Make) -> None:
    places = [make(), make(), make()]
    for place, count in zip(places, (100, 1, 50), strict=True):
        place.put(*some(0, count))
    made = reader(places, rowsPerBatch="21")
    start = made.initialOffset()
    taken = []
    for _ in range(3):
        end = made.latestOffset(start)
        taken.append([high - low for low, high in zip(of(start), of(end), strict=True)])
        start = end
    assert taken == [[10, 1, 10], [11, 0, 10], [11, 0, 10]]
    assert all(sum(each) <= 21 for each in taken)
    made.stop()


def test_a_stream_that_drains_several_queues_ends_at_the_lengths_they_had_at_the_start(make: Make) -> None:
    places = [make(), make()]
    for place in places:
        place.put(*some(0, 2))
    made = reader(places)
    first = made.initialOffset()
    made.prepareForTriggerAvailableNow()
    for place in places:
        place.put(b"later")
    end = made.latestOffset(first)
    assert of(end) == [2, 2]
    assert made.latestOffset(end) == end
    assert of(made.reportLatestOffset()) == [3, 3]
    made.stop()


def test_a_batch_waits_until_all_queues_together_have_enough_rows(make: Make) -> None:
    one, two = make(), make()
    one.put(b"a")
    made = reader([one, two], minRowsPerBatch="3")
    first = made.initialOffset()
    assert made.latestOffset(first) == first
    two.put(b"b", b"c")
    assert of(made.latestOffset(first)) == [1, 2]
    made.stop()


@pytest.mark.parametrize("told", [True, False], ids=["4.2", "4.0"])
def test_a_queue_that_is_added_to_a_stream_is_read_from_its_beginning(make: Make, told: bool) -> None:
    one, two = make(), make()
    one.put(b"a")
    single = elsewhere(datasource.PressureDataSource)(
        {"queue": one.name, "url": one.url, "format": "text", "includeQueue": "true", "lease": "1"}
    ).streamReader(_schema())
    start = single.latestOffset(single.initialOffset())
    assert start["row"] == 1
    single.stop()
    two.put(b"b")
    both = reader([one, two])
    end = both.latestOffset(*([start] if told else []))
    both.commit(start)
    assert rows(both, both.partitions(start, end)) == [(two.name, 0, b"b")]
    both.stop()


def test_a_queue_that_is_no_longer_named_is_reported_not_skipped(make: Make) -> None:
    one, two = make(), make()
    made = reader([one, two])
    offset = made.initialOffset()
    made.stop()
    fewer = reader([one])
    for call in (fewer.latestOffset, fewer.commit, lambda each: fewer.partitions(each, {})):
        with pytest.raises(OptionError, match=f"rows of '{two.name}', which the option queues does not name"):
            call(offset)
    fewer.stop()


def test_rows_of_one_of_several_queues_that_are_gone_end_the_stream(make: Make) -> None:
    one, two = make(), make()
    two.put(b"a")
    made = reader([one, two])
    first = made.initialOffset()
    end = made.latestOffset(first)
    made.commit(end)
    with pytest.raises(RowsGoneError, match="the checkpoint begins at row 0"):
        made.partitions(first, end)
    made.stop()


def test_finish_acknowledges_the_last_batch_of_each_queue(make: Make) -> None:
    one, two = make(), make()
    one.put(b"a")
    two.put(b"b", b"c")
    made = reader([one, two])
    end = made.latestOffset(made.initialOffset())
    made.stop()
    assert finish(Query({"pressure": {}}, json.dumps(end)), one.url) == 0
    assert [place.queue.stats().consumed_messages for place in (one, two)] == [1, 2]
    assert [place.queue.doctor().problems for place in (one, two)] == [(), ()]


def test_a_table_is_written_to_one_queue(make: Make) -> None:
    place = make()
    columns = types.StructType([types.StructField("value", types.StringType())])
    for more in ({"queues": place.name}, {"queue": place.name, "includeQueue": "true"}):
        made = datasource.PressureDataSource({"url": place.url, "format": "text", **more})
        with pytest.raises(OptionError, match="are for reading; a table is written to one queue"):
            made.writer(columns, False)
