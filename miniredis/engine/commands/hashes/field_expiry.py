"""Fields of hashes that expire, as in Redis since 7.4; ``valkey_fields`` has what Valkey does otherwise.

Commands that were there before meet no field whose time has come: each is declared anew for these versions,
with what removes such fields in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence, Set
from functools import partial
from typing import Final

from ...clients.session import Session
from ...commands.expiry import UNITS
from ...declarations.registry import DECLARED, Handler, Keys, chosen, command, variant, wrap_in_versions
from ...keyspace.keyspace import HASH, Database
from ...numbers.numbers import parse_integer, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from ...values.expiring_hashes import EXPIRING, ExpiringHash
from ...values.hashes import HashValue
from ..keys.expiring import holds
from .hashes import keep

__all__ = ["HAVE_DEADLINES", "LATEST", "expiring", "live_fields"]

HAVE_DEADLINES: Final = "7.4+ valkey-9.1+"
"""The versions in which fields may expire."""

READ: Final = Keys(1, "RO access")
UPDATED: Final = Keys(1, "RW update")
UPDATED_AND_READ: Final = Keys(1, "RW access update", notes="RW and UPDATE because it changes the TTL")
FIELDS: Final = "FIELDS fields{numfields:integer field...}"
CONDITIONS: Final = frozenset((b"NX", b"XX", b"GT", b"LT"))
EXPIRATION: Final = (
    "EX seconds:integer|PX milliseconds:integer|EXAT unix-time-seconds:unix-time|"
    "PXAT unix-time-milliseconds:unix-time"
)

LATEST: Final = (1 << 46) - 1
"""The latest time at which a field may expire, in milliseconds."""

NO_FIELD: Final = -2
NO_DEADLINE: Final = -1
DELETED: Final = 2
"""What is answered of a field."""


# Fields that have expired


def live_fields(db: Database, key: bytes) -> HashValue | None:
    """The hash at a key about to be written, without fields that have expired; raises ``CommandError``."""
    values = db.lookup_write(key, HASH)
    if not isinstance(values, EXPIRING) or not values.expired(db.keyspace.milliseconds):
        return values
    db.expire_fields(key)
    return values if values else None


def without_expired(handler: Handler, *, reads: bool) -> Handler:
    """A command of hashes that meets no field whose time has come.

    Where keys stay though they have expired, as in a replica, whoever reads is shown a copy without them.
    """

    def run(session: Session, args: list[bytes]) -> Reply:
        db, key = session.db, args[1]
        values = db.values.get(key)
        if not isinstance(values, EXPIRING) or not (gone := values.expired(db.keyspace.wall)):
            return handler(session, args)
        if db.keyspace.milliseconds and not (db.keyspace.keeps_expired or db.keyspace.is_read_only):
            db.expire_fields(key)
        elif reads:
            db.replace(key, values.without(gone))
            try:
                return handler(session, args)
            finally:
                db.replace(key, values)
        return handler(session, args)

    return run


def declare_without_expired() -> None:
    """Declares the older commands of hashes anew."""
    for each in tuple(DECLARED.values()):
        if "hash" in each.categories and each.handler and each.docs.since < "7.4":
            wrap = partial(without_expired, reads="readonly" in each.flags)
            wrap_in_versions(HAVE_DEADLINES, each.name.decode(), wrap)


declare_without_expired()


def new_expiring(values: HashValue) -> ExpiringHash:
    """A hash whose fields may expire, in place of another."""
    return ExpiringHash.over(values)


def expiring(session: Session, key: bytes, values: HashValue) -> ExpiringHash:
    """The hash at a key as one whose fields may expire."""
    if isinstance(values, ExpiringHash):
        return values
    made = chosen(session.engine.version, new_expiring)(values)
    session.db.replace(key, made)
    return made


# Arguments


def counted_fields(args: list[bytes], at: int, not_a_count: bytes = errors.FIELD_COUNT) -> list[bytes]:
    """The fields behind the word FIELDS, which is at an index, and their number."""
    if args[at].upper() != b"FIELDS":
        raise CommandError(errors.NO_FIELDS)
    count, fields = parse_integer(args[at + 1]), args[at + 2 :]
    if count is None or count < 1:
        raise CommandError(not_a_count)
    if count != len(fields):
        raise CommandError(errors.FIELD_COUNT_DIFFERS)
    return fields


def read_time(session: Session, name: bytes, text: bytes, unit: bytes) -> int:
    """When fields are to expire, in milliseconds of wall time; it may be in the past."""
    factor, is_relative = UNITS[unit]
    number = read_integer(text)
    if number < 0:
        raise CommandError(errors.FIELD_TIME_NEGATIVE)
    when = number * factor + (session.engine.now.milliseconds if is_relative else 0)
    if when > LATEST:
        raise CommandError(errors.invalid_expire(name))
    return when


def is_over(session: Session, when: int) -> bool:
    """Whether fields that are to expire then go at once; a replica leaves that to its master."""
    return when <= session.engine.now.milliseconds and not session.engine.conditions.is_replica


# Changes


def delete_fields(session: Session, key: bytes, values: HashValue, fields: Sequence[bytes]) -> None:
    """Removes existing fields whose new time is over, and tells so."""
    for field in fields:
        values.remove(field)
        session.also_propagate(as_hdel, key, field)
    session.db.shrunk(key, values, "hdel", len(fields))


def as_hdel(key: bytes, *fields: bytes) -> list[bytes]:
    return [b"HDEL", key, *fields]


def as_fields(name: bytes, key: bytes, words: Sequence[bytes], fields: Sequence[bytes]) -> list[bytes]:
    """A command with these words in front of the fields."""
    return [name, key, *words, b"FIELDS", b"%d" % len(fields), *fields]


# When fields expire


def declare_expire(name: str, argument: str, unit: bytes, summary: str) -> None:
    """Declares one of the four commands that set deadlines."""

    def run(session: Session, args: list[bytes]) -> Reply:
        return expire_fields(session, args, unit)

    run.__doc__ = summary
    run.__module__ = __name__
    command(
        name, -6, "write fast", acl="hash", keys=UPDATED, since="7.4.0", valkey="valkey-9.0.0",
        syntax=f"key#0 {argument} [condition(NX|XX|GT|LT)] {FIELDS}",
    )(run)  # fmt: skip


declare_expire("HEXPIRE", "seconds:integer", b"EX", "Sets the time to live of fields of a hash, in seconds.")
declare_expire(
    "HPEXPIRE", "milliseconds:integer", b"PX", "Sets the time to live of fields of a hash, in milliseconds."
)
declare_expire(
    "HEXPIREAT", "unix-time-seconds:unix-time", b"EXAT",
    "Sets when fields of a hash expire, in seconds since 1970.",
)  # fmt: skip
declare_expire(
    "HPEXPIREAT", "unix-time-milliseconds:unix-time", b"PXAT",
    "Sets when fields of a hash expire, in milliseconds since 1970.",
)  # fmt: skip
variant("7.4", "hexpire hpexpire hexpireat hpexpireat", flags="+denyoom")


def expire_fields(session: Session, args: list[bytes], unit: bytes) -> Reply:
    db, key = session.db, args[1]
    values = live_fields(db, key)
    when = read_time(session, args[0].lower(), args[2], unit)
    conditions = {args[3].upper()} & CONDITIONS
    fields = counted_fields(args, 3 + len(conditions), errors.FIELD_COUNT_PARAMETER)
    words = [word.upper() for word in args[3:4] if conditions]
    return apply_deadline(session, key, values, fields, when, conditions, words)


def apply_deadline(
    session: Session,
    key: bytes,
    values: HashValue | None,
    fields: Sequence[bytes],
    when: int,
    conditions: Set[bytes] = frozenset(),
    words: Sequence[bytes] = (),
    *,
    tells_all: bool = False,
) -> list[Reply]:
    """Gives fields a deadline, or removes them at once; replicas are told of those that have it, or of all.

    Returns:
        What is answered of each field.
    """
    if values is None:
        return [NO_FIELD] * len(fields)
    verdicts, done = set_deadlines(session, key, values, fields, when, conditions)
    if done and is_over(session, when):
        chosen(session.engine.version, delete_fields)(session, key, values, done)
    elif done:
        told = fields if tells_all else done
        session.also_propagate(as_fields, b"HPEXPIREAT", key, [b"%d" % when, *words], told)
        session.db.signal_modified(key, "hexpire", len(done))
    return verdicts


def set_deadlines(
    session: Session,
    key: bytes,
    values: HashValue,
    fields: Sequence[bytes],
    when: int,
    conditions: Set[bytes],
) -> tuple[list[Reply], list[bytes]]:
    """Gives fields a deadline, or finds those that go at once.

    Returns:
        What is answered of each field, and those to which it applies.
    """
    deadlines = values.deadlines if isinstance(values, ExpiringHash) else {}
    goes = is_over(session, when)
    verdicts: list[Reply] = []
    done: list[bytes] = []
    gone: set[bytes] = set()
    for field in fields:
        if field not in values.fields or field in gone:
            verdicts.append(NO_FIELD)
        elif not holds(conditions, deadlines.get(field), when):
            verdicts.append(0)
        else:
            verdicts.append(DELETED if goes else 1)
            done.append(field)
            if goes:
                gone.add(field)
                continue
            values = expiring(session, key, values)
            values.set_deadline(field, when)
            deadlines = values.deadlines
    session.db.note_fields(key, values)
    return verdicts, done


def time_of_fields(show: Callable[[Session, int], int]) -> Handler:
    """A command that tells when fields expire, as a function shows it."""

    def run(session: Session, args: list[bytes]) -> Reply:
        values = session.db.lookup_read(args[1], HASH)
        return shown_times(session, values, counted_fields(args, 2), show)

    return run


def shown_times(
    session: Session, values: HashValue | None, fields: Sequence[bytes], show: Callable[[Session, int], int]
) -> list[Reply]:
    """What a function shows of the deadlines of fields."""
    if values is None:
        return [NO_FIELD] * len(fields)
    deadlines = values.deadlines if isinstance(values, ExpiringHash) else {}
    return [
        show(session, deadlines[field])
        if field in deadlines
        else NO_DEADLINE
        if field in values.fields
        else NO_FIELD
        for field in fields
    ]


def left(session: Session, when: int) -> int:
    """The milliseconds until then."""
    return max(when - session.engine.now.milliseconds, 0)


def rounded_up(milliseconds: int) -> int:
    """Whole seconds."""
    return (milliseconds + 999) // 1000


def seconds_left(session: Session, when: int) -> int:
    """The seconds until then."""
    return rounded_up(left(session, when))


for name, summary, show in (
    ("HTTL", "Returns the time to live of fields, in seconds.", seconds_left),
    ("HPTTL", "Returns the time to live of fields, in milliseconds.", left),
    ("HEXPIRETIME", "Returns when fields expire, in seconds since 1970.", lambda _, at: rounded_up(at)),
    ("HPEXPIRETIME", "Returns when fields expire, in milliseconds since 1970.", lambda _, at: at),
):  # fmt: skip
    run = without_expired(time_of_fields(show), reads=True)
    run.__doc__, run.__module__ = summary, __name__
    command(
        name, -5, "readonly fast", acl="hash", keys=READ, since="7.4.0", valkey="valkey-9.0.0",
        syntax=f"key#0 {FIELDS}",
    )(run)  # fmt: skip
variant("8.0", "httl hpttl", tips=("nondeterministic_output",))


@command(
    "HPERSIST", -5, "write fast", acl="hash", keys=UPDATED, since="7.4.0", valkey="valkey-9.0.0",
    syntax=f"key#0 {FIELDS}",
)  # fmt: skip
def hpersist(session: Session, args: list[bytes]) -> Reply:
    """Makes fields of a hash never expire."""
    values = live_fields(session.db, args[1])
    return persist(session, args[1], values, counted_fields(args, 2))


def persist(session: Session, key: bytes, values: HashValue | None, fields: Sequence[bytes]) -> Reply:
    """Makes fields permanent; tells of each whether it had a deadline."""
    verdicts = shown_times(session, values, fields, lambda *_: 1)
    if isinstance(values, ExpiringHash) and sum(map(values.persist, fields)):
        session.db.signal_modified(key, "hpersist")
    return verdicts


# Fields with their values, since 8.0


@command(
    "HGETDEL", -5, "write fast", acl="hash", keys=Keys(1, "RW access delete"), since="8.0.0",
    valkey="valkey-9.1.0", syntax=f"key#0 {FIELDS}",
)  # fmt: skip
def hgetdel(session: Session, args: list[bytes]) -> Reply:
    """Returns the values of fields of a hash, and removes them."""
    values = live_fields(session.db, args[1])
    return take_fields(session, args[1], values, counted_fields(args, 2), as_hdel)


def take_fields(
    session: Session,
    key: bytes,
    values: HashValue | None,
    fields: Sequence[bytes],
    effect: Callable[..., list[bytes]],
) -> Reply:
    """Removes fields, and returns their values."""
    found: list[Reply] = []
    for field in fields:
        found.append(None if values is None else values.fields.get(field))
        if values is not None:
            values.remove(field)
    removed = sum(value is not None for value in found)
    if values is not None and removed:
        session.also_propagate(effect, key, *fields)
        session.db.shrunk(key, values, "hdel", removed)
    return found


@command(
    "HGETEX", -5, "write fast", acl="hash", keys=UPDATED_AND_READ, since="8.0.0",
    valkey="valkey-9.0.0", syntax=f"key#0 [expiration({EXPIRATION}|PERSIST)] {FIELDS}",
)  # fmt: skip
def hgetex(session: Session, args: list[bytes]) -> Reply:
    """Returns the values of fields of a hash, and sets or removes their times to live."""
    db, key, word = session.db, args[1], args[2].upper()
    values = live_fields(db, key)
    when = read_time(session, b"hgetex", args[3], word) if word in UNITS else None
    at = 4 if when is not None else 2 + (word == b"PERSIST")
    if at + 1 >= len(args):
        raise CommandError(errors.wrong_arity(b"hgetex"))
    fields = counted_fields(args, at)
    return get_fields(session, key, values, fields, when, persists=word == b"PERSIST", tells_all=True)


def get_fields(
    session: Session,
    key: bytes,
    values: HashValue | None,
    fields: Sequence[bytes],
    when: int | None,
    *,
    persists: bool,
    tells_all: bool = False,
) -> Reply:
    """The values of fields, which get a deadline or lose theirs; replicas are told of these, or of all."""
    if values is None:
        return [None] * len(fields)
    found: list[Reply] = [values.fields.get(field) for field in fields]
    if when is not None:
        apply_deadline(session, key, values, fields, when, tells_all=tells_all)
    elif persists and isinstance(values, ExpiringHash):
        if done := [field for field in fields if field in values.deadlines]:
            session.also_propagate(as_fields, b"HPERSIST", key, [], fields if tells_all else done)
        persist(session, key, values, fields)
    return found


@command(
    "HSETEX", -6, "write denyoom fast", acl="hash", keys=UPDATED, since="8.0.0", valkey="valkey-9.0.0",
    syntax=(
        f"key#0 [condition(FNX|FXX)] [expiration({EXPIRATION}|KEEPTTL)] "
        "FIELDS fields{numfields:integer data{field value}...}"
    ),
)  # fmt: skip
def hsetex(session: Session, args: list[bytes]) -> Reply:
    """Sets fields of a hash, with a time to live."""
    options, words, at = read_hsetex(session, args)
    pairs = args[at + 2 :]
    count = parse_integer(args[at + 1])
    if count is None or not 1 <= count <= MOST_FIELDS:
        raise CommandError(errors.FIELD_COUNT_INVALID)
    if 2 * count != len(pairs):
        raise CommandError(errors.wrong_arity(b"hsetex"))
    values = live_fields(session.db, args[1])
    if not may_set(values, pairs[::2], options.keys()):
        return 0
    set_fields(session, args[1], values, pairs, options)
    when = options.get(b"PXAT")
    if when is not None and is_over(session, when):
        changed = session.db.values[args[1]]
        assert isinstance(changed, HashValue)
        delete_fields(session, args[1], changed, list(dict.fromkeys(pairs[::2])))
        return 1
    session.also_propagate(lambda: [b"HSETEX", args[1], *words, *args[at:]])
    if when is not None:
        session.db.announce(args[1], "hexpire")
    return 1


MOST_FIELDS: Final = (1 << 31) - 1

Options = dict[bytes, int]
"""By the words, in capitals, 1; by PXAT the time, in whatever unit it was given."""


def read_hsetex(session: Session, args: list[bytes]) -> tuple[Options, list[bytes], int]:
    """The options, the same with the time as PXAT, and where the word FIELDS is."""
    options: Options = {}
    words: list[bytes] = []
    at = 2
    while at < len(args):
        word = args[at].upper()
        if word == b"FIELDS":
            if at + 3 >= len(args):  # not even one field with its value
                raise CommandError(errors.wrong_arity(b"hsetex"))
            return options, words, at
        group = next((group for group in HSETEX_OPTIONS if word in group), None)
        if group is None:
            raise CommandError(errors.unknown_argument(args[at]))
        if not group.isdisjoint(options):
            raise CommandError(HSETEX_OPTIONS[group])
        words.append(args[at])
        options[word] = 1
        at += 1
        if word in UNITS:
            if at >= len(args):
                raise CommandError(errors.wrong_arity(b"hsetex"))
            del options[word]
            options[b"PXAT"] = read_time(session, b"hsetex", args[at], word)
            words[-1:] = [b"PXAT", b"%d" % options[b"PXAT"]]
            at += 1
    raise CommandError(errors.wrong_arity(b"hsetex"))


HSETEX_OPTIONS: Final = {
    frozenset((b"FNX", b"FXX")): errors.FNX_WITH_FXX,
    frozenset((*UNITS, b"KEEPTTL")): errors.TIME_WITH_KEEPTTL,
}
"""The words that exclude one another, and what is said of two of them."""


def may_set(values: HashValue | None, fields: Sequence[bytes], options: Container[bytes]) -> bool:
    """Whether the fields are all there, or none of them, as the options want."""
    known = frozenset[bytes]() if values is None else values.fields.keys()
    if b"FXX" in options:
        return known >= set(fields)
    return b"FNX" not in options or known.isdisjoint(fields)


def set_fields(
    session: Session, key: bytes, values: HashValue | None, pairs: Sequence[bytes], options: Options
) -> ExpiringHash | HashValue:
    """Sets fields of a hash with a new deadline, with the one that they have, or with none."""
    db, packing = session.db, session.engine.packing
    changed = HashValue() if values is None else values
    for at in range(0, len(pairs), 2):
        (changed.amend if b"KEEPTTL" in options else changed.put)(pairs[at], pairs[at + 1], packing)
    keep(db, key, values, changed, "hset", len(pairs) // 2)
    when = options.get(b"PXAT")
    if when is not None and not is_over(session, when):
        changed = expiring(session, key, changed)
        for field in pairs[::2]:
            changed.set_deadline(field, when)
        db.note_fields(key, changed)
    return changed
