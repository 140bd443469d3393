"""What 6.0 and 6.2 checked in another order than 7.0 does, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..commands.expiry import too_far
from ..commands.streams.groups import find_group
from ..commands.streams.pending import MOST_ALLOCATED
from ..commands.strings.strings import increment
from ..declarations.registry import Handler, in_versions, instead_of, prepared_in, wrap_in_versions
from ..keyspace.keyspace import SORTED_SET, STREAM, STRING
from ..numbers.numbers import MAX, MIN, parse_integer, read_integer
from ..protocol import errors
from ..protocol.errors import CommandError
from ..values.entry_ranges import read_members, read_scores
from ..values.stream_nodes import wrapped
from .version import OLD

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..protocol.replies import Reply

# Any command


def at_most(_: Session, args: list[bytes], most: int) -> None:
    """More words are a syntax error, whatever they are."""
    if len(args) > most:
        raise CommandError(errors.SYNTAX)


def reply_if_missing(handler: Handler, kind: Any, reply: Reply) -> Handler:
    """A command that replies at once if there is no such key, before it looks at the rest of its request."""

    def run(session: Session, args: list[bytes]) -> Reply:
        is_there = session.db.lookup_read(args[1], kind) is not None
        return handler(session, args) if is_there else reply

    return run


def reads_as_written(handler: Handler, when: Callable[[list[bytes]], bool] = bool) -> Handler:
    """A command that looks keys up as if to write them, for some requests: a missing key is no miss."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if not when(args):
            return handler(session, args)
        keyspace = session.db.keyspace
        before = keyspace.hits, keyspace.misses, keyspace.tells_misses
        keyspace.tells_misses = False
        try:
            return handler(session, args)
        finally:
            keyspace.hits, keyspace.misses, keyspace.tells_misses = before

    return run


STORES: Final = "sinterstore sunionstore sdiffstore zinterstore zunionstore zdiffstore copy"
wrap_in_versions(OLD, STORES, reads_as_written)
wrap_in_versions(OLD, "sort", partial(reads_as_written, when=lambda args: b"STORE" in map(bytes.upper, args)))
wrap_in_versions(OLD, "pfcount", partial(reads_as_written, when=lambda args: len(args) == 2))
prepared_in(OLD, "info")(partial(at_most, most=2))

# Strings


@in_versions(OLD, "decrby")
def decrby_of_6(session: Session, args: list[bytes]) -> Reply:
    """DECRBY, to which the lowest number is its own opposite."""
    amount = read_integer(args[2])
    return increment(session, args[1], -amount if amount != MIN else MIN)


prepared_in(OLD, "bitcount")(partial(at_most, most=4))
wrap_in_versions(OLD, "bitcount", partial(reply_if_missing, kind=STRING, reply=0))
prepared_in(OLD, "bitpos")(partial(at_most, most=5))


@prepared_in(OLD, "bitpos")
def bitpos_of_nothing(session: Session, args: list[bytes]) -> list[bytes]:
    """BITPOS looks at nothing behind the bit if there is no such key."""
    is_bit = args[2] in {b"0", b"1"}
    is_there = not is_bit or session.db.lookup_read(args[1], STRING) is not None
    return args if is_bit and is_there else args[:3]


# Streams

INCOMPLETE: Final = re.compile(rb"\d+-\*")
OPERANDS: Final = {b"NOMKSTREAM": 0, b"LIMIT": 1, b"MAXLEN": 1, b"MINID": 1}


@prepared_in(OLD, "xadd")
def without_partial_ids(_: Session, args: list[bytes]) -> list[bytes]:
    """XADD makes whole ids only."""
    at = 2
    while at < len(args) and (operands := OPERANDS.get(args[at].upper())) is not None:
        at += 1 + operands + (operands > 0 and args[at + 1 : at + 2] in ([b"="], [b"~"]))
    if at < len(args) and INCOMPLETE.fullmatch(args[at]):
        return [*args[:at], b"-", *args[at + 1 :]]  # XADD refuses it, once it has read the options
    return args


@prepared_in("6.0", "xadd")
def with_lengths_only(_: Session, args: list[bytes]) -> list[bytes]:
    """XADD knows no option but MAXLEN; the last one counts."""
    shown, at = with_last_length(args)
    if at and at < len(args) and args[at].upper() in OPERANDS:
        raise CommandError(errors.INVALID_STREAM_ID)
    return shown


def with_last_length(args: list[bytes]) -> tuple[list[bytes], int]:
    """A request with the last MAXLEN only, and the place behind it; or the first wrong one, and 0."""
    at, option, is_right = 2, args[2:2], True
    while is_right and at < len(args) and args[at].upper() == b"MAXLEN":
        end = at + (3 if args[at + 1 : at + 2] in ([b"="], [b"~"]) else 2)
        option, at = args[at:end], end
        is_right = (number := parse_integer(option[-1])) is not None and number >= 0
    return [*args[:2], *option, *args[at:]], at if is_right else 0


def with_closed_bounds(_: Session, args: list[bytes], first: int, count_at: int = 0) -> None:
    """No bound leaves its entry out; a count, if the command needs one, is looked at before them."""
    has_count = not count_at or parse_integer(args[count_at] if count_at < len(args) else b"") is not None
    if has_count and any(bound.startswith(b"(") for bound in args[first : first + 2]):
        raise CommandError(errors.INVALID_STREAM_ID)


prepared_in("6.0", "xrange xrevrange")(partial(with_closed_bounds, first=2))
prepared_in("6.0", "xpending")(partial(with_closed_bounds, first=3, count_at=5))
prepared_in("6.0", "xpending")(partial(at_most, most=7))
prepared_in("6.0", "xtrim")(lambda _, args: with_last_length(args)[0])
wrap_in_versions("6.0", "xtrim", partial(reply_if_missing, kind=STREAM, reply=0))


@prepared_in(OLD, "xsetid")
def needs_stream(session: Session, args: list[bytes]) -> None:
    """XSETID looks at the key first."""
    if session.db.lookup_read(args[1], STREAM) is None:
        raise CommandError(errors.NO_SUCH_KEY)


def delete_of_none(session: Session, args: list[bytes], changes: int) -> None:
    """XGROUP DELCONSUMER tells of a consumer that there is not, too; 6.0 even makes it first."""
    _, group = find_group(session, args)
    if args[4] not in group.consumers:
        session.db.changed_beside(args[2], "xgroup-delconsumer", changes)


prepared_in("6.0", "xgroup|delconsumer")(partial(delete_of_none, changes=2))
prepared_in("6.2", "xgroup|delconsumer")(partial(delete_of_none, changes=1))


@prepared_in("6.2", "xautoclaim")
def with_any_batch(_: Session, args: list[bytes]) -> list[bytes]:
    """XAUTOCLAIM takes any positive COUNT."""
    counts = [at for at in range(7, len(args)) if args[at - 1].upper() == b"COUNT"]
    large = [at for at in counts if (parse_integer(args[at]) or 0) > MOST_ALLOCATED]
    return [b"%d" % MOST_ALLOCATED if at in large else word for at, word in enumerate(args)]


# Places

SHAPES: Final = {b"BYRADIUS": 2, b"BYBOX": 3}
"""How far behind these words units are."""


def with_small_units(_: Session, args: list[bytes], at: int) -> list[bytes]:
    """A unit, here or behind a shape, is known in small letters only."""
    shapes = (place + SHAPES[word.upper()] for place, word in enumerate(args) if word.upper() in SHAPES)
    place = at or next(shapes, len(args))
    is_right = place >= len(args) or args[place].islower()
    return args if is_right else [*args[:place], b"-", *args[place + 1 :]]


RADIUS: Final = "georadius georadius_ro georadiusbymember georadiusbymember_ro"
wrap_in_versions("6.0", RADIUS, partial(reply_if_missing, kind=SORTED_SET, reply=[]))
prepared_in(OLD, "geodist georadiusbymember georadiusbymember_ro")(partial(with_small_units, at=4))
prepared_in(OLD, "georadius georadius_ro")(partial(with_small_units, at=5))
prepared_in(OLD, "geosearch geosearchstore")(partial(with_small_units, at=0))

# Sorted sets


def with_early_bounds(_: Session, args: list[bytes], read: Callable[[bytes, bytes], object]) -> None:
    """A command looks at its bounds before it looks at its options."""
    read(args[2], args[3])


prepared_in("6.0", "zrange zrevrange")(partial(at_most, most=5))
for names, read in (
    ("zrange zrevrange", lambda *ranks: [read_integer(rank) for rank in ranks]),
    ("zrangebyscore", read_scores),
    ("zrevrangebyscore", lambda stop, start: read_scores(start, stop)),
    ("zrangebylex", read_members),
    ("zrevrangebylex", lambda stop, start: read_members(start, stop)),
):
    prepared_in("6.0", names)(partial(with_early_bounds, read=read))


def with_any_count(handler: Handler) -> Handler:
    """ZPOPMIN and ZPOPMAX, which take a negative count for none."""
    return lambda session, args: (
        [] if len(args) == 3 and read_integer(args[2]) <= 0 else handler(session, args)
    )


wrap_in_versions(OLD, "zpopmin zpopmax", with_any_count)


# Sets


def modifies_nothing(handler: Handler, *, needs_all: bool) -> Handler:
    """A command that stores a set, and says that it modified the key, though nothing was and is there.

    SINTERSTORE does so only if it needed all of its sources: they are there.
    """

    def run(session: Session, args: list[bytes]) -> Reply:
        values = session.db.values
        was_there = args[1] in values
        stored = handler(session, args)
        if not (stored or was_there) and (not needs_all or all(key in values for key in args[2:])):
            session.db.signal_modified(args[1], "")
        return stored

    return run


wrap_in_versions("6.0", "sunionstore sdiffstore", partial(modifies_nothing, needs_all=False))
wrap_in_versions("6.0", "sinterstore", partial(modifies_nothing, needs_all=True))


# Times


@instead_of(too_far, "6.0")
def wraps(session: Session, command: bytes, milliseconds: int, relative: bool) -> int:
    """A time beyond 64 bits, which 6.0 wraps; what SET and the like wrap into the past never expires."""
    when = wrapped(wrapped(milliseconds) + (session.engine.now.milliseconds if relative else 0))
    return when if when > 0 or command.rstrip(b"at").endswith(b"expire") else MAX
