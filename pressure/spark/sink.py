"""Put rows into a queue, each batch exactly once, even if a task or the driver dies.

Each attempt of a task stages its rows: it pushes them to a list of its own. A commit first decides which
lists make up the batch, and stores this decision in the marker of the writer, in one atomic step. Then it
moves the rows from the lists to the queue, slice by slice; each slice is atomic, too. A commit that finds a
decision for its batch continues with the decided lists, and drops the lists that were staged again.

Rules:
    - An attempt that failed, or whose driver has ended, may still write to its list, which is never moved.
    - A staged list that is not committed expires. Decided lists and the marker are kept much longer: the
      marker shows which batches were put. A commit also drops the lists of attempts that failed.
    - A list that is shorter than its task reported is never committed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pressure.connections.identity import released
from pressure.connections.pool import HOLDS
from pressure.errors import PressureError, QueueClosedError, QueueDoesNotExistError
from pressure.spark.errors import NotDeliveredError, RowsGoneError, ServerRollbackError
from pressure.spark.options import Options
from pressure.spark.places import new_id
from pressure.spark.server import QueueServer, is_outage
from pressure.spark.sink_lua import ABANDON, DECIDE, END, MOVE

#: The most values and bytes that one round trip stages; 5,000 small values took a quarter more CPU time.
STAGED_TOGETHER: Final = 2000
STAGED_BYTES: Final = 1 << 20
#: The most rows that one step moves, and about how many bytes; the server serves no other client meanwhile.
MOVED_TOGETHER: Final = 5000
MOVED_BYTES: Final = 1 << 20
#: Seconds for which a marker is kept after its last batch, and decided lists until they are moved.
KEPT: Final = 30 * 86_400.0
#: The first and the longest pause (seconds) while the queue is full.
SHORTEST: Final = 0.002
LONGEST: Final = 0.1


@dataclass(frozen=True, slots=True)
class Staged:
    """The list that one attempt of a task has staged.

    Attributes:
        id: Identifies the attempt.
        rows: How many rows it has.
        partition: The number of its partition.
        first: The smallest key in it, if rows are sorted by a key.
        writer: The writer whose batch it belongs to.
    """

    id: str
    rows: int
    partition: int
    first: Any = None
    writer: str = ""

    def by(self, first: Any) -> Staged:
        """A copy with the smallest key set."""
        return replace(self, first=first)


class Sink:
    """Writes to a queue.

    Args:
        options: Name the queue and how to write to it.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._server = QueueServer(options)
        self._me = released(HOLDS.begin(HOLDS.connection_name()))  # each step gives the role back

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _stage(self, id: str) -> bytes:  # noqa: A002, it is one
        return self._server.places.beside("stage", id)

    def _stages(self, writer: str) -> bytes:
        """A set of the ids of the lists that were staged for this writer, also by attempts that died."""
        return self._server.places.beside("stages", writer)

    def _marker(self, writer: str) -> bytes:
        return self._server.places.beside("sink", writer)

    def stage(self, values: Iterable[Sequence[bytes]], partition: int, writer: str) -> Staged:
        """Push rows, in order, to a new list that no consumer reads."""
        mine, rows = new_id(), 0
        for some in values:
            for part in _parts(some):
                mine = self._push(mine, rows, part, writer)
                rows += len(part)
        return Staged(mine, rows, partition, writer=writer)

    def _push(self, name: str, rows: int, part: Sequence[bytes], writer: str) -> str:
        """Push values to a staged list that has so many rows; returns its name.

        After an outage the list gets a new name: values whose push was not answered may still arrive under
        the old one.
        """
        key, stages, fresh = self._stage(name), self._stages(writer), new_id()
        expire = round(self.options.expire * 1000)
        known = () if rows else ((b"SADD", stages, name.encode()), (b"PEXPIRE", stages, expire))
        try:
            self._server.ask_once(*known, (b"LPUSH", key, *part), (b"PEXPIRE", key, expire))
        except PressureError as error:
            if not self.options.retry or not is_outage(error):
                raise
        else:
            return name
        renamed = self._stage(fresh)
        self._server.ask((b"SADD", stages, fresh.encode()), (b"PEXPIRE", stages, expire))
        self._server.reply_to(b"RENAME", key, renamed)  # an error if there is no list, or if it was renamed
        length, _ = self._server.ask((b"LLEN", renamed), (b"PEXPIRE", renamed, expire))
        if length == rows + len(part):
            return fresh
        if length == rows:
            return self._push(fresh, rows, part, writer)
        raise RowsGoneError(
            f"queue {self._queue}: of {rows} staged rows, {length} are left after an outage of the server"
        )

    def commit(
        self,
        writer: str,
        batch: int,
        staged: Sequence[Staged],
        *,
        consecutive: bool = True,
        once: bool = False,
    ) -> int:
        """Put a batch into the queue unless it was put before; returns how many rows this call put.

        Args:
            writer: The writer.
            batch: The number of the batch.
            staged: The lists that make it up, in order.
            consecutive: Whether each batch has the number after the one before: a gap tells of a loss.
            once: Whether this is the only batch of the writer: then nothing is remembered of it.

        Raises:
            ServerRollbackError: The server has lost earlier batches.
            NotDeliveredError: The queue was full, or the producer role was held, until the timeout.
            RowsGoneError: Staged rows are gone; nothing was put.
            QueueDoesNotExistError: The queue was deleted.
            QueueClosedError: It is closed.
        """
        marker = self._marker(writer)
        put, staged = 0, [each for each in staged if each.rows]
        while True:
            status, *rest = self._decide(marker, batch, staged, self._server.run_id if consecutive else "")
            if status == b"done":
                return put
            if status == b"stale":
                raise PressureError(
                    f"queue {self._queue}: batch {batch} is refused, as another run of this query has begun "
                    f"batch {rest[0]}"
                )
            if status == b"back":
                raise ServerRollbackError(
                    f"{self._lost(rest[0], batch)}; onServerRollback=resume goes on without them"
                )
            if status == b"gone":
                raise RowsGoneError(
                    f"queue {self._queue}: of {staged[rest[0]].rows} staged rows, {rest[1]} are left; "
                    "the option expire is too short, or the server has lost them"
                )
            if len(rest) > 2:
                warnings.warn(self._lost(rest[2], batch), stacklevel=1)
            put += self._finish(marker, rest[0], rest[1])
            if rest[0] == batch:
                self._clean(writer, once)
                return put

    def settled(self, writer: str) -> int:
        """Complete a batch that was decided; returns the number of the last batch put, or -1."""
        marker = self._marker(writer)
        done, batch, lists = self._server.ask((b"HMGET", marker, b"done", b"batch", b"lists"))[0]
        if batch is None:
            return -1 if done is None else int(done)
        self._finish(marker, int(batch), lists)
        return int(batch)

    def _finish(self, marker: bytes, batch: int, lists: bytes) -> int:
        """Put the rows of a decided batch, and note that it was put; returns how many rows this call put."""
        put = self._move(marker, batch, lists.decode().split())
        self._server.script(END, (marker,), batch, round(KEPT * 1000))
        return put

    def _lost(self, done: int, batch: int) -> str:
        return (
            f"queue {self._queue}: the server has gone back, as after a power loss: it has lost the batches "
            f"{done + 1} to {batch - 1} of this query, which Spark holds as put"
        )

    @property
    def _queue(self) -> object:
        return self._server.places.keys

    def _clean(self, writer: str, once: bool) -> None:
        """Drop what attempts that failed have staged for the batches up to one that is complete."""
        stages = self._stages(writer)
        (names,) = self._server.ask((b"SMEMBERS", stages))
        keys = [*(self._stage(name.decode()) for name in names), stages]
        self._server.ask((b"UNLINK", *keys, *((self._marker(writer),) if once else ())))

    def _decide(self, marker: bytes, batch: int, staged: Sequence[Staged], run: str) -> list[Any]:
        words = [word for each in staged for word in (each.id, each.rows)]
        keys = (marker, *(self._stage(each.id) for each in staged))
        kept, rollback = round(KEPT * 1000), self.options.rollback
        reply: list[Any] = self._server.script(DECIDE, keys, batch, kept, run, rollback, *words)
        return reply

    def _move(self, marker: bytes, batch: int, lists: Sequence[str]) -> int:
        """Move the decided lists to the queue; returns how many rows were moved."""
        put: int = 0
        since, pause = time.monotonic(), SHORTEST
        for name in lists:
            left = 1
            while left:
                keys = (marker, self._stage(name), marker)
                status, moved, left = self._server.step(
                    MOVE, keys, self._me, batch, MOVED_TOGETHER, MOVED_BYTES
                )
                put += int(moved)
                if moved:
                    since, pause = time.monotonic(), SHORTEST
                elif status == b"done":
                    return put
                elif left:
                    self._wait(status, since, pause, put, left)
                    pause = min(2 * pause, LONGEST)
        return put

    def _wait(self, status: bytes, since: float, pause: float, put: int, left: int) -> None:
        """Wait before the next attempt. Raises an error after the timeout, or for a final status."""
        if status == b"gone":
            raise QueueDoesNotExistError(f"queue {self._queue} does not exist; create it first")
        if status == b"closed":
            raise QueueClosedError(f"queue {self._queue} is closed")
        if time.monotonic() - since < self.options.timeout:
            self._server.pause(pause)
            return
        why = "it was full" if status == b"full" else "another client was producing"
        raise NotDeliveredError(
            f"queue {self._queue}: {why} for {self.options.timeout:g} s; {put} rows were put, and {left} or "
            "more stay staged: start the same query or writer again, and it goes on with them"
        )

    def abandon(self, writer: str, staged: Sequence[Staged]) -> None:
        """Drop staged lists, except those that were decided to be part of a batch."""
        some = [each for each in staged if each.rows]
        if some:
            keys = (self._marker(writer), *(self._stage(each.id) for each in some))
            self._server.script(ABANDON, keys, *(each.id for each in some))

    def push(self, values: Iterable[Sequence[bytes]]) -> int:
        """Put rows immediately. If Spark runs the task again, it puts its rows again."""
        put, mine = 0, new_id()
        for some in values:
            for part in _parts(some):
                put += self._pushed(mine, part)
        return put

    def _pushed(self, mine: str, values: Sequence[bytes]) -> int:
        """Put rows as a batch of their own, so that this waits for room like any commit."""
        staged = self.stage([values], 0, mine)
        return self.commit(mine, 0, [staged], consecutive=False, once=True)


def _parts(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Slices that are small enough for one round trip."""
    for start in range(0, len(values), STAGED_TOGETHER):
        some = values[start : start + STAGED_TOGETHER]
        if sum(map(len, some)) <= STAGED_BYTES:
            yield some
        else:
            yield from _parts_of_large(some)


def _parts_of_large(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    start = size = 0
    for at, value in enumerate(values):
        if at > start and size + len(value) > STAGED_BYTES:
            yield values[start:at]
            start, size = at, 0
        size += len(value)
    yield values[start:]
