"""Checks a history on Spark: its workers judge queues, many in one task, and add up what they found.

A queue goes to one worker as a whole, unless it is large: then it is cut (``cuts``), and its pieces are
judged side by side (``pieces``). What can neither be cut nor held by a worker is unknown.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody calls it)

from ..model import Facts
from ..scope import together
from .checking import ONE_QUEUE, check_table, pairs_in, unknown_everywhere
from .columns import FACT, SCHEMA, facts_in, table_of
from .cuts import LIMITS, Limits, Plan, planned
from .figures import COLUMNS, Figures, added, counts_of
from .files import require_columns
from .pieces import judged_in_pieces
from .summary import Summary, Total, complete, totalled

__all__ = ["check_on_spark"]

_PAIRS: Final = pa.schema([("own", pa.string()), ("other", pa.string()), ("certain", pa.bool_())])
_COUNTS: Final = "name string, outcome string, bucket long, count long, longest long, first long, last long"


def check_on_spark(spark: SparkSession, paths: Sequence[Path | str], limits: Limits = LIMITS) -> Summary:
    """Checks a history.

    Args:
        spark: the session.
        paths: files, or folders of them, that all workers can read.
        limits: how to divide the work.

    Raises:
        ValueError: it is no history.
    """
    begun = perf_counter()
    rows = spark.read.parquet(*map(str, paths))
    require_columns(rows.columns, ", ".join(map(str, paths)))
    rows = rows.select(*SCHEMA.names)
    figures = counted(rows)
    if spoilt := unknown_everywhere(figures):
        return Summary(figures, totalled([spoilt]), f"Spark {spark.version}", perf_counter() - begun)
    run, groups = run_facts(rows, figures), groups_in(rows, figures)
    rows = rows.withColumn("group", group_of(groups))
    plan = planned(rows, figures, limits)
    total = totalled(plan.refused)
    total.merge(judged_whole(without(rows, plan), figures, run, groups, limits))
    total.merge(totalled(judged_in_pieces(rows, figures, plan, run, limits)))
    return complete(Summary(figures, total, f"Spark {spark.version}", perf_counter() - begun))


def counted(rows: DataFrame) -> Figures:
    """The figures of a history."""
    counts = rows.select(*COLUMNS).mapInArrow(_counts, _COUNTS).collect()
    return added(row.asDict() for row in counts)


def _counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from counts_of(pa.Table.from_batches([batch])).combine_chunks().to_batches()


def run_facts(rows: DataFrame, figures: Figures) -> Facts:
    """What is known of the run; what is known of queues stays with them."""
    if not figures.facts.keys() - {"bound", "final"}:
        return Facts()
    found = rows.where((F.col("outcome") == FACT) & ~F.col("name").isin("bound", "final")).collect()
    return facts_in(table_of(map(tuple, found)))


def groups_in(rows: DataFrame, figures: Figures) -> dict[str, str]:
    """Which keys belong together."""
    if not figures.endings.keys() - set(ONE_QUEUE):
        return {}
    found = rows.mapInArrow(_pairs, "own string, other string, certain boolean").distinct()
    keys = rows.select("queue").union(found.where("certain").select("other")).toDF("other")
    pairs = found.join(keys, "other", "leftsemi").select("own", "other").distinct()
    return together(map(tuple, pairs.collect()))


def _pairs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        pairs = list(pairs_in(pa.Table.from_batches([batch])))
        yield pa.RecordBatch.from_pylist(
            [dict(zip(_PAIRS.names, pair, strict=True)) for pair in pairs], _PAIRS
        )


def group_of(groups: Mapping[str, str]) -> Column:
    """The first of the keys that a row's key belongs to."""
    if not groups:
        return F.col("queue")
    pairs = (F.lit(word) for pair in groups.items() for word in pair)
    return F.coalesce(F.create_map(*pairs)[F.col("queue")], F.col("queue"))


def without(rows: DataFrame, plan: Plan) -> DataFrame:
    """The rows of the queues that are judged as a whole."""
    apart = [*plan.cuts, *(judged.queue for judged in plan.refused)]
    return rows.where(~F.col("group").isin(apart)) if apart else rows


def judged_whole(
    rows: DataFrame, figures: Figures, run: Facts, groups: Mapping[str, str], limits: Limits
) -> Total:
    """Judges queues as they are, as many in one task as make a part."""
    parts = max(figures.operations // limits.part, 2 * rows.sparkSession.sparkContext.defaultParallelism)
    numbered = rows.withColumn("part", F.pmod(F.xxhash64("group"), F.lit(parts))).repartition(parts, "part")
    judge = _judge(run, dict(groups))
    total = Total()
    for (found,) in numbered.groupBy("part").applyInArrow(judge, "found binary").collect():
        total.merge(pickle.loads(found))  # noqa: S301  (our own workers made it)
    return total


def _judge(run: Facts, groups: Mapping[str, str]) -> Callable[[Any], Any]:
    def judged(table: pa.Table) -> pa.Table:
        return pa.table({"found": [pickle.dumps(totalled(check_table(table, run, groups)))]})

    return judged  # a partial PySpark 4.3 does not take
