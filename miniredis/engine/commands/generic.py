"""The commands for keys of any type."""

from __future__ import annotations

from typing import Final

from .. import errors
from ..errors import CommandError
from ..expiry import from_argument
from ..glob import compile_glob
from ..registry import Keys, command
from ..replies import Encoded, Reply, status
from ..session import Session

EACH: Final = "request_policy:multi_shard response_policy:agg_sum"
UPDATED: Final = Keys(1, "RW update")
READ: Final = Keys(1, "RO access")


@command("DEL", -2, "write", acl="keyspace", keys=Keys(1, "RM delete", last=-1), tips=EACH)
def del_(session: Session, args: list[bytes]) -> Reply:
    """Removes keys; returns how many there were."""
    db = session.db
    return sum(db.find(key) is not None and db.delete(key) for key in args[1:])


@command("EXISTS", -2, "readonly fast", acl="keyspace", keys=Keys(1, "RO", last=-1), tips=EACH)
def exists(session: Session, args: list[bytes]) -> Reply:
    """How many of the keys exist; one named twice counts twice."""
    return sum(session.db.read(key) is not None for key in args[1:])


@command("TYPE", 2, "readonly fast", acl="keyspace", keys=Keys(1, "RO"))
def type_(session: Session, args: list[bytes]) -> Encoded:
    """The type of the value at a key."""
    return status(session.db.type_name(args[1]))


@command(
    "KEYS",
    2,
    "readonly",
    acl="keyspace dangerous",
    tips="request_policy:all_shards nondeterministic_output_order",
)
def keys(session: Session, args: list[bytes]) -> Reply:
    """All keys that fit a glob pattern."""
    fits = compile_glob(args[1])
    return [key for key in session.db.live_keys() if fits(key)]


# Expiry


@command("EXPIRE", -3, "write fast", acl="keyspace", keys=UPDATED)
def expire(session: Session, args: list[bytes]) -> Reply:
    """Lets a key expire in so many seconds."""
    return set_expiry(session, args, b"EX")


@command("PEXPIRE", -3, "write fast", acl="keyspace", keys=UPDATED)
def pexpire(session: Session, args: list[bytes]) -> Reply:
    """Lets a key expire in so many milliseconds."""
    return set_expiry(session, args, b"PX")


def set_expiry(session: Session, args: list[bytes], unit: bytes) -> int:
    db, key = session.db, args[1]
    conditions = read_conditions(args[3:])
    when = from_argument(session, args[0].lower(), args[2], unit)
    if db.find(key) is None or not holds(conditions, db.deadlines.get(key), when):
        return 0
    if when <= session.engine.now.milliseconds:
        db.delete(key)
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


def holds(conditions: set[bytes], current: int | None, when: int) -> bool:
    """Whether all conditions hold; a key without a deadline counts as one that never expires."""
    verdicts = {
        b"NX": current is None,
        b"XX": current is not None,
        b"GT": current is not None and when > current,
        b"LT": current is None or when < current,
    }
    return all(verdicts[condition] for condition in conditions)


@command("TTL", 2, "readonly fast", acl="keyspace", keys=READ, tips="nondeterministic_output")
def ttl(session: Session, args: list[bytes]) -> Reply:
    """How many seconds a key has left, rounded; -1 if it stays, -2 if there is none."""
    left = time_left(session, args[1])
    return left if left < 0 else (left + 500) // 1000


@command("PTTL", 2, "readonly fast", acl="keyspace", keys=READ, tips="nondeterministic_output")
def pttl(session: Session, args: list[bytes]) -> Reply:
    """How many milliseconds a key has left; -1 if it stays, -2 if there is none."""
    return time_left(session, args[1])


def time_left(session: Session, key: bytes) -> int:
    if session.db.read(key) is None:
        return -2
    when = session.db.deadlines.get(key)
    return -1 if when is None else max(when - session.engine.now.milliseconds, 0)


@command("PERSIST", 2, "write fast", acl="keyspace", keys=UPDATED)
def persist(session: Session, args: list[bytes]) -> Reply:
    """Takes a key's deadline away; tells whether it had one."""
    if session.db.find(args[1]) is None or args[1] not in session.db.deadlines:
        return 0
    del session.db.deadlines[args[1]]
    session.db.touched(args[1], "persist")
    return 1
