"""Geographic places in sorted sets: adding them, and their positions and distances."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, chosen, command, instead_of
from ...keyspace.keyspace import SORTED_SET
from ...numbers.doubles import read_double
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NULL_ARRAY, DoubleText, Reply
from ...values.geohash import Point, cell_at, distance, place_of, standard_text
from ..sorted_sets.sorted_sets import put

READ: Final = Keys(1, "RO access")

UNITS: Final = {b"M": 1.0, b"KM": 1000.0, b"FT": 0.3048, b"MI": 1609.34}
"""Their lengths in metres."""

UNIT: Final = "unit(M|KM|FT|MI)"


def read_place(words: list[bytes]) -> Point:
    """A longitude and a latitude, in degrees; raises ``CommandError`` outside the map."""
    place = Point(*map(read_double, words))
    if not place.is_on_the_map:
        raise CommandError(errors.off_the_map(*place))
    return place


def read_unit(word: bytes) -> float:
    unit = UNITS.get(word.upper())
    if unit is None:
        raise CommandError(errors.UNIT)
    return unit


def coordinates(place: Point) -> list[Reply]:
    """A place as clients see it."""
    return [DoubleText(coordinate(degrees)) for degrees in place]


@instead_of(coordinates, "8.0")
def short_coordinates(place: Point) -> list[Reply]:
    """The same as doubles, which have as few digits as tell them apart."""
    return [*place]


def coordinate(degrees: float) -> bytes:
    """Up to 17 digits after the point, without trailing zeros."""
    text = (b"%.17f" % degrees).rstrip(b"0").rstrip(b".")
    return b"0" if text == b"-0" else text


def distance_text(metres: float, unit: float) -> bytes:
    """A distance as clients see it: with four digits after the point."""
    return b"%.4f" % (metres / unit)


@command(
    "GEOADD",
    -5,
    "write denyoom",
    acl="geo",
    keys=Keys(1, "RW update"),
    since="3.2.0",
    syntax=(
        "key#0 [condition@6.2.0(NX|XX)] [CH~change@6.2.0] "
        "longitude_latitude_member{longitude:double latitude:double member}..."
    ),
)
def geoadd(session: Session, args: list[bytes]) -> Reply:
    """Adds members with their longitude and latitude, or moves them."""
    at = 2
    while at < len(args) and args[at].upper() in {b"NX", b"XX", b"CH"}:
        at += 1
    options, words = {word.upper() for word in args[2:at]}, args[at:]
    if len(words) % 3 or {b"NX", b"XX"} <= options or not words:
        raise CommandError(errors.SYNTAX)
    places = [read_place(words[start : start + 2]) for start in range(0, len(words), 3)]
    scores = [float(cell_at(place).bits) for place in places]
    counts = put(session, args[1], scores, words[2::3], options)
    return counts.added + (counts.updated if b"CH" in options else 0)


@command("GEOPOS", -2, "readonly", acl="geo", keys=READ, since="3.2.0", syntax="key#0 member...")
def geopos(session: Session, args: list[bytes]) -> Reply:
    """Returns the longitude and latitude of each member."""
    values = session.db.lookup_read(args[1], SORTED_SET)
    scores = (None if values is None else values.scores.get(member) for member in args[2:])
    show = chosen(session.engine.version, coordinates)
    return [NULL_ARRAY if score is None else show(place_of(score)) for score in scores]


@command("GEOHASH", -2, "readonly", acl="geo", keys=READ, since="3.2.0", syntax="key#0 member...")
def geohash(session: Session, args: list[bytes]) -> Reply:
    """Returns the position of each member as a geohash string."""
    values = session.db.lookup_read(args[1], SORTED_SET)
    scores = (None if values is None else values.scores.get(member) for member in args[2:])
    return [None if score is None else standard_text(score) for score in scores]


@command(
    "GEODIST", -4, "readonly", acl="geo", keys=READ, since="3.2.0", syntax=f"key#0 member1 member2 [{UNIT}]"
)
def geodist(session: Session, args: list[bytes]) -> Reply:
    """Returns the distance between two members, by default in metres."""
    if len(args) > 5:
        raise CommandError(errors.SYNTAX)
    unit = read_unit(args[4]) if len(args) == 5 else 1.0
    values = session.db.lookup_read(args[1], SORTED_SET)
    if values is None:
        return None
    one, other = (values.scores.get(member) for member in args[2:4])
    if one is None or other is None:
        return None
    return distance_text(distance(place_of(one), place_of(other)), unit)
