"""A Spark session for checks: small, quiet, and brought up as ``pressure.spark`` brings up its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pressure.spark
from pressure.spark.sessions import QUIET

__all__ = ["MissingSparkError", "session"]

SETTINGS: Final[Mapping[str, str]] = {
    **QUIET,
    "spark__driver__memory": "2g",
    "spark__sql__shuffle__partitions": "200",
    "spark__sql__execution__arrow__maxRecordsPerBatch": "50000",
}


class MissingSparkError(Exception):
    """PySpark or Java is not here; the text says what."""


@contextmanager
def session(master: str = "local[*,4]", settings: Mapping[str, str] = SETTINGS) -> Iterator[Any]:
    """The session that there is, or a new one, which ends with the block.

    Args:
        master: where it runs; ``local[N,4]`` is this machine with N threads, a failed task tried four times.
        settings: as ``pressure.spark.session`` takes them.

    Raises:
        MissingSparkError: there is no PySpark or no Java, or Spark does not start.
    """
    if (running := _running()) is not None:
        yield running
        return
    try:
        started = pressure.spark.session("conformance", master, **settings)
    except Exception as error:  # of ours, of PySpark, of Java, or of the system
        raise MissingSparkError(f"Spark does not start: {error}") from error
    try:
        yield started
    finally:
        started.stop()


def _running() -> Any:
    if importlib.util.find_spec("pyspark") is None:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()
