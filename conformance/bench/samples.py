"""Large histories that are legal, to see how fast checks are.

Every operation takes effect at a moment of its own, one after the other; some time before it begins and some
time after it is over, so that up to ``CLIENTS`` of them overlap. After each burst of them all clients rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from ..histories.parquet.columns import FACT, Row, table_of
from ..histories.parquet.files import Writer

__all__ = ["Sample", "write_sample"]

CLIENTS: Final = 16
STEP: Final = 1000
"""Nanoseconds between two effects."""

DEPTH: Final = 4
"""Values in a queue at most."""

CHUNK: Final = 100_000
_JITTER: Final = (CLIENTS * STEP // 2 - 1) // 255
REST: Final = CLIENTS * STEP


class Sample:
    """A history of puts and gets of distinct values, and what has been done to the queues so far.

    Args:
        keys: how many queues.
        seed: the same one gives the same history.
        skew: how much of all is done to the first queue beyond its share.
        burst: operations between two rests.
    """

    def __init__(self, keys: int, seed: int = 0, skew: float = 0.0, burst: int = 1000) -> None:
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
        return REST + number * STEP + number // self.burst * REST

    def final(self) -> Iterator[Row]:
        """What is left."""
        for key, (put, got) in enumerate(zip(self.put, self.got, strict=True)):
            left = tuple(b"%d:%d" % (key, number) for number in range(got, put))
            yield "", f"queue-{key}", "final", left, None, 0, None, FACT, ""


def write_sample(path: Path, operations: int, sample: Sample) -> None:
    """Writes so many operations to a file, and what is left in each queue."""
    with Writer(path) as writer:
        for first in range(0, operations, CHUNK):
            writer.add_table(table_of(sample.rows(first, min(CHUNK, operations - first))))
        writer.add_table(table_of(sample.final()))
