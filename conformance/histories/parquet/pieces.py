"""The pieces of large queues: which operations are in them, and what is carried over from earlier ones.

A put is carried into each piece at whose beginning some of its values are in the queue, and into each in
which a value comes again that was taken before; a close into all that follow. With it goes in which piece
each of its values was taken first, and by whom (``firsts``), so that a piece knows which of them are gone,
which nobody took, and which were looked at. What a worker makes of a piece is in ``borders``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ..model import Facts, Verdict, worst
from .borders import MAYBE_TAKEN, NEVER_CAME, check_piece
from .checking import Judged
from .columns import FACT, SCHEMA
from .cuts import GETS, Limits, Plan, refusal, values_put, with_settlements
from .figures import Figures

__all__ = ["judged_in_pieces"]

_COLUMNS: Final = [*SCHEMA.names, "group", "piece", "firsts", "own"]
_FIRSTS: Final = "array<struct<piece:int,client:string,looked:int>>"


def judged_in_pieces(
    rows: DataFrame, figures: Figures, plan: Plan, run: Facts, limits: Limits
) -> list[Judged]:
    """Judges large queues piece by piece.

    Args:
        rows: of the history, with the column ``group``.
        figures: of it.
        plan: the cuts.
        run: what is known of the run.
        limits: how much a worker takes.
    """
    if not plan.cuts:
        return []
    cuts = rows.sparkSession.createDataFrame(list(plan.cuts.items()), "group string, cuts array<long>")
    mine = with_settlements(rows.join(F.broadcast(cuts), "group"), figures).withColumn("last", F.size("cuts"))
    placed = mine.withColumn("piece", F.when(F.col("outcome") == FACT, F.col("last")).otherwise(_piece()))
    parts = [_own(placed), _bounds(placed), _closes(placed), _puts(placed)]
    pieces = reduce(DataFrame.unionByName, (part.select(*_COLUMNS) for part in parts))
    refused = list(_too_large(placed, limits))
    for judged in refused:
        number = judged.findings[0].piece - 1
        pieces = pieces.where((F.col("group") != judged.queue) | (F.col("piece") != number))
    lasts = {queue: len(moments) for queue, moments in plan.cuts.items()}
    judge = _judge(run, lasts)
    found = pieces.groupBy("group", "piece").applyInArrow(judge, "judged binary").collect()
    judged_there = (pickle.loads(judged) for (judged,) in found)  # noqa: S301  (our own workers made it)
    return list(_whole([*judged_there, *refused]))


def _piece() -> Column:
    return F.size(F.filter("cuts", lambda moment: moment <= F.col("invoked")))


def _too_large(placed: DataFrame, limits: Limits) -> Iterator[Judged]:
    sizes = placed.where(F.col("outcome") != FACT).groupBy("group", "piece").count()
    for queue, piece, count in sizes.where(F.col("count") > limits.most).collect():
        reason = "there is no moment among them at which nothing is under way"
        yield refusal(queue, count, reason, limits, piece + 1)


def _judge(run: Facts, lasts: dict[str, int]) -> Callable[[Any], Any]:
    def judged(table: pa.Table) -> pa.Table:
        return pa.table({"judged": [pickle.dumps(check_piece(table, run, lasts))]})

    return judged  # a partial PySpark 4.3 does not take


def _whole(pieces: list[Judged]) -> Iterator[Judged]:
    """The queues that the pieces are of."""
    for queue in dict.fromkeys(judged.queue for judged in pieces):
        mine = [judged for judged in pieces if judged.queue == queue]
        findings = [found for judged in mine for found in judged.findings]
        findings.sort(key=lambda found: found.piece)
        answer = worst(Verdict(judged.answer) for judged in mine).answer
        yield Judged(queue, sum(judged.operations for judged in mine), answer, tuple(findings))


def _marked(rows: DataFrame, *, own: bool = False, firsts: Column | None = None) -> DataFrame:
    known = F.lit(None).cast(_FIRSTS) if firsts is None else firsts.cast(_FIRSTS)
    return rows.withColumn("own", F.lit(own)).withColumn("firsts", known)


def _own(placed: DataFrame) -> DataFrame:
    """What happened in each piece; final contents are in the last one."""
    return _marked(placed.where((F.col("outcome") != FACT) | (F.col("name") == "final")), own=True)


def _bounds(placed: DataFrame) -> DataFrame:
    """The bound, in every piece."""
    bounds = placed.where((F.col("outcome") == FACT) & (F.col("name") == "bound"))
    return _marked(bounds.withColumn("piece", F.explode(F.sequence(F.lit(0), "last"))), own=True)


def _closes(placed: DataFrame) -> DataFrame:
    """Closes, in all pieces that follow theirs."""
    closes = placed.where((F.col("name") == "close") & (F.col("outcome") == "ok"))
    behind = closes.where(F.col("piece") < F.col("last"))
    return _marked(behind.withColumn("piece", F.explode(F.sequence(F.col("piece") + 1, F.col("last")))))


def _puts(placed: DataFrame) -> DataFrame:
    """Puts, in the pieces that they are carried into."""
    values = _by_value(placed)
    single = values.where("put.name = 'put'").select(
        "group", "put", "last", F.array("became").alias("became"), "again"
    )
    many = values.where("put.name <> 'put'").groupBy("group", "put.client", "put.invoked").agg(
        F.first("put").alias("put"), F.first("last").alias("last"),
        F.sort_array(F.collect_list("became")).alias("became"),
        F.array_distinct(F.flatten(F.collect_list("again"))).alias("again"),
    ).drop("client", "invoked")  # fmt: skip
    puts = single.unionByName(many)
    carried = puts.withColumn("piece", F.explode(F.array_union(_span(), "again")))
    firsts = F.transform("became", lambda value: F.struct(value["piece"], value["client"], value["looked"]))
    return _marked(carried, firsts=firsts).select(
        "group", "piece", "firsts", "own", "put.client", F.col("group").alias("queue"), "put.name",
        F.transform("became", lambda value: value["value"]).alias("argument"),
        F.lit(None).cast("array<binary>").alias("result"), "put.invoked", "put.returned",
        F.lit("ok").alias("outcome"), F.lit("").alias("error"),
    )  # fmt: skip


def _span() -> Column:
    """The pieces behind that of a put until the last of its values is taken; its own, if one never comes."""
    begun, last = F.col("put.piece"), F.col("last")
    taken = F.transform("became", lambda value: F.when(value["piece"] >= 0, value["piece"]).otherwise(last))
    lost = F.exists("became", lambda value: value["piece"] < 0)
    until, since = F.array_max(taken), F.when(lost, begun).otherwise(begun + 1)
    return F.when(until >= since, F.sequence(since, until)).otherwise(F.array().cast("array<int>"))


def _by_value(placed: DataFrame) -> DataFrame:
    """A row for each value: its put, what became of it, and the pieces in which it came again."""
    put = F.struct("client", "name", "invoked", "returned", "position", "piece")
    took, nobody = F.struct("piece", "invoked", "client"), F.lit(None)
    ok = F.col("outcome") == "ok"
    got = placed.where(F.col("name").isin(*GETS) & ok).withColumn("value", F.explode("result"))
    received = placed.where((F.col("name") == "receive") & ok).withColumn("value", F.explode("result"))
    left = placed.where((F.col("outcome") == FACT) & (F.col("name") == "final"))
    rows = [
        _seen(values_put(placed), put, nobody, nobody),
        _seen(got, nobody, took, F.col("piece")),
        _seen(received, nobody, F.when(F.col("taken"), took), F.col("piece")),
        _seen(left.withColumn("value", F.explode("argument")), nobody, nobody, F.col("piece")),
    ]  # fmt: skip
    values = reduce(DataFrame.unionByName, rows).groupBy("group", "value", "last").agg(
        F.first("put", ignorenulls=True).alias("put"), F.min("took").alias("took"),
        F.collect_set("seen").alias("seen"), F.max("maybe").alias("maybe"),
        F.min("looked").alias("looked"),
    )  # fmt: skip
    lost = F.when(F.col("maybe"), MAYBE_TAKEN).otherwise(NEVER_CAME)
    came = F.coalesce("took.piece", lost)
    became = F.struct("put.position", "value", came.alias("piece"), "took.client", "looked")
    later = F.filter("seen", lambda piece: piece > F.greatest("took.piece", "put.piece"))
    again = F.when(F.col("took").isNotNull(), later).otherwise(F.array().cast("array<int>"))
    known = values.where("put is not null")
    return known.select("group", "put", "last", became.alias("became"), again.alias("again"))


_PUT: Final = "struct<client:string,name:string,invoked:long,returned:long,position:int,piece:int>"
_TOOK: Final = "struct<piece:int,invoked:long,client:string>"


def _seen(rows: DataFrame, put: Column, took: Column, seen: Column) -> DataFrame:
    return rows.select(
        "group", "value", "last", put.cast(_PUT).alias("put"), took.cast(_TOOK).alias("took"),
        F.when(F.col("name") == "receive", seen).cast("int").alias("looked"),
        seen.cast("int").alias("seen"), "maybe",
    )  # fmt: skip
