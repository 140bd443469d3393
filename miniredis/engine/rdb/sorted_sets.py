"""Sorted sets in a payload, in every form that Redis up to 7.0 writes."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from ..numbers.doubles import packed_text, parse_bound
from ..numbers.numbers import MAX
from ..values.listpack import framed, pack_element
from ..values.listpack_bulk import body
from ..values.packing import Packing
from ..values.sorted_sets import SortedSet
from .kinds import SORTED_SET_2, SORTED_SET_LISTPACK
from .packed import read_listpack, read_ziplist
from .reader import BadDataError, Reader, length, string
from .steps import STEP, Steps

__all__ = [
    "dump_scores",
    "dump_sorted_set",
    "load_listpack",
    "load_with_doubles",
    "load_with_texts",
    "load_ziplist",
]

NOT_NUMBERS: Final = {253: math.nan, 254: math.inf, 255: -math.inf}
"""What stands in place of the length of a score's text."""


def dump_sorted_set(values: SortedSet) -> bytes:
    """A packed one as a listpack, lowest first."""
    if not values.is_packed:
        return dump_scores(values)
    members = [member for _, member in values]
    packed = body(members, [packed_score(score) for score, _ in values])
    return bytes([SORTED_SET_LISTPACK]) + string(framed(packed, 2 * len(members)))


def dump_scores(values: SortedSet) -> bytes:
    """Member by member, highest first, as Redis writes its skip list; every version reads this."""
    entries = (string(member) + struct.pack("<d", score) for score, member in reversed(values))
    return bytes([SORTED_SET_2]) + length(len(values)) + b"".join(entries)


@lru_cache(maxsize=1 << 12)  # scores are often small numbers
def packed_score(score: float) -> bytes:
    return pack_element(packed_text(score))


def load_with_doubles(reader: Reader, packing: Packing) -> Steps[SortedSet]:
    """Member by member, each with eight bytes of score."""
    return with_scores(reader, double, packing)


def load_with_texts(reader: Reader, packing: Packing) -> Steps[SortedSet]:
    """Member by member, each with the text of its score: the form of Redis up to 3.2."""
    return with_scores(reader, short_text, packing)


def with_scores(reader: Reader, read_score: Callable[[Reader], float], packing: Packing) -> Steps[SortedSet]:
    scored = []
    for count in range(1, reader.length() + 1):
        scored.append((reader.string(), read_score(reader)))
        if count % STEP == 0:
            yield
    return sorted_set_of(scored, packing)


def double(reader: Reader) -> float:
    score: float = struct.unpack("<d", reader.take(8))[0]
    return score


def short_text(reader: Reader) -> float:
    size = reader.byte()
    return NOT_NUMBERS[size] if size in NOT_NUMBERS else number(reader.take(size))


def load_listpack(reader: Reader, packing: Packing) -> SortedSet:
    """A listpack of members and scores in turn, which may stay one however long its members are."""
    return packed(read_listpack(reader.string()), packing)


def load_ziplist(reader: Reader, packing: Packing) -> SortedSet:
    """A ziplist, of which the same holds."""
    return packed(read_ziplist(reader.string()), packing)


def packed(parts: list[bytes], packing: Packing) -> SortedSet:
    if len(parts) % 2:
        raise BadDataError
    scored = zip(parts[::2], map(number, parts[1::2]), strict=True)
    return sorted_set_of(scored, packing._replace(sorted_set_value=MAX))


def number(text: bytes) -> float:
    score = parse_bound(text)
    if score is None:
        raise BadDataError
    return score


def sorted_set_of(scored: Iterable[tuple[bytes, float]], packing: Packing) -> SortedSet:
    """A sorted set of them; an empty one does not exist, no member comes twice, each score is a number."""
    scores: dict[bytes, float] = {}
    for member, score in scored:
        if member in scores or math.isnan(score):
            raise BadDataError
        scores[member] = score
    if not scores:
        raise BadDataError
    return SortedSet.of(scores, packing)
