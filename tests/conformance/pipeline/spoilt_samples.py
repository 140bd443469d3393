"""Large histories that are legal, or wrong in one place. To add a corruption, add a row to ``CORRUPTIONS``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from conformance.bench import samples
from conformance.bench.samples import REST, Sample
from conformance.histories.parquet.columns import Row

__all__ = ["CORRUPTIONS", "write_sample"]

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


class Spoilt(Sample):
    """Spoils one get, and says what is to be said later behind a later get from the same queue.

    Args:
        kind: one of ``CORRUPTIONS``.
        operations: how many there will be.
        apart: operations at least between the first and the last moment of a corruption; an ``order`` is one
            only if values that were put later have been got by then.
        keys: as ``Sample`` has it, as all others.
    """

    def __init__(self, kind: str, operations: int, apart: int, keys: int, seed: int, skew: float) -> None:
        super().__init__(keys, seed, skew)
        self._corruption: Corruption | None = CORRUPTIONS[kind]
        self._operations, self._apart = operations, apart
        luck = Random(seed)  # noqa: S311  (not for secrets)
        self._place = luck.randrange(operations // 4, max(operations // 2, operations // 4 + 1))
        self._puts: dict[bytes, Row] = {}
        self._spoilt: tuple[Row, Row] | None = None

    def rows(self, first: int, count: int) -> Iterator[Row]:
        for number, row in enumerate(super().rows(first, count), first):
            if self._spoilt is None and row[2] == "put":
                self._puts[row[3][0]] = row
            elif self._spoilt is None and number >= self._place:
                self._place, self._spoilt = number + self._apart, (row, self._puts[row[4][0]])
                yield from self._corruption(*self._spoilt, 0)[0] if self._corruption else (row,)
                continue
            yield row
            if self._spoilt and number >= self._place and row[1:3] == self._spoilt[0][1:3]:
                yield from self._due(number)

    def final(self) -> Iterator[Row]:
        yield from self._due(self._operations)
        yield from super().final()

    def _due(self, number: int) -> Iterator[Row]:
        """What is said later, once."""
        if self._corruption and self._spoilt:
            moment = self.moment(number) + REST
            yield from self._corruption(*self._spoilt, moment)[1]
            self._corruption = None


def write_sample(
    path: Path, operations: int, keys: int, seed: int = 0,
    *, corruption: str = "", apart: int = 5000, skew: float = 0.0,
) -> None:  # fmt: skip
    """Writes a history to a file, with one of ``CORRUPTIONS`` or a legal one."""
    spoilt = (
        Spoilt(corruption, operations, apart, keys, seed, skew) if corruption else Sample(keys, seed, skew)
    )
    samples.write_sample(path, operations, spoilt)
