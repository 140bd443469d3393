"""Run a pipeline: read a queue, transform the DataFrame, and write a queue or Parquet files.

An error in the query is reported by its cause, without the Java stack trace.

To add a target: add a row to ``_TARGETS``.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pressure.spark.errors import OptionError, PipelineError

Transform: TypeAlias = Callable[[Any], Any]

#: Seconds between two checks of a query's progress, and seconds that it has to complete its batch.
LOOK: Final = 0.2
GRACE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The description of a pipeline.

    Attributes:
        source: The options of the queue that is read.
        target: The options of the queue that is written, or the folder of Parquet files.
        checkpoint: The folder in which Spark stores its progress.
        transform: Takes the DataFrame that is read, and returns the one to write.
        drain: Whether to stop when the queue is empty.
        every: Seconds from one batch to the next.
    """

    source: dict[str, str]
    target: dict[str, str] | str
    checkpoint: str
    transform: Transform = field(default=lambda table: table)
    drain: bool = False
    every: float = 1.0


@dataclass(frozen=True, slots=True)
class Batch:
    """A completed batch: its number, its rows, and rows per second."""

    number: int
    rows: int
    rate: float


def function_named(name: str) -> Transform:
    """The function that ``module:function`` names.

    Raises:
        OptionError: It cannot be imported, or is not a function.
    """
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise OptionError(f"a transform must be MODULE:FUNCTION, not {name!r}")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise OptionError(f"transform {name} cannot be imported: {error}") from error
    if not callable(found):
        raise OptionError(f"transform {name} is not a function")
    made: Transform = found
    return made


def _to_parquet(table: Any, folder: str) -> Any:
    return table.writeStream.format("parquet").option("path", folder)


def _to_queue(table: Any, options: dict[str, str]) -> Any:
    """A single column named value is written as it is; otherwise each row is written as JSON."""
    types = {field.name: field.dataType.simpleString() for field in table.schema.fields}
    plain = types in ({"value": "string"}, {"value": "binary"})
    form = "binary" if plain else "json"
    return table.writeStream.format("pressure").options(**{"format": form, **options})


_TARGETS: Final[dict[type, Callable[[Any, Any], Any]]] = {str: _to_parquet, dict: _to_queue}


def started(spark: Any, plan: Plan) -> Any:
    """Start the query.

    Raises:
        OptionError: The transform does not return a DataFrame.
    """
    with _translated_errors():
        table = plan.transform(spark.readStream.format("pressure").options(**plan.source).load())
        if not hasattr(table, "writeStream"):
            raise OptionError(f"the transform must return a DataFrame, not {type(table).__name__}")
        writing = _TARGETS[type(plan.target)](table, plan.target)
        trigger = {"availableNow": True} if plan.drain else {"processingTime": f"{plan.every} seconds"}
        return writing.option("checkpointLocation", plan.checkpoint).trigger(**trigger).start()


def running(query: Any, stopping: Callable[[], bool]) -> Iterator[Batch]:
    """Yields the batches of a query as they are completed, until it ends or is to stop.

    Args:
        query: The query.
        stopping: Returns whether the query is to stop, after its current batch; it is called often.

    Raises:
        PipelineError: The query failed.
    """
    seen = -1
    while query.isActive and not stopping():
        with _translated_errors():
            query.awaitTermination(LOOK)
        yield from (fresh := list(_since(query, seen)))
        seen = fresh[-1].number if fresh else seen
    _complete_batch(query)
    query.stop()
    with _translated_errors():
        query.awaitTermination(GRACE)
    yield from _since(query, seen)


def _since(query: Any, seen: int) -> Iterator[Batch]:
    for each in query.recentProgress:
        if each["batchId"] > seen and each["numInputRows"]:
            yield Batch(each["batchId"], each["numInputRows"], each["processedRowsPerSecond"] or 0.0)


def _complete_batch(query: Any) -> None:
    """Wait until the current batch is completed. The next run repeats a batch that was cut short."""
    at, deadline = _last(query), time.monotonic() + GRACE
    while query.isActive and query.status["isTriggerActive"] and _last(query) == at:
        if time.monotonic() > deadline:
            return
        with suppress(Exception):  # the next wait raises the error again
            query.awaitTermination(LOOK)


def _last(query: Any) -> int:
    progress = query.lastProgress
    return progress["batchId"] if progress and progress["numInputRows"] else -1


class _translated_errors:  # noqa: N801, a block
    """A block in which errors of Spark become ``PipelineError``."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise PipelineError(cause_of(str(error))) from error


#: How a Python error looks in a Java stack trace; errors of this package first.
_CAUSES: Final = (
    re.compile(r"^pressure\.(?:\w+\.)*(\w+: .*)$", re.MULTILINE),
    re.compile(r"^((?:\w+\.)*\w+(?:Error|Exception): .*)$", re.MULTILINE),
)


def cause_of(text: str) -> str:
    """The line that says what went wrong."""
    for pattern in _CAUSES:
        if found := pattern.findall(text):
            return str(found[-1])
    return text.strip().partition("\n")[0]
