"""The commands that set and show the expiry of keys."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from ...clients.session import Session
from ...commands.expiry import event_of_past, from_argument
from ...declarations.registry import Keys, command
from ...keyspace.keyspace import NO_TOUCH
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply

UPDATED: Final = Keys(1, "RW update")
READ: Final = Keys(1, "RO access")


@command(
    "EXPIRE",
    -3,
    "write fast",
    acl="keyspace",
    keys=UPDATED,
    since="1.0.0",
    syntax="key#0 seconds:integer [condition@7.0.0(NX|XX|GT|LT)]",
)
def expire(session: Session, args: list[bytes]) -> Reply:
    """Sets the time to live of a key, in seconds."""
    return set_expiry(session, args, b"EX")


@command(
    "PEXPIRE",
    -3,
    "write fast",
    acl="keyspace",
    keys=UPDATED,
    since="2.6.0",
    syntax="key#0 milliseconds:integer [condition@7.0.0(NX|XX|GT|LT)]",
)
def pexpire(session: Session, args: list[bytes]) -> Reply:
    """Sets the time to live of a key, in milliseconds."""
    return set_expiry(session, args, b"PX")


@command(
    "EXPIREAT",
    -3,
    "write fast",
    acl="keyspace",
    keys=UPDATED,
    since="1.2.0",
    syntax="key#0 unix-time-seconds:unix-time [condition@7.0.0(NX|XX|GT|LT)]",
)
def expireat(session: Session, args: list[bytes]) -> Reply:
    """Sets when a key expires, in seconds since 1970."""
    return set_expiry(session, args, b"EXAT")


@command(
    "PEXPIREAT",
    -3,
    "write fast",
    acl="keyspace",
    keys=UPDATED,
    since="2.6.0",
    syntax="key#0 unix-time-milliseconds:unix-time [condition@7.0.0(NX|XX|GT|LT)]",
)
def pexpireat(session: Session, args: list[bytes]) -> Reply:
    """Sets when a key expires, in milliseconds since 1970."""
    return set_expiry(session, args, b"PXAT")


def set_expiry(session: Session, args: list[bytes], unit: bytes) -> int:
    db, key = session.db, args[1]
    conditions = read_conditions(args[3:])
    when = from_argument(session, args[0].lower(), args[2], unit)
    if db.lookup_write(key) is None or not holds(conditions, db.deadlines.get(key), when):
        return 0
    if when <= session.engine.now.milliseconds and not session.engine.conditions.is_replica:
        db.delete(key, event_of_past(session.engine.version))
    else:
        db.set_deadline(key, when)
    return 1


def read_conditions(words: list[bytes]) -> set[bytes]:
    conditions = {word.upper() for word in words}
    for word in words:
        if word.upper() not in {b"NX", b"XX", b"GT", b"LT"}:
            raise CommandError(errors.unsupported_option(word))
    if b"NX" in conditions and len(conditions) > 1:
        raise CommandError(errors.NX_WITH_OTHERS)
    if conditions >= {b"GT", b"LT"}:
        raise CommandError(errors.GT_WITH_LT)
    return conditions


def holds(conditions: Set[bytes], current: int | None, when: int) -> bool:
    """Whether all conditions hold; without a deadline, a key counts as expiring never."""
    verdicts = {
        b"NX": current is None,
        b"XX": current is not None,
        b"GT": current is not None and when > current,
        b"LT": current is None or when < current,
    }
    return all(verdicts[condition] for condition in conditions)


@command(
    "TTL",
    2,
    "readonly fast",
    acl="keyspace",
    keys=READ,
    tips="nondeterministic_output",
    since="1.0.0",
    syntax="key#0",
)
def ttl(session: Session, args: list[bytes]) -> Reply:
    """Returns the time to live of a key, in seconds; -1 if it never expires, -2 if there is no key."""
    left = time_left(session, args[1])
    return left if left < 0 else (left + 500) // 1000


@command(
    "PTTL",
    2,
    "readonly fast",
    acl="keyspace",
    keys=READ,
    tips="nondeterministic_output",
    since="2.6.0",
    syntax="key#0",
)
def pttl(session: Session, args: list[bytes]) -> Reply:
    """Returns the time to live of a key, in milliseconds; -1 if it never expires, -2 if there is no key."""
    return time_left(session, args[1])


@command("EXPIRETIME", 2, "readonly fast", acl="keyspace", keys=READ, since="7.0.0", syntax="key#0")
def expiretime(session: Session, args: list[bytes]) -> Reply:
    """Returns when a key expires, in seconds since 1970; -1 if never, -2 if there is no key."""
    when = deadline(session, args[1])
    return when if when < 0 else (when + 500) // 1000


@command("PEXPIRETIME", 2, "readonly fast", acl="keyspace", keys=READ, since="7.0.0", syntax="key#0")
def pexpiretime(session: Session, args: list[bytes]) -> Reply:
    """Returns when a key expires, in milliseconds since 1970; -1 if never, -2 if there is no key."""
    return deadline(session, args[1])


def time_left(session: Session, key: bytes) -> int:
    when = deadline(session, key)
    return when if when < 0 else max(when - session.engine.now.milliseconds, 0)


def deadline(session: Session, key: bytes) -> int:
    if session.db.lookup_read(key, flags=NO_TOUCH) is None:
        return -2
    return session.db.deadlines.get(key, -1)


@command("PERSIST", 2, "write fast", acl="keyspace", keys=UPDATED, since="2.2.0", syntax="key#0")
def persist(session: Session, args: list[bytes]) -> Reply:
    """Makes a key never expire; returns whether it had a time to live."""
    session.db.lookup_write(args[1])
    return int(session.db.remove_deadline(args[1]))
