"""Rows that were read from a queue of any kind, stored as columns, since there may be millions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_CLAIMED: Final = re.compile(rb"([^ ]+) (\d+) (.*)", re.DOTALL)
_ENVELOPE: Final = re.compile(rb"([0-9a-f]{32}) (.*)", re.DOTALL)
_TIMED: Final = re.compile(r"(\d{1,15})-\d+")


#: The most rows and about how many bytes one reply has.
READ_TOGETHER: Final = 10_000
READ_BYTES: Final = 1 << 23
#: How many rows the first reply has, and the most that one has, if their bytes are not known before.
READ_FIRST: Final = 16
UNKNOWN_TOGETHER: Final = 500
#: If all rows together have no more bytes, a reply cannot have too many, and may have ``READ_TOGETHER``.
TOTAL_BYTES: Final = 1 << 28


class Pace:
    """Says how many rows to ask for, so that a reply has about ``READ_BYTES``.

    The bytes of some rows are known. Of others it asks for few first, and then for what fits by their mean.

    Args:
        known: The first row of each part whose bytes are known, the row after its last one, and its bytes.
        total: About how many bytes all rows have, if that is known.
    """

    def __init__(self, known: Mapping[int, tuple[int, int]] | None = None, total: int | None = None) -> None:
        self._known = known or {}
        self._starts = sorted(self._known)
        self._most = UNKNOWN_TOGETHER if total is None or total > TOTAL_BYTES else READ_TOGETHER
        self._rows = min(READ_FIRST, READ_TOGETHER)

    def after(self, start: int, end: int) -> int:
        """The row after those to ask for, if they begin at ``start`` and end before ``end``."""
        last, at, size = min(start + READ_TOGETHER, end), start, 0
        while at < last:
            place = bisect_right(self._starts, at)
            after, more = self._known[self._starts[place - 1]] if place else (0, 0)
            if after <= at or (at > start and size + more > READ_BYTES):
                break
            at, size = after, size + more
        return min(at, last) if at > start else min(start + self._rows, end)

    def learn(self, values: Sequence[bytes]) -> None:
        """Note what the last reply had."""
        size = sum(map(len, values)) or 1
        fit = READ_BYTES * len(values) // size
        self._rows = max(1, min(8 * self._rows, self._most, fit))


@dataclass(frozen=True, slots=True)
class Rows:
    """Values and their metadata.

    Attributes:
        values: Their bytes.
        ids: The id of each value, None for a value without one; None if the queue has no ids.
        deliveries: How often each value was delivered, including this time; 0 if it was only peeked at. A
            single number holds for all values.
    """

    values: Sequence[bytes]
    ids: Sequence[str | None] | None = None
    deliveries: Sequence[int] | int = 1

    def __len__(self) -> int:
        return len(self.values)

    def part(self, start: int, end: int) -> Rows:
        """The rows from ``start`` to before ``end``."""
        ids = None if self.ids is None else self.ids[start:end]
        deliveries = self.deliveries if isinstance(self.deliveries, int) else self.deliveries[start:end]
        return Rows(self.values[start:end], ids, deliveries)

    @property
    def enqueued(self) -> list[int | None] | None:
        """When each value was put, in milliseconds since 1970, if its id has the server's time."""
        if self.ids is None:
            return None
        found = (_TIMED.fullmatch(each) if each else None for each in self.ids)
        return [int(each[1]) if each else None for each in found]


def rows_of(kind: str, envelope: bool, data: Sequence[bytes]) -> Rows:
    """The rows in claimed elements of a queue of this kind."""
    if kind == "reliable":
        return _messages(data)
    return _enveloped(data, 1) if envelope else Rows(data)


def peeked_of(envelope: bool, data: Sequence[bytes]) -> Rows:
    """The rows in elements that are still in the queue."""
    return _enveloped(data, 0) if envelope else Rows(data, deliveries=0)


def _messages(data: Iterable[bytes]) -> Rows:
    found = [_CLAIMED.fullmatch(each) for each in data]
    parts = [each.groups() for each in found if each is not None]
    assert len(parts) == len(found), data
    return Rows(
        [value for _, _, value in parts],
        [name.decode() for name, _, _ in parts],
        [int(count) for _, count, _ in parts],
    )


def _enveloped(data: Sequence[bytes], deliveries: int) -> Rows:
    """Rows of enveloped items; an item without an envelope is its own payload."""
    found = [_ENVELOPE.fullmatch(each) for each in data]
    values = [each[2] if each else whole for each, whole in zip(found, data, strict=True)]
    return Rows(values, [each[1].decode() if each else None for each in found], deliveries)
