"""Rows put into a queue, each batch exactly once, whatever dies in between.

The rows of a task are staged: pushed to a list that belongs to this attempt and to nobody else. To commit a
batch is to decide which lists make it up, in one step with a marker that names the batch, and then to move
them slice by slice to the queue, each slice in one step too. Who finds a batch decided goes on with what was
decided, and drops what was staged again.

Rules:
    - An attempt that failed, or whose driver is gone, goes on writing to its own list; nobody ever moves
      that.
    - What is staged and not committed is dropped by the server after a while; what was decided is kept, and
      so is the marker, which is what tells that a batch was put.
    - A list that is shorter than it was said to be is never committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pressure.errors import PressureError, QueueClosedError, QueueDoesNotExistError
from pressure.identity import released
from pressure.pool import HOLDS
from pressure.spark.asking import Asking
from pressure.spark.errors import NotDeliveredError, RowsGoneError
from pressure.spark.lua import ABANDON, DECIDE, END, MOVE
from pressure.spark.options import Options
from pressure.spark.places import new_id

__all__ = ["Sink", "Staged"]

#: Values and bytes that are staged in one round trip.
STAGED_TOGETHER: Final = 5000
STAGED_BYTES: Final = 1 << 20
#: Rows that one step moves, while which nobody else is served.
MOVED_TOGETHER: Final = 5000
#: Seconds for which a marker is kept after its last batch, and decided rows until they are moved.
KEPT: Final = 30 * 86_400.0
#: First and longest pause (seconds) while there is no room.
SHORTEST: Final = 0.002
LONGEST: Final = 0.1


@dataclass(frozen=True, slots=True)
class Staged:
    """What one attempt of one task has staged.

    Attributes:
        id: Tells it from every other attempt.
        rows: How many rows there are.
        partition: The number of its partition.
        first: The smallest key in it, where rows are put in order of a key.
        writer: Whose batch it belongs to.
    """

    id: str
    rows: int
    partition: int
    first: Any = None
    writer: str = ""

    def by(self, first: Any) -> Staged:
        """The same, in order of a key of which this is the smallest."""
        return replace(self, first=first)


class Sink:
    """A queue that is written to.

    Args:
        options: Which one, and how.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._asking = Asking(options)
        self._me = released(HOLDS.begin(HOLDS.connection_name()))  # each step gives the role back

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        self._asking.close()

    def _stage(self, id: str) -> bytes:  # noqa: A002, it is one
        return self._asking.places.beside("stage", id)

    def _marker(self, writer: str) -> bytes:
        return self._asking.places.beside("sink", writer)

    def stage(self, values: Iterable[Sequence[bytes]], partition: int, writer: str) -> Staged:
        """Push rows where nobody sees them yet, in their order."""
        mine, rows = new_id(), 0
        key, expire = self._stage(mine), round(self.options.expire * 1000)
        for some in values:
            for part in _parts(some):
                self._asking.ask((b"LPUSH", key, *part), (b"PEXPIRE", key, expire))
                rows += len(part)
        return Staged(mine, rows, partition, writer=writer)

    def commit(self, writer: str, batch: int, staged: Sequence[Staged]) -> int:
        """Put a batch into the queue, if it is not there already; how many rows were put by this call.

        Raises:
            NotDeliveredError: There was no room, or no turn, in time.
            RowsGoneError: What was staged is not there any more; nothing was put.
            QueueDoesNotExistError: The queue was deleted.
            QueueClosedError: It is closed.
        """
        marker = self._marker(writer)
        put = 0
        while True:
            status, *rest = self._decide(marker, batch, staged)
            if status == b"done":
                return put
            if status == b"stale":
                raise PressureError(
                    f"queue {self._queue}: batch {batch} is refused, as another run of this query has begun "
                    f"batch {rest[0]}"
                )
            if status == b"gone":
                raise RowsGoneError(
                    f"queue {self._queue}: of {staged[rest[0]].rows} staged rows, {rest[1]} are left; "
                    "the option expire is too short, or the server has lost them"
                )
            put += self._move(marker, rest[0], rest[1].decode().split())
            self._asking.script(END, (marker,), rest[0], round(KEPT * 1000))
            if rest[0] == batch:
                return put

    @property
    def _queue(self) -> object:
        return self._asking.places.located

    def _decide(self, marker: bytes, batch: int, staged: Sequence[Staged]) -> list[Any]:
        some = [each for each in staged if each.rows]
        words = [word for each in some for word in (each.id, each.rows)]
        keys = (marker, *(self._stage(each.id) for each in some))
        reply: list[Any] = self._asking.script(DECIDE, keys, batch, round(KEPT * 1000), *words)
        return reply

    def _move(self, marker: bytes, batch: int, lists: Sequence[str]) -> int:
        """Move what was decided on; how many rows we moved."""
        put: int = 0
        since, pause = time.monotonic(), SHORTEST
        for name in lists:
            left = 1
            while left:
                keys = (marker, self._stage(name), marker)
                status, moved, left = self._asking.step(MOVE, keys, self._me, batch, MOVED_TOGETHER)
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
        """Wait for a moment; raises the error that a status stands for, if any, or if it took too long."""
        if status == b"gone":
            raise QueueDoesNotExistError(f"queue {self._queue} does not exist")
        if status == b"closed":
            raise QueueClosedError(f"queue {self._queue} is closed")
        if time.monotonic() - since < self.options.timeout:
            self._asking.pause(pause)
            return
        why = "it was full" if status == b"full" else "another client was producing"
        raise NotDeliveredError(
            f"queue {self._queue}: {why} for {self.options.timeout:g} s; {put} rows were put, and {left} or "
            "more stay staged: start the same query or writer again, and it goes on with them"
        )

    def abandon(self, writer: str, staged: Sequence[Staged]) -> None:
        """Drop what was staged, but not what was decided on."""
        some = [each for each in staged if each.rows]
        if some:
            keys = (self._marker(writer), *(self._stage(each.id) for each in some))
            self._asking.script(ABANDON, keys, *(each.id for each in some))

    def push(self, values: Iterable[Sequence[bytes]]) -> int:
        """Put rows at once; what a task that is tried again has put is put again."""
        put, mine = 0, new_id()
        for some in values:
            for part in _parts(some):
                put += self._pushed(mine, part)
        return put

    def _pushed(self, mine: str, values: Sequence[bytes]) -> int:
        """Through a list of our own, so that it waits for room as a batch does."""
        staged = self.stage([values], 0, mine)
        put = self.commit(mine, 0, [staged])
        self._asking.ask((b"UNLINK", self._marker(mine)))
        return put


def _parts(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """As many as travel together."""
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
