"""What 7.2 and later versions, or Valkey, check more closely than 7.0 does, or in another order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from ..commands.keys.scanning import read_cursor
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

OF_RANGES: Final = {b"WITHSCORES": 0, b"REV": 0, b"BYSCORE": 0, b"LIMIT": 2}
"""The options of ranges of scores, each with the number of integers behind it."""


def strict_bounds(_: Session, args: list[bytes], first: int, *, is_of_scores: bool = True) -> None:
    """A command takes bounds of scores only without spaces, and only as decimal numbers."""
    options = args[first + 2 :]
    if are_of_range(options) and (is_of_scores or b"BYSCORE" in map(bytes.upper, options)):
        for bound in args[first : first + 2]:
            number = until_nul(bound).removeprefix(b"(")
            if number[:1].isspace() or b"x" in number.lower():
                raise CommandError(NOT_A_SCORE_RANGE)


def are_of_range(words: list[bytes]) -> bool:
    """Whether nothing is wrong with these options, which are looked at before the bounds."""
    rest = iter(words)
    for word in rest:
        integers = [parse_integer(next(rest, b"")) for _ in range(OF_RANGES.get(word.upper(), 0))]
        if word.upper() not in OF_RANGES or None in integers:
            return False
    return True


STRICT: Final = "8.0 valkey-9.1+"
OF_SCORES: Final = "zcount zrangebyscore zrevrangebyscore zremrangebyscore"
prepared_in(STRICT, OF_SCORES)(partial(strict_bounds, first=2))
prepared_in(STRICT, "zrange")(partial(strict_bounds, first=2, is_of_scores=False))
prepared_in(STRICT, "zrangestore")(partial(strict_bounds, first=3, is_of_scores=False))

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
    """BITCOUNT does the same, in an order; with a range it has at least so many words."""
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


CURSOR_SINCE_7_4: Final = re.compile(rb"[ \t\n\v\f\r]*\+?([0-9]+)").fullmatch


def with_cursor(_: Session, args: list[bytes], at: int) -> list[bytes]:
    """SCAN or one like it: since 7.4 a cursor is neither empty nor negative, and may begin with spaces."""
    match = CURSOR_SINCE_7_4(args[at])
    if match is None:
        raise CommandError(CURSOR)
    return [*args[:at], match[1], *args[at + 1 :]]


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
