"""Streams in a real Spark: from a queue, into a queue, drained, finished, run again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pressure.spark
from tests.spark.conftest import Place, some

from .conftest import options

pytestmark = pytest.mark.spark


def drained(spark: Any, place: Any, target: Any, checkpoint: Path, **given: object) -> Any:
    """Run a query from one queue to another until there is nothing left."""
    rows = spark.readStream.format("pressure").options(**options(place, format="text", **given)).load()
    query = (
        rows.selectExpr("upper(value) AS value").writeStream.format("pressure").options(**options(target))
        .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    )  # fmt: skip
    assert query.awaitTermination(500)
    assert query.exception() is None
    return query


def test_a_queue_is_drained_into_another(spark: Any, place: Place, make: Any, tmp_path: Path) -> None:
    target = make(place.kind)
    in_parts = spark.version >= "4.2"
    given = {"rowsPerBatch": 1000} if in_parts else {}
    place.put(*some(0, 2500))
    query = drained(spark, place, target, tmp_path, **given)
    assert target.look() == [row.upper() for row in some(0, 2500)]
    if in_parts:
        assert [each["numInputRows"] for each in query.recentProgress][:3] == [1000, 1000, 500]
        lags = [pressure.spark.lag(SimpleNamespace(lastProgress=each)) for each in query.recentProgress]
        assert [each[place.name] for each in lags][:3] == [1500, 500, 0]
    assert place.look() == []
    assert pressure.spark.finish(query, place.url, lease=2) == 0
    place.put(*some(2500, 2600))
    drained(spark, place, target, tmp_path, **given)
    assert target.look() == [row.upper() for row in some(0, 2600)]
    if place.kind == "pressure":
        assert place.queue.stats().unacknowledged == 100


def test_two_queues_are_drained_together_and_a_third_one_is_added(
    spark: Any, on_real: Any, tmp_path: Path
) -> None:
    places = [on_real(), on_real(), on_real()]
    target = on_real()
    for place in places:
        place.put(*some(0, 50))

    def drain(*sources: Any) -> Any:
        names = ",".join(each.name for each in sources)
        given = {"queues": names, "url": target.url, "includeQueue": True, "format": "text", "lease": 2}
        rows = spark.readStream.format("pressure").options(**given).load()
        query = (
            rows.selectExpr("concat(queue, ': ', value) AS value").writeStream.format("pressure")
            .options(**options(target)).option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True).start()
        )  # fmt: skip
        assert query.awaitTermination(500)
        assert query.exception() is None
        return query

    drain(*places[:2])
    query = drain(*places)
    assert pressure.spark.finish(query, target.url, lease=2) == 0
    assert pressure.spark.lag(query) == {place.name: 0 for place in places}
    wanted = [b"%s: %s" % (place.name.encode(), value) for place in places for value in some(0, 50)]
    assert sorted(target.look()) == sorted(wanted)
    assert [place.queue.stats().consumed_messages for place in places] == [50] * 3
    assert not any(place.queue.doctor().problems for place in places)


def test_a_bounded_queue_makes_a_stream_wait(spark: Any, on_real: Any, tmp_path: Path) -> None:
    place, target = on_real(), on_real(bound=100)
    place.put(*some(0, 300))
    rows = spark.readStream.format("pressure").options(**options(place)).load().select("value")
    query = (
        rows.writeStream.format("pressure").options(**options(target, timeout=200))
        .option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    )  # fmt: skip
    got = [value for _ in range(300) for value in target.queue.get_many(1, timeout=200)]
    assert query.awaitTermination(500)
    assert got == some(0, 300)
    assert target.queue.doctor().problems == ()


def test_a_second_query_on_one_queue_is_refused(spark: Any, on_real: Any, tmp_path: Path) -> None:
    place = on_real()
    place.put(*some(0, 3))

    def start(name: str) -> Any:
        rows = spark.readStream.format("pressure").options(**options(place)).load()
        return rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / name)).start()

    one = start("one")
    one.processAllAvailable()
    two = start("two")
    with pytest.raises(Exception, match="read by another query"):
        two.awaitTermination(200)
    assert one.isActive
    one.stop()
