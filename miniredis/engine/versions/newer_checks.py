"""What 7.2 and later versions, or Valkey, check more closely than 7.0 does, or in another order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from ..commands.keys.scanning import read_cursor
from ..commands.sorted_sets.ranges import SCORE, By, Query
from ..declarations.registry import Handler, prepared_in, wrap_in_versions
from ..keyspace.keyspace import TYPE_NAMES
from ..numbers.numbers import parse_integer, read_integer
from ..protocol.errors import (
    CURSOR,
    NOT_A_SCORE_RANGE,
    SYNTAX,
    WRONG_TYPE,
    CommandError,
    unknown_type,
    until_nul,
)

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..keyspace.keyspace import Database
    from ..protocol.replies import Reply

# Bounds of scores


def strict_bounds(
    _: Session, args: list[bytes], first: int = 2, by: By | None = SCORE, *, may_show_scores: bool = True
) -> None:
    """A command takes bounds of scores only without spaces, and only as decimal numbers."""
    query = Query(by, None if by is None else False)
    query.read_options(args[first + 2 :], may_show_scores=may_show_scores)  # what is wrong there comes first
    for bound in args[first : first + 2] if query.by == SCORE else ():
        number = until_nul(bound).removeprefix(b"(")
        if number[:1].isspace() or b"x" in number.lower():
            raise CommandError(NOT_A_SCORE_RANGE)


STRICT: Final = "8.0 valkey-9.1+"
prepared_in(STRICT, "zcount zrangebyscore zrevrangebyscore zremrangebyscore")(strict_bounds)
prepared_in(STRICT, "zrange")(partial(strict_bounds, by=None))
prepared_in(STRICT, "zrangestore")(partial(strict_bounds, first=3, by=None, may_show_scores=False))

# Bitmaps


@prepared_in("7.4+ valkey-8.1+", "bitpos")
def checks_before_key(_: Session, args: list[bytes]) -> None:
    """BITPOS looks at all its words before it looks at the key."""
    is_bit, has_unit = args[2] in {b"0", b"1"}, len(args) == 6
    if is_bit and len(args) > 6:
        raise CommandError(SYNTAX)
    if is_bit and len(args) > 3:
        read_integer(args[3])
        if has_unit and args[5].upper() not in {b"BIT", b"BYTE"}:
            raise CommandError(SYNTAX)
        read_integer(args[4] if len(args) > 4 else b"-1")


START, END, UNIT = 2, 3, 4


def counts_after_checks(_: Session, args: list[bytes], least: int, order: tuple[int, ...]) -> list[bytes]:
    """BITCOUNT looks at its words in this order before the key; with a range, it has so many at least."""
    if len(args) > 5 or 2 < len(args) < least:
        raise CommandError(SYNTAX)
    for at in order:
        if at != UNIT and at < len(args):
            read_integer(args[at])
        elif at < len(args) and args[at].upper() not in {b"BIT", b"BYTE"}:
            raise CommandError(SYNTAX)
    return [*args, b"-1"] if len(args) == 3 else args


prepared_in("7.4+", "bitcount")(partial(counts_after_checks, least=4, order=(START, END, UNIT)))
prepared_in("valkey-8.1+", "bitcount")(partial(counts_after_checks, least=3, order=(START, UNIT, END)))

# Numbers that are not decimal


def numbers_after_options(args: list[bytes], first: int, step: int) -> list[int]:
    """The places of numbers that come before each member."""
    options = {b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"}
    begin = next((at for at in range(first, len(args)) if args[at].upper() not in options), len(args))
    return [at for at in range(begin, len(args)) if (at - begin) % step < step - 1]


def weights(args: list[bytes], count_at: int) -> range:
    """The places behind the keys, where weights are."""
    return range(count_at + 1 + max(parse_integer(args[count_at]) or 0, 0), len(args))


NUMBERS: Final[dict[str, Callable[[list[bytes]], Iterable[int]]]] = {
    "zadd": partial(numbers_after_options, first=2, step=2),
    "zincrby": lambda _: (2,),
    "geoadd": partial(numbers_after_options, first=2, step=3),
    "georadius georadius_ro": lambda _: (2, 3, 4),
    "georadiusbymember georadiusbymember_ro": lambda _: (3,),
    "zunion zinter": partial(weights, count_at=1),
    "zunionstore zinterstore": partial(weights, count_at=2),
}
"""Where commands have numbers that Valkey 9.1 takes only if they are decimal."""

HEXADECIMAL: Final = re.compile(rb"[+-]?0[xX]").match


def decimal_only(
    _: Session, args: list[bytes], places: Callable[[list[bytes]], Iterable[int]]
) -> list[bytes] | None:
    """``0x10`` is no number."""
    refused = [at for at in places(args) if HEXADECIMAL(args[at])]
    return [b"x" if at in refused else word for at, word in enumerate(args)] if refused else None


for names, places in NUMBERS.items():
    prepared_in("valkey-9.1+", names)(partial(decimal_only, places=places))

# Words that are looked at more closely, or not at all

WITH_MODE: Final = 4
"""The words of CLIENT PAUSE with a mode, and of CLIENT UNBLOCK with a reason."""


@prepared_in("valkey-8.1+", "client|pause client|unblock")
def without_more_words(_: Session, args: list[bytes]) -> list[bytes]:
    """They look neither at the mode or the reason nor behind it if there are more words."""
    return args if len(args) <= WITH_MODE else args[:3]


TYPES: Final = frozenset(TYPE_NAMES.values())


@prepared_in("valkey-8.1+", "scan")
def with_known_types(_: Session, args: list[bytes]) -> None:
    """SCAN has a TYPE that there is."""
    read_cursor(args[1])
    for at in range(2, len(args) - 1, 2):
        word, operand = args[at].upper(), args[at + 1]
        if word == b"TYPE" and operand.lower() not in TYPES:
            raise CommandError(unknown_type(operand))
        if word not in {b"TYPE", b"MATCH"} and (word != b"COUNT" or (parse_integer(operand) or 0) < 1):
            break


def with_cursor(_: Session, args: list[bytes], at: int) -> list[bytes]:
    """SCAN or one like it: since 7.4 spaces may be in front; ``-5`` is no cursor, but ``" -5"`` is."""
    cursor, number = args[at].lstrip(b" \t\n\v\f\r"), parse_integer(args[at])
    if not cursor or (number is not None and number < 0):
        raise CommandError(CURSOR)
    return [*args[:at], cursor, *args[at + 1 :]]


prepared_in("7.4+ valkey-8.1+", "scan")(partial(with_cursor, at=1))
prepared_in("7.4+ valkey-8.1+", "hscan sscan zscan")(partial(with_cursor, at=2))


def with_names_only(handler: Handler, option: bytes) -> Handler:
    """HSCAN or ZSCAN with an option that leaves out what belongs to each name."""

    def run(session: Session, args: list[bytes]) -> Reply:
        words, at = args[:3], 3
        while at < len(args):
            is_pair = args[at].upper() != option
            words += args[at : at + 2] if is_pair else []
            at += 1 + is_pair
        cursor, found = handler(session, words)  # type: ignore[misc]  # no other reply is there
        return [cursor, found if len(words) == len(args) else found[::2]]  # type: ignore[index]

    return run


wrap_in_versions("7.4+ valkey-8.1+", "hscan", partial(with_names_only, option=b"NOVALUES"))
wrap_in_versions("valkey-8.1+", "zscan", partial(with_names_only, option=b"NOSCORES"))


def pops_from_first_key(handler: Handler) -> Handler:
    """A blocking pop, which since 7.2 looks at all of its keys again, in their order, when one is ready."""

    def run(session: Session, args: list[bytes]) -> Reply:
        before = session.waiter
        reply = handler(session, args)
        waiter = session.waiter
        if waiter is not None and waiter is not before and len(waiter.keys) > 1:
            serve, keys, kind = waiter.serve, waiter.keys, waiter.waits_for

            def serve_first(db: Database, key: bytes, value: object) -> Reply:
                found = ((each, db.lookup_write(each)) for each in keys)
                key, value = next((pair for pair in found if pair[1] is not None), (key, value))
                if type(value) is not kind:
                    raise CommandError(WRONG_TYPE)
                return serve(db, key, value)

            waiter.serve = serve_first
        return reply

    return run


wrap_in_versions("7.2+", "blpop brpop blmpop bzpopmin bzpopmax bzmpop", pops_from_first_key)
