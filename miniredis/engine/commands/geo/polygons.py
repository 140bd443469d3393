"""GEOSEARCH and GEOSEARCHSTORE of Valkey 9.1: BYPOLYGON, and numbers that are decimal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ...clients.session import Session
from ...declarations.registry import in_versions
from ...keyspace.keyspace import SORTED_SET
from ...numbers.numbers import read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from ...values.geo_shapes import Polygon, middle_of
from .geo import read_place
from .options import OPTIONS, Option, Options
from .search import run

SINCE: Final = "valkey-9.1+"
FEWEST: Final = 3
C_INT: Final = 1 << 31


def without_x(words: Sequence[bytes]) -> list[bytes]:
    """Words in which hexadecimal numbers are none."""
    return [b"x" if b"x" in word.lower() else word for word in words]


class PolygonOption(Option):
    """BYPOLYGON, whose first operand tells how many places follow."""

    def words(self, _: Options, rest: list[bytes]) -> list[bytes]:
        """The vertices, each with two words."""
        if not rest:
            raise CommandError(errors.SYNTAX)
        count = read_range(rest[0], -C_INT, C_INT - 1, errors.VERTICES)
        if count < FEWEST or len(rest) <= 2 * count:
            raise CommandError(errors.TOO_FEW_VERTICES)
        return rest[: 1 + 2 * count]


class PolygonOptions(Options):
    """The options of these commands in Valkey 9.1."""

    def take_polygon(self, words: list[bytes]) -> None:
        """BYPOLYGON: the shape is a polygon, around its own middle."""
        numbers = without_x(words[1:])
        corners = tuple(read_place(numbers[at : at + 2]) for at in range(0, len(numbers), 2))
        self.centre, self.told_by = middle_of(corners), "polygon"
        self.circle = self.box = partial(Polygon.around, corners=corners)

    def take_member(self, operands: list[bytes]) -> None:
        """FROMMEMBER, which names the member that there is not."""
        try:
            super().take_member(operands)
        except CommandError as error:
            raise CommandError(errors.no_member(operands[0])) from error


def takes_polygon(told: Options) -> bool:
    return told.told_by == "polygon" or not (told.told_by or told.circle or told.box)


def decimal(option: Option) -> Option:
    """An option that takes ``0x10`` for no number."""
    return replace(option, take=lambda options, operands: option.take(options, without_x(operands)))


KNOWN: Final = {
    **OPTIONS,
    **{name: decimal(OPTIONS[name]) for name in (b"FROMLONLAT", b"BYRADIUS", b"BYBOX")},
    b"FROMMEMBER": replace(OPTIONS[b"FROMMEMBER"], take=PolygonOptions.take_member),
    b"BYPOLYGON": PolygonOption(PolygonOptions.take_polygon, fits=takes_polygon),
}


def search(session: Session, options: PolygonOptions, words: list[bytes]) -> Reply:
    """Runs a search, whose options may be told otherwise than in 7.0."""
    try:
        options.read(words, KNOWN)
    except CommandError as error:
        if options.searches and error.message == errors.no_shape(options.searches):
            raise CommandError(error.message.replace(b"BYRADIUS and BYBOX", SHAPES)) from error
        raise
    return run(session, options)


SHAPES: Final = b"BYRADIUS, BYBOX and BYPOLYGON"


@in_versions(SINCE, "geosearch")
def geosearch(session: Session, args: list[bytes]) -> Reply:
    """GEOSEARCH with BYPOLYGON."""
    return search(session, PolygonOptions(session.db.lookup_read(args[1], SORTED_SET), args[0]), args[2:])


@in_versions(SINCE, "geosearchstore")
def geosearchstore(session: Session, args: list[bytes]) -> Reply:
    """GEOSEARCHSTORE with BYPOLYGON."""
    options = PolygonOptions(session.db.lookup_read(args[2], SORTED_SET), args[0], target=args[1])
    return search(session, options, args[3:])
