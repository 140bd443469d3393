"""HyperLogLog: estimates numbers of distinct elements, in strings of Redis's own format.

A string has a header of 16 bytes and 16384 registers. An element's hash selects a register, and raises it to
1 plus the number of zeros at the end of its other bits. Sparse registers are runs: ``00nnnnnn`` of zeros,
``01nnnnnn nnnnnnnn`` of more zeros, ``1vvvvvnn`` of a value, with each number stored minus 1. Dense ones have
six bits each, lowest first. Clients can GET the string, so each operation leaves the bytes that Redis leaves.

Sources: the papers of Flajolet (2007) and Ertl (2017, arXiv:1702.01284), and the remarks on the format in
Redis's documentation of PFADD.
"""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

from ..protocol.errors import CORRUPTED_HYPERLOGLOG, CommandError

__all__ = [
    "BEGINNING",
    "REGISTERS",
    "RegisterRun",
    "add",
    "cache",
    "cached",
    "count",
    "empty",
    "invalidate",
    "is_hyperloglog",
    "is_sparse",
    "maximum",
    "place_and_rank",
    "raise_register",
    "registers",
    "runs",
    "set_all",
    "to_dense",
]

REGISTERS: Final = 1 << 14
RANKS: Final = 64 - 14 + 1
"""The highest value of a register: all bits that do not select it are zero."""

MAGIC: Final = b"HYLL"
HEADER: Final = 16
DENSE: Final = 0
SPARSE: Final = 1
DENSE_SIZE: Final = HEADER + REGISTERS * 6 // 8
ENCODING_AT: Final = 4
CACHE: Final = slice(8, 16)
STALE: Final = 0x80
"""The bit in the last byte of the header that marks the cached cardinality as out of date."""

MOST_ZEROS: Final = 64
"""Longer runs of zeros take two bytes."""
MOST_VALUES: Final = 4
HIGHEST_SPARSE: Final = 32
MERGED: Final = 5
"""How many runs, starting before the changed one, are examined for runs to join."""


class RegisterRun(NamedTuple):
    """Consecutive registers with the same value, and the number of bytes that encode them."""

    value: int
    length: int
    size: int


Start: TypeAlias = tuple[int, int]
"""The start of a run: its offset in the string, and its first register."""

BEGINNING: Final[Start] = (HEADER, 0)


# Strings


def empty() -> bytearray:
    """A HyperLogLog without elements."""
    header = MAGIC + bytes([SPARSE]) + bytes(HEADER - ENCODING_AT - 1)
    return bytearray(header + run_of(0, REGISTERS))


def is_hyperloglog(text: bytes | bytearray) -> bool:
    """Whether a string has a valid header; its registers are not checked."""
    if len(text) < HEADER or not text.startswith(MAGIC):
        return False
    encoding = text[ENCODING_AT]
    return encoding == SPARSE or (encoding == DENSE and len(text) == DENSE_SIZE)


def is_sparse(text: bytes | bytearray) -> bool:
    """Whether its registers are stored as runs."""
    return text[ENCODING_AT] == SPARSE


def cached(text: bytes | bytearray) -> int | None:
    """The cardinality counted last; None if it is out of date."""
    return None if text[HEADER - 1] & STALE else int.from_bytes(text[CACHE], "little")


def cache(text: bytearray, number: int) -> None:
    """Stores a cardinality in the header."""
    text[CACHE] = (number & WORD).to_bytes(8, "little")


def invalidate(text: bytearray) -> None:
    """Marks the cached cardinality as out of date."""
    text[HEADER - 1] |= STALE


# Elements

SEED: Final = 0xADC83B19
FACTOR: Final = 0xC6A4A7935BD1E995
SHIFT: Final = 47
WORD: Final = (1 << 64) - 1
WORDS: Final = struct.Struct("<Q").iter_unpack


def murmur(data: bytes) -> int:
    """MurmurHash64A, the hash function that Redis uses."""
    state = SEED ^ len(data) * FACTOR & WORD
    whole = len(data) & ~7
    for (part,) in WORDS(data[:whole]):
        part = part * FACTOR & WORD
        state = (state ^ (part ^ part >> SHIFT) * FACTOR) * FACTOR & WORD
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * FACTOR & WORD
    state = (state ^ state >> SHIFT) * FACTOR & WORD
    return state ^ state >> SHIFT


def place_and_rank(element: bytes) -> tuple[int, int]:
    """The register that an element selects, and the value to which it raises it."""
    bits = murmur(element)
    rest = bits >> 14 | 1 << RANKS - 1
    return bits & REGISTERS - 1, (rest & -rest).bit_length()


def add(text: bytearray, element: bytes, most: int) -> bool:
    """Adds an element; returns whether it raised a register. For ``most`` see ``raise_register``."""
    place, rank = place_and_rank(element)
    return raise_register(text, place, rank, most) is not None


# Registers


def registers(text: bytes | bytearray) -> bytes | bytearray:
    """All registers, one byte each; raises ``CommandError`` if they are damaged."""
    return of_runs(text) if is_sparse(text) else of_six_bits(text)


def of_six_bits(text: bytes | bytearray) -> bytearray:
    """Decodes dense registers, four in three bytes: those at the same position in their group at once."""
    low, middle, high = (text[HEADER + part :: 3] for part in range(3))
    values = bytearray(REGISTERS)
    values[0::4] = low.translate(LOW_SIX)
    values[1::4] = either(low.translate(HIGH_TWO), middle.translate(LOW_FOUR))
    values[2::4] = either(middle.translate(HIGH_FOUR), high.translate(LOW_TWO))
    values[3::4] = high.translate(HIGH_SIX)
    return values


LOW_SIX: Final = bytes(byte & 63 for byte in range(256))
HIGH_TWO: Final = bytes(byte >> 6 for byte in range(256))
LOW_FOUR: Final = bytes((byte & 15) << 2 for byte in range(256))
HIGH_FOUR: Final = bytes(byte >> 4 for byte in range(256))
LOW_TWO: Final = bytes((byte & 3) << 4 for byte in range(256))
HIGH_SIX: Final = bytes(byte >> 2 for byte in range(256))


def either(one: bytes | bytearray, other: bytes | bytearray) -> bytes:
    """The bitwise or of two strings of equal length."""
    both = int.from_bytes(one, "little") | int.from_bytes(other, "little")
    return both.to_bytes(len(one), "little")


def of_runs(text: bytes | bytearray) -> bytearray:
    """Decodes sparse registers."""
    values = bytearray()
    for piece in PIECES(text, HEADER):
        many, few = piece.groups()
        values += bytes(run_at(many, 0).length) if many else b"".join(map(SPELLED_OUT.__getitem__, few))
        if len(values) > REGISTERS:
            break
    if len(values) != REGISTERS:
        raise CommandError(CORRUPTED_HYPERLOGLOG)
    return values


def maximum(one: int, other: int) -> int:
    """The larger of each two registers; both arguments are integers with a byte for each register."""
    is_higher = (one | TOPS) - other & TOPS  # a register uses only six bits of its byte
    mask = is_higher - (is_higher >> 7)
    return other ^ (one ^ other) & mask


TOPS: Final = int.from_bytes(b"\x80" * REGISTERS)


def to_dense(text: bytearray) -> None:
    """Converts registers to six bits each; raises ``CommandError`` if they are damaged."""
    set_all(text, registers(text))


def set_all(text: bytearray, values: bytes | bytearray) -> None:
    """Stores the values of all registers, six bits each, four in three bytes."""
    body = bytearray(REGISTERS * 6 // 8)
    one, two, three, four = (values[part::4] for part in range(4))
    body[0::3] = either(one, two.translate(TO_HIGH_TWO))
    body[1::3] = either(two.translate(TO_LOW_FOUR), three.translate(TO_HIGH_FOUR))
    body[2::3] = either(three.translate(TO_LOW_TWO), four.translate(TO_HIGH_SIX))
    text[HEADER:] = body
    text[ENCODING_AT] = DENSE


TO_HIGH_TWO: Final = bytes((value & 3) << 6 for value in range(256))
TO_LOW_FOUR: Final = bytes(value >> 2 & 15 for value in range(256))
TO_HIGH_FOUR: Final = bytes((value & 15) << 4 for value in range(256))
TO_LOW_TWO: Final = bytes(value >> 4 & 3 for value in range(256))
TO_HIGH_SIX: Final = bytes((value & 63) << 2 for value in range(256))


def raise_register(
    text: bytearray, place: int, value: int, most: int, start: Start | None = None
) -> Start | None:
    """Raises a register to a value; raises ``CommandError`` if the registers are damaged.

    Args:
        text: the string to change.
        place: the register.
        value: the register's new minimum.
        most: the most bytes of a sparse string (``hll-sparse-max-bytes``).
        start: where to start looking for the register; it is found by the layout of all runs if omitted.

    Returns:
        Where to start looking for later registers; None if the register was not lower.
    """
    if is_sparse(text) and value <= HIGHEST_SPARSE:
        earlier, before, (at, first) = find_run(text, place, start or nearby(text, place))
        run = run_at(text, at)
        if run.value >= value:
            return None
        split = split_run(run, place - first, value)
        if len(split) <= run.size or len(text) + len(split) - run.size <= most:
            text[at : at + run.size] = split
            join_runs(text, before[0])
            invalidate(text)
            return earlier  # joining does not move this run
    if is_sparse(text):
        to_dense(text)
    return BEGINNING if raise_dense(text, place, value) else None


def raise_dense(text: bytearray, place: int, value: int) -> bool:
    at, shift = HEADER + place * 6 // 8, place * 6 % 8
    both = int.from_bytes(text[at : at + 2], "little")
    if both >> shift & 63 >= value:
        return False
    both = both & ~(63 << shift) | value << shift
    text[at : at + 2] = both.to_bytes(2, "little")[: len(text) - at]
    return True


# Runs


def runs(text: bytes | bytearray) -> Iterator[RegisterRun]:
    """Yields the runs of sparse registers."""
    at = HEADER
    while at < len(text):
        run = run_at(text, at)
        yield run
        at += run.size


def run_at(text: bytes | bytearray, at: int) -> RegisterRun:
    """The run at an offset; if its second byte is missing, that counts as 0."""
    first = text[at]
    if first & 0x80:
        return RegisterRun((first >> 2 & 31) + 1, (first & 3) + 1, 1)
    if not first & 0x40:
        return RegisterRun(0, first + 1, 1)
    second = text[at + 1] if at + 1 < len(text) else 0
    return RegisterRun(0, ((first & 63) << 8 | second) + 1, 2)


PIECES: Final = re.compile(rb"([\x40-\x7f].?)|([^\x40-\x7f]{1,256}+)", re.DOTALL).finditer
"""A run of two bytes, or several runs of one byte each."""

FIRSTS: Final = [run_at(bytes((first,)), 0) for first in range(256)]
SPELLED_OUT: Final = tuple(bytes((run.value,)) * run.length for run in FIRSTS)
"""The registers of each run of one byte, by that byte."""

LENGTHS: Final = bytes(run.length if run.size == 1 else 0 for run in FIRSTS)
"""The number of registers of each run of one byte, by that byte; 0 for runs of two bytes."""


def run_of(value: int, length: int) -> bytes:
    """The bytes of a run; empty if its length is 0."""
    if not length:
        return b""
    if value:
        return bytes([0x80 | value - 1 << 2 | length - 1])
    return bytes([length - 1]) if length <= MOST_ZEROS else (0x4000 | length - 1).to_bytes(2)


class Lengths(dict[bytes, int]):
    """The number of registers of each run that was asked for, by its bytes."""

    def __missing__(self, run: bytes) -> int:
        length = self[run] = run_at(run, 0).length
        return length


LENGTH_OF: Final = Lengths().__getitem__

RUNS: Final = re.compile(rb"[\x40-\x7f].?|[^\x40-\x7f]", re.DOTALL).findall
"""All runs, each of one byte or of two."""


@lru_cache(maxsize=8)
def layout(body: bytes) -> tuple[list[bytes], list[int]]:
    """All runs, and the first register behind each; kept, as an element that came before changes nothing."""
    runs = RUNS(body)
    return runs, [*accumulate(map(LENGTH_OF, runs))]


def nearby(text: bytearray, place: int) -> Start:
    """The start of the second run before that of a register, or of the first one."""
    runs, ends = layout(bytes(text[HEADER:]))
    number = max(bisect_right(ends, place) - 2, 0)
    return (HEADER + len(b"".join(runs[:number])), ends[number - 1]) if number else BEGINNING


def find_run(text: bytearray, place: int, start: Start) -> tuple[Start, Start, Start]:
    """Finds the run of a register; returns the two runs before it (or ``start``) and the run itself."""
    at, first = start
    earlier = before = start
    size = len(text)
    while at < size:
        byte = text[at]
        length, width = LENGTHS[byte], 1
        if not length:
            second = text[at + 1] if at + 1 < size else 0
            length, width = ((byte & 63) << 8 | second) + 1, 2
        if place < first + length:
            return earlier, before, (at, first)
        earlier, before = before, (at, first)
        at += width
        first += length
    raise CommandError(CORRUPTED_HYPERLOGLOG)


def split_run(run: RegisterRun, offset: int, value: int) -> bytes:
    """The bytes of a run after the register at an offset has got another value."""
    rest = run.length - offset - 1
    return run_of(run.value, offset) + run_of(value, 1) + run_of(run.value, rest)


def join_runs(text: bytearray, at: int) -> None:
    """Joins neighbouring runs of the same value among the next few, if one run can hold both."""
    for _ in range(MERGED):
        if at >= len(text):
            return
        run = run_at(text, at)
        if run.value and at + 1 < len(text):
            other = run_at(text, at + 1)
            if run.value == other.value and run.length + other.length <= MOST_VALUES:
                text[at : at + 2] = run_of(run.value, run.length + other.length)
                continue
        at += run.size


# Counting

ALPHA: Final = 0.721347520444481703680
"""1 / (2 ln 2)."""

UNKNOWN: Final = -(1 << 63)
"""The result of Redis for an infinite estimate."""


def count(values: bytes | bytearray) -> int:
    """The estimated number of elements for these registers, by Ertl's improved estimator."""
    numbers = histogram(values)
    size = float(REGISTERS)
    total = size * tau((size - numbers[RANKS]) / size)
    for value in range(RANKS - 1, 0, -1):
        total = (total + numbers[value]) * 0.5
    total += size * sigma(numbers[0] / size)
    if not total:
        return UNKNOWN
    estimate = ALPHA * size * size / total
    whole = math.floor(estimate)
    return whole + (estimate - whole >= 0.5)


def histogram(values: bytes | bytearray) -> list[int]:
    """The number of registers with each value; counted values are removed, so that few bytes remain."""
    numbers = []
    for value in range(RANKS + 1):
        others = values.translate(None, bytes((value,)))
        numbers.append(len(values) - len(others))
        values = others
    return numbers


def sigma(share: float) -> float:
    """The sum of share^(2^k) * 2^(k-1), for registers that are 0."""
    if share == 1:
        return math.inf
    power, total, last = 1.0, share, -1.0
    while total != last:
        share *= share
        last = total
        total += share * power
        power += power
    return total


def tau(share: float) -> float:
    """The corresponding sum for registers at the highest value."""
    if share in {0.0, 1.0}:
        return 0.0
    power, total, last = 1.0, 1 - share, -1.0
    while total != last:
        share = math.sqrt(share)
        last = total
        power *= 0.5
        total -= (1 - share) ** 2 * power
    return total / 3
