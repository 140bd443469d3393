"""Batches: a queue looked at as a table, a table put into a queue, in a real Spark."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.spark.conftest import Place, some

from .conftest import options

pytestmark = pytest.mark.spark


def test_rows_are_read_as_json_and_written_as_json_in_the_order_of_a_key(spark: Any, place: Place) -> None:
    """Read as JSON, written as JSON in order of a key, looked at twice."""
    place.put(*(b'{"n": %d, "s": "x"}' % number for number in range(2500)))
    given = options(place, format="json", schema="n INT, s STRING")
    table = spark.read.format("pressure").options(**given).load()
    assert table.count() == 2500
    first, last = (table.orderBy("position", ascending=up).first() for up in (True, False))
    assert (first.position, first.value.n, first.value.s, first.deliveries) == (0, 0, "x", 0)
    assert (last.position, last.value.n) == (2499, 2499)
    assert (first.enqueued is not None) == (first.id is not None) == (place.kind == "reliable")
    assert len(place.look()) == 2500
    rows = table.select("value.*").where("n % 2 = 0").selectExpr("-n AS n", "s")
    rows.write.format("pressure").options(**options(place, format="json", key="n")).mode("append").save()
    assert place.look()[2500:] == [b'{"n": %d, "s": "x"}' % -number for number in range(2498, -1, -2)]


def test_the_rows_of_a_task_that_failed_and_was_retried_are_written_once(spark: Any, place: Place) -> None:
    """Their first attempt has staged rows already when it fails."""

    def moody(batches: Any) -> Any:
        from pyspark import TaskContext

        yield from batches
        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("the first attempt fails")

    table = spark.range(0, 3000, 1, 3).selectExpr("concat('row ', id) AS value")
    table = table.mapInArrow(moody, "value STRING")
    table.write.format("pressure").options(**options(place)).mode("append").save()
    assert place.look() == some(0, 3000)


def test_a_write_with_a_writer_name_is_done_once(spark: Any, place: Place) -> None:
    table = spark.range(0, 10, 1, 1).selectExpr("concat('row ', id) AS value")
    for _ in range(2):
        table.write.format("pressure").options(**options(place, writer="once", batch=0)).mode("append").save()
    assert place.look() == some(0, 10)
    table.write.format("pressure").options(**options(place, delivery="plain")).mode("append").save()
    assert place.look() == [*some(0, 10), *some(0, 10)]


def wrong(spark: Any, place: Place) -> list[tuple[Any, str]]:
    """What cannot be meant, and what is told of it."""
    table = spark.range(3)

    def read(**given: object) -> Any:
        return lambda: spark.read.format("pressure").options(**options(place, **given)).load()

    def write(frame: Any, mode: str = "append", **given: object) -> Any:
        return lambda: frame.write.format("pressure").options(**options(place, **given)).mode(mode).save()

    return [
        (read(rowPerBatch=3), "did you mean rowsPerBatch"),
        (read(format="json"), "option schema is missing"),
        (read(url="redis://127.0.0.1:1"), "127.0.0.1:1"),
        (write(table), "writes one column, value"),
        (write(table.selectExpr("id AS value")), "writes a column of type binary or string"),
        (write(table.selectExpr("'a' AS value"), "overwrite"), "cannot be overwritten"),
    ]


def test_wrong_options_are_reported_before_anything_is_read_or_written(spark: Any, on_real: Any) -> None:
    place = on_real()
    for attempt, told in wrong(spark, place):
        with pytest.raises(Exception, match=" ") as caught:  # of Spark's own many kinds
            attempt()
        assert told in str(caught.value)
    with pytest.raises(Exception, match="create it first"):
        spark.read.format("pressure").options(**options(place, queue="none")).load()


def test_fields_are_found_in_a_sample_and_positions_are_filtered_by_the_source(
    spark: Any, on_real: Any, real_server: Any
) -> None:
    place = on_real()
    place.put(*(b'{"n": %d, "a`b": [{"x": 0.5}, {"y c": "z"}]}' % at for at in range(5000)))
    given = options(place, format="json", inferSchema=True, partitions=1, snapshot=False)
    table = spark.read.format("pressure").options(**given).load()
    fields = {"n": "bigint", "a`b": "array<struct<x:double,y c:string>>"}
    assert {each.name: each.dataType.simpleString() for each in table.schema["value"].dataType} == fields
    with redis.Redis.from_url(place.url) as raw:
        raw.config_resetstat()
        three = table.where("position >= 4000 AND position < 4003 AND value.n != 4001").select("value.n")
        assert [row.n for row in three.collect()] == [4000, 4002]
        reads = raw.info("commandstats")["cmdstat_lrange"]["calls"]
    if spark.version >= "4.1":
        assert reads == 1
    assert len(place.look()) == 5000
