"""Large histories that are legal, or wrong in one place: for tests, and to see how fast checks are.

Every operation takes effect at a moment of its own, one after the other; some time before it begins and some
time after it is over, so that up to ``CLIENTS`` of them overlap. After each burst of them all clients rest.
To add a corruption, add a function to ``CORRUPTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa

from ..histories.parquet.columns import FACT, Row, table_of
from ..histories.parquet.files import Writer

__all__ = ["CORRUPTIONS", "tables", "write_sample"]

CLIENTS: Final = 16
STEP: Final = 1000
"""Nanoseconds between two effects."""

DEPTH: Final = 4
"""Values in a queue at most."""

CHUNK: Final = 100_000
_JITTER: Final = (CLIENTS * STEP // 2 - 1) // 255
_REST: Final = CLIENTS * STEP

Corruption = Callable[[Row, Row, int], tuple[list[Row], list[Row]]]
"""From a get, the put of its value and a later moment to the rows instead of the get, and those of then."""


def _changed(row: Row, **changes: Any) -> Row:
    names = ("client", "queue", "name", "argument", "result", "invoked", "returned", "outcome", "error")
    return tuple(changes.get(name, value) for name, value in zip(names, row, strict=True))


def _at(row: Row, moment: int, **changes: Any) -> Row:
    return _changed(row, client="another", invoked=moment, returned=moment + 1, **changes)


CORRUPTIONS: Final[Mapping[str, Corruption]] = {
    "duplicate": lambda get, _, later: ([get], [_at(get, later)]),
    "loss": lambda _, __, ___: ([], []),
    "order": lambda get, _, later: ([], [_at(get, later)]),
    "invented": lambda get, _, later: ([get], [_at(get, later, result=(b"nobody's",))]),
    "twice put": lambda get, put, later: ([get], [_at(put, later)]),
}
"""What can be wrong with one value."""


class _Sample:
    """What has been done to the queues so far."""

    def __init__(self, keys: int, seed: int, skew: float, burst: int) -> None:
        self.random = Random(seed)  # noqa: S311  (not for secrets)
        self.keys, self.skew, self.burst = keys, skew, burst
        self.put, self.got = [0] * keys, [0] * keys

    def rows(self, first: int, count: int) -> Iterator[Row]:
        """The next operations; the first one's number is given."""
        random, put, got = self.random, self.put, self.got
        chosen = random.choices(range(self.keys), k=count)
        noise = random.randbytes(3 * count)
        favoured = int(256 * self.skew)
        for place, key in enumerate(chosen):
            number = first + place
            before, after, coin = noise[3 * place : 3 * place + 3]
            if before < favoured:
                key = 0
            moment = self.moment(number)
            times = moment - before * _JITTER, moment + after * _JITTER
            client, queue = f"client-{number % CLIENTS}", f"queue-{key}"
            there = put[key] - got[key]
            if not there or (coin & 1 and there < DEPTH):
                value = b"%d:%d" % (key, put[key])
                put[key] += 1
                yield client, queue, "put", (value,), None, *times, "ok", ""
            else:
                value = b"%d:%d" % (key, got[key])
                got[key] += 1
                yield client, queue, "get", (), (value,), *times, "ok", ""

    def moment(self, number: int) -> int:
        """When an operation takes effect."""
        return _REST + number * STEP + number // self.burst * _REST

    def final(self) -> Iterator[Row]:
        """What is left."""
        for key, (put, got) in enumerate(zip(self.put, self.got, strict=True)):
            left = tuple(b"%d:%d" % (key, number) for number in range(got, put))
            yield "", f"queue-{key}", "final", left, None, 0, None, FACT, ""


def tables(
    operations: int, keys: int, seed: int = 0, *,
    corruption: str = "", burst: int = 1000, skew: float = 0.0, apart: int = 5000,
) -> Iterator[pa.Table]:  # fmt: skip
    """A history in pieces: puts and gets of distinct values, and what is left in each queue.

    Args:
        operations: how many.
        keys: how many queues.
        seed: the same one gives the same history.
        corruption: one of ``CORRUPTIONS``; empty for a legal history.
        burst: operations between two rests.
        skew: how much of all is done to the first queue beyond its share.
        apart: operations at least between the first and the last moment of a corruption; an ``order`` is one
            only if values that were put later have been got by then.
    """
    sample = _Sample(keys, seed, skew, burst)
    corrupt = _Corrupting(corruption, Random(seed), operations, apart, sample)  # noqa: S311
    for first in range(0, operations, CHUNK):
        rows = sample.rows(first, min(CHUNK, operations - first))
        yield table_of(corrupt.passing(first, rows) if corruption else rows)
    yield table_of([*corrupt.due(operations), *sample.final()])


class _Corrupting:
    """Spoils one get, and says what is to be said later behind a later get from the same queue."""

    def __init__(self, kind: str, random: Random, operations: int, apart: int, sample: _Sample) -> None:
        self._corruption = CORRUPTIONS.get(kind)
        self._place = random.randrange(operations // 4, max(operations // 2, operations // 4 + 1))
        self._apart, self._sample = apart, sample
        self._puts: dict[bytes, Row] = {}
        self._spoilt: tuple[Row, Row] | None = None

    def passing(self, first: int, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows, spoilt."""
        for number, row in enumerate(rows, first):
            if self._spoilt is None and row[2] == "put":
                self._puts[row[3][0]] = row
            elif self._spoilt is None and number >= self._place:
                self._place, self._spoilt = number + self._apart, (row, self._puts[row[4][0]])
                yield from self._corruption(*self._spoilt, 0)[0] if self._corruption else (row,)
                continue
            yield row
            if self._spoilt and number >= self._place and row[1:3] == self._spoilt[0][1:3]:
                yield from self.due(number)

    def due(self, number: int) -> Iterator[Row]:
        """What is said later, once."""
        if self._corruption and self._spoilt:
            moment = self._sample.moment(number) + _REST
            yield from self._corruption(*self._spoilt, moment)[1]
            self._corruption = None


def write_sample(path: Path, operations: int, keys: int, seed: int = 0, **options: Any) -> None:
    """Writes a history to a file; the options are those of ``tables``."""
    with Writer(path) as writer:
        for table in tables(operations, keys, seed, **options):
            writer.add_table(table)
