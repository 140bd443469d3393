"""The options of geographic searches: centre, shape, count, order and output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ...numbers.doubles import read_double
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...values.geo_shapes import Box, Circle, Shape
from ...values.geohash import Point, place_of
from ...values.sorted_sets import SortedSet
from .geo import read_place, read_unit

__all__ = ["NEAREST_FIRST", "Options", "read_circle"]

NEAREST_FIRST: Final = 1
FARTHEST_FIRST: Final = -1

MakeShape: TypeAlias = Callable[[Point], Shape]
"""Makes the requested shape around a centre."""


def read_circle(words: list[bytes]) -> MakeShape:
    """A radius and its unit."""
    radius = read_double(words[0], errors.RADIUS)
    if radius < 0:
        raise CommandError(errors.RADIUS_NEGATIVE)
    unit = read_unit(words[1])
    return lambda centre: Circle(centre, unit, radius)


def read_box(words: list[bytes]) -> MakeShape:
    """A width, a height and their unit."""
    width, height = read_double(words[0], errors.WIDTH), read_double(words[1], errors.HEIGHT)
    if width < 0 or height < 0:
        raise CommandError(errors.BOX_NEGATIVE)
    unit = read_unit(words[2])
    return lambda centre: Box(centre, unit, width, height)


@dataclass(slots=True)
class Options:
    """The options of a search.

    Attributes:
        values: the places; None if the key does not exist.
        searches: the name of GEOSEARCH or GEOSEARCHSTORE as sent, whose options define centre and shape.
        may_store: whether the options STORE and STOREDIST are allowed.
        target: the key in which to store the result.
        stores_distances: whether to store distances as scores.
        centre: the centre of the search.
        told_by: ``member`` or ``place`` if an option defined the centre.
        circle: the shape of BYRADIUS or of the command itself.
        box: the shape of BYBOX.
        order: the order by distance; 0 for none.
        count: the most results; 0 for all.
        any: whether to stop as soon as there are enough results.
        details: what to return about each place in addition to its name.
    """

    values: SortedSet | None
    searches: bytes | None = None
    may_store: bool = False
    target: bytes | None = None
    stores_distances: bool = False
    centre: Point | None = None
    told_by: str = ""
    circle: MakeShape | None = None
    box: MakeShape | None = None
    order: int = 0
    count: int = 0
    any: bool = False
    details: set[bytes] = field(default_factory=set)

    def read(self, words: list[bytes], known: Mapping[bytes, Option] | None = None) -> None:
        """Parses and applies all options in order; ``known`` are those that there are, if not ``OPTIONS``."""
        at = 0
        while at < len(words):
            option = (known or OPTIONS).get(words[at].upper())
            if option is None or not option.fits(self):
                raise CommandError(errors.SYNTAX)
            operands = option.words(self, words[at + 1 :])
            option.take(self, operands)
            at += 1 + len(operands)
        self._check()

    def _check(self) -> None:
        if self.target is not None and self.details:
            raise CommandError(errors.stored_details(is_search=self.searches is not None))
        if self.searches is not None and not self.told_by:
            raise CommandError(errors.no_centre(self.searches))
        if self.searches is not None and not (self.circle or self.box):
            raise CommandError(errors.no_shape(self.searches))
        if self.any and not self.count:
            raise CommandError(errors.ANY_WITHOUT_COUNT)

    def shape(self) -> Shape | None:
        """The area to search; None if nothing can be found."""
        make = self.circle or self.box
        return make(self.centre) if make and self.centre else None

    def take_member(self, operands: list[bytes]) -> None:
        """FROMMEMBER: the centre is a member, which must exist if the key does."""
        self.told_by = "member"
        if self.values is None:
            return
        score = self.values.scores.get(operands[0])
        if score is None:
            raise CommandError(errors.NO_PLACE)
        self.centre = place_of(score)

    def take_place(self, operands: list[bytes]) -> None:
        """FROMLONLAT: the centre is a place."""
        self.centre, self.told_by = read_place(operands), "place"

    def take_circle(self, operands: list[bytes]) -> None:
        """BYRADIUS: the shape is a circle."""
        self.circle = read_circle(operands)

    def take_box(self, operands: list[bytes]) -> None:
        """BYBOX: the shape is a box."""
        self.box = read_box(operands)

    def take_count(self, operands: list[bytes]) -> None:
        """COUNT: the most results."""
        self.count = read_integer(operands[0])
        if self.count <= 0:
            raise CommandError(errors.COUNT_BELOW_1)

    def take_target(self, operands: list[bytes], *, stores_distances: bool) -> None:
        """STORE and STOREDIST: stores the result."""
        self.target = operands[0] if operands else self.target
        self.stores_distances = stores_distances


def always(_: Options) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Option:
    """An option: how to apply it, its number of operands, and whether it is allowed after earlier options."""

    take: Callable[[Any, list[bytes]], None]
    count: int = 0
    fits: Callable[[Options], bool] = always

    def words(self, options: Options, rest: list[bytes]) -> list[bytes]:
        """The operands: in GEOSEARCHSTORE, STOREDIST has none."""
        is_bare = self.count == 1 and options.searches and self is OPTIONS[b"STOREDIST"]
        if not is_bare and len(rest) < self.count:
            raise CommandError(errors.SYNTAX)
        return [] if is_bare else rest[: self.count]


def detail(name: bytes) -> Option:
    return Option(lambda options, _: options.details.add(name))


def setting(name: str, value: object) -> Option:
    return Option(lambda options, _: setattr(options, name, value))


OPTIONS: Final = {
    b"WITHDIST": detail(b"WITHDIST"),
    b"WITHHASH": detail(b"WITHHASH"),
    b"WITHCOORD": detail(b"WITHCOORD"),
    b"ANY": setting("any", value=True),
    b"ASC": setting("order", NEAREST_FIRST),
    b"DESC": setting("order", FARTHEST_FIRST),
    b"COUNT": Option(Options.take_count, 1),
    b"FROMMEMBER": Option(
        Options.take_member, 1, lambda told: bool(told.searches) and told.told_by in {"", "member"}
    ),
    b"FROMLONLAT": Option(
        Options.take_place, 2, lambda told: bool(told.searches) and told.told_by in {"", "place"}
    ),
    b"BYRADIUS": Option(Options.take_circle, 2, lambda told: bool(told.searches) and not told.box),
    b"BYBOX": Option(Options.take_box, 3, lambda told: bool(told.searches) and not told.circle),
    b"STORE": Option(
        lambda options, operands: options.take_target(operands, stores_distances=False),
        1,
        lambda told: told.may_store,
    ),
    b"STOREDIST": Option(
        lambda options, operands: options.take_target(operands, stores_distances=True),
        1,
        lambda told: told.may_store or (bool(told.searches) and told.target is not None),
    ),
}
"""All options, by name."""
