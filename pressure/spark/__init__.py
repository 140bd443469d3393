"""Queues in Spark: a data source named ``pressure``, for PySpark 4.0 and newer.

import pressure.spark

spark = pressure.spark.session("my program")
rows = spark.readStream.format("pressure").option("queue", "jobs").load()

``session`` starts a Spark session in which the data source is registered; ``register`` registers it in
another session. ``finish`` acknowledges the last batch of a streaming query that has ended. The README beside
this module has examples and lists all options and columns.

Importing this module needs neither PySpark nor Arrow. They are imported when ``session``, ``finish`` or
``PressureDataSource`` is used first.

To extend it: Spark calls the classes in ``datasource``. Behind them ``source`` reads a queue as a stream,
``peeking`` reads a copy of it as a table, and ``sink`` writes to it. They send the scripts in ``lua``.
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
    ServerRollbackError,
    SetupError,
)

__all__ = [
    "NotDeliveredError",
    "OptionError",
    "PayloadError",
    "PipelineError",
    "PressureDataSource",
    "RowsGoneError",
    "ServerRollbackError",
    "SetupError",
    "finish",
    "lag",
    "register",
    "session",
]

#: Names that are imported when they are used first, and their modules.
_LATER: Final = {
    "finish": "finishing",
    "lag": "finishing",
    "PressureDataSource": "datasource",
    "session": "sessions",
}


def register(spark: Any) -> None:
    """Register the data source in a session, as ``format("pressure")``.

    Args:
        spark: A ``SparkSession``.
    """
    spark.dataSource.register(importlib.import_module("pressure.spark.datasource").data_source_for(spark))


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"pressure.spark.{_LATER[name]}"), name)
    raise AttributeError(f"module 'pressure.spark' has no attribute {name!r}")
