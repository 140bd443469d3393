"""Tables and streams put into a queue: the part of the data source that writes.

A writer is made anew for every batch; its tasks stage rows and answer with a message, and yet another process
is given the messages, to commit them or to drop what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from pressure.errors import PressureError
from pressure.spark.options import Options
from pressure.spark.payloads import Smallest, values_of
from pressure.spark.places import new_id
from pressure.spark.sink import Sink, Staged

__all__ = ["StreamWriter", "Writer"]


class Message(WriterCommitMessage):
    """What a task tells the driver: what it has staged; None if it put its rows at once."""

    def __init__(self, staged: Staged | None) -> None:
        self.staged = staged


class _Writing:
    """What batches and streams have in common."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._name = options.writer or new_id()

    def _writer(self) -> str:
        return self._name

    def write(self, iterator: Iterator[Any]) -> Message:
        """Stage the rows of a partition, or put them at once."""
        smallest = Smallest()
        values = values_of(self._options, iterator, smallest)
        with Sink(self._options) as sink:
            if self._options.delivery == "plain":
                sink.push(values)
                return Message(None)
            staged = sink.stage(values, _task().partitionId(), self._writer())
        return Message(staged.by(smallest.value))

    def _commit(self, messages: list[WriterCommitMessage | None], batch: int) -> None:
        staged = _staged(messages)
        if not staged:
            return
        with Sink(self._options) as sink:
            sink.commit(staged[0].writer, batch, staged)

    def _abort(self, messages: list[WriterCommitMessage | None]) -> None:
        staged = _staged(messages)
        if staged:
            with Sink(self._options) as sink:
                sink.abandon(staged[0].writer, staged)


def _task() -> Any:
    found = TaskContext.get()
    assert found is not None
    return found


def _staged(messages: list[WriterCommitMessage | None]) -> list[Staged]:
    """In the order in which they are to be put."""
    found = [each.staged for each in messages if isinstance(each, Message) and each.staged is not None]
    found = [each for each in found if each.rows]
    return sorted(found, key=_place)


def _place(each: Staged) -> tuple[Any, ...]:
    return (False, each.partition) if each.first is None else (True, each.first, each.partition)


class Writer(_Writing, DataSourceArrowWriter):
    """Puts a batch; its name goes with it to the tasks and to the driver."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """All tasks are done."""
        self._commit(messages, 0)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """One of them failed."""
        self._abort(messages)


#: Spark 4.0 hands Arrow to whoever is both.
_STREAM_WRITERS: Final[Any] = (
    (datasource.DataSourceStreamArrowWriter,)
    if hasattr(datasource, "DataSourceStreamArrowWriter")
    else (DataSourceStreamWriter, DataSourceArrowWriter)
)


class StreamWriter(_Writing, *_STREAM_WRITERS):  # type: ignore[misc]
    """Puts the batches of a stream, which is known by its checkpoint."""

    def _writer(self) -> str:
        query = _task().getLocalProperty("sql.streaming.queryId")
        if not query:
            raise PressureError(
                "Spark does not pass the id of the query, by which a batch is written only once"
            )
        return str(query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """All tasks of a batch are done."""
        self._commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """One of them failed, or the commit did."""
        self._abort(messages)
