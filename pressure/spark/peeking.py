"""A queue looked at, and left as it is: what a batch read does.

A batch is read by several tasks, one after the other or again, while others may take from the queue. So the
queue is copied first, and the copy is read; the server drops it a while after it was read last. A queue
whose messages have ids is read in place, between two ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pressure.kinds.asking import pairs
from pressure.protocol.numbers import count_in
from pressure.spark.asking import Asking
from pressure.spark.errors import RowsGoneError
from pressure.spark.options import Options
from pressure.spark.places import new_id
from pressure.spark.rows import Rows, peeked_of
from pressure.spark.source import READ_TOGETHER, slices

__all__ = ["Peek", "Slice"]

#: Seconds for which a copy is kept after it was read.
KEPT: Final = 600


@dataclass(frozen=True, slots=True)
class Slice:
    """Some rows of a queue.

    Attributes:
        key: Where they are.
        start: The first; the next that would be taken is 0.
        end: The one after the last.
        length: How many there are in all; 0 where they are not copied.
    """

    key: bytes
    start: int
    end: int
    length: int


class Peek:
    """A queue that is looked at.

    Args:
        options: Which one, and how.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._asking = Asking(options)

    def __enter__(self) -> Peek:
        return self

    def __exit__(self, *_: object) -> None:
        self._asking.close()

    def plan(self) -> list[Slice]:
        """The queue in slices, as it is now."""
        main = self._asking.places.main
        if self.options.kind == "reliable":
            return [Slice(main, 0, self._asking.length(), 0)]
        if not self.options.snapshot:
            return self._slices(main, self._asking.length(), copied=False)
        copy = self._asking.places.beside("snapshot", new_id())
        _, _, length = self._asking.ask((b"COPY", main, copy), (b"EXPIRE", copy, KEPT), (b"LLEN", copy))
        return self._slices(copy, int(length), copied=True)

    def _slices(self, key: bytes, length: int, *, copied: bool) -> list[Slice]:
        parts = slices(0, length, self.options.partitions)
        return [Slice(key, start, end, length if copied else 0) for start, end in parts]

    def read(self, part: Slice) -> Iterator[tuple[int, Rows]]:
        """Rows with the number of the first of them, some thousand at a time.

        Raises:
            RowsGoneError: It took so long that the server has dropped the copy.
        """
        readers = {"stream": self._of_stream, "module": self._of_module}
        yield from readers.get(self._asking.carried, self._of_list)(part)

    def _of_list(self, part: Slice) -> Iterator[tuple[int, Rows]]:
        for start in range(part.start, part.end, READ_TOGETHER):
            end = min(start + READ_TOGETHER, part.end)
            look = (b"EXPIRE", part.key, KEPT) if part.length else (b"EXISTS", part.key)
            _, length, found = self._asking.ask(
                look, (b"LLEN", part.key), (b"LRANGE", part.key, -end, -start - 1)
            )
            if part.length and length != part.length:
                queue = self._asking.places.located
                raise RowsGoneError(
                    f"queue {queue}: its copy was dropped {KEPT} s after the last read; read again"
                )
            found.reverse()
            if found:
                yield start, peeked_of(self.options.envelope, found)

    def _of_stream(self, part: Slice) -> Iterator[tuple[int, Rows]]:
        after, start = self._delivered(part.key), part.start
        while start < part.end:
            count = min(READ_TOGETHER, part.end - start)
            (found,) = self._asking.ask((b"XRANGE", part.key, b"(" + after, b"+", b"COUNT", count))
            if not found:
                return
            yield start, _entries(found)
            after, start = found[-1][0], start + len(found)

    def _delivered(self, key: bytes) -> bytes:
        """The id of the message that was delivered last."""
        if not self._asking.ask((b"EXISTS", key))[0]:
            return b"0-0"
        groups = (dict(pairs(each)) for each in self._asking.ask((b"XINFO", b"GROUPS", key))[0])
        return next(
            (bytes(each[b"last-delivered-id"]) for each in groups if each[b"name"] == b"workers"), b"0-0"
        )

    def _of_module(self, part: Slice) -> Iterator[tuple[int, Rows]]:
        for start in range(part.start, part.end, READ_TOGETHER):
            count = min(READ_TOGETHER, part.end - start)
            (found,) = self._asking.ask((b"MQ.INSPECT", part.key, start, count))
            yield start, Rows([data for _, data in found], [each.decode() for each, _ in found], 0)


def _entries(found: Sequence[tuple[bytes, Sequence[bytes]]]) -> Rows:
    """What entries of a stream stand for: the payload, or the first field of what others added."""
    fields = [dict(pairs(each)) for _, each in found]
    return Rows(
        [each.get(b"payload", next(iter(each.values()))) for each in fields],
        [name.decode() for name, _ in found],
        [count_in(each.get(b"deliveries")) or 0 for each in fields],
    )
