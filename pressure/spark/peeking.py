"""Read a queue as a table, and leave it unchanged: a batch read.

Several tasks read a batch, at different times or repeatedly, while other clients may take from the queue. So
the queue is copied first, and the copy is read. A copy that no task has read to its end serves the next plans
of the same table, too, for some seconds: Spark makes a plan for every look at a table. A copy expires soon
after its last slice was read, or some time after the last read. A reliable queue is not copied: its messages
have ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pressure.kinds.commands import pairs
from pressure.protocol.numbers import count_in
from pressure.spark.errors import RowsGoneError
from pressure.spark.lua import READ_OUT, SNAPSHOT
from pressure.spark.options import Options
from pressure.spark.places import new_id
from pressure.spark.rows import Pace, Rows, peeked_of
from pressure.spark.server import QueueServer
from pressure.spark.source import slices

#: Seconds after the last read for which a copy is kept, and after its last slice was read.
KEPT: Final = 600
READ: Final = 30
#: Seconds for which a copy serves the next plans of the same table.
FRESH: Final = 10


#: All positions: the first, and the one after the last.
EVERY: Final[tuple[float, float]] = (0, float("inf"))


@dataclass(frozen=True, slots=True)
class Slice:
    """Some rows of a queue.

    Attributes:
        key: The key of the queue or of its copy.
        start: The number of the first row; the row that would be taken next has the number 0.
        end: The number after the last row.
        length: How many rows the copy has; 0 if the queue is not copied.
        slices: In how many slices the copy is read.
        total: About how many bytes the copy has in all slices; None if that is not known.
    """

    key: bytes
    start: int
    end: int
    length: int
    slices: int = 1
    total: int | None = None


class Peek:
    """Reads a queue and leaves it unchanged.

    Args:
        options: Name the queue and how to read it.
        table: Identifies the table, of which each look is one plan.
    """

    def __init__(self, options: Options, table: str = "") -> None:
        self.options = options
        self._table = table or new_id()
        self._server = QueueServer(options)

    def __enter__(self) -> Peek:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def plan(self, within: tuple[float, float] = EVERY) -> list[Slice]:
        """Divide the queue, as it is now, into slices.

        Args:
            within: The first position to read, and the one after the last. A reliable queue is read from its
                beginning: only ids find its messages.
        """
        main = self._server.places.main
        if self.options.kind == "reliable":
            return [Slice(main, 0, int(min(self._server.length(), max(0, within[1]))), 0)]
        if not self.options.snapshot:
            return self._slices(main, self._server.length(), within, copied=False)
        beside = self._server.places.beside
        keys = (main, beside("snapshot", self._table), beside("snapshot", self._table, new_id()))
        copy, length = self._server.script(SNAPSHOT, keys, KEPT, FRESH)
        return self._slices(copy, int(length), within, copied=True)

    def _slices(self, key: bytes, length: int, within: tuple[float, float], *, copied: bool) -> list[Slice]:
        first, last = int(min(within[0], length)), int(min(within[1], length))
        parts = slices(first, last, self.options.partitions) if first < last else []
        total = self._bytes_of(key) if parts and copied else None
        return [Slice(key, start, end, length if copied else 0, len(parts), total) for start, end in parts]

    def _bytes_of(self, copy: bytes) -> int | None:
        """About how many bytes a copy has; None if the server does not say, as to a user without the right.

        A queue that is not copied is not asked for it: it may grow, and the server would look at all of it.
        """
        found = self._server.reply_to(b"MEMORY", b"USAGE", copy, b"SAMPLES", b"0")
        return found if isinstance(found, int) else None

    def read(self, part: Slice) -> Iterator[tuple[int, Rows]]:
        """Yields the number of a row, and some thousand rows from there on.

        Raises:
            RowsGoneError: The copy has expired.
        """
        readers = {"stream": self._of_stream, "module": self._of_module}
        yield from readers.get(self._server.backend, self._of_list)(part)
        if part.length:
            beside = self._server.places.beside
            keys = (
                part.key,
                beside("snapshot", self._table),
                beside("slices", part.key.split(b":")[3].decode()),
            )
            self._server.script(READ_OUT, keys, part.start, part.slices, READ)

    def _of_list(self, part: Slice) -> Iterator[tuple[int, Rows]]:
        start, pace = part.start, Pace(total=part.total)
        while start < part.end:
            end = pace.after(start, part.end)
            look = (b"EXPIRE", part.key, KEPT) if part.length else (b"EXISTS", part.key)
            _, length, found = self._server.ask(
                look, (b"LLEN", part.key), (b"LRANGE", part.key, -end, -start - 1)
            )
            if part.length and length != part.length:
                queue = self._server.places.keys
                raise RowsGoneError(
                    f"queue {queue}: its copy was dropped, {READ} s after it was read to its end or {KEPT} s "
                    "after the last read; read again, and cache() a table that a plan reads twice"
                )
            found.reverse()
            pace.learn(found)
            if found:
                yield start, peeked_of(self.options.envelope, found)
            start = end

    def _of_stream(self, part: Slice) -> Iterator[tuple[int, Rows]]:
        after, start, pace = self._delivered(part.key), part.start, Pace()
        while start < part.end:
            count = pace.after(start, part.end) - start
            (found,) = self._server.ask((b"XRANGE", part.key, b"(" + after, b"+", b"COUNT", count))
            if not found:
                return
            rows = _entries(found)
            pace.learn(rows.values)
            yield start, rows
            after, start = found[-1][0], start + len(found)

    def _delivered(self, key: bytes) -> bytes:
        """The id of the last message that was delivered."""
        if not self._server.ask((b"EXISTS", key))[0]:
            return b"0-0"
        groups = (dict(pairs(each)) for each in self._server.ask((b"XINFO", b"GROUPS", key))[0])
        return next(
            (bytes(each[b"last-delivered-id"]) for each in groups if each[b"name"] == b"workers"), b"0-0"
        )

    def _of_module(self, part: Slice) -> Iterator[tuple[int, Rows]]:
        start, pace = part.start, Pace()
        while start < part.end:
            count = pace.after(start, part.end) - start
            (found,) = self._server.ask((b"MQ.INSPECT", part.key, start, count))
            rows = Rows([data for _, data in found], [each.decode() for each, _ in found], 0)
            pace.learn(rows.values)
            yield start, rows
            start += count


def _entries(found: Sequence[tuple[bytes, Sequence[bytes]]]) -> Rows:
    """The rows in entries of a stream: the payload, or the first field of an entry that has none."""
    fields = [dict(pairs(each)) for _, each in found]
    return Rows(
        [each.get(b"payload", next(iter(each.values()))) for each in fields],
        [name.decode() for name, _ in found],
        [count_in(each.get(b"deliveries")) or 0 for each in fields],
    )
