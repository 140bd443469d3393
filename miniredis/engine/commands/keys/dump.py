"""DUMP and RESTORE: serializes and restores values in Redis's own format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, by_version, command
from ...keyspace.keyspace import Value
from ...numbers.numbers import MAX, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from ...rdb.payload import VERSION, BadDataError, BadPayloadError, dump, restore
from ...values.packing import Packing

MOST_FREQUENT: Final = 255

RESTORE_SYNTAX: Final = (
    "key#0 ttl:integer serialized-value [REPLACE@3.0.0] [ABSTTL@5.0.0] [IDLETIME seconds:integer@5.0.0] "
    "[FREQ frequency:integer@5.0.0]"
)


@command(
    "DUMP",
    2,
    "readonly",
    acl="keyspace",
    keys=Keys(1, "RO access"),
    tips="nondeterministic_output",
    since="2.6.0",
    syntax="key#0",
)
def dump_(session: Session, args: list[bytes]) -> Reply:
    """Returns the value of a key in the binary format that RESTORE accepts."""
    value = session.db.lookup_read(args[1])
    return None if value is None else dump(value, session.engine.version.rdb)


@dataclass(slots=True)
class Options:
    """The options of RESTORE."""

    replace: bool = False
    absolute: bool = False
    idle: int | None = None
    frequency: int | None = None


@command(
    "RESTORE",
    -4,
    "write denyoom",
    acl="keyspace dangerous",
    keys=Keys(1, "OW update"),
    since="2.6.0",
    syntax=RESTORE_SYNTAX,
)
def restore_(session: Session, args: list[bytes]) -> Reply:
    """Stores a value from DUMP at a key, with a time to live in milliseconds; 0 for none."""
    db, key, now = session.db, args[1], session.engine.now.milliseconds
    options = read_options(args[4:])
    if not options.replace and db.lookup_write(key) is not None:
        raise CommandError(errors.BUSY_KEY)
    ttl = read_integer(args[2])
    if ttl < 0:
        raise CommandError(errors.NEGATIVE_TTL)
    value = read_value(args[3], session.engine.packing, newest_format(session))
    replaced = options.replace and db.lookup_write(key) is not None and db.delete(key, None)
    deadline = (ttl if options.absolute else ttl + now) if ttl else None
    if deadline is not None and deadline > MAX:
        deadline = beyond(session.engine.version)
    is_past = deadline is not None and deadline <= now
    if is_past and not session.engine.conditions.is_replica:
        if replaced:
            db.signal_modified(key, "del")
        return OK
    db.create(key, value, "restore", deadline=deadline)
    db.note_fields(key, value)
    if options.idle is not None:
        db.used[key] = now - options.idle * 1000
    return OK


def newest_format(session: Session) -> int:
    """The newest format that RESTORE accepts: files and masters may have 7.0's in every version."""
    newest = session.engine.version.rdb
    return max(newest, VERSION) if session.must_obey else newest


beyond: Final = by_version(0, {"8.0 valkey-8.1": None})
"""The deadline instead of one beyond 64 bits: it wraps into the past, or a compiler took it for later."""


def read_options(words: list[bytes]) -> Options:
    options = Options()
    rest = iter(words)
    for word in rest:
        match word.upper():
            case b"REPLACE":
                options.replace = True
            case b"ABSTTL":
                options.absolute = True
            case b"IDLETIME" if options.frequency is None and (number := next(rest, None)) is not None:
                options.idle = read_integer(number)
                if options.idle < 0:
                    raise CommandError(errors.IDLE_TIME)
            case b"FREQ" if options.idle is None and (number := next(rest, None)) is not None:
                options.frequency = read_integer(number)
                if not 0 <= options.frequency <= MOST_FREQUENT:
                    raise CommandError(errors.FREQUENCY)
            case _:
                raise CommandError(errors.SYNTAX)
    return options


def read_value(payload: bytes, packing: Packing, newest: int) -> Value:
    try:
        return restore(payload, packing, newest)
    except BadPayloadError:
        raise CommandError(errors.BAD_PAYLOAD) from None
    except BadDataError:
        raise CommandError(errors.BAD_DATA) from None
