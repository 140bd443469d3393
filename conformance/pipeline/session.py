"""A Spark session for checks: small, quiet, and with this Python for its workers."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["MissingSparkError", "session"]

SETTINGS: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.log.level": "ERROR",
}


class MissingSparkError(Exception):
    """PySpark or Java is not here; the text says what."""


@contextmanager
def session(master: str = "local[*,4]") -> Iterator[Any]:
    """The session that there is, or a new one, which ends with the block.

    Args:
        master: where it runs; ``local[N,4]`` is this machine with N threads, a failed task tried four times.

    Raises:
        MissingSparkError: there is no PySpark, or it does not start.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise MissingSparkError("no PySpark: install the extra 'spark'")
    from pyspark.sql import SparkSession

    if (running := SparkSession.getActiveSession()) is not None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("conformance.pipeline")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    try:
        started = builder.getOrCreate()
    except Exception as error:  # of PySpark, of Java, or of the system
        raise MissingSparkError(f"Spark does not start, which needs Java 17 or newer: {error}") from error
    try:
        yield started
    finally:
        started.stop()
