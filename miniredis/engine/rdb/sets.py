"""Sets in a payload, in every form that Redis writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..numbers.numbers import fits
from ..values.packing import Packing
from ..values.sets import SetValue
from .kinds import INTSET, SET
from .packed import read_listpack
from .reader import BadDataError, Reader, length, string
from .steps import Steps, strings

__all__ = ["dump_set", "load_intset", "load_listpack", "load_set"]

WIDTHS: Final = (2, 4, 8)
"""How many bytes the integers of an intset have."""


def dump_set(values: SetValue) -> bytes:
    """A packed set as an intset, another one string by string."""
    if values.is_packed:
        return bytes([INTSET]) + string(intset([int(member) for member in values]))
    return bytes([SET]) + length(len(values)) + b"".join(map(string, values))


def intset(numbers: Sequence[int]) -> bytes:
    """Sorted integers, each in as many bytes as the largest of them needs."""
    width = next(each for each in WIDTHS if fits(numbers[0], each) and fits(numbers[-1], each))
    head = width.to_bytes(4, "little") + len(numbers).to_bytes(4, "little")
    return head + b"".join(number.to_bytes(width, "little", signed=True) for number in numbers)


def load_set(reader: Reader, packing: Packing) -> Steps[SetValue]:
    """Member by member."""
    return set_of((yield from strings(reader, reader.length())), packing)


def load_intset(reader: Reader, packing: Packing) -> SetValue:
    """Integers of one width, behind the width and their number."""
    data = Reader(reader.string())
    width, count = (int.from_bytes(data.take(4), "little") for _ in range(2))
    if width not in WIDTHS:
        raise BadDataError
    body = Reader(data.take(width * count))
    if data.rest():
        raise BadDataError
    numbers = (int.from_bytes(body.take(width), "little", signed=True) for _ in range(count))
    return set_of([b"%d" % number for number in numbers], packing)


def load_listpack(reader: Reader, packing: Packing) -> SetValue:
    """A listpack of members, as Redis 7.2 and newer have it."""
    return set_of(read_listpack(reader.string()), packing)


def set_of(members: list[bytes], packing: Packing) -> SetValue:
    """A set of them; an empty one does not exist, and none comes twice."""
    values = SetValue.of(members, packing)
    if not members or len(values) != len(members):
        raise BadDataError
    return values
