"""Where the histories of large queues can be cut: between two operations, where nothing is under way.

Spark sorts, so that a queue need not fit a worker. Of the moments in a stretch at which no operation is
under way and nothing is received and not settled, the first at which the queue is empty is taken, or else
the first. What makes a queue whole: lists, for their elements are not distinct; a delete; a value that was
put twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from ..model import NEVER, Verdict
from .checking import ONE_QUEUE, Judged
from .columns import FACT
from .figures import Figures
from .findings import Finding

__all__ = ["GETS", "LIMITS", "Limits", "Plan", "planned", "refusal", "values_put", "with_settlements"]

PUTS: Final = ("put", "put_many")
GETS: Final = ("get", "get_many")


@dataclass(frozen=True, slots=True)
class Limits:
    """How work is divided among workers.

    Attributes:
        part: operations in a task, about.
        piece: operations in a piece of a large queue, about; a queue of twice as many is large.
        most: operations of one queue, or of one piece, that a worker takes at most.
    """

    part: int = 250_000
    piece: int = 250_000
    most: int = 4_000_000


LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of large queues.

    Attributes:
        cuts: the moments at which pieces begin, but for the first, by queue.
        refused: queues that can neither be cut nor taken by a worker.
    """

    cuts: Mapping[str, list[int]] = field(default_factory=dict)
    refused: tuple[Judged, ...] = ()


def planned(rows: DataFrame, figures: Figures, limits: Limits) -> Plan:
    """Finds large queues, and where to cut them.

    Args:
        rows: of the history, with the column ``group``.
        figures: of it.
        limits: what is large.
    """
    if figures.operations < 2 * limits.piece:
        return Plan()
    sizes = _large(rows.where(F.col("outcome") != FACT), limits)
    if not sizes:
        return Plan()
    whole = {queue for queue, (_, is_whole) in sizes.items() if is_whole}
    whole |= _with_repeated_values(rows, [queue for queue in sizes if queue not in whole])
    cuts = _cuts(rows, figures, [queue for queue in sizes if queue not in whole], limits)
    reason = "its values are not distinct, or it was deleted, so that it cannot be cut"
    refused = (
        refusal(queue, sizes[queue][0], reason, limits) for queue in whole if sizes[queue][0] > limits.most
    )
    return Plan(cuts, tuple(refused))


def refusal(queue: str, operations: int, reason: str, limits: Limits, piece: int = 0) -> Judged:
    """What is said of what is too large."""
    said = f"{operations} operations, and a worker takes {limits.most}: {reason}"
    finding = Finding(queue, "size", Verdict("unknown", reason=said), piece=piece)
    return Judged(queue, operations, "unknown", (finding,))


def _large(operations: DataFrame, limits: Limits) -> dict[str, tuple[int, bool]]:
    """How many operations large queues have, and whether they have to be judged as a whole."""
    name = F.col("name")
    whole = (name == "delete") | ~name.isin(*ONE_QUEUE)
    counts = operations.groupBy("group").agg(F.count("*").alias("size"), F.max(whole).alias("whole"))
    found = counts.where(F.col("size") >= 2 * limits.piece).collect()
    return {queue: (size, is_whole) for queue, size, is_whole in found}


def count_put() -> Column:
    """How many values an operation put for certain."""
    done = F.coalesce(F.decode(F.get("result", F.lit(0)), "ISO-8859-1").try_cast("int"), F.lit(0))
    put = F.col("name").isin(*PUTS)
    return F.when(put & (F.col("outcome") == "error"), done).when(put, F.size("argument")).otherwise(0)


def values_put(rows: DataFrame) -> DataFrame:
    """A row with ``position`` and ``value`` for each value that was put, or may have been."""
    put = rows.where(F.col("name").isin(*PUTS) & (F.col("outcome") != FACT))
    columns = [F.col(name) for name in put.columns]
    exploded = put.select(*columns, F.posexplode("argument").alias("position", "value"))
    return exploded.where(F.col("position") < count_put())


def _with_repeated_values(rows: DataFrame, queues: list[str]) -> set[str]:
    values = values_put(rows.where(F.col("group").isin(queues)))
    twice = values.groupBy("group", "value").count().where("count > 1")
    return {queue for (queue,) in twice.select("group").distinct().collect()}


def with_settlements(rows: DataFrame, figures: Figures) -> DataFrame:
    """Adds until when an operation matters, and whether a received value was taken for good.

    A receive matters until its client settles it; without that, for ever, and its value is ``maybe`` taken.

    Args:
        rows: of large queues.
        figures: of the history.
    """
    if "receive" not in figures.endings:
        plain = rows.withColumn("until", _end())
        return plain.withColumn("taken", F.lit(False)).withColumn("maybe", F.lit(False))
    receives = (F.col("name") == "receive") & (F.col("outcome") == "ok")
    settling = receives | F.col("name").isin("ack", "put_back")
    window = Window.partitionBy("group", "client", settling).orderBy("invoked")
    marked = rows.withColumn("next", F.lead(F.struct("name", "outcome", _end().alias("end"))).over(window))
    settled = F.coalesce(F.col("next.name").isin("ack", "put_back"), F.lit(False))
    until = F.when(settled, F.col("next.end")).otherwise(NEVER)
    by = F.when(receives & (F.col("next.outcome") == "ok"), F.col("next.name"))
    taken, back = (F.coalesce(by == name, F.lit(False)) for name in ("ack", "put_back"))
    whole = marked.withColumn("until", F.when(receives, until).otherwise(_end()))
    return whole.withColumn("taken", taken).withColumn("maybe", receives & ~taken & ~back)


def _cuts(rows: DataFrame, figures: Figures, queues: list[str], limits: Limits) -> dict[str, list[int]]:
    operations = rows.where(F.col("group").isin(queues) & (F.col("outcome") != FACT))
    in_order = Window.partitionBy("group").orderBy("invoked")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    seen = with_settlements(operations, figures).select(
        "group", "invoked",
        F.max("until").over(before).alias("over"),
        F.sum(count_put() - _count_got()).over(before).alias("inside"),
        F.floor((F.row_number().over(in_order) - 1) / limits.piece).alias("stretch"),
    )  # fmt: skip
    quiet = seen.where("over < invoked")
    first = F.min(F.struct((F.col("inside") != 0).alias("filled"), F.col("invoked").alias("moment")))
    chosen = quiet.groupBy("group", "stretch").agg(first.alias("chosen"))
    cuts: dict[str, list[int]] = {queue: [] for queue in queues}
    for queue, moment in chosen.select("group", "chosen.moment").collect():
        cuts[queue].append(moment)
    return {queue: sorted(moments) for queue, moments in cuts.items()}


def _end() -> Column:
    return F.when(F.col("outcome") == "open", NEVER).otherwise(F.coalesce("returned", F.lit(NEVER)))


def _count_got() -> Column:
    got = F.col("name").isin(*GETS) & (F.col("outcome") == "ok")
    return F.when(got, F.size(F.coalesce("result", F.array()))).when(F.col("taken"), 1).otherwise(0)
