"""Hashes: increments, HSCAN and HRANDFIELD."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.registry import Handler, Keys, command, prepared_in, wrap_in_versions
from ...keyspace.keyspace import HASH
from ...numbers.long_doubles import LongDouble
from ...numbers.numbers import MAX, MIN, parse_integer, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Pairs, Reply
from ...values.hashes import HashValue
from ..drawing import check_repeated, drawn, read_count
from ..keys.scanning import next_members, read_cursor, read_options
from .hashes import READ, keep

COUNTED: Final = Keys(1, "RW access update")
LUCK: Final = "nondeterministic_output"


# Increments


@command(
    "HINCRBY",
    4,
    "write denyoom fast",
    acl="hash",
    keys=COUNTED,
    since="2.0.0",
    syntax="key#0 field increment:integer",
)
def hincrby(session: Session, args: list[bytes]) -> Reply:
    """Adds to the integer in a field of a hash; a missing field counts as 0."""
    increment = read_integer(args[3])
    values = session.db.lookup_write(args[1], HASH)
    text = None if values is None else values.fields.get(args[2])
    number = 0 if text is None else parse_integer(text)
    if number is None:
        raise CommandError(errors.HASH_NOT_AN_INTEGER)
    number += increment
    if not MIN <= number <= MAX:
        raise CommandError(errors.INCREMENT_OVERFLOW)
    put_number(session, args, values, b"%d" % number, "hincrby")
    return number


@command(
    "HINCRBYFLOAT",
    4,
    "write denyoom fast",
    acl="hash",
    keys=COUNTED,
    since="2.6.0",
    syntax="key#0 field increment:double",
)
def hincrbyfloat(session: Session, args: list[bytes]) -> Reply:
    """Adds to the floating-point number in a field of a hash; a missing field counts as 0."""
    increment = LongDouble.parse(args[3])
    if increment is None:
        raise CommandError(errors.NOT_A_FLOAT)
    if increment.is_infinite:
        raise CommandError(errors.INFINITE)
    values = session.db.lookup_write(args[1], HASH)
    number = LongDouble.parse(b"0" if values is None else values.fields.get(args[2], b"0"))
    if number is None:
        raise CommandError(errors.HASH_NOT_A_FLOAT)
    total = number.plus(increment)
    if total is None:
        raise CommandError(errors.NOT_FINITE)
    result = str(total).encode()
    put_number(session, args, values, result, "hincrbyfloat")
    return result


@prepared_in("6.0", "hincrbyfloat")
def with_infinity(session: Session, args: list[bytes]) -> None:
    """HINCRBYFLOAT takes infinity for a number that is too large for any sum."""
    increment = LongDouble.parse(args[3])
    if increment is not None and increment.is_infinite:
        values = session.db.lookup_write(args[1], HASH)
        number = LongDouble.parse(b"0" if values is None else values.fields.get(args[2], b"0"))
        raise CommandError(errors.HASH_NOT_A_FLOAT if number is None else errors.NOT_FINITE)


def put_number(
    session: Session, args: list[bytes], values: HashValue | None, number: bytes, event: str
) -> None:
    """Stores the result of an increment in the field."""
    changed = HashValue() if values is None else values
    changed.amend(args[2], number, session.engine.packing)
    keep(session.db, args[1], values, changed, event)


def with_long_fields(handler: Handler) -> Handler:
    """An increment in a packed hash, which stays packed however long the field is."""

    def run(session: Session, args: list[bytes]) -> Reply:
        before = session.db.lookup_write(args[1])
        was_packed = not isinstance(before, HashValue) or before.is_packed
        reply = handler(session, args)
        values = session.db.values[args[1]]
        assert isinstance(values, HashValue)
        values.is_packed = was_packed and len(values) <= session.engine.packing.hash_entries
        return reply

    return run


wrap_in_versions("6.0-6.2", "hincrby hincrbyfloat", with_long_fields)


# Scanning


@command(
    "HSCAN",
    -3,
    "readonly",
    acl="hash",
    keys=READ,
    tips=LUCK,
    since="2.8.0",
    syntax="key#0 cursor:integer [MATCH pattern:pattern] [COUNT count:integer]",
)
def hscan(session: Session, args: list[bytes]) -> Reply:
    """Returns some fields of a hash with their values, and the cursor for the next call."""
    cursor = read_cursor(args[2])
    values = session.db.lookup_read(args[1], HASH)
    if values is None:
        return [b"0", []]
    cursor, found = next_members(values, cursor, read_options(args[3:], may_have_type=False))
    return [b"%d" % cursor, [part for field in found for part in (field, values.fields[field])]]


# Random fields


@command(
    "HRANDFIELD",
    -2,
    "readonly",
    acl="hash",
    keys=READ,
    tips=LUCK,
    since="6.2.0",
    syntax="key#0 [options{count:integer [WITHVALUES]}]",
)
def hrandfield(session: Session, args: list[bytes]) -> Reply:
    """Returns random fields of a hash: distinct ones, or with a negative count perhaps repeated ones."""
    if len(args) == 2:
        values = session.db.lookup_read(args[1], HASH)
        return None if values is None else values.index().any(session.engine.random)
    count = read_count(args[2])
    with_values = read_with_values(args[3:])
    if with_values and abs(count) > MAX // 2:
        raise CommandError(errors.OUT_OF_RANGE)
    values = session.db.lookup_read(args[1], HASH)
    if values is None or not count:
        return []
    found = drawn(session, values, count)
    if not with_values:
        check_repeated(session, found, count)
        return found
    contents = [values.fields[field] for field in found]
    check_repeated(session, found + contents, count)
    return Pairs(zip(found, contents, strict=True))


def read_with_values(words: list[bytes]) -> bool:
    if len(words) > 1 or (words and words[0].upper() != b"WITHVALUES"):
        raise CommandError(errors.SYNTAX)
    return bool(words)
