"""Streams: adding entries, reading ranges, deleting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from ...clients.session import Session
from ...declarations.registry import Keys, command
from ...keyspace.keyspace import STREAM, Database
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NULL_ARRAY, OK, Entries, Reply
from ...values.stream_ids import read_bound, read_id_to_complete, read_strict_id
from ...values.stream_nodes import LARGEST_NODE, LAST_ID, SEQUENCE, Entry, id_text
from ...values.streams import Stream
from .trimming import TRIM, Trimming, read_trimming

# Adding


@dataclass(slots=True)
class Addition:
    """The arguments of XADD.

    Attributes:
        id: None to generate it from the time.
        has_sequence: whether the id has a sequence number; otherwise the stream generates it.
        creates: whether to create the stream if it does not exist.
        content: fields and values alternating.
    """

    trimming: Trimming
    id: int | None = None
    has_sequence: bool = True
    creates: bool = True
    content: list[bytes] | None = None

    def next_id(self, stream: Stream, milliseconds: int) -> int:
        """The id of the new entry; raises ``CommandError`` if it is not higher than all others."""
        if stream.last == LAST_ID:
            raise CommandError(errors.STREAM_EXHAUSTED)
        number = milliseconds << 64 if self.id is None else self.id
        if self.id is None and number <= stream.last:
            number = stream.last + 1
        elif not self.has_sequence and number >> 64 == stream.last >> 64:
            if stream.last & SEQUENCE == SEQUENCE:
                raise CommandError(errors.STREAM_TOO_LARGE)  # the error that Redis 7.0 gives here
            number = stream.last + 1
        if number <= stream.last:
            raise CommandError(errors.STREAM_ID_SMALL)
        return number


@command(
    "XADD",
    -5,
    "write denyoom fast",
    acl="stream",
    keys=Keys(1, "RW update", notes="UPDATE instead of INSERT because of the optional trimming feature"),
    tips="nondeterministic_output",
    since="5.0.0",
    syntax=f"key#0 [NOMKSTREAM@6.2.0] [{TRIM}] id_or_auto(*~auto_id|id) field_value{{field value}}...",
)
def xadd(session: Session, args: list[bytes]) -> Reply:
    """Adds an entry to the end of a stream and returns its id; can trim the stream, too."""
    db, key = session.db, args[1]
    addition = read_addition(session, args)
    stream = db.lookup_write(key, STREAM)
    if stream is None and not addition.creates:
        return None
    return add(session, key, stream, addition)


def add(session: Session, key: bytes, stream: Stream | None, addition: Addition) -> bytes:
    db, limits = session.db, session.engine.packing.stream_node
    target = Stream() if stream is None else stream
    number = addition.next_id(target, session.engine.now.milliseconds)
    content = addition.content
    assert content is not None
    if sum(map(len, content)) > LARGEST_NODE:
        raise CommandError(errors.STREAM_TOO_LARGE)
    target.append(number, content, limits)
    if stream is None:
        db.create(key, target, "xadd")
    else:
        db.signal_ready(key, "xadd")
    if addition.trimming.strategy and addition.trimming.apply(target, limits):
        db.signal_modified(key, "xtrim", 0)
    return id_text(number)


def read_addition(session: Session, args: list[bytes]) -> Addition:
    addition = Addition(Trimming())
    at = 2
    while at < len(args) and args[at] != b"*":
        after = read_trimming(args, at, addition.trimming)
        if after == at and args[at].upper() != b"NOMKSTREAM":
            addition.id, addition.has_sequence = read_id_to_complete(args[at])
            break
        addition.creates &= after != at
        at = max(after, at + 1)
    addition.trimming.check(session, needed=False)
    addition.content = args[at + 1 :]
    if not addition.content or len(addition.content) % 2:
        raise CommandError(errors.wrong_arity(b"xadd"))
    if addition.id == 0 and addition.has_sequence:
        raise CommandError(errors.STREAM_ID_ZERO)
    return addition


# Reading


@command("XLEN", 2, "readonly fast", acl="stream", keys=Keys(1, "RO"), since="5.0.0", syntax="key#0")
def xlen(session: Session, args: list[bytes]) -> Reply:
    """Counts the entries of a stream."""
    stream = session.db.lookup_read(args[1], STREAM)
    return 0 if stream is None else len(stream)


@command(
    "XRANGE",
    -4,
    "readonly",
    acl="stream",
    keys=Keys(1, "RO access"),
    since="5.0.0",
    syntax="key#0 start end [COUNT count:integer]",
)
def xrange_(session: Session, args: list[bytes]) -> Reply:
    """Returns the entries of a stream between two ids."""
    return entries_between(session.db, args, args[2], args[3])


@command(
    "XREVRANGE",
    -4,
    "readonly",
    acl="stream",
    keys=Keys(1, "RO access"),
    since="5.0.0",
    syntax="key#0 end start [COUNT count:integer]",
)
def xrevrange(session: Session, args: list[bytes]) -> Reply:
    """Returns the entries of a stream between two ids, the last first."""
    return entries_between(session.db, args, args[3], args[2], backwards=True)


def entries_between(
    db: Database, args: list[bytes], start: bytes, end: bytes, *, backwards: bool = False
) -> Reply:
    low, high = read_interval(start, end)
    count = read_count(args[4:])
    stream = db.lookup_read(args[1], STREAM)
    if stream is None:
        return []
    if count == 0:
        return NULL_ARRAY
    walk = stream.walk_back if backwards else stream.walk
    return shown(islice(walk(low, high), count))


def read_interval(start: bytes, end: bytes) -> tuple[int, int]:
    """The first and last id of a range; raises ``CommandError`` if excluded bounds leave none."""
    low = read_start(start)
    high, ends_open = read_bound(end, SEQUENCE)
    if ends_open and high == 0:
        raise CommandError(errors.RANGE_END)
    return low, high - ends_open


def read_start(text: bytes) -> int:
    """The first id of a range; raises ``CommandError`` if no id is higher than an excluded bound."""
    low, is_open = read_bound(text, 0)
    if is_open and low == LAST_ID:
        raise CommandError(errors.RANGE_START)
    return low + is_open


def read_count(options: list[bytes]) -> int | None:
    """``COUNT count``, the last one if repeated; None for all."""
    count = None
    rest = iter(options)
    for word in rest:
        number = next(rest, None)
        if word.upper() != b"COUNT" or number is None:
            raise CommandError(errors.SYNTAX)
        count = max(read_integer(number), 0)
    return count


def shown(entries: Iterable[Entry]) -> Entries:
    """Entries as clients see them."""
    return Entries([[id_text(number), content] for number, content in entries])


# Deleting


@command(
    "XDEL", -3, "write fast", acl="stream", keys=Keys(1, "RW delete"), since="5.0.0", syntax="key#0 id..."
)
def xdel(session: Session, args: list[bytes]) -> Reply:
    """Deletes entries of a stream by id; returns how many existed."""
    stream = session.db.lookup_write(args[1], STREAM)
    if stream is None:
        return 0
    numbers = [read_strict_id(text) for text in args[2:]]
    deleted = sum([stream.remove(number) for number in numbers])
    if deleted:
        session.db.signal_modified(args[1], "xdel", deleted)
    return deleted


# Setting


@command(
    "XSETID",
    -3,
    "write denyoom fast",
    acl="stream",
    keys=Keys(1, "RW update"),
    since="5.0.0",
    syntax=(
        "key#0 last-id [ENTRIESADDED entries_added:integer@7.0.0] [MAXDELETEDID max_deleted_entry_id@7.0.0]"
    ),
)
def xsetid(session: Session, args: list[bytes]) -> Reply:
    """Sets the last id of a stream, how many entries were added, and the largest deleted id."""
    last = read_strict_id(args[2])
    added, max_deleted = read_knowledge(args[3:], last)
    stream = session.db.lookup_write(args[1], STREAM)
    if stream is None:
        raise CommandError(errors.NO_SUCH_KEY)
    if len(stream) and last < stream.top:
        raise CommandError(errors.XSETID_BELOW_TOP)
    if added is not None and added < len(stream):
        raise CommandError(errors.XSETID_ADDED_SMALL)
    stream.last = last
    stream.added = stream.added if added is None else added
    stream.max_deleted = max_deleted or stream.max_deleted
    session.db.changed_beside(args[1], "xsetid")
    return OK


def read_knowledge(options: list[bytes], last: int) -> tuple[int | None, int]:
    added, max_deleted = None, 0
    rest = iter(options)
    for word in rest:
        value = next(rest, None)
        if value is None or word.upper() not in {b"ENTRIESADDED", b"MAXDELETEDID"}:
            raise CommandError(errors.SYNTAX)
        if word.upper() == b"ENTRIESADDED":
            added = read_integer(value)
            if added < 0:
                raise CommandError(errors.XSETID_ADDED_NEGATIVE)
        else:
            max_deleted = read_strict_id(value)
            if last < max_deleted:
                raise CommandError(errors.XSETID_BELOW_GIVEN)
    return added, max_deleted
