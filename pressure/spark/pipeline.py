"""A pipeline: a queue, a function of a DataFrame, a queue or Parquet; run until it is told to stop.

What goes wrong in the query is told by its cause, without what Java has to say about it.

To add a target: a row in ``_TARGETS``.
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

__all__ = ["Batch", "Plan", "function_named", "running"]

Transform: TypeAlias = Callable[[Any], Any]

#: Seconds between two looks at how a query is getting on, and how long it has to end its batch.
LOOK: Final = 0.2
GRACE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run.

    Attributes:
        source: The options of the queue that is read.
        target: The options of the queue that is written, or the folder of Parquet files.
        checkpoint: The folder in which Spark notes how far it is.
        transform: Makes the table that is written of the one that is read.
        drain: Whether to end when there is nothing left.
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
    """How a query is getting on, at the end of a batch."""

    number: int
    rows: int
    rate: float


def function_named(name: str) -> Transform:
    """The function that ``module:function`` names.

    Raises:
        OptionError: There is none.
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
    """A column called value alone goes as it is, anything else as JSON."""
    types = {field.name: field.dataType.simpleString() for field in table.schema.fields}
    plain = types in ({"value": "string"}, {"value": "binary"})
    form = "binary" if plain else "json"
    return table.writeStream.format("pressure").options(**{"format": form, **options})


_TARGETS: Final[dict[type, Callable[[Any, Any], Any]]] = {str: _to_parquet, dict: _to_queue}


def started(spark: Any, plan: Plan) -> Any:
    """The query, begun.

    Raises:
        OptionError: The transform does not make a table.
    """
    with _told():
        table = plan.transform(spark.readStream.format("pressure").options(**plan.source).load())
        if not hasattr(table, "writeStream"):
            raise OptionError(f"the transform must return a DataFrame, not {type(table).__name__}")
        writing = _TARGETS[type(plan.target)](table, plan.target)
        trigger = {"availableNow": True} if plan.drain else {"processingTime": f"{plan.every} seconds"}
        return writing.option("checkpointLocation", plan.checkpoint).trigger(**trigger).start()


def running(query: Any, stopping: Callable[[], bool]) -> Iterator[Batch]:
    """Its batches as they end, until the query does; it ends its batch when it is told to stop.

    Args:
        query: The query.
        stopping: Whether it is to stop; asked all the time.

    Raises:
        PipelineError: It failed.
    """
    seen = -1
    while query.isActive and not stopping():
        with _told():
            query.awaitTermination(LOOK)
        yield from (fresh := list(_since(query, seen)))
        seen = fresh[-1].number if fresh else seen
    _let_it_end(query)
    query.stop()
    with _told():
        query.awaitTermination(GRACE)
    yield from _since(query, seen)


def _since(query: Any, seen: int) -> Iterator[Batch]:
    for each in query.recentProgress:
        if each["batchId"] > seen and each["numInputRows"]:
            yield Batch(each["batchId"], each["numInputRows"], each["processedRowsPerSecond"] or 0.0)


def _let_it_end(query: Any) -> None:
    """Wait until the batch that it is at is done; what is cut short is done again by the next run."""
    at, deadline = _last(query), time.monotonic() + GRACE
    while query.isActive and query.status["isTriggerActive"] and _last(query) == at:
        if time.monotonic() > deadline:
            return
        with suppress(Exception):  # told by the next who waits for it
            query.awaitTermination(LOOK)


def _last(query: Any) -> int:
    progress = query.lastProgress
    return progress["batchId"] if progress and progress["numInputRows"] else -1


class _told:  # noqa: N801, a block
    """A block in which Spark's errors become ours."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise PipelineError(cause_of(str(error))) from error


#: How an error of Python looks among those of Java, ours first.
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
