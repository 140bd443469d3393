"""How fast a history is checked on Spark, against the same checkers in one process.

In this row "ours" is Spark, on all processors of this machine; its start is not counted. The history is
legal, in one file, with a thousand queues.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..histories.parquet.session import SETTINGS
from .spark import session
from .turns import Pair
from .workbench import Measure, Workbench

if TYPE_CHECKING:
    from ..histories.parquet.summary import Summary

__all__ = ["spark_to_one_process"]

QUEUES: Final = 1000


def spark_to_one_process(operations: int) -> Measure:
    """Operations a second, of so many."""

    def measure(bench: Workbench) -> Generator[Pair]:
        with session("local[*,4]", SETTINGS) as spark, tempfile.TemporaryDirectory() as folder:
            from ..histories.parquet.alone import check_alone
            from ..histories.parquet.cluster import check_on_spark
            from .samples import Sample, write_sample

            path = Path(folder) / "history.parquet"
            write_sample(path, bench.effort.scaled(operations), Sample(QUEUES))
            for _ in bench.turns():
                yield Pair(rate(check_on_spark(spark, [path])), rate(check_alone([path])))

    return measure


def rate(summary: Summary) -> float:
    """Operations a second."""
    assert summary.answer == "ok", summary.findings
    return summary.figures.operations / summary.seconds
