"""The part of the data source that writes tables and streams into a queue.

Spark creates a writer for every batch. Its tasks stage rows and return a message each. Then another process
gets the messages, and commits or drops what was staged.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Final

from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from pressure.errors import PressureError
from pressure.spark.options import Options
from pressure.spark.places import new_id
from pressure.spark.sink import Sink, Staged


class Message(WriterCommitMessage):
    """The result of a task for the driver: the list that it staged, or None if it put its rows itself."""

    def __init__(self, staged: Staged | None) -> None:
        self.staged = staged


class _Writing:
    """What the writers of batches and streams share."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._name = options.writer or new_id()

    def _writer(self) -> str:
        return self._name

    def write(self, iterator: Iterator[Any]) -> Message:
        """Stage the rows of a partition; with ``delivery=plain``, put them."""
        from pressure.spark.payloads import Smallest, values_of

        smallest = Smallest()
        values = values_of(self._options, iterator, smallest)
        with Sink(self._options) as sink:
            if self._options.delivery == "plain":
                sink.push(values)
                return Message(None)
            staged = sink.stage(values, _task().partitionId(), self._writer())
        return Message(staged.by(smallest.value))

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
    """The staged lists in the order in which to put them."""
    found = [each.staged for each in messages if isinstance(each, Message) and each.staged is not None]
    return sorted(found, key=_place)


def _place(each: Staged) -> tuple[Any, ...]:
    return (False, each.partition) if each.first is None else (True, each.first, each.partition)


class Writer(_Writing, DataSourceArrowWriter):
    """Writes a batch. Its name is pickled with it for the tasks and the driver."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """All tasks have succeeded."""
        staged, options = _staged(messages), self._options
        if not any(each.rows for each in staged):
            return
        with Sink(options) as sink:
            once = options.writer is None
            put = sink.commit(self._name, options.batch or 0, staged, consecutive=False, once=once)
        if not put:
            warnings.warn(
                f"queue {options.queue!r}: nothing was written, since writer {options.writer!r} has written "
                f"batch {options.batch} or a later one before; give the next one a larger number",
                stacklevel=1,
            )

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """A task failed."""
        self._abort(messages)


#: Spark 4.0 passes Arrow batches to a writer that has both base classes.
_STREAM_WRITERS: Final[Any] = (
    (datasource.DataSourceStreamArrowWriter,)
    if hasattr(datasource, "DataSourceStreamArrowWriter")
    else (DataSourceStreamWriter, DataSourceArrowWriter)
)


class StreamWriter(_Writing, *_STREAM_WRITERS):  # type: ignore[misc]
    """Writes the batches of a stream; the id of its query, from the checkpoint, identifies it."""

    def _writer(self) -> str:
        query = _task().getLocalProperty("sql.streaming.queryId")
        if not query:
            raise PressureError(
                "Spark does not pass the id of the query, by which a batch is written only once"
            )
        return str(query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """All tasks of a batch have succeeded. Also a batch without rows is noted: a gap tells of a loss."""
        staged = _staged(messages)
        if staged:
            with Sink(self._options) as sink:
                sink.commit(staged[0].writer, batchId, staged)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """A task or the commit failed."""
        self._abort(messages)
