"""Fields of hashes that expire, as far as Valkey 9 has them otherwise than Redis: see ``field_expiry``.

It looks at all words before it looks at the key, takes more of them, and tells of fields that go at once as
it tells of those whose time has come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...clients.session import Session
from ...commands.expiry import UNITS
from ...declarations.registry import Handler, Keys, in_versions, instead_of
from ...keyspace.keyspace import HASH
from ...numbers.numbers import MAX, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from ...values.expiring_hashes import ValkeyHash
from ...values.hashes import HashValue
from ..keys.expiring import read_conditions
from .field_expiry import (
    apply_deadline,
    as_hdel,
    delete_fields,
    get_fields,
    is_over,
    left,
    live_fields,
    may_set,
    new_expiring,
    persist,
    set_fields,
    shown_times,
    take_fields,
    without_expired,
)

VALKEY: Final = "valkey-9.1+"


instead_of(new_expiring, VALKEY)(ValkeyHash.over)

# Arguments


def place_of_fields(args: list[bytes], start: int) -> int:
    """Where the word FIELDS is, with a word behind it; for HGETEX and HSETEX, the key may be that word."""
    for at in range(start, len(args) - 1):
        if args[at].upper() == b"FIELDS":
            return at
    raise CommandError(errors.FIELD_COUNT_OF_VALKEY)


def counted(
    args: list[bytes], at: int, each: int = 1, error: bytes = errors.FIELD_COUNT_OF_VALKEY
) -> list[bytes]:
    """What stands behind the word FIELDS and the number of fields, so many words for each."""
    count, rest = read_integer(args[at + 1]), args[at + 2 :]
    if count < 1 or count * each != len(rest):
        raise CommandError(error)
    return rest


def fields_at_2(args: list[bytes], error: bytes = errors.FIELD_COUNT_OF_VALKEY) -> list[bytes]:
    """The fields of a command that has no options."""
    if args[2].upper() != b"FIELDS":
        raise CommandError(errors.SYNTAX)
    return counted(args, 2, error=error)


def time(session: Session, name: bytes, text: bytes, unit: bytes) -> int:
    """When fields are to expire, in milliseconds of wall time; it may be in the past."""
    factor, is_relative = UNITS[unit]
    number = read_integer(text)
    when = number * factor + (session.engine.now.milliseconds if is_relative else 0)
    if number < 0 or when > MAX:
        raise CommandError(errors.invalid_expire(name))
    return when


ONE_OF: Final = (
    frozenset((b"NX", b"XX")),
    frozenset((b"FNX", b"FXX")),
    frozenset((*UNITS, b"KEEPTTL", b"PERSIST")),
)
"""Words that exclude one another; the same word may come again."""


def read_words(words: Sequence[bytes], known: str) -> dict[bytes, bytes]:
    """The options in front of FIELDS, in capitals, each with the word behind it if it is a time."""
    options: dict[bytes, bytes] = {}
    rest = iter(words)
    for each in rest:
        word = each.upper()
        others = next((group - {word} for group in ONE_OF if word in group), frozenset[bytes]())
        amount = next(rest, None) if word in UNITS else b""
        if word.decode("latin-1") not in known.split() or amount is None or others & options.keys():
            raise CommandError(errors.SYNTAX)
        options[word] = amount
    return options


def time_in(session: Session, name: bytes, options: dict[bytes, bytes]) -> int | None:
    """The time among options; None if there is none."""
    unit = next((word for word in options if word in UNITS), None)
    return None if unit is None else time(session, name, options[unit], unit)


@instead_of(delete_fields, VALKEY)
def expire_at_once(session: Session, key: bytes, values: HashValue, fields: Sequence[bytes]) -> None:
    """Removes existing fields whose new time is over, and tells so."""
    for field in fields:
        values.remove(field)
    session.also_propagate(as_hdel, key, *fields)
    session.db.shrunk(key, values, "hexpired", len(fields))


# Commands


def expire(unit: bytes) -> Handler:
    """HEXPIRE or one like it."""

    def run(session: Session, args: list[bytes]) -> Reply:
        key, at = args[1], place_of_fields(args, 3)
        conditions, fields = read_conditions(args[3:at]), counted(args, at)
        when = time(session, args[0].lower(), args[2], unit)
        values = live_fields(session.db, key)
        words = [word.upper() for word in args[3:at]]
        return apply_deadline(session, key, values, fields, when, conditions, words, tells_all=True)

    return run


def show_times(show: Callable[[Session, int], int]) -> Handler:
    """HTTL or one like it."""

    def run(session: Session, args: list[bytes]) -> Reply:
        fields = fields_at_2(args, errors.SYNTAX)
        return shown_times(session, session.db.lookup_read(args[1], HASH), fields, show)

    return without_expired(run, reads=True)


def rounded(milliseconds: int) -> int:
    """Whole seconds."""
    return (milliseconds + 500) // 1000


for name, run in (
    ("hexpire", expire(b"EX")),
    ("hpexpire", expire(b"PX")),
    ("hexpireat", expire(b"EXAT")),
    ("hpexpireat", expire(b"PXAT")),
    ("httl", show_times(lambda session, when: rounded(left(session, when)))),
    ("hpttl", show_times(left)),
    ("hexpiretime", show_times(lambda _, when: rounded(when))),
    ("hpexpiretime", show_times(lambda _, when: when)),
):
    in_versions(VALKEY, name)(run)


@in_versions(VALKEY, "hpersist")
def hpersist(session: Session, args: list[bytes]) -> Reply:
    """HPERSIST of Valkey."""
    fields = fields_at_2(args)
    return persist(session, args[1], live_fields(session.db, args[1]), fields)


@in_versions(VALKEY, "hgetdel")
def hgetdel(session: Session, args: list[bytes]) -> Reply:
    """HGETDEL of Valkey."""
    fields = fields_at_2(args)
    values = live_fields(session.db, args[1])
    return take_fields(session, args[1], values, fields, lambda *_: args)


@in_versions(VALKEY, "hgetex", keys=(Keys(1, "RW access update"),))
def hgetex(session: Session, args: list[bytes]) -> Reply:
    """HGETEX of Valkey."""
    key, at = args[1], place_of_fields(args, 1)
    options = read_words(args[2:at], "EX PX EXAT PXAT PERSIST")
    fields = counted(args, at)
    values = live_fields(session.db, key)
    when = time_in(session, b"hgetex", options)
    return get_fields(session, key, values, fields, when, persists=b"PERSIST" in options)


@in_versions(VALKEY, "hsetex", keys=(Keys(1, "RW insert"),))
def hsetex(session: Session, args: list[bytes]) -> Reply:
    """HSETEX of Valkey, which takes conditions of the key, too."""
    key, at = args[1], place_of_fields(args, 1)
    options = read_words(args[2:at], "NX XX FNX FXX EX PX EXAT PXAT KEEPTTL")
    pairs = counted(args, at, 2)
    values = live_fields(session.db, key)
    if (b"NX" in options and values is not None) or (b"XX" in options and values is None):
        return 0
    when = time_in(session, b"hsetex", options)
    if not may_set(values, pairs[::2], options):
        return 0
    known = [] if values is None else [field for field in dict.fromkeys(pairs[::2]) if field in values.fields]
    times = {} if when is None else {b"PXAT": when}
    set_fields(session, key, values, pairs, dict.fromkeys(options.keys() & {b"KEEPTTL"}, 1) | times)
    if when is None:
        session.also_propagate(lambda: args)
        return 1
    session.db.announce(key, "hexpire")
    if not is_over(session, when):
        session.also_propagate(lambda: [b"HSETEX", key, b"PXAT", b"%d" % when, *args[at:]])
        return 1
    changed = session.db.values[key]
    assert isinstance(changed, HashValue)
    for field in pairs[::2]:
        changed.remove(field)
    if known:
        session.also_propagate(as_hdel, key, *known)
    session.db.shrunk(key, changed, "hexpired", 0)
    return 1
