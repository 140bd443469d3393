"""Strings as Valkey has them besides: SET with IFEQ, DELIFEQ and MSETEX."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...commands.expiry import UNITS, absolute, event_of_past
from ...declarations.registry import CountedKeys, Keys, command, instead_of, prepared_in
from ...keyspace.keyspace import STRING
from ...numbers.numbers import MAX, parse_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from .strings import SetOptions, read_getex_options, read_operand, read_set_options, set_with_options

MOST_KEYS: Final = (1 << 31) - 1


@instead_of(set_with_options, "valkey-8.1+")
def set_if_equal(session: Session, args: list[bytes]) -> Reply:
    """SET with IFEQ: only if the key holds that string."""
    words, wanted = without_comparison(args[3:])
    if wanted is None:
        return set_in_time(session, args)
    options = read_set_options(words)
    if options.only_if:
        raise CommandError(errors.SYNTAX)
    if options.unit:
        absolute(session, b"set", options.unit, options.amount)  # raises what is wrong with it
    look_up = session.db.lookup_read if options.get else session.db.lookup_write
    old = look_up(args[1], STRING)
    if old != wanted:
        return old if options.get else None
    args[3:] = [word for word in words if word.upper() != b"GET"]  # what is propagated: all that is over
    reply = set_in_time(session, args)
    return old if options.get else reply


def set_in_time(session: Session, args: list[bytes]) -> Reply:
    """SET, which in Valkey deletes the key where the time that it gives is over."""
    options = read_set_options(args[3:])
    when = absolute(session, b"set", options.unit, options.amount) if options.unit else MAX
    if when > session.engine.now.milliseconds or session.engine.conditions.is_replica:
        return set_with_options(session, args)
    db, key = session.db, args[1]
    old = db.lookup_read(key, STRING) if options.get else None
    is_there = db.lookup_write(key) is not None
    if options.only_if and is_there == (options.only_if == b"NX"):
        return old
    if is_there:
        db.delete(key, event_of_past(session.engine.version))
    return old if options.get else OK


def without_comparison(words: list[bytes]) -> tuple[list[bytes], bytes | None]:
    """The options of SET but IFEQ, and what stands behind that."""
    rest, wanted = iter(words), None
    kept: list[bytes] = []
    for word in rest:
        if word.upper() == b"IFEQ" and wanted is None:
            wanted = read_operand(next(rest, None))
            continue
        kept.append(word)
        if word.upper() in UNITS:
            kept += [amount] if (amount := next(rest, None)) is not None else []
    return kept, wanted


@prepared_in("valkey-9.1+", "getex")
def checks_time_first(session: Session, args: list[bytes]) -> None:
    """GETEX looks at the time before it looks at the key."""
    unit, amount = read_getex_options(args[2:])
    if unit in UNITS:
        absolute(session, b"getex", unit, amount)


@command(
    "DELIFEQ", 3, "write fast", acl="string", keys=Keys(1, "RM delete"), since="valkey-9.0.0",
    syntax="key#0 value",
)  # fmt: skip
def delifeq(session: Session, args: list[bytes]) -> Reply:
    """Deletes a key if it holds a string; returns whether it did."""
    if session.db.lookup_write(args[1], STRING) != args[2]:
        return 0
    return int(session.db.delete(args[1]))


@command(
    "MSETEX", -4, "write denyoom movablekeys", acl="string", keys=CountedKeys(1, "OW update", step=2),
    tips="request_policy:multi_shard response_policy:all_succeeded", since="valkey-9.1.0",
    syntax=(
        "numkeys:integer data{key#0 value}... [condition(NX|XX)] "
        "[expiration(EX seconds:integer|PX milliseconds:integer|EXAT unix-time-seconds:unix-time|"
        "PXAT unix-time-milliseconds:unix-time|KEEPTTL)]"
    ),
)  # fmt: skip
def msetex(session: Session, args: list[bytes]) -> Reply:
    """Sets several keys, with a time to live, if a condition holds for all."""
    count = parse_integer(args[1])
    if count is None or not 1 <= count <= MOST_KEYS:
        raise CommandError(errors.NUMKEYS_OUT_OF_RANGE)
    end = 2 + 2 * count
    if end > len(args):
        raise CommandError(errors.SYNTAX)
    options: SetOptions = read_set_options(args[end:])
    if options.get:
        raise CommandError(errors.SYNTAX)
    expires = absolute(session, b"msetex", options.unit, options.amount) if options.unit else None
    db, keys = session.db, args[2:end:2]
    if options.only_if and any((db.lookup_write(key) is None) != (options.only_if == b"NX") for key in keys):
        return 0
    for at in range(2, end, 2):
        db.store(args[at], args[at + 1], "set", keep_ttl=options.keep_ttl)
        if expires is not None:
            db.set_deadline(args[at], expires, 0)
    return 1
