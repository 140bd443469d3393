"""Run a pipeline: read a queue, transform the DataFrame, and write a queue or Parquet files.

An error in the query is reported by its cause, without the Java stack trace.

To add a target: add a row to ``_TARGETS``.
"""

from __future__ import annotations

import importlib
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pressure.errors import PressureError
from pressure.spark.errors import OptionError, PipelineError
from pressure.spark.options import options_of
from pressure.spark.server import QueueServer

Transform: TypeAlias = Callable[[Any], Any]

#: Seconds between two checks of a query's progress, and seconds that it has to end once it is stopped.
LOOK: Final = 0.2
GRACE: Final = 60.0
#: What Spark says if a Python process took more than ten seconds to start, as on a busy machine: no setting
#: changes this limit. And how often a query is then started again without having completed a batch.
STARVED: Final = "failed to connect back"
RESTARTS: Final = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """The description of a pipeline.

    Attributes:
        source: The options of the queue that is read.
        target: The options of the queue that is written, or the folder of Parquet files.
        checkpoint: The folder in which Spark stores its progress.
        transform: Takes the DataFrame that is read, and returns the one to write. None to copy: to a queue
            the messages, to Parquet files all columns.
        drain: Whether to stop when the queue is empty.
        every: Seconds from one batch to the next.
        mode: The output mode of Spark: ``append``, ``update`` or ``complete``.
    """

    source: dict[str, str]
    target: dict[str, str] | str
    checkpoint: str
    transform: Transform | None = None
    drain: bool = False
    every: float = 1.0
    mode: str = "append"


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
    plain = types.get("value") in ("string", "binary") and set(types) <= {"value", options.get("key")}
    form = "binary" if plain else "json"
    return table.writeStream.format("pressure").options(**{"format": form, **options})


_TARGETS: Final[dict[type, Callable[[Any, Any], Any]]] = {str: _to_parquet, dict: _to_queue}


def check(plan: Plan) -> None:
    """Check the options and the queues before Spark starts.

    Raises:
        OptionError: An option is wrong, or excludes another.
        PressureError: A queue does not exist, or its server cannot be reached.
    """
    given = options_of(plan.source)
    if plan.transform is None and isinstance(plan.target, dict) and given.malformed == "keep":
        raise OptionError(
            "malformed=keep adds columns, which a queue of copies cannot hold: name a queue for such "
            "messages (dead), or a transform"
        )
    dead = () if given.dead is None else (given.but(queue=given.dead, kind="pressure"),)
    target = (options_of(plan.target),) if isinstance(plan.target, dict) else ()
    for options, reading in (
        *((each, True) for each in given.each),
        *((each, False) for each in (*dead, *target)),
    ):
        server = QueueServer(options.but(retry=0.0))
        try:
            server.check(reading=reading)
        finally:
            server.close()


def started(spark: Any, plan: Plan) -> Any:
    """Start the query.

    Raises:
        OptionError: The transform does not return a DataFrame.
        PipelineError: The transform or Spark failed.
    """
    with _translated_errors():
        table = spark.readStream.format("pressure").options(**plan.source).load()
        table = _copied(table, plan) if plan.transform is None else _transformed(table, plan.transform)
        writing = _TARGETS[type(plan.target)](table, plan.target)
        trigger = {"availableNow": True} if plan.drain else {"processingTime": f"{plan.every} seconds"}
        writing = writing.outputMode(plan.mode).option("checkpointLocation", plan.checkpoint)
        return writing.trigger(**trigger).start()


def _copied(table: Any, plan: Plan) -> Any:
    if isinstance(plan.target, str):
        return table
    return table.select("value.*" if plan.source.get("format") == "json" else "value")


def _transformed(table: Any, transform: Transform) -> Any:
    try:
        made = transform(table)
    except PressureError:
        raise
    except Exception as error:
        raise _failure("".join(traceback.format_exception(error))) from error
    if not hasattr(made, "writeStream"):
        raise OptionError(f"the transform must return a DataFrame, not {type(made).__name__}")
    return made


def running(
    query: Any, stopping: Callable[[], bool], pause: Callable[[], object] = lambda: None
) -> Iterator[Batch]:
    """Yields the batches of a query as they are completed, until it ends or is to stop.

    Args:
        query: The query.
        stopping: Returns whether the query is to stop, after its current batch; it is called often.
        pause: Lets the query's source claim nothing more; it may be called several times.

    Raises:
        PipelineError: The query failed.
    """
    seen = -1
    while query.isActive and not stopping():
        with _translated_errors():
            query.awaitTermination(LOOK)
        yield from (fresh := list(_since(query, seen)))
        seen = fresh[-1].number if fresh else seen
    _complete_batch(query, pause)
    query.stop()
    with _translated_errors():
        query.awaitTermination(GRACE)
    yield from _since(query, seen)


def _since(query: Any, seen: int) -> Iterator[Batch]:
    for each in query.recentProgress:
        if each["batchId"] > seen and each["numInputRows"]:
            yield Batch(each["batchId"], each["numInputRows"], each["processedRowsPerSecond"] or 0.0)


def _complete_batch(query: Any, pause: Callable[[], object]) -> None:
    """Wait until no batch is under way, however long that takes: a second signal ends the process.

    A query that starts opens its stream, which ends a pause; so the source is paused again and again.
    """
    while query.isActive:
        with suppress(PressureError):
            pause()
        if _is_idle(query.status):
            return
        with suppress(Exception):  # the next wait raises the error again
            query.awaitTermination(LOOK)


def _is_idle(status: Mapping[str, Any]) -> bool:
    message = status["message"]
    return message.startswith("Waiting") or not (
        status["isTriggerActive"] or message.startswith("Initializing")
    )


class _translated_errors:  # noqa: N801, a block
    """A block in which errors of Spark become ``PipelineError``."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise _failure(str(error)) from error


def _failure(text: str) -> PipelineError:
    cause = cause_of(text)
    place = "" if cause.startswith("[") else place_of(text)
    return PipelineError(cause + (f" ({place})" if place else ""), cause.partition(":")[0], text)


#: How a Python error looks in a Java stack trace, and how a Java one does; errors of this package first.
_CAUSES: Final = (
    re.compile(r"^pressure\.(?:\w+\.)*(\w+: .*)$", re.MULTILINE),
    re.compile(r"^((?:\w+\.)*\w+(?:Error|Exception): .*)$", re.MULTILINE),
    re.compile(r"^Caused by: (?:[\w$]+\.)*([\w$]+: .*)$", re.MULTILINE),
    re.compile(r"^: (?:[\w$]+\.)*([\w$]+: .*)$", re.MULTILINE),
)
_FRAME: Final = re.compile(r'^ *File "([^"]+)", line (\d+), in (\S+)', re.MULTILINE)
#: Folders of files that are not the user's.
_NOT_THE_USERS: Final = re.compile(
    r"/(?:site-packages|pyspark|pressure|python3\.\d+)/|\.zip/|^<|\.pyx$|\.pxi$"
)


def cause_of(text: str) -> str:
    """The line that says what went wrong."""
    for pattern in _CAUSES:
        if found := pattern.findall(text):
            return str(found[-1])
    return text.strip().partition("\n")[0]


def place_of(text: str) -> str:
    """The last line of the user's own code in a stack trace, as ``FILE:LINE in FUNCTION``; "" if none."""
    found = [each for each in _FRAME.findall(text) if not _NOT_THE_USERS.search(each[0])]
    return "{}:{} in {}".format(*found[-1]) if found else ""
