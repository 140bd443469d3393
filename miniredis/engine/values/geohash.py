"""Geohashes: places as scores. A score's bits are a grid cell's column and row, interleaved.

A cell of 26 steps halves the longitudes and the latitudes 26 times each: 52 bits, which a double holds. Every
formula is evaluated in the same order as in Redis, so that all digits are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from math import asin, cos, nan, sin, sqrt
from typing import Final, NamedTuple

__all__ = [
    "CELL_STEPS",
    "Area",
    "Cell",
    "Point",
    "cell_at",
    "distance",
    "distances_from",
    "place_of",
    "standard_text",
]

CELL_STEPS: Final = 26
"""How often a score halves the map in each direction."""

CELLS: Final = 1 << CELL_STEPS

RADIUS: Final = 6372797.560856
"""The earth's radius, in metres."""

RADIANS: Final = math.pi / 180.0


class Span(NamedTuple):
    """A range of longitudes or latitudes, in degrees."""

    low: float
    high: float


LONGITUDES: Final = Span(-180.0, 180.0)
LATITUDES: Final = Span(-85.05112878, 85.05112878)
"""With these limits, Mercator's map is a square."""

POLE_TO_POLE: Final = Span(-90.0, 90.0)


class Point(NamedTuple):
    """A point, in degrees."""

    longitude: float
    latitude: float

    @property
    def is_on_the_map(self) -> bool:
        """Whether it can be stored."""
        return is_in(self.longitude, LONGITUDES) and is_in(self.latitude, LATITUDES)


class Area(NamedTuple):
    """A rectangle, in degrees."""

    west: float
    east: float
    south: float
    north: float


class Cell(NamedTuple):
    """A cell of the grid.

    Attributes:
        column: counted from the west.
        row: counted from the south.
        steps: how often the map is halved in each direction.
    """

    column: int
    row: int
    steps: int

    def neighbour(self, east: int, north: int) -> Cell:
        """The cell ``east`` columns and ``north`` rows away; wraps around at the edges of the map."""
        mask = (1 << self.steps) - 1
        column = (self.column + east) & mask if east else self.column
        row = (self.row + north) & mask if north else self.row
        return Cell(column, row, self.steps)

    @property
    def bits(self) -> int:
        """Its number: the bits of the column and the row, interleaved."""
        return spread(self.column) << 1 | spread(self.row)

    @property
    def scores(self) -> tuple[int, int]:
        """The lowest score in it, and the one above its highest."""
        left = 2 * (CELL_STEPS - self.steps)
        return self.bits << left, self.bits + 1 << left

    @property
    def area(self) -> Area:
        """The area it covers."""
        column, row, steps = self
        return Area(
            bound(LONGITUDES, column, steps), bound(LONGITUDES, column + 1, steps),
            bound(LATITUDES, row, steps), bound(LATITUDES, row + 1, steps),
        )  # fmt: skip


def is_in(degrees: float, span: Span) -> bool:
    return span.low <= degrees <= span.high


def bound(span: Span, at: int, steps: int) -> float:
    """The degree at which a column or a row begins."""
    return span.low + (at * 1.0 / (1 << steps)) * (span.high - span.low)


SPREADING: Final = (
    (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)  # fmt: skip
"""How to spread bits: how far to shift a copy, and which bits of both to keep."""


def spread(number: int) -> int:
    """The lower 32 bits of a number, each preceded by a zero bit."""
    number &= 0xFFFFFFFF
    for shift, kept in SPREADING:
        number = (number | number << shift) & kept
    return number


def cell_at(place: Point, steps: int = CELL_STEPS, latitudes: Span = LATITUDES) -> Cell:
    """The cell that contains a place."""
    column, row = (
        int((degrees - span.low) / (span.high - span.low) * (1 << steps))
        for degrees, span in zip(place, (LONGITUDES, latitudes), strict=True)
    )
    return Cell(column, row, steps)


def unsigned(score: float) -> int:
    """The 64 bits that a processor produces when it converts a double to an unsigned integer."""
    if 0 <= score < 1 << 63:  # as all scores that GEOADD makes
        return int(score)
    if math.isinf(score) or score >= 1 << 64:
        return 0 if score > 0 else 1 << 63
    return int(score) % (1 << 64) if score >= -(1 << 63) else 1 << 63


@lru_cache(maxsize=1 << 12)
def place_of(score: float) -> Point:
    """The centre of the cell of a score; every score has one. Searches ask for the same ones again."""
    digits = f"{unsigned(score):064b}"  # of the column and the row, interleaved
    return Point(middle(LONGITUDES, int(digits[::2], 2)), middle(LATITUDES, int(digits[1::2], 2)))


def middle(span: Span, at: int) -> float:
    """The middle of a column or a row of the smallest cells; the edge of the map if it is beyond."""
    low, high = span
    size = high - low
    degrees = ((low + at / CELLS * size) + (low + (at + 1) / CELLS * size)) / 2  # as ``bound`` reckons
    return degrees if degrees <= high else high


ALPHABET: Final = b"0123456789bcdefghjkmnpqrstuvwxyz"
PAIRS: Final = [bytes((first, second)) for first in ALPHABET for second in ALPHABET]
PAIR_SHIFTS: Final = range(2 * CELL_STEPS - 10, -1, -10)
"""52 bits make five pairs of letters; the eleventh letter is always ``0``."""


def standard_text(score: float) -> bytes:
    """The standard geohash, whose grid goes from pole to pole."""
    bits = cell_at(place_of(score), latitudes=POLE_TO_POLE).bits
    return b"".join([PAIRS[bits >> shift & 1023] for shift in PAIR_SHIFTS]) + b"0"


def distance(one: Point, other: Point) -> float:
    """The distance between two places along a great circle, in metres (haversine formula)."""
    return distances_from(one)(other)


def distances_from(one: Point) -> Callable[[Point], float]:
    """What tells the distances of other places; what depends on this one alone is reckoned once."""
    longitude, latitude = one.longitude * RADIANS, one.latitude * RADIANS
    cosine = cos(latitude)

    def distance_to(other: Point) -> float:
        east = sin((other[0] * RADIANS - longitude) / 2)
        north = other[1] * RADIANS
        if east == 0.0:
            return RADIUS * abs(north - latitude)
        up = sin((north - latitude) / 2)
        part = up * up + cosine * cos(north) * east * east
        return 2.0 * RADIUS * asin(sqrt(part)) if part <= 1 else nan

    return distance_to
