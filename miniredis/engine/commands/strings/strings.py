"""The string commands. A string is bytes; numbers are parsed when needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...clients.session import Session
from ...commands.expiry import absolute, event_of_past
from ...declarations.registry import Keys, chosen, command, instead_of
from ...keyspace.keyspace import STRING, Database, StringValue
from ...numbers.long_doubles import LongDouble
from ...numbers.numbers import MAX, MIN, parse_integer, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, PlainText, Reply

GETEX_NOTES: Final = "RW and UPDATE because it changes the TTL"
READ: Final = Keys(1, "RO access")
UPDATED: Final = Keys(1, "RW access update")


@dataclass(slots=True)
class SetOptions:
    """The options of SET."""

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
    since="1.0.0",
    syntax=(
        "key#0 value [condition@2.6.12(NX|XX)] [GET@6.2.0] [expiration(EX seconds:integer@2.6.12|PX "
        "milliseconds:integer@2.6.12|EXAT unix-time-seconds:unix-time@6.2.0|PXAT "
        "unix-time-milliseconds:unix-time@6.2.0|KEEPTTL@6.0.0)]"
    ),
)
def set_(session: Session, args: list[bytes]) -> Reply:
    """Sets a key; can depend on a condition, set a time to live and return the old value."""
    if len(args) == PLAIN_SET:
        session.db.store(args[1], args[2], "set")
        return OK
    return chosen(session.engine.version, set_with_options)(session, args)


PLAIN_SET: Final = 3
"""The words of SET without options, which is the same in all versions."""


def set_with_options(session: Session, args: list[bytes]) -> Reply:
    db, key = session.db, args[1]
    options = read_set_options(args[3:])
    expires = absolute(session, b"set", options.unit, options.amount) if options.unit else None
    old = db.lookup_read(key, STRING) if options.get else None
    if options.only_if and (db.lookup_write(key) is None) != (options.only_if == b"NX"):
        return old
    db.store(key, args[2], "set", keep_ttl=options.keep_ttl)
    if expires is not None:
        db.set_deadline(key, expires, 0)
    return old if options.get else OK


@instead_of(set_with_options, "6.2")
def gets_or_creates(session: Session, args: list[bytes]) -> Reply:
    """SET takes NX or GET, not both."""
    options = read_set_options(args[PLAIN_SET:])
    if options.get and options.only_if == b"NX":
        raise CommandError(errors.SYNTAX)
    return set_with_options(session, args)


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


@command("GET", 2, "readonly fast", acl="string", keys=READ, since="1.0.0", syntax="key#0")
def get(session: Session, args: list[bytes]) -> Reply:
    """Returns the string at a key."""
    return session.db.lookup_read(args[1], STRING)


@command(
    "GETSET",
    3,
    "write denyoom fast",
    acl="string",
    keys=UPDATED,
    since="1.0.0",
    syntax="key#0 value",
    deprecated="6.2.0",
    replaced_by="`SET` with `GET`",
)
def getset(session: Session, args: list[bytes]) -> Reply:
    """Sets a key, and returns its old value."""
    old = session.db.lookup_read(args[1], STRING)
    session.db.store(args[1], args[2], "set")
    return old


@command(
    "MGET",
    -2,
    "readonly fast",
    acl="string",
    keys=Keys(1, "RO access", last=-1),
    tips="request_policy:multi_shard",
    since="1.0.0",
    syntax="key#0...",
)
def mget(session: Session, args: list[bytes]) -> Reply:
    """Returns the strings at several keys; null for a key that is missing or not a string."""
    values = [session.db.lookup_read(key) for key in args[1:]]
    return [value if isinstance(value, StringValue) else None for value in values]


@command(
    "MSET",
    -3,
    "write denyoom",
    acl="string",
    keys=Keys(1, "OW update", last=-1, step=2),
    tips="request_policy:multi_shard response_policy:all_succeeded",
    since="1.0.1",
    syntax="key_value{key#0 value}...",
)
def mset(session: Session, args: list[bytes]) -> Reply:
    """Sets several keys in one atomic step."""
    if len(args) % 2 == 0:
        raise CommandError(errors.wrong_arity(b"mset"))
    for key, value in zip(args[1::2], args[2::2], strict=True):
        session.db.store(key, value, "set")
    return OK


@command(
    "MSETNX",
    -3,
    "write denyoom",
    acl="string",
    keys=Keys(1, "OW insert", last=-1, step=2),
    tips="request_policy:multi_shard response_policy:agg_min",
    since="1.0.1",
    syntax="key_value{key#0 value}...",
)
def msetnx(session: Session, args: list[bytes]) -> Reply:
    """Sets several keys in one atomic step, if none of them exists."""
    if len(args) % 2 == 0:
        raise CommandError(errors.wrong_arity(b"msetnx"))
    if any(session.db.lookup_write(key) is not None for key in args[1::2]):
        return 0
    for key, value in zip(args[1::2], args[2::2], strict=True):
        session.db.store(key, value, "set")
    return 1


@command(
    "SETEX",
    4,
    "write denyoom",
    acl="string",
    keys=Keys(1, "OW update"),
    since="2.0.0",
    syntax="key#0 seconds:integer value",
)
def setex(session: Session, args: list[bytes]) -> Reply:
    """Sets a key with a time to live, in seconds."""
    return set_with_expiry(session, args, b"setex", b"EX")


@command(
    "PSETEX",
    4,
    "write denyoom",
    acl="string",
    keys=Keys(1, "OW update"),
    since="2.6.0",
    syntax="key#0 milliseconds:integer value",
)
def psetex(session: Session, args: list[bytes]) -> Reply:
    """Sets a key with a time to live, in milliseconds."""
    return set_with_expiry(session, args, b"psetex", b"PX")


def set_with_expiry(session: Session, args: list[bytes], name: bytes, unit: bytes) -> Reply:
    expires = absolute(session, name, unit, args[2])
    session.db.store(args[1], args[3], "set")
    session.db.set_deadline(args[1], expires, 0)
    return OK


@command(
    "SETNX",
    3,
    "write denyoom fast",
    acl="string",
    keys=Keys(1, "OW insert"),
    since="1.0.0",
    syntax="key#0 value",
)
def setnx(session: Session, args: list[bytes]) -> Reply:
    """Sets a key, if it does not exist."""
    if session.db.lookup_write(args[1]) is not None:
        return 0
    session.db.create(args[1], args[2], "set")
    return 1


# Taking and changing the time to live


@command(
    "GETDEL", 2, "write fast", acl="string", keys=Keys(1, "RW access delete"), since="6.2.0", syntax="key#0"
)
def getdel(session: Session, args: list[bytes]) -> Reply:
    """Deletes a key, and returns its value."""
    value = session.db.lookup_read(args[1], STRING)
    if value is not None:
        session.db.delete(args[1])
    return value


@command(
    "GETEX",
    -2,
    "write fast",
    acl="string",
    keys=Keys(1, "RW access update", notes=GETEX_NOTES),
    since="6.2.0",
    syntax=(
        "key#0 [expiration(EX seconds:integer|PX milliseconds:integer|EXAT "
        "unix-time-seconds:unix-time|PXAT unix-time-milliseconds:unix-time|PERSIST)]"
    ),
)
def getex(session: Session, args: list[bytes]) -> Reply:
    """Returns the string at a key, and sets or removes the key's time to live."""
    db, key = session.db, args[1]
    unit, amount = read_getex_options(args[2:])
    value = db.lookup_read(key, STRING)
    if value is None or not unit:
        return value
    if unit == b"PERSIST":
        db.remove_deadline(key)
        return value
    expires = absolute(session, b"getex", unit, amount)
    is_past = expires <= session.engine.now.milliseconds and unit in {b"EXAT", b"PXAT"}
    if is_past and not session.engine.conditions.is_replica:
        db.delete(key, event_of_past(session.engine.version))
    else:
        db.set_deadline(key, expires)
    return value


def read_getex_options(words: list[bytes]) -> tuple[bytes, bytes]:
    """The option and its amount; both empty if there is none."""
    unit = amount = b""
    rest = iter(words)
    for word in rest:
        option = word.upper()
        if unit not in {b"", option} or option not in {b"PERSIST", b"EX", b"PX", b"EXAT", b"PXAT"}:
            raise CommandError(errors.SYNTAX)
        unit = option
        if option != b"PERSIST":
            amount = read_operand(next(rest, None))
    return unit, amount


# Parts of a string


@command("STRLEN", 2, "readonly fast", acl="string", keys=Keys(1, "RO"), since="2.2.0", syntax="key#0")
def strlen(session: Session, args: list[bytes]) -> Reply:
    """Returns the length of a string in bytes; 0 if there is no string."""
    return len(session.db.lookup_read(args[1], STRING) or b"")


@command(
    "GETRANGE",
    4,
    "readonly",
    acl="string",
    keys=READ,
    since="2.4.0",
    syntax="key#0 start:integer end:integer",
)
def getrange(session: Session, args: list[bytes]) -> Reply:
    """Returns the bytes between two offsets, both included; negative offsets count from the end."""
    start, end = read_integer(args[2]), read_integer(args[3])
    text = session.db.lookup_read(args[1], STRING) or b""
    if start < 0 and end < 0 and start > end:
        return b""
    first = max(start + len(text), 0) if start < 0 else start
    last = max(end + len(text), 0) if end < 0 else end
    return text[first : last + 1]


@command(
    "SUBSTR",
    4,
    "readonly",
    acl="string",
    keys=READ,
    since="1.0.0",
    syntax="key#0 start:integer end:integer",
    deprecated="2.0.0",
    replaced_by="`GETRANGE`",
)
def substr(session: Session, args: list[bytes]) -> Reply:
    """The former name of GETRANGE."""
    return getrange(session, args)


@command(
    "SETRANGE",
    4,
    "write denyoom",
    acl="string",
    keys=Keys(1, "RW update"),
    since="2.2.0",
    syntax="key#0 offset:integer value",
)
def setrange(session: Session, args: list[bytes]) -> Reply:
    """Overwrites a part of a string, which grows with zero bytes if needed; returns its new length."""
    db, key, part = session.db, args[1], args[3]
    offset = read_integer(args[2])
    if offset < 0:
        raise CommandError(errors.OFFSET)
    text = db.lookup_write(key, STRING)
    if not part:
        return len(text or b"")
    check_length(session, offset + len(part))
    changed = mutable(db, key, text)
    if len(changed) < offset:
        changed.extend(bytes(offset - len(changed)))
    changed[offset : offset + len(part)] = part
    db.signal_modified(key, "setrange")
    return len(changed)


@command(
    "APPEND",
    3,
    "write denyoom fast",
    acl="string",
    keys=Keys(1, "RW insert"),
    since="2.0.0",
    syntax="key#0 value",
)
def append(session: Session, args: list[bytes]) -> Reply:
    """Appends to a string, and creates it if needed; returns its new length."""
    db, key = session.db, args[1]
    text = db.lookup_write(key, STRING)
    if text is None:
        db.create(key, args[2], "append")
        return len(args[2])
    check_length(session, len(text) + len(args[2]))
    changed = mutable(db, key, text)
    changed += args[2]
    db.signal_modified(key, "append")
    return len(changed)


def check_length(session: Session, length: int) -> None:
    """Raises ``CommandError`` if a string is longer than ``proto-max-bulk-len``."""
    if length > session.engine.config.integer("proto-max-bulk-len"):
        raise CommandError(errors.STRING_TOO_LONG)


def mutable(db: Database, key: bytes, text: StringValue | None) -> bytearray:
    """Makes the string at a key a bytearray to change in place; the caller reports the change."""
    if isinstance(text, bytearray):
        return text
    changed = bytearray(text or b"")
    if text is None:
        db.create(key, changed, None)
    else:
        db.replace(key, changed)
    return changed


# Counting


@command("INCR", 2, "write denyoom fast", acl="string", keys=UPDATED, since="1.0.0", syntax="key#0")
def incr(session: Session, args: list[bytes]) -> Reply:
    """Adds 1 to the integer at a key; a missing key counts as 0."""
    return increment(session, args[1], 1)


@command("DECR", 2, "write denyoom fast", acl="string", keys=UPDATED, since="1.0.0", syntax="key#0")
def decr(session: Session, args: list[bytes]) -> Reply:
    """Subtracts 1 from the integer at a key; a missing key counts as 0."""
    return increment(session, args[1], -1)


@command(
    "INCRBY",
    3,
    "write denyoom fast",
    acl="string",
    keys=UPDATED,
    since="1.0.0",
    syntax="key#0 increment:integer",
)
def incrby(session: Session, args: list[bytes]) -> Reply:
    """Adds to the integer at a key; a missing key counts as 0."""
    return increment(session, args[1], read_integer(args[2]))


@command(
    "DECRBY",
    3,
    "write denyoom fast",
    acl="string",
    keys=UPDATED,
    since="1.0.0",
    syntax="key#0 decrement:integer",
)
def decrby(session: Session, args: list[bytes]) -> Reply:
    """Subtracts from the integer at a key; a missing key counts as 0."""
    amount = read_integer(args[2])
    if amount == MIN:
        raise CommandError(errors.DECREMENT_OVERFLOW)
    return increment(session, args[1], -amount)


def increment(session: Session, key: bytes, amount: int) -> int:
    """Adds to the integer at a key, whose deadline stays; returns the new value."""
    db = session.db
    text = db.lookup_write(key, STRING)
    value = 0 if text is None else parse_integer(text)
    if value is None:
        raise CommandError(errors.NOT_AN_INTEGER)
    value += amount
    if not MIN <= value <= MAX:
        raise CommandError(errors.INCREMENT_OVERFLOW)
    if text is None:
        db.create(key, b"%d" % value, "incrby")
    else:
        db.change(key, b"%d" % value, "incrby")
    return value


@command(
    "INCRBYFLOAT",
    3,
    "write denyoom fast",
    acl="string",
    keys=UPDATED,
    since="2.6.0",
    syntax="key#0 increment:double",
)
def incrbyfloat(session: Session, args: list[bytes]) -> Reply:
    """Adds to the floating-point number at a key; a missing key counts as 0."""
    text = session.db.lookup_write(args[1], STRING)
    value, increment = (
        LongDouble.parse(bytes(each)) for each in (text if text is not None else b"0", args[2])
    )
    if value is None or increment is None:
        raise CommandError(errors.NOT_A_FLOAT)
    total = value.plus(increment)
    if total is None:
        raise CommandError(errors.NOT_FINITE)
    result = str(total).encode()
    session.db.store(args[1], PlainText(result), "incrbyfloat", keep_ttl=True)
    return result
