"""A pipeline in a process of its own, to be killed: it copies each row of a queue to another, doubled in length."""

from __future__ import annotations

import sys

import pressure.spark
from tests.spark.real.conftest import QUICK

SMALL = {"spark__executor__memory": "512m", "spark__driver__host": "127.0.0.1"}
"""What executors have where they are processes of their own, and where they find this one."""


def main(url: str, source: str, target: str, checkpoint: str, master: str, rows: str) -> None:
    """Run until there is nothing left, and finish."""
    spark = pressure.spark.session("to be killed", master, **QUICK, **SMALL)
    given = {"url": url, "lease": "2"} | ({"rowsPerBatch": rows} if spark.version >= "4.2" else {})
    values = spark.readStream.format("pressure").options(queue=source, format="text", **given).load()
    query = (
        values.selectExpr("concat(value, ' ', value) AS value").writeStream.format("pressure")
        .options(queue=target, url=url).option("checkpointLocation", checkpoint)
        .trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    pressure.spark.finish(query, url, lease=2)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
