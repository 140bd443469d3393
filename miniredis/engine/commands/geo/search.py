"""Geographic searches: members in a circle or a box around a point or a member."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ...clients.session import Session
from ...declarations.registry import Keys, KeywordKeys, command
from ...declarations.registry import chosen as in_version
from ...keyspace.keyspace import SORTED_SET
from ...numbers.numbers import MAX, MIN
from ...protocol.replies import Reply
from ...values.geo_shapes import Shape, covering
from ...values.geohash import Point, place_of
from ...values.partial_sort import partly_sorted
from ...values.sorted_sets import Entry, SortedSet
from .geo import UNIT, coordinates, distance_text
from .options import NEAREST_FIRST, Options

READ: Final = Keys(1, "RO access")


class Found(NamedTuple):
    """A member in the shape, with its score, its distance from the centre in metres, and its place."""

    member: bytes
    score: float
    distance: float
    place: Point


def run(session: Session, options: Options) -> Reply:
    """Runs a search with its options."""
    shape = options.shape()
    values = SortedSet() if options.values is None else options.values
    found = [] if shape is None else chosen(values, shape, options)
    unit = 1.0 if shape is None else shape.unit
    if options.target is None:
        show_place = in_version(session.engine.version, coordinates)
        return [told(each, unit, options.details, show_place) for each in found]
    scores = {each.member: each.distance / unit if options.stores_distances else each.score for each in found}
    event = "geosearchstore" if options.searches else "georadiusstore"
    outcome = SortedSet.of(scores, session.engine.packing)
    return session.db.store_or_delete(options.target, outcome, event, counts_all=True)


def chosen(values: SortedSet, shape: Shape, options: Options) -> list[Found]:
    """The members in a shape, limited and ordered by the options."""
    found = inside(values, shape, options.count if options.any else 0)
    count = min(options.count or len(found), len(found))
    order = options.order or (NEAREST_FIRST if options.count and not options.any else 0)
    if order and count == len(found):
        return sorted(found, key=lambda each: order * each.distance)
    if order:
        ranks = partly_sorted([order * each.distance for each in found], 0, count - 1)
        found = [found[rank] for rank in ranks]
    return found[:count]


def inside(values: SortedSet, shape: Shape, limit: int) -> list[Found]:
    """The members in a shape, cell by cell; stops after ``limit`` members unless that is 0."""
    found: list[Found] = []
    distance_to = shape.meter()
    for cell in covering(shape):
        low, high = map(float, cell.scores)
        for score, member in between(values, low, high):
            place = place_of(score)
            distance = distance_to(place)
            if distance is not None:
                found.append(Found(member, score, distance, place))
                if len(found) == limit:
                    return found
    return found


def between(values: SortedSet, low: float, high: float) -> list[Entry]:
    """The entries with scores from ``low`` up to, but not including, ``high``."""
    first = values.count_first(lambda entry: entry[0] < low)
    return values.between(first, values.count_first(lambda entry: entry[0] < high))


def told(found: Found, unit: float, details: set[bytes], show_place: Callable[[Point], list[Reply]]) -> Reply:
    """A result as clients see it."""
    if not details:
        return found.member
    reply: list[Reply] = [found.member]
    if b"WITHDIST" in details:
        reply.append(distance_text(found.distance, unit))
    if b"WITHHASH" in details:
        reply.append(int(found.score) if MIN <= found.score <= MAX else MIN)
    if b"WITHCOORD" in details:
        reply.append(show_place(found.place))
    return reply


# The commands

SHOWN: Final = "[WITHCOORD] [WITHDIST] [WITHHASH]"
ORDER: Final = "[order(ASC|DESC)]"
COUNT: Final = "[count{COUNT count:integer [ANY]}]"
COUNT_OF_OLD: Final = "[count{COUNT count:integer [ANY@6.2.0]}]"
TARGETS: Final = "[STORE key#1] [STOREDIST key#2]"
AROUND: Final = (
    "from(FROMMEMBER member|FROMLONLAT longitude_latitude{longitude:double latitude:double}) "
    f"by(circle{{BYRADIUS radius:double {UNIT}}}|box{{BYBOX width:double height:double {UNIT}}})"
)
BY_PLACE: Final = (
    f"key#0 longitude:double latitude:double radius:double {UNIT} {SHOWN} {COUNT_OF_OLD} {ORDER}"
)
BY_MEMBER: Final = f"key#0 member radius:double {UNIT} {SHOWN} {COUNT} {ORDER}"


@command(
    "GEOSEARCH",
    -7,
    "readonly",
    acl="geo",
    keys=READ,
    since="6.2.0",
    syntax=f"key#0 {AROUND} {ORDER} {COUNT} {SHOWN}",
)
def geosearch(session: Session, args: list[bytes]) -> Reply:
    """Returns the members in a circle or a box around a position or a member."""
    options = Options(session.db.lookup_read(args[1], SORTED_SET), searches=args[0])
    options.read(args[2:])
    return run(session, options)


@command(
    "GEOSEARCHSTORE",
    -8,
    "write denyoom",
    acl="geo",
    keys=(Keys(1, "OW update"), Keys(2, "RO access")),
    since="6.2.0",
    syntax=f"destination#0 source#1 {AROUND} {ORDER} {COUNT} [STOREDIST]",
)
def geosearchstore(session: Session, args: list[bytes]) -> Reply:
    """Stores the members in a circle or a box around a position or a member."""
    options = Options(session.db.lookup_read(args[2], SORTED_SET), searches=args[0], target=args[1])
    options.read(args[3:])
    return run(session, options)


def around_place(session: Session, args: list[bytes], *, may_store: bool) -> Reply:
    options = Options(session.db.lookup_read(args[1], SORTED_SET), may_store=may_store)
    options.take_place(args[2:4])
    options.take_circle(args[4:6])
    options.read(args[6:])
    return run(session, options)


def around_member(session: Session, args: list[bytes], *, may_store: bool) -> Reply:
    options = Options(session.db.lookup_read(args[1], SORTED_SET), may_store=may_store)
    if options.values is not None:
        options.take_member(args[2:3])
        options.take_circle(args[3:5])
    options.read(args[5:])
    return run(session, options)


@command(
    "GEORADIUS",
    -6,
    "write denyoom movablekeys",
    acl="geo",
    keys=(READ, KeywordKeys("STORE", 6, "OW update"), KeywordKeys("STOREDIST", 6, "OW update")),
    since="3.2.0",
    syntax=f"{BY_PLACE} {TARGETS}",
    deprecated="6.2.0",
    replaced_by="`GEOSEARCH` and `GEOSEARCHSTORE` with `BYRADIUS`",
)
def georadius(session: Session, args: list[bytes]) -> Reply:
    """Returns or stores the members within a distance from a position."""
    return around_place(session, args, may_store=True)


@command(
    "GEORADIUS_RO",
    -6,
    "readonly",
    acl="geo",
    keys=READ,
    since="3.2.10",
    syntax=BY_PLACE,
    deprecated="6.2.0",
    replaced_by="`GEOSEARCH` with `BYRADIUS`",
)
def georadius_ro(session: Session, args: list[bytes]) -> Reply:
    """Returns the members within a distance from a position."""
    return around_place(session, args, may_store=False)


@command(
    "GEORADIUSBYMEMBER",
    -5,
    "write denyoom movablekeys",
    acl="geo",
    keys=(READ, KeywordKeys("STORE", 5, "OW update"), KeywordKeys("STOREDIST", 5, "OW update")),
    since="3.2.0",
    syntax=f"{BY_MEMBER} {TARGETS}",
    deprecated="6.2.0",
    replaced_by="`GEOSEARCH` and `GEOSEARCHSTORE` with `BYRADIUS` and `FROMMEMBER`",
)
def georadiusbymember(session: Session, args: list[bytes]) -> Reply:
    """Returns or stores the members within a distance from another member."""
    return around_member(session, args, may_store=True)


@command(
    "GEORADIUSBYMEMBER_RO",
    -5,
    "readonly",
    acl="geo",
    keys=READ,
    since="3.2.10",
    syntax=BY_MEMBER,
    deprecated="6.2.0",
    replaced_by="`GEOSEARCH` with `BYRADIUS` and `FROMMEMBER`",
)
def georadiusbymember_ro(session: Session, args: list[bytes]) -> Reply:
    """Returns the members within a distance from another member."""
    return around_member(session, args, may_store=False)
