"""How fast a history is checked on Spark, against the same checkers in one process.

In this row "ours" is Spark, on all processors of this machine; its start is not counted. The history is
legal, in one file, with a thousand queues.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .model import Measure, MissingError, Pair
from .workbench import Workbench

if TYPE_CHECKING:
    from ..pipeline.summary import Summary

__all__ = ["spark_to_one_process"]

QUEUES: Final = 1000


def spark_to_one_process(operations: int) -> Measure:
    """Operations a second, of so many."""

    def measure(bench: Workbench) -> Generator[Pair]:
        for package in ("pyarrow", "pyspark"):
            if importlib.util.find_spec(package) is None:
                raise MissingError(f"no {package}: install the extra 'spark'")
        yield from _measured(bench, bench.effort.scaled(operations))

    return measure


def _measured(bench: Workbench, operations: int) -> Generator[Pair]:
    from ..pipeline.alone import check_alone
    from ..pipeline.samples import write_sample
    from ..pipeline.session import MissingSparkError, session

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.parquet"
        write_sample(path, operations, QUEUES)
        try:
            with session() as spark:
                from ..pipeline.cluster import check_on_spark

                for _ in bench.turns():
                    yield Pair(rate(check_on_spark(spark, [path])), rate(check_alone([path])))
        except MissingSparkError as error:
            raise MissingError(str(error)) from error


def rate(summary: Summary) -> float:
    """Operations a second."""
    assert summary.answer == "ok", summary.findings
    return summary.figures.operations / summary.seconds
