"""How commands are propagated that are not their own effect, as redis-server 7.0.15 propagates them.

What depends on the clock names a time, what was drawn by lot names the outcome, and what waited is done at
once. To add a command: a function that tells its effects from what was asked and answered, and a row in
``PROPAGATED_AS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..declarations.registry import instead_of
from ..numbers.doubles import read_double
from ..values.expiring_hashes import EXPIRING, ValkeyHash
from ..values.stream_nodes import LAST_ID, id_text
from ..values.streams import Stream

if TYPE_CHECKING:
    from ..keyspace.changes import Change
    from ..keyspace.keyspace import Database, Keyspace
    from ..values.groups import ConsumerGroup, Delivery

__all__ = ["FORCED", "PROPAGATED_AS", "Done", "as_it_is", "as_restores"]

FORCED: Final = frozenset((b"flushall", b"flushdb"))
"""Commands that are propagated also where they changed nothing."""

UNITS: Final = frozenset((b"EX", b"PX", b"EXAT", b"PXAT"))


class Done(NamedTuple):
    """A command that changed something.

    Attributes:
        db: the database it worked on.
        args: the request.
        reply: what it answered.
    """

    db: Database
    args: list[bytes]
    reply: Any

    @property
    def key(self) -> bytes:
        """The first argument."""
        return self.args[1]

    @property
    def is_gone(self) -> bool:
        """Whether there is no such key any more."""
        return self.key not in self.db.values

    @property
    def deadline(self) -> bytes:
        """When that key expires, in milliseconds since the epoch."""
        return b"%d" % self.db.deadlines[self.key]


Propagate: TypeAlias = "Callable[[Done], Iterable[list[bytes]]]"


def as_it_is(done: Done) -> Iterable[list[bytes]]:
    """The command itself."""
    return [done.args]


def as_named(name: bytes, until: int | None = None) -> Propagate:
    """Another command with the same arguments, or the first of them."""
    return lambda done: [[name, *done.args[1:until]]]


# Strings and expiry


def propagate_set(done: Done) -> Iterable[list[bytes]]:
    options = [word.upper() for word in done.args[3:]]
    if not UNITS.isdisjoint(options):
        return [[b"SET", done.key, done.args[2], b"PXAT", done.deadline]]
    return [[*done.args[:3], *(word for word in done.args[3:] if word.upper() != b"GET")]]


def propagate_msetex(done: Done) -> Iterable[list[bytes]]:
    end = 2 + 2 * int(done.args[1])
    if UNITS.isdisjoint(word.upper() for word in done.args[end:]):
        return [done.args]
    deadline = b"%d" % done.db.deadlines[done.args[2]] if done.args[2] in done.db.deadlines else b"1"
    return [[*done.args[:end], b"PXAT", deadline]]


def propagate_setex(done: Done) -> Iterable[list[bytes]]:
    return [[b"SET", done.key, done.args[3], b"PXAT", done.deadline]]


def propagate_incrbyfloat(done: Done) -> Iterable[list[bytes]]:
    return [[b"SET", done.key, done.reply, b"KEEPTTL"]]


def propagate_hincrbyfloat(done: Done) -> Iterable[list[bytes]]:
    field, values = done.args[2], done.db.values[done.key]
    effect = [b"HSET", done.key, field, done.reply]
    if not isinstance(values, EXPIRING) or field not in values.deadlines:
        return [effect]
    deadline = b"%d" % values.deadlines[field]  # which HSET takes away, and HINCRBYFLOAT does not
    if type(values) is ValkeyHash:
        return [[b"HSETEX", done.key, b"PXAT", deadline, b"FIELDS", b"1", field, done.reply]]
    return [effect, [b"HPEXPIREAT", done.key, deadline, b"FIELDS", b"1", field]]


def propagate_expire(done: Done) -> Iterable[list[bytes]]:
    if done.is_gone:
        return [[b"DEL", done.key]]
    return [[b"PEXPIREAT", done.key, done.deadline, *done.args[3:]]]


def propagate_getex(done: Done) -> Iterable[list[bytes]]:
    if done.is_gone:
        return [[b"DEL", done.key]]
    if done.key in done.db.deadlines:
        return [[b"PEXPIREAT", done.key, done.deadline]]
    return [[b"PERSIST", done.key]]


def unlinked_if_gone(propagate: Propagate) -> Propagate:
    """The same in Valkey, where a command whose time is over unlinks the key."""
    return lambda done: [[b"UNLINK", done.key]] if done.is_gone else propagate(done)


TIMED: Final[tuple[Propagate, ...]] = (propagate_set, propagate_expire, propagate_getex)
for by_time in TIMED:
    instead_of(by_time, "valkey-8.1+")(unlinked_if_gone(by_time))


def propagate_restore(done: Done) -> Iterable[list[bytes]]:
    if done.is_gone:
        return [[b"DEL", done.key]]
    if done.key not in done.db.deadlines or b"ABSTTL" in [word.upper() for word in done.args[4:]]:
        return [done.args]
    return [[*done.args[:2], done.deadline, *done.args[3:], b"ABSTTL"]]


@instead_of(propagate_restore, "7.2+")
def propagate_restore_as_7_0(done: Done) -> Iterable[list[bytes]]:
    """The same with a payload that every version reads, as 7.0 does; a client's may be newer."""
    from ..rdb.payload import dump  # few programs restore keys

    if done.is_gone:
        return propagate_restore(done)
    payload = dump(done.db.values[done.key])
    return propagate_restore(done._replace(args=[*done.args[:3], payload, *done.args[4:]]))


def propagate_expired(change: Change) -> Iterable[list[bytes]]:
    """A key whose time has come, or fields of a hash."""
    assert change.key is not None
    if change.event == "expired":
        return [[b"DEL", change.key]]
    return [[b"HDEL", change.key, field] for field in change.elements]


@instead_of(propagate_expired, "valkey-8.1+")
def propagate_expired_of_valkey(change: Change) -> Iterable[list[bytes]]:
    """The same where keys are unlinked, and all fields go at once."""
    assert change.key is not None
    if change.event != "expired" and not change.elements:
        return ()  # a command has removed fields, and tells so
    fields = [[b"HDEL", change.key, *change.elements]] if change.elements else []
    return [*fields, [b"UNLINK", change.key]] if change.kind is None else fields


# Members drawn by lot, and what waited


def propagate_spop(done: Done) -> Iterable[list[bytes]]:
    if len(done.args) == 2:
        return [[b"SREM", done.key, done.reply]]
    if done.is_gone:
        return [[b"DEL", done.key]]
    return [[b"SREM", done.key, member] for member in done.reply]


def as_pop(name: bytes) -> Propagate:
    """The pop from the key that had something."""
    return lambda done: [[name, done.reply[0]]]


LIST_ENDS: Final = {b"LEFT": b"LPOP", b"RIGHT": b"RPOP"}
SORTED_SET_ENDS: Final = {b"MIN": b"ZPOPMIN", b"MAX": b"ZPOPMAX"}


def as_pops(names: dict[bytes, bytes], count_at: int) -> Propagate:
    """The pop of so many, from the end that stands behind the keys, whose number is at an index."""

    def propagate(done: Done) -> Iterable[list[bytes]]:
        key, popped = done.reply
        end = done.args[count_at + int(done.args[count_at]) + 1]
        return [[names[end.upper()], key, b"%d" % len(popped)]]

    return propagate


# Streams


class Trim(NamedTuple):
    """What a request says of trimming.

    Attributes:
        after: the index of what stands behind it.
        threshold_at: the index of the threshold; 0 if there is none.
        is_exact: whole nodes or not.
    """

    after: int
    threshold_at: int = 0
    is_exact: bool = True


def read_trim(args: list[bytes], at: int) -> Trim:
    """The options of XADD or XTRIM from an index on, known to be right."""
    trim = Trim(at)
    while trim.after < len(args):
        at, word = trim.after, args[trim.after].upper()
        if word in {b"MAXLEN", b"MINID"}:
            has_operator = args[at + 1] in {b"~", b"="} and len(args) > at + 2
            threshold_at = at + 1 + has_operator
            trim = Trim(threshold_at + 1, threshold_at, not has_operator or args[at + 1] == b"=")
        elif word == b"LIMIT":
            trim = trim._replace(after=at + 2)
        elif word == b"NOMKSTREAM":
            trim = trim._replace(after=at + 1)
        else:
            break
    return trim


def trimmed_exactly(args: list[bytes], trim: Trim, stream: Stream) -> list[bytes]:
    """The request with what approximate trimming came to in place of its threshold."""
    exact = list(args)
    if not trim.is_exact:
        exact[trim.threshold_at - 1] = b"="
        strategy = exact[trim.threshold_at - 2].upper()
        first = next((number for number, _ in stream.walk()), LAST_ID)
        exact[trim.threshold_at] = b"%d" % len(stream) if strategy == b"MAXLEN" else id_text(first)
    return exact


def propagate_xadd(done: Done) -> Iterable[list[bytes]]:
    trim, stream = read_trim(done.args, 2), done.db.values[done.key]
    assert isinstance(stream, Stream)
    exact = trimmed_exactly(done.args, trim, stream)
    if b"*" in exact[trim.after]:
        exact[trim.after] = done.reply
    return [exact]


def propagate_xtrim(done: Done) -> Iterable[list[bytes]]:
    stream = done.db.values[done.key]
    assert isinstance(stream, Stream)
    return [trimmed_exactly(done.args, read_trim(done.args, 2), stream)]


def claim(key: bytes, name: bytes, group: ConsumerGroup, number: int, delivery: Delivery) -> list[bytes]:
    """XCLAIM that makes an entry pending as it is now, whoever had it."""
    return [
        b"XCLAIM", key, name, delivery.consumer.name, b"0", id_text(number), b"TIME", b"%d" % delivery.time,
        b"RETRYCOUNT", b"%d" % delivery.count, b"FORCE", b"JUSTID", b"LASTID", id_text(group.last),
    ]  # fmt: skip


def create_consumer(key: bytes, name: bytes, consumer: bytes) -> list[bytes]:
    """XGROUP CREATECONSUMER, for a consumer that no entry tells of."""
    return [b"XGROUP", b"CREATECONSUMER", key, name, consumer]


def set_id(key: bytes, name: bytes, group: ConsumerGroup) -> list[bytes]:
    """XGROUP SETID to where a group stands."""
    read = -1 if group.entries_read is None else group.entries_read
    return [b"XGROUP", b"SETID", key, name, id_text(group.last), b"ENTRIESREAD", b"%d" % read]


def told_by_itself(_done: Done) -> Iterable[list[bytes]]:
    """The command has told its effects already (``Session.also_propagate``), or those that it ran have."""
    return ()


def as_restores(keyspace: Keyspace) -> Iterator[tuple[int, list[bytes]]]:
    """RESTORE of each key, with the number of its database; every version reads the payloads, as 7.0 does."""
    from ..rdb.payload import dump  # few programs replace all keys at once

    for db in keyspace.databases:
        for key, value in db.values.items():
            deadline = b"%d" % db.deadlines.get(key, 0)
            yield db.index, [b"RESTORE", key, deadline, dump(value), b"ABSTTL"]


# Places


def propagate_geoadd(done: Done) -> Iterable[list[bytes]]:
    from ..values.geohash import Point, cell_at  # with the commands for places, which are loaded on request

    at = next(at for at, word in enumerate(done.args) if at > 1 and word.upper() not in {b"NX", b"XX", b"CH"})
    scored = [*done.args[1:at]]
    for start in range(at, len(done.args), 3):
        longitude, latitude, member = done.args[start : start + 3]
        scored += [b"%d" % cell_at(Point(read_double(longitude), read_double(latitude))).bits, member]
    return [[b"ZADD", *scored]]


PROPAGATED_AS: Final[dict[bytes, Propagate]] = {
    b"set": propagate_set,
    b"setex": propagate_setex,
    b"psetex": propagate_setex,
    b"getset": as_named(b"SET"),
    b"msetex": propagate_msetex,
    b"delifeq": as_named(b"DEL", 2),
    b"getdel": as_named(b"DEL"),
    b"getex": propagate_getex,
    b"incrbyfloat": propagate_incrbyfloat,
    b"hincrbyfloat": propagate_hincrbyfloat,
    **dict.fromkeys((b"expire", b"pexpire", b"expireat", b"pexpireat"), propagate_expire),
    **dict.fromkeys((b"restore", b"restore-asking"), propagate_restore),
    b"spop": propagate_spop,
    b"blpop": as_pop(b"LPOP"),
    b"brpop": as_pop(b"RPOP"),
    b"bzpopmin": as_pop(b"ZPOPMIN"),
    b"bzpopmax": as_pop(b"ZPOPMAX"),
    b"lmpop": as_pops(LIST_ENDS, 1),
    b"blmpop": as_pops(LIST_ENDS, 2),
    b"zmpop": as_pops(SORTED_SET_ENDS, 1),
    b"bzmpop": as_pops(SORTED_SET_ENDS, 2),
    b"blmove": as_named(b"LMOVE", 5),
    b"brpoplpush": as_named(b"RPOPLPUSH", 3),
    b"xadd": propagate_xadd,
    b"xtrim": propagate_xtrim,
    **dict.fromkeys((b"xreadgroup", b"xclaim", b"xautoclaim"), told_by_itself),
    **dict.fromkeys(b"migrate exec eval eval_ro evalsha evalsha_ro fcall fcall_ro".split(), told_by_itself),
    b"geoadd": propagate_geoadd,
    **dict.fromkeys(b"hexpire hpexpire hexpireat hpexpireat hgetex hsetex hgetdel".split(), told_by_itself),
}
"""By the name of a command, what tells its effects; all others are their own."""
