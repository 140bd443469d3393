"""Queues in Spark: a data source named ``pressure``, for PySpark 4.0 and newer.

import pressure.spark

spark = pressure.spark.session("my program")
rows = spark.readStream.format("pressure").option("queue", "jobs").load()

``datasource`` is what Spark calls, and the only module beside ``sessions`` that knows it. Behind it
``source`` reads a queue as a stream, ``peeking`` looks at it, ``sink`` writes to it; their steps are the
scripts of ``lua``.

Importing this needs neither PySpark nor Arrow.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

from pressure.spark.errors import (
    NotDeliveredError,
    OptionError,
    PayloadError,
    PipelineError,
    RowsGoneError,
    SetupError,
)

__all__ = [
    "NotDeliveredError",
    "OptionError",
    "PayloadError",
    "PipelineError",
    "PressureDataSource",
    "RowsGoneError",
    "SetupError",
    "finish",
    "register",
    "session",
]

#: What is loaded when it is asked for, and where it is.
_LATER: Final = {
    "finish": "finishing",
    "PressureDataSource": "datasource",
    "session": "sessions",
}


def register(spark: Any) -> None:
    """Let a session know the data source, so that ``format("pressure")`` means it.

    Args:
        spark: A ``SparkSession``.
    """
    spark.dataSource.register(importlib.import_module("pressure.spark.datasource").PressureDataSource)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"pressure.spark.{_LATER[name]}"), name)
    raise AttributeError(f"module 'pressure.spark' has no attribute {name!r}")
