"""Ranges of the entries of a sorted set: by score, by member (lexicographic) and by rank.

Each range is turned into two ranks: the first, and the one after the last. Ranges of members are defined
only if all scores are equal. If they are not, members are not in order, and Redis returns what it meets first
while it scans a listpack; so does this module. For a skip list, Redis's result is arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any, Final, NamedTuple, TypeAlias

from ..numbers.doubles import parse_bound
from ..protocol import errors
from ..protocol.errors import CommandError
from .sorted_sets import Entry, SortedSet

__all__ = ["Range", "Ranks", "limited", "ranks_between", "read_members", "read_scores"]

Ranks: TypeAlias = tuple[int, int]
"""The first rank, and the one after the last."""

NOTHING: Final[Ranks] = (0, 0)

End: TypeAlias = tuple[Any, bool]
"""A bound of a range, and whether it is excluded."""


class Range(NamedTuple):
    """Entries whose score, or whose member, is between two bounds.

    Attributes:
        low: the lower bound.
        high: the upper bound.
        part: returns the part of an entry to compare with the bounds.
    """

    low: End
    high: End
    part: Callable[[Entry], Any]

    @property
    def is_empty(self) -> bool:
        """Whether no entry can be in the range."""
        (low, without_low), (high, without_high) = self.low, self.high
        return bool(low > high or (low == high and (without_low or without_high)))

    def is_below(self, entry: Entry) -> bool:
        """Whether an entry is below the range."""
        low, without_low = self.low
        return bool(self.part(entry) <= low if without_low else self.part(entry) < low)

    def is_not_above(self, entry: Entry) -> bool:
        """Whether an entry is not above the range."""
        high, without_high = self.high
        return bool(self.part(entry) < high if without_high else self.part(entry) <= high)

    def ranks(self, values: SortedSet, *, backwards: bool = False) -> Ranks:
        """The ranks of the entries in the range; ``backwards`` scans from the highest entry."""
        if self.is_empty or not values:
            return NOTHING
        if self.part is member_of and values.at(0)[0] != values.at(len(values) - 1)[0]:
            return self._walked(list(values), backwards=backwards)
        first = values.count_first(self.is_below)
        return first, max(values.count_first(self.is_not_above), first)

    def _walked(self, entries: list[Entry], *, backwards: bool) -> Ranks:
        """As ``ranks``, for entries that are not in the order of the range: scans them one by one."""
        if self.is_below(entries[-1]) or not self.is_not_above(entries[0]):
            return NOTHING
        if backwards:
            above = count_while(lambda entry: not self.is_not_above(entry), entries[::-1])
            end = len(entries) - above
            return end - count_while(lambda entry: not self.is_below(entry), entries[:end][::-1]), end
        first = count_while(self.is_below, entries)
        return first, first + count_while(self.is_not_above, entries[first:])


def count_while(holds: Callable[[Entry], bool], entries: list[Entry]) -> int:
    return sum(1 for _ in takewhile(holds, entries))


def score_of(entry: Entry) -> float:
    return entry[0]


def member_of(entry: Entry) -> tuple[int, bytes]:
    return 0, entry[1]


# Reading


def read_scores(low: bytes, high: bytes) -> Range:
    """A range of scores from its bounds: ``1``, ``(1`` excluded, ``-inf``."""
    return Range(read_score_end(low), read_score_end(high), score_of)


def read_score_end(text: bytes) -> End:
    is_left_out = text[:1] == b"("
    score = parse_bound(text[1:] if is_left_out else text)
    if score is None:
        raise CommandError(errors.NOT_A_SCORE_RANGE)
    return score, is_left_out


def read_members(low: bytes, high: bytes) -> Range:
    """A range of members from its bounds: ``[a``, ``(a`` excluded, ``-`` and ``+`` for all."""
    return Range(read_member_end(low), read_member_end(high), member_of)


INFINITE: Final = {b"-": -1, b"+": 1}


def read_member_end(text: bytes) -> End:
    sign = INFINITE.get(text.split(b"\0", 1)[0])
    if sign is not None:
        return (sign, b""), True
    if text[:1] not in {b"[", b"("}:
        raise CommandError(errors.NOT_A_STRING_RANGE)
    return (0, text[1:]), text[:1] == b"("


# Ranks


def ranks_between(start: int, stop: int, size: int, *, backwards: bool = False) -> Ranks:
    """The ranks from ``start`` to ``stop``, both included; negative ones count from the end.

    Args:
        start: the first rank.
        stop: the last rank.
        size: the number of entries.
        backwards: whether the ranks count from the highest entry down.
    """
    first = max(start + size if start < 0 else start, 0)
    end = min(stop + size if stop < 0 else stop, size - 1) + 1
    if first >= end:
        return NOTHING
    return (size - end, size - first) if backwards else (first, end)


def limited(ranks: Ranks, offset: int, count: int, *, backwards: bool = False) -> Ranks:
    """Applies LIMIT: up to ``count`` entries after the first ``offset``; a negative count means all."""
    first, end = ranks
    if not 0 <= offset < end - first:
        return NOTHING
    if backwards:
        end -= offset
        return (first if count < 0 else max(first, end - count)), end
    first += offset
    return first, (end if count < 0 else min(end, first + count))
