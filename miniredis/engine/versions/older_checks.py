"""What 6.0 and 6.2 checked in another order than 7.0 does, or refused in other words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from ..commands.expiry import too_far
from ..commands.streams.pending import MOST_ALLOCATED
from ..commands.strings.strings import increment
from ..declarations.registry import (
    Handler,
    in_versions,
    instead_of,
    wrap_in_versions,
)
from ..keyspace.keyspace import SORTED_SET, STREAM, STRING
from ..numbers.numbers import MAX, MIN, parse_integer, read_integer
from ..protocol import errors
from ..protocol.errors import CommandError
from ..scripts import script_errors
from ..values.entry_ranges import read_members, read_scores
from ..values.stream_nodes import wrapped
from .variants import OLD, always, reworded, without_more_words

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..protocol.replies import Reply

RANK_ZERO: Final = b"ERR RANK can't be zero: use 1 to start from the first match, 2 from the second, ..."
SCRIPT_DEBUG: Final = b"ERR Use SCRIPT DEBUG yes/sync/no"
NO_INPUT_KEY: Final = b"ERR at least 1 input key is needed for "
BAD_PROTOCOL: Final = b"NOPROTO unsupported protocol version"
BAD_DB: Final = b"ERR invalid DB index"
BAD_GEOADD: Final = errors.SYNTAX + b". Try GEOADD key [x1] [y1] [name1] [x2] [y2] [name2] ... "

RADIUS: Final = "georadius georadiusbymember"
STORED, STORED_SEARCH = errors.stored_details(is_search=False), errors.stored_details(is_search=True)


def unless_integer(text: bytes, at: int) -> Callable[[list[bytes]], bytes]:
    """What is said of a word: one that is no integer is refused as such."""
    return lambda args: text if parse_integer(args[at]) is not None else errors.NOT_AN_INTEGER


def of_options(args: list[bytes]) -> bytes:
    """What is said of the first option of LPOS that is wrong: it is no integer, or negative."""
    texts = {b"MAXLEN": errors.MAXLEN_NEGATIVE, b"COUNT": errors.COUNT_NEGATIVE}
    options = zip(args[3::2], map(parse_integer, args[4::2]), strict=False)
    wrong = ((word.upper(), number) for word, number in options if number is None or number < 0)
    return next(
        errors.NOT_AN_INTEGER if number is None else texts[word]
        for word, number in wrong
        if number is None or word in texts
    )


def unless_index(text: bytes, at: int) -> Callable[[list[bytes]], bytes]:
    """What is said of a word: an integer is refused because there is no such database."""
    return lambda args: text if parse_integer(args[at]) is None else errors.DB_INDEX


INDEX: Final = (errors.NOT_AN_INTEGER, errors.outside(-(2**31), 2**31 - 1), errors.DB_INDEX)

for versions, names, words in (
    (OLD, "lpos", {errors.RANK_ZERO: always(RANK_ZERO)}),
    (OLD, RADIUS, {STORED: always(STORED.replace(b"COORD ", b"COORDS "))}),
    (OLD, "geosearchstore", {STORED_SEARCH: always(STORED.replace(b"COORD ", b"COORDS "))}),
    ("6.0", "script|debug", {script_errors.SCRIPT_DEBUG: always(SCRIPT_DEBUG)}),
    ("6.0", "hello", {errors.PROTOCOL_NOT_AN_INTEGER: always(BAD_PROTOCOL)}),
    ("6.0", "select", {INDEX[0]: always(BAD_DB), INDEX[1]: always(errors.DB_INDEX)}),
    ("6.0", "move", dict.fromkeys(INDEX, always(errors.INDEX_OUT_OF_RANGE))),
    ("6.0", "swapdb", {errors.FIRST_DB_INDEX: unless_index(errors.FIRST_DB_INDEX, 1)}),
    ("6.0", "swapdb", {errors.SECOND_DB_INDEX: unless_index(errors.SECOND_DB_INDEX, 2)}),
    ("6.0", "geoadd", {errors.SYNTAX: always(BAD_GEOADD)}),
    ("6.0", "spop", {errors.NOT_POSITIVE: unless_integer(errors.INDEX_OUT_OF_RANGE, 2)}),
):  # fmt: skip
    reworded(versions, names, words)


reworded("6.0", "lpos", dict.fromkeys((errors.MAXLEN_NEGATIVE, errors.COUNT_NEGATIVE), of_options))
for name in ("zunionstore", "zinterstore", "zunion", "zinter", "zdiff", "zdiffstore"):
    said = errors.no_input_key(name.encode())
    reworded("6.2", name, {said: always(NO_INPUT_KEY + name.encode())})
    reworded("6.0", name, {said: always(NO_INPUT_KEY + b"ZUNIONSTORE/ZINTERSTORE")})


@in_versions(OLD, "decrby")
def decrby_of_6(session: Session, args: list[bytes]) -> Reply:
    """DECRBY, to which the lowest number is its own opposite."""
    amount = read_integer(args[2])
    return increment(session, args[1], -amount if amount != MIN else MIN)


# Streams

INCOMPLETE: Final = re.compile(rb"\d+-\*")
OPERANDS: Final = {b"NOMKSTREAM": 0, b"LIMIT": 1, b"MAXLEN": 1, b"MINID": 1}


def without_partial_ids(handler: Handler) -> Handler:
    """XADD, which makes whole ids only."""

    def run(session: Session, args: list[bytes]) -> Reply:
        at = 2
        while at < len(args) and (operands := OPERANDS.get(args[at].upper())) is not None:
            at += 1 + operands + (operands > 0 and args[at + 1 : at + 2] in ([b"="], [b"~"]))
        if at < len(args) and INCOMPLETE.fullmatch(args[at]):
            args = [*args[:at], b"-", *args[at + 1 :]]  # the handler refuses it, once it has read the options
        return handler(session, args)

    return run


def with_lengths_only(handler: Handler) -> Handler:
    """XADD, which knows no option but MAXLEN; the last one counts."""

    def run(session: Session, args: list[bytes]) -> Reply:
        at, option, is_right = 2, args[2:2], True
        while is_right and at < len(args) and args[at].upper() == b"MAXLEN":
            end = at + (3 if args[at + 1 : at + 2] in ([b"="], [b"~"]) else 2)
            option, at = args[at:end], end
            is_right = (parse_integer(option[-1]) or 0) >= 0 and option[-1].isdigit()
        if is_right and at < len(args) and args[at].upper() in OPERANDS:
            raise CommandError(errors.INVALID_STREAM_ID)
        return handler(session, [*args[:2], *option, *args[at:]])

    return run


def with_closed_bounds(handler: Handler, first: int, count_at: int = 0) -> Handler:
    """A command without bounds that leave their entry out; a count, if it needs one, is looked at first."""

    def run(session: Session, args: list[bytes]) -> Reply:
        has_count = not count_at or parse_integer(args[count_at] if count_at < len(args) else b"") is not None
        if has_count and any(bound.startswith(b"(") for bound in args[first : first + 2]):
            raise CommandError(errors.INVALID_STREAM_ID)
        return handler(session, args)

    return run


wrap_in_versions(OLD, "xadd", without_partial_ids)
wrap_in_versions("6.0", "xadd", with_lengths_only)
wrap_in_versions("6.0", "xrange xrevrange", partial(with_closed_bounds, first=2))
wrap_in_versions("6.0", "xpending", partial(with_closed_bounds, first=3, count_at=5))
wrap_in_versions("6.0", "xpending", partial(without_more_words, most=7))


def reply_if_missing(handler: Handler, kind: object, reply: Reply) -> Handler:
    """A command that replies at once if there is no such key, before it looks at the rest of its request."""

    def run(session: Session, args: list[bytes]) -> Reply:
        is_there = session.db.lookup_read(args[1], kind) is not None  # type: ignore[call-overload]
        return handler(session, args) if is_there else reply

    return run


def refuse_if_missing(handler: Handler, kind: object, error: bytes) -> Handler:
    """A command that fails at once if there is no such key, before it looks at the rest of its request."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if session.db.lookup_read(args[1], kind) is None:  # type: ignore[call-overload]
            raise CommandError(error)
        return handler(session, args)

    return run


wrap_in_versions("6.0", "xtrim", partial(reply_if_missing, kind=STREAM, reply=0))
wrap_in_versions(OLD, "xsetid", partial(refuse_if_missing, kind=STREAM, error=errors.NO_SUCH_KEY))
wrap_in_versions(OLD, "bitcount", partial(without_more_words, most=4))
wrap_in_versions(OLD, "bitcount", partial(reply_if_missing, kind=STRING, reply=0))
for name in ("georadius", "georadius_ro", "georadiusbymember", "georadiusbymember_ro"):
    wrap_in_versions("6.0", name, partial(reply_if_missing, kind=SORTED_SET, reply=[]))


def bitpos_of_nothing(handler: Handler) -> Handler:
    """BITPOS, which looks at nothing behind the bit if there is no such key."""

    def run(session: Session, args: list[bytes]) -> Reply:
        is_bit = args[2] in {b"0", b"1"}
        is_there = not is_bit or session.db.lookup_read(args[1], STRING) is not None
        return handler(session, args if is_bit and is_there else args[:3])

    return run


wrap_in_versions(OLD, "bitpos", partial(without_more_words, most=5))
wrap_in_versions(OLD, "bitpos", bitpos_of_nothing)


SHAPES: Final = {b"BYRADIUS": 2, b"BYBOX": 3}
"""How far behind these words units are."""


def with_small_units(handler: Handler, at: int) -> Handler:
    """A command that knows its unit, here or behind a shape, in small letters only."""

    def run(session: Session, args: list[bytes]) -> Reply:
        shapes = (place + SHAPES[word.upper()] for place, word in enumerate(args) if word.upper() in SHAPES)
        place = at or next(shapes, len(args))
        unit = args[place : place + 1]
        return handler(
            session, [*args[:place], *(each if each.islower() else b"-" for each in unit), *args[place + 1 :]]
        )

    return run


for names, at in (
    ("geodist georadiusbymember georadiusbymember_ro", 4),
    ("georadius georadius_ro", 5),
    ("geosearch geosearchstore", 0),
):
    wrap_in_versions(OLD, names, partial(with_small_units, at=at))


def with_any_batch(handler: Handler) -> Handler:
    """XAUTOCLAIM, which takes any positive COUNT."""

    def run(session: Session, args: list[bytes]) -> Reply:
        counts = [at for at in range(7, len(args)) if args[at - 1].upper() == b"COUNT"]
        large = [at for at in counts if (parse_integer(args[at]) or 0) > MOST_ALLOCATED]
        return handler(
            session, [b"%d" % MOST_ALLOCATED if at in large else word for at, word in enumerate(args)]
        )

    return run


wrap_in_versions("6.2", "xautoclaim", with_any_batch)


# Sorted sets


def with_early_bounds(handler: Handler, read: Callable[[bytes, bytes], object]) -> Handler:
    """A command that looks at its bounds before it looks at its options."""

    def run(session: Session, args: list[bytes]) -> Reply:
        read(args[2], args[3])
        return handler(session, args)

    return run


def read_ranks(start: bytes, stop: bytes) -> None:
    read_integer(start)
    read_integer(stop)


for names, read in (
    ("zrange zrevrange", read_ranks),
    ("zrangebyscore", read_scores),
    ("zrevrangebyscore", lambda stop, start: read_scores(start, stop)),
    ("zrangebylex", read_members),
    ("zrevrangebylex", lambda stop, start: read_members(start, stop)),
):
    wrap_in_versions("6.0", names, partial(with_early_bounds, read=read))


def with_any_count(handler: Handler) -> Handler:
    """ZPOPMIN and ZPOPMAX, which take a negative count for none."""

    def run(session: Session, args: list[bytes]) -> Reply:
        return [] if len(args) == 3 and read_integer(args[2]) <= 0 else handler(session, args)

    return run


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
