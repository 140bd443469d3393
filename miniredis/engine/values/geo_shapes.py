"""Areas of geographic searches: a circle or a box, and the cells of the grid that cover it.

Both the cells and their order are Redis's own, because clients can see the order in the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import asin, cos, sin, sqrt
from typing import Final

from .geohash import CELL_STEPS, RADIANS, RADIUS, Area, Cell, Point, cell_at, distances_from

__all__ = ["Box", "Circle", "Polygon", "Shape", "covering", "middle_of"]

HALF_EQUATOR: Final = 20037726.37
"""Half of the equator's length on Mercator's map, in metres."""

POLAR: Final = (66, 80)
"""Beyond each of these latitudes, a search uses cells one step larger."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An area around a centre.

    Attributes:
        centre: its centre.
        unit: the length, in metres, of the unit of its size.
    """

    centre: Point
    unit: float

    @property
    def reach(self) -> float:
        """The greatest distance from its centre, in metres."""
        raise NotImplementedError

    @property
    def half_sides(self) -> tuple[float, float]:
        """Its extent from the centre to the east and to the north, in metres."""
        raise NotImplementedError

    def meter(self) -> Callable[[Point], float | None]:
        """What tells the distance from the centre to a place, in metres; None if the place is outside."""
        raise NotImplementedError

    @property
    def bounds(self) -> Area:
        """Its bounding box, in degrees."""
        longitude, latitude = self.centre
        width, height = self.half_sides
        up = height / RADIUS / RADIANS
        equator_side = latitude - up if latitude < 0 else latitude + up
        aside = width / RADIUS / cosine(equator_side * RADIANS) / RADIANS
        return Area(longitude - aside, longitude + aside, latitude - up, latitude + up)


@dataclass(frozen=True, slots=True)
class Circle(Shape):
    """All places within a radius."""

    radius: float

    @property
    def reach(self) -> float:
        """The radius, in metres."""
        return self.radius * self.unit

    @property
    def half_sides(self) -> tuple[float, float]:
        """The radius, twice."""
        return self.unit * self.radius, self.unit * self.radius

    def meter(self) -> Callable[[Point], float | None]:
        """What tells the distance from the centre to a place; None if it exceeds the radius."""
        measure, most = distances_from(self.centre), self.reach

        def distance_to(place: Point) -> float | None:
            found = measure(place)
            return None if found > most else found

        return distance_to


@dataclass(frozen=True, slots=True)
class Box(Shape):
    """All places within half a width to the east and west, and half a height to the north and south."""

    width: float
    height: float

    @property
    def reach(self) -> float:
        """The distance from the centre to a corner, in metres."""
        half_width, half_height = self.width / 2, self.height / 2
        return math.sqrt(half_width * half_width + half_height * half_height) * self.unit

    @property
    def half_sides(self) -> tuple[float, float]:
        """Half of its width and height, in metres."""
        return self.unit * (self.width / 2), self.unit * (self.height / 2)

    def meter(self) -> Callable[[Point], float | None]:
        """What tells the distance from the centre to a place; None if the place is outside."""
        measure, longitude, latitude = distances_from(self.centre), *(each * RADIANS for each in self.centre)
        most_up, most_aside = self.height * self.unit / 2, self.width * self.unit / 2

        def distance_to(place: Point) -> float | None:
            north = place[1] * RADIANS
            if RADIUS * abs(north - latitude) > most_up:
                return None
            east, along = sin((longitude - place[0] * RADIANS) / 2), cos(north)  # on the place's parallel
            part = along * along * east * east
            if part <= 1 and 2.0 * RADIUS * asin(sqrt(part)) > most_aside:
                return None
            return measure(place)

        return distance_to


@dataclass(frozen=True, slots=True)
class Polygon(Shape):
    """All places between some corners; its middle is the centre."""

    corners: tuple[Point, ...]

    @classmethod
    def around(cls, centre: Point, corners: tuple[Point, ...]) -> Polygon:
        """The polygon with these corners; distances from its centre are in metres."""
        return cls(centre, 1.0, corners)

    @property
    def reach(self) -> float:
        """The distance from its centre to the farthest corner of its bounding box, in metres."""
        west, east, south, north = self.bounds
        box = (Point(x, y) for x in (west, east) for y in (south, north))
        return max(map(distances_from(self.centre), box))

    @property
    def bounds(self) -> Area:
        """The box that has all corners."""
        longitudes, latitudes = zip(*self.corners, strict=True)
        return Area(min(longitudes), max(longitudes), min(latitudes), max(latitudes))

    def meter(self) -> Callable[[Point], float | None]:
        """What tells the distance from the centre to a place; None if the place is outside."""
        measure, corners = distances_from(self.centre), self.corners
        sides = tuple(zip(corners, (corners[-1], *corners), strict=False))

        def distance_to(place: Point) -> float | None:
            x, y = place
            crossed = sum(
                (north > y) != (south > y) and x < (west - east) * (y - north) / (south - north) + east
                for (east, north), (west, south) in sides
            )
            return measure(place) if crossed % 2 else None

        return distance_to


def middle_of(places: Sequence[Point]) -> Point:
    """The place below the middle of some places, on the globe."""
    angles = [(place[0] * RADIANS, place[1] * RADIANS) for place in places]
    x = sum(cos(north) * cos(east) for east, north in angles)
    y = sum(cos(north) * sin(east) for east, north in angles)
    z = sum(sin(north) for _, north in angles)
    return Point(math.atan2(y, x) / RADIANS, math.atan2(z, math.sqrt(x * x + y * y)) / RADIANS)


def cosine(angle: float) -> float:
    return math.cos(angle) if math.isfinite(angle) else math.nan


# Covering

EAST: Final = (1, 0)
WEST: Final = (-1, 0)
NORTH: Final = (0, 1)
SOUTH: Final = (0, -1)

AROUND: Final = ((0, 0), NORTH, SOUTH, EAST, WEST, (1, 1), (-1, 1), (1, -1), (-1, -1))
"""The cells to search, relative to the one that contains the centre."""


def covering(shape: Shape) -> list[Cell]:
    """The cells that cover a shape, in the order of the search."""
    bounds = shape.bounds
    middle = cell_at(shape.centre, steps_for(shape.reach, shape.centre.latitude))
    if middle.steps > 1 and not reaches_around(middle, bounds):
        middle = cell_at(shape.centre, middle.steps - 1)
    needless = needless_sides(middle.area, bounds) if middle.steps > 1 else set()
    cells = [
        middle.neighbour(east, north) for east, north in AROUND if not {(east, 0), (0, north)} & needless
    ]
    return [cell for at, cell in enumerate(cells) if at == 0 or cell != cells[at - 1]]


def steps_for(reach: float, latitude: float) -> int:
    """The number of steps of the smallest cells such that three in a row cover the shape."""
    if reach == 0:
        return CELL_STEPS
    steps = -1
    while reach < HALF_EQUATOR:
        reach *= 2
        steps += 1
    steps -= sum(abs(latitude) > each for each in POLAR)
    return min(max(steps, 1), CELL_STEPS)


def reaches_around(middle: Cell, bounds: Area) -> bool:
    """Whether a cell's neighbours reach the bounds in all directions."""
    north, south, east, west = (middle.neighbour(*side).area for side in (NORTH, SOUTH, EAST, WEST))
    falls_short = (
        north.north < bounds.north
        or south.south > bounds.south
        or east.east < bounds.east
        or west.west > bounds.west
    )
    return not falls_short


def needless_sides(area: Area, bounds: Area) -> set[tuple[int, int]]:
    """The directions in which the cell itself already reaches beyond the bounds."""
    beyond = {
        SOUTH: area.south < bounds.south,
        NORTH: area.north > bounds.north,
        WEST: area.west < bounds.west,
        EAST: area.east > bounds.east,
    }
    return {side for side, is_beyond in beyond.items() if is_beyond}
