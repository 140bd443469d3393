"""Places on earth as numbers: cells of a grid, whose bits, longitude and latitude in turn, are the score.

A cell of 26 steps halves the longitudes and the latitudes 26 times each: 52 bits, which a double holds. Every
formula is evaluated in the order in which Redis evaluates it, so that all digits come out the same.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

__all__ = ["CELL_STEPS", "Area", "Cell", "Place", "cell_at", "distance", "place_of", "standard_text"]

CELL_STEPS: Final = 26
"""How often a score halves the map each way."""

RADIUS: Final = 6372797.560856
"""Of the earth, in metres."""

RADIANS: Final = math.pi / 180.0


class Span(NamedTuple):
    """From where to where the map goes, in degrees."""

    low: float
    high: float


LONGITUDES: Final = Span(-180.0, 180.0)
LATITUDES: Final = Span(-85.05112878, 85.05112878)
"""Further to the poles, Mercator's map would not be a square."""

POLE_TO_POLE: Final = Span(-90.0, 90.0)


class Place(NamedTuple):
    """A point, in degrees."""

    longitude: float
    latitude: float

    @property
    def is_on_the_map(self) -> bool:
        """Whether it can be kept."""
        return is_in(self.longitude, LONGITUDES) and is_in(self.latitude, LATITUDES)


class Area(NamedTuple):
    """What a cell covers, in degrees."""

    west: float
    east: float
    south: float
    north: float


class Cell(NamedTuple):
    """A field of the grid.

    Attributes:
        column: counted from the west.
        row: counted from the south.
        steps: how often the map was halved each way.
    """

    column: int
    row: int
    steps: int

    def neighbour(self, east: int, north: int) -> Cell:
        """The cell so many columns and rows away, around the map where it ends."""
        mask = (1 << self.steps) - 1
        column = (self.column + east) & mask if east else self.column
        row = (self.row + north) & mask if north else self.row
        return Cell(column, row, self.steps)

    @property
    def bits(self) -> int:
        """Its number: the bits of the column and of the row in turn."""
        return spread(self.column) << 1 | spread(self.row)

    @property
    def scores(self) -> tuple[int, int]:
        """The lowest score in it, and the one above the highest."""
        left = 2 * (CELL_STEPS - self.steps)
        return self.bits << left, self.bits + 1 << left

    @property
    def area(self) -> Area:
        """What it covers."""
        column, row, steps = self
        return Area(
            bound(LONGITUDES, column, steps), bound(LONGITUDES, column + 1, steps),
            bound(LATITUDES, row, steps), bound(LATITUDES, row + 1, steps),
        )  # fmt: skip


def is_in(degrees: float, span: Span) -> bool:
    return span.low <= degrees <= span.high


def bound(span: Span, at: int, steps: int) -> float:
    """Where a column or a row begins."""
    return span.low + (at * 1.0 / (1 << steps)) * (span.high - span.low)


SPREADING: Final = (
    (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)  # fmt: skip
"""How to make room between bits: how far to shift a copy, and which bits to keep of both."""


def spread(number: int) -> int:
    """The lower 32 bits of a number, with a zero before each."""
    number &= 0xFFFFFFFF
    for shift, kept in SPREADING:
        number = (number | number << shift) & kept
    return number


def cell_at(place: Place, steps: int = CELL_STEPS, latitudes: Span = LATITUDES) -> Cell:
    """The cell that a place is in."""
    column, row = (
        int((degrees - span.low) / (span.high - span.low) * (1 << steps))
        for degrees, span in zip(place, (LONGITUDES, latitudes), strict=True)
    )
    return Cell(column, row, steps)


def unsigned(score: float) -> int:
    """The 64 bits that a processor makes of a double that is taken as an unsigned integer."""
    if math.isinf(score) or score >= 1 << 64:
        return 0 if score > 0 else 1 << 63
    return int(score) % (1 << 64) if score >= -(1 << 63) else 1 << 63


def place_of(score: float) -> Place:
    """The middle of the cell that a score stands for; any score stands for one."""
    digits = f"{unsigned(score):064b}"  # of the column and of the row in turn
    west, east, south, north = Cell(int(digits[::2], 2), int(digits[1::2], 2), CELL_STEPS).area
    return Place(clamped((west + east) / 2, LONGITUDES), clamped((south + north) / 2, LATITUDES))


def clamped(degrees: float, span: Span) -> float:
    return min(max(degrees, span.low), span.high)


ALPHABET: Final = b"0123456789bcdefghjkmnpqrstuvwxyz"
PAIRS: Final = [bytes((first, second)) for first in ALPHABET for second in ALPHABET]
PAIR_SHIFTS: Final = range(2 * CELL_STEPS - 10, -1, -10)
"""52 bits make five pairs of letters; the eleventh letter is always the same."""


def standard_text(score: float) -> bytes:
    """The geohash as others write it, whose grid goes from pole to pole."""
    bits = cell_at(place_of(score), latitudes=POLE_TO_POLE).bits
    return b"".join([PAIRS[bits >> shift & 1023] for shift in PAIR_SHIFTS]) + b"0"


def distance(one: Place, other: Place) -> float:
    """How far two places are apart, in metres, along a great circle (by the haversine formula)."""
    east = math.sin((other.longitude * RADIANS - one.longitude * RADIANS) / 2)
    if east == 0.0:
        return distance_of_latitudes(one.latitude, other.latitude)
    south, north = one.latitude * RADIANS, other.latitude * RADIANS
    up = math.sin((north - south) / 2)
    part = up * up + math.cos(south) * math.cos(north) * east * east
    return 2.0 * RADIUS * math.asin(math.sqrt(part)) if part <= 1 else math.nan


def distance_of_latitudes(one: float, other: float) -> float:
    """How far two parallels are apart, in metres."""
    return RADIUS * abs(other * RADIANS - one * RADIANS)
