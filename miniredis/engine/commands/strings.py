"""The string commands. A string is ``bytes``, whatever it is read as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .. import errors
from ..errors import CommandError
from ..expiry import absolute
from ..keyspace import StringValue
from ..numbers import MAX, MIN, parse_integer, read_integer
from ..registry import Keys, command
from ..replies import OK, Reply
from ..session import Session

READ: Final = Keys(1, "RO access")
UPDATED: Final = Keys(1, "RW access update")


@dataclass(slots=True)
class SetOptions:
    """What SET was told beyond key and value."""

    only_if: bytes = b""  # NX or XX
    get: bool = False
    keep_ttl: bool = False
    unit: bytes = b""  # EX, PX, EXAT or PXAT
    amount: bytes = b""


@command(
    "SET",
    -3,
    "write denyoom",
    acl="string",
    keys=Keys(1, "RW access update variable_flags", notes="RW and ACCESS due to the optional `GET` argument"),
)
def set_(session: Session, args: list[bytes]) -> Reply:
    """Sets a key, if a condition holds, with a time to live, and returns the old value if asked."""
    db, key = session.db, args[1]
    options = read_set_options(args[3:])
    expires = absolute(session, b"set", options.unit, options.amount) if options.unit else None
    old = db.find_string(key) if options.get else None
    if options.only_if and (db.find(key) is None) != (options.only_if == b"NX"):
        return old
    db.store(key, args[2], "set", keep_ttl=options.keep_ttl)
    if expires is not None:
        db.set_deadline(key, expires)
    return old if options.get else OK


def read_set_options(words: list[bytes]) -> SetOptions:
    options = SetOptions()
    rest = iter(words)
    for word in rest:
        option = word.upper()
        if option in {b"NX", b"XX"} and options.only_if in {b"", option}:
            options.only_if = option
        elif option == b"GET":
            options.get = True
        elif option == b"KEEPTTL" and not options.unit:
            options.keep_ttl = True
        elif (
            option in {b"EX", b"PX", b"EXAT", b"PXAT"}
            and options.unit in {b"", option}
            and not options.keep_ttl
        ):
            options.unit, options.amount = option, read_operand(next(rest, None))
        else:
            raise CommandError(errors.SYNTAX)
    return options


def read_operand(word: bytes | None) -> bytes:
    if word is None:
        raise CommandError(errors.SYNTAX)
    return word


@command("GET", 2, "readonly fast", acl="string", keys=READ)
def get(session: Session, args: list[bytes]) -> Reply:
    """The value of a key."""
    return session.db.read_string(args[1])


@command("GETSET", 3, "write denyoom fast", acl="string", keys=UPDATED)
def getset(session: Session, args: list[bytes]) -> Reply:
    """Sets a key and returns its old value."""
    old = session.db.find_string(args[1])
    session.db.store(args[1], args[2], "set")
    return old


@command(
    "MGET",
    -2,
    "readonly fast",
    acl="string",
    keys=Keys(1, "RO access", last=-1),
    tips="request_policy:multi_shard",
)
def mget(session: Session, args: list[bytes]) -> Reply:
    """The values of several keys; null for what is missing or no string."""
    values = [session.db.read(key) for key in args[1:]]
    return [value if isinstance(value, StringValue) else None for value in values]


@command(
    "MSET",
    -3,
    "write denyoom",
    acl="string",
    keys=Keys(1, "OW update", last=-1, step=2),
    tips="request_policy:multi_shard response_policy:all_succeeded",
)
def mset(session: Session, args: list[bytes]) -> Reply:
    """Sets several keys at once."""
    if len(args) % 2 == 0:
        raise CommandError(errors.wrong_arity(b"mset"))
    for key, value in zip(args[1::2], args[2::2], strict=True):
        session.db.store(key, value, "set")
    return OK


@command("SETNX", 3, "write denyoom fast", acl="string", keys=Keys(1, "OW insert"))
def setnx(session: Session, args: list[bytes]) -> Reply:
    """Sets a key that does not exist."""
    if session.db.find(args[1]) is not None:
        return 0
    session.db.create(args[1], args[2], "set")
    return 1


@command("INCR", 2, "write denyoom fast", acl="string", keys=UPDATED)
def incr(session: Session, args: list[bytes]) -> Reply:
    """Adds one to the integer at a key, 0 if there is none."""
    return increment(session, args[1], 1)


@command("DECR", 2, "write denyoom fast", acl="string", keys=UPDATED)
def decr(session: Session, args: list[bytes]) -> Reply:
    """Takes one from the integer at a key."""
    return increment(session, args[1], -1)


@command("INCRBY", 3, "write denyoom fast", acl="string", keys=UPDATED)
def incrby(session: Session, args: list[bytes]) -> Reply:
    """Adds to the integer at a key."""
    return increment(session, args[1], read_integer(args[2]))


@command("DECRBY", 3, "write denyoom fast", acl="string", keys=UPDATED)
def decrby(session: Session, args: list[bytes]) -> Reply:
    """Takes from the integer at a key."""
    amount = read_integer(args[2])
    if amount == MIN:
        raise CommandError(errors.DECREMENT_OVERFLOW)
    return increment(session, args[1], -amount)


def increment(session: Session, key: bytes, amount: int) -> int:
    """The new value, which keeps the key's time to live."""
    text = session.db.find_string(key)
    value = 0 if text is None else parse_integer(text)
    if value is None:
        raise CommandError(errors.NOT_AN_INTEGER)
    value += amount
    if not MIN <= value <= MAX:
        raise CommandError(errors.INCREMENT_OVERFLOW)
    session.db.store(key, b"%d" % value, "incrby", keep_ttl=True)
    return value
