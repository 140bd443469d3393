"""A query that asks for some positions reads only these; the lag of a query."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from pressure.spark import lag

from .conftest import some
from .test_datasource import rows, schema, source

pytest.importorskip("pyspark", reason="PySpark is not installed; it is in the extra 'spark'")
datasource: Any = pytest.importorskip("pressure.spark.datasource")
spark: Any = pytest.importorskip("pyspark.sql.datasource")

pytestmark = pytest.mark.filterwarnings("default")

if not hasattr(spark, "Filter"):
    pytest.skip("this version of Spark passes no filters", allow_module_level=True)

POSITION, OTHER = ("position",), ("deliveries",)
FILTERS = {
    "5": ([spark.EqualTo(POSITION, 5)], range(5, 6)),
    "5, null-safe": ([spark.EqualNullSafe(POSITION, 5)], range(5, 6)),
    "5 and more": ([spark.GreaterThanOrEqual(POSITION, 5)], range(5, 20)),
    "more than 5": ([spark.GreaterThan(POSITION, 5)], range(6, 20)),
    "less than 5": ([spark.LessThan(POSITION, 5)], range(5)),
    "5 and less": ([spark.LessThanOrEqual(POSITION, 5)], range(6)),
    "some": ([spark.In(POSITION, (9, 3, 4))], range(3, 10)),
    "between": ([spark.GreaterThan(POSITION, 3), spark.LessThan(POSITION, 9)], range(4, 9)),
    "none": ([spark.GreaterThan(POSITION, 9), spark.LessThan(POSITION, 5)], range(0)),
    "before the first": ([spark.LessThan(POSITION, -4)], range(0)),
    "after the last": ([spark.EqualTo(POSITION, 20)], range(0)),
    "from before the first": ([spark.GreaterThan(POSITION, -7)], range(20)),
    "null": ([spark.EqualNullSafe(POSITION, None)], range(20)),
    "null in": ([spark.In(POSITION, (1, None))], range(20)),
    "not null": ([spark.IsNotNull(POSITION), spark.Not(spark.EqualTo(POSITION, 3))], range(20)),
    "another column": ([spark.EqualTo(OTHER, 3)], range(20)),
}


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("snapshot", ["true", "false"])
def test_a_table_reads_the_positions_that_are_asked_for(make: Any, filters: str, snapshot: str) -> None:
    place = make("backup")
    place.put(*some(0, 20))
    made = source(place, snapshot=snapshot)
    reader = datasource.FilteringReader(made._chosen, schema(), "")
    given, wanted = FILTERS[filters]
    assert reader.pushFilters(given) == given  # Spark applies all of them, too
    found = rows(reader, list(reader.partitions()), made)
    assert [(row["position"], row["value"].encode()) for row in found] == [
        (at, b"row %d" % at) for at in wanted
    ]


def test_a_reliable_queue_is_read_up_to_the_last_position_that_is_asked_for(make: Any) -> None:
    place = make("reliable")
    place.put(*some(0, 20))
    made = source(place)
    reader = datasource.FilteringReader(made._chosen, schema(), "")
    reader.pushFilters([spark.GreaterThan(POSITION, 3), spark.LessThan(POSITION, 6)])
    assert [row["position"] for row in rows(reader, list(reader.partitions()), made)] == [*range(6)]


@pytest.mark.parametrize(("setting", "passes"), [("true", True), ("false", False), (None, False)])
def test_a_reader_takes_filters_only_where_spark_passes_them(setting: str | None, passes: bool) -> None:
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda _, default: setting or default))
    made: Any = datasource.data_source_for(session)
    assert (made._reader.pushFilters is not spark.DataSourceReader.pushFilters) == passes


def test_the_lag_of_a_query_is_what_each_of_its_queues_had_that_it_had_not_read() -> None:
    def told(*rows: int) -> str:
        names = ("a", "b")
        return json.dumps(
            {
                "pressure": {
                    name: {"pressure": name, "row": row} for name, row in zip(names, rows, strict=True)
                }
            }
        )

    sources = [
        {"endOffset": told(3, 4), "latestOffset": told(10, 4)},
        {
            "endOffset": json.dumps({"pressure": "c", "row": 1}),
            "latestOffset": json.dumps({"pressure": "c", "row": 2}),
        },
        {"endOffset": "7", "latestOffset": "9"},
        {"endOffset": told(3, 4), "latestOffset": None},
    ]
    query = SimpleNamespace(lastProgress={"sources": sources})
    assert lag(query) == {"a": 7, "b": 0, "c": 1}
    assert lag(SimpleNamespace(lastProgress=None)) == {}
