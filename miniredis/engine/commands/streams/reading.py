"""XREAD and XREADGROUP: reads new entries of several streams, blocking or not.

XREAD removes nothing: each blocked reader of a stream gets all entries that are new to it. The readers of
a consumer group share one position, so each gets what earlier readers have left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, NoReturn

from ...clients.session import Session
from ...declarations.registry import (
    Handler,
    KeywordKeys,
    by_version,
    chosen,
    command,
    completed_in,
    prepared_in,
    wrap_in_versions,
)
from ...effects.propagation import claim, create_consumer, set_id
from ...keyspace.keyspace import STREAM, Database
from ...numbers.numbers import MAX, read_integer, read_milliseconds
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NO_REPLY, NULL_ARRAY, Entries, NestedMap, Reply
from ...scripts import script_errors
from ...values.groups import Consumer, ConsumerGroup
from ...values.stream_ids import read_strict_id
from ...values.stream_nodes import LAST_ID, id_text, wrapped
from ...values.stream_progress import advance
from ...values.streams import Stream
from .streams import shown

NEW: Final = LAST_ID
"""The id for ``>``: no entry comes after it."""

MOST_WOKEN_WITH: Final = 1000
"""How many entries a blocked reader gets by default."""

STREAMS_WORD: Final = b"STREAMS"


@dataclass(slots=True)
class Reading:
    """The arguments of XREAD and XREADGROUP.

    Attributes:
        count: the most entries of each stream; None for all.
        waits: whether to block if there are no entries.
        timeout: in milliseconds; None for ever.
        group: the name of the consumer group; None for XREAD.
        consumer: the name of the consumer.
        keeps: whether delivered entries become pending.
        keys: the keys of the streams.
        after: the ids after which to read, as they were sent.
    """

    count: int | None = None
    waits: bool = False
    timeout: int | None = None
    group: bytes | None = None
    consumer: bytes = b""
    keeps: bool = True
    keys: list[bytes] = field(default_factory=list)
    after: list[bytes] = field(default_factory=list)


@command(
    "XREAD",
    -4,
    "readonly blocking movablekeys",
    acl="stream",
    keys=KeywordKeys("STREAMS", 1, "RO access", last=-1, limit=2),
    since="5.0.0",
    syntax="[COUNT count:integer] [BLOCK milliseconds:integer] STREAMS streams{key#0... id...}",
)
def xread(session: Session, args: list[bytes]) -> Reply:
    """Returns the entries of streams after given ids; can wait for an entry."""
    reading = read_options(session, args, OPTIONS_OF_XREAD)
    after: dict[bytes, int] = {}
    places = []
    for key, text in zip(reading.keys, reading.after, strict=True):
        stream = session.db.lookup_read(key, STREAM)
        number = read_place(text, stream)
        after.setdefault(key, number)
        places.append((key, number))
    found = NestedMap()
    for key, number in places:
        stream = session.db.lookup_read(key, STREAM)
        if stream is not None and stream.top > number:
            found.append((key, shown(islice(stream.walk(number + 1), reading.count))))

    def serve(_db: Database, key: bytes, stream: Stream) -> Reply:
        if stream.last <= after[key]:
            return NO_REPLY
        return NestedMap([(key, shown(islice(stream.walk(after[key] + 1), most_woken_with(reading))))])

    return found or wait(session, reading, serve)


def reads_again(handler: Handler) -> Handler:
    """XREAD or XREADGROUP, which since 7.2 runs once more for all its streams when one is ready or gone."""

    def run(session: Session, args: list[bytes]) -> Reply:
        before = session.waiter
        reply = handler(session, args)
        waiter = session.waiter
        if waiter is not None and waiter is not before:
            again = partial(handler, session, without_waiting(session, args))
            waiter.serve = lambda *_: NO_REPLY if (found := again()) is NULL_ARRAY else found
            # A group is read only where all its streams are there: without one, ``again`` is sure to raise.
            waiter.when_gone = waiter.when_gone and again
        return reply

    return run


OPERANDS: Final = {b"GROUP": 2, b"COUNT": 1, b"BLOCK": 1, b"NOACK": 0}


def without_waiting(session: Session, args: list[bytes]) -> list[bytes]:
    """The request without BLOCK, and with the last id of its stream for each ``$``."""
    words, at = args[:1], 1
    while (option := args[at].upper()) != b"STREAMS":
        end = at + 1 + OPERANDS[option]
        words += args[at:end] if option != b"BLOCK" else ()
        at = end
    places = args[at + 1 :]
    keys, ids = places[: len(places) // 2], places[len(places) // 2 :]
    for place, key in enumerate(keys):
        if ids[place] == b"$":
            stream = seen_stream(session.db, key)
            ids[place] = id_text(0 if stream is None else stream.last)
    return [*words, b"STREAMS", *keys, *ids]


def seen_stream(db: Database, key: bytes) -> Stream | None:
    """The stream at a key, if there is one: this counts as no use of the key, nor as a miss."""
    value = None if db.has_expired(key) else db.values.get(key)
    return value if isinstance(value, Stream) else None


def from_the_last(session: Session, args: list[bytes], place: Callable[[Stream], int]) -> list[bytes]:
    """XREAD takes ``+`` for the place before the last entry."""
    if b"+" not in args:
        return args
    keys = read_options(session, args, OPTIONS_OF_XREAD).keys
    ids = args[-len(keys) :]
    for at, key in enumerate(keys):
        if ids[at] == b"+":
            stream = seen_stream(session.db, key)
            ids[at] = id_text(place(stream)) if stream is not None else b"0"
    return [*args[: -len(keys)], *ids]


def before_last_of_any(stream: Stream) -> int:
    """The place before the last entry in 7.4 and Valkey 8.1, where one must have been there."""
    if not stream.last:
        raise CommandError(errors.NO_LAST_ENTRY)
    return stream.last - 1


wrap_in_versions("7.2+", "xread", reads_again)
for versions, place in (
    ("7.4 valkey-8.1", before_last_of_any),
    ("8.0", lambda stream: stream.top - 1 if stream.top else stream.last),
    ("valkey-9.1+", lambda stream: max(stream.last - 1, 0)),  # the last entry may be gone
):
    prepared_in(versions, "xread")(partial(from_the_last, place=place))


def read_place(text: bytes, stream: Stream | None) -> int:
    """The id after which XREAD reads; ``$`` is the last id of the stream."""
    if text == b"$":
        return 0 if stream is None else stream.last
    if text == b">":
        raise CommandError(errors.NEW_IN_XREAD)
    return read_strict_id(text)


def wait(
    session: Session,
    reading: Reading,
    serve: Callable[[Database, bytes, Stream], Reply],
    when_gone: Callable[[], object] | None = None,
) -> Reply:
    """Blocks if the request asks for it and may block; otherwise replies null."""
    if not reading.waits or not session.may_block:
        return NULL_ARRAY
    return session.block(reading.keys, Stream, serve, reading.timeout, when_gone=when_gone)


def most_woken_with(reading: Reading) -> int:
    return MOST_WOKEN_WITH if reading.count is None else reading.count


# Consumer groups


@command(
    "XREADGROUP",
    -7,
    "write blocking movablekeys",
    acl="stream",
    keys=KeywordKeys("STREAMS", 4, "RO access", last=-1, limit=2),
    since="5.0.0",
    syntax=(
        "GROUP group_consumer{group consumer} [COUNT count:integer] [BLOCK milliseconds:integer] [NOACK] "
        "STREAMS streams{key#0... id...}"
    ),
)
def xreadgroup(session: Session, args: list[bytes]) -> Reply:
    """Delivers new entries of streams to a consumer of a group, or returns its pending entries."""
    reading = read_options(session, args, OPTIONS_OF_XREADGROUP)
    if reading.group is None:
        raise CommandError(errors.MISSING_GROUP)
    places = [
        (key, read_group_place(session.db, key, text, reading.group))
        for key, text in zip(reading.keys, reading.after, strict=True)
    ]
    found = NestedMap()
    for key, (group, number) in places:
        stream = session.db.lookup_read(key, STREAM)
        assert stream is not None
        if number == NEW and stream.top <= group.last:
            continue
        consumer = attending(session, key, group, reading.consumer, None if reading.keeps else reading.group)
        if number == NEW:
            found.append((key, give_out(session, key, stream, consumer, reading, reading.count)))
        else:
            found.append((key, history(session, stream, consumer, number + 1, reading.count)))
        session.db.changed_beside(key)

    def serve(_db: Database, key: bytes, stream: Stream) -> Reply:
        return serve_group(session, key, stream, reading)

    return found or wait(session, reading, serve, when_gone(session.engine.version))


def raise_stream_gone() -> NoReturn:
    raise CommandError(errors.STREAM_GONE)


when_gone: Final = by_version(raise_stream_gone, {"6.0-6.2": None})
"""What happens to a blocked reader of a group when its stream is deleted; in 6.x it waits on."""


@completed_in("7.2+", "xreadgroup")
def sees_consumer(session: Session, args: list[bytes], reply: Reply) -> Reply:
    """XREADGROUP creates the consumer also where there is nothing for it."""
    reading = read_options(session, args, OPTIONS_OF_XREADGROUP)
    for key in reading.keys:
        see(session, key, reading.group or b"", reading.consumer)
    return reply


wrap_in_versions("7.2+", "xreadgroup", reads_again)


def see(session: Session, key: bytes, named: bytes, name: bytes) -> None:
    """Creates a consumer of a group, or notes that it was seen just now."""
    stream = session.db.lookup_read(key, STREAM)
    if stream is not None and named in stream.groups:
        attending(session, key, stream.groups[named], name, named)


def read_group_place(db: Database, key: bytes, text: bytes, name: bytes) -> tuple[ConsumerGroup, int]:
    """The group, and the id after which to read; ``NEW`` for entries not delivered yet."""
    stream = db.lookup_read(key, STREAM)
    group = None if stream is None else stream.groups.get(name)
    if group is None:
        raise CommandError(errors.no_group_to_read(key, name))
    if text == b"$":
        raise CommandError(errors.LAST_IN_XREADGROUP)
    return group, NEW if text == b">" else read_strict_id(text)


def serve_group(session: Session, key: bytes, stream: Stream, reading: Reading) -> Reply:
    """The reply of a blocked consumer whose stream is ready."""
    assert reading.group is not None
    group = stream.groups.get(reading.group)
    if group is None:
        raise CommandError(errors.GROUP_GONE)
    if stream.last <= group.last:
        return NO_REPLY
    consumer = attending(session, key, group, reading.consumer, None if reading.keeps else reading.group)
    entries = give_out(session, key, stream, consumer, reading, most_woken_with(reading))
    session.db.changed_beside(key, count=0)  # redis-server counts none for who had to wait
    return NestedMap([(key, entries)])


def attending(
    session: Session, key: bytes, group: ConsumerGroup, name: bytes, named: bytes | None = None
) -> Consumer:
    """The consumer with that name, created if necessary; updates when it was last seen.

    Pass the group's name as ``named`` if the consumer gets no pending entry. Its creation is then recorded as
    an effect of its own; otherwise the effect of the delivery implies it.
    """
    now = session.engine.now.milliseconds
    consumer = group.consumers.get(name)
    if consumer is None:
        if named is not None:
            session.also_propagate(create_consumer, key, named, name)
        session.db.changed_beside(key, "xgroup-createconsumer")
        return group.create_consumer(name, now)
    consumer.seen = now
    return consumer


def give_out(
    session: Session, key: bytes, stream: Stream, consumer: Consumer, reading: Reading, count: int | None
) -> Entries:
    """Delivers entries that the group has not delivered yet to a consumer."""
    assert reading.group is not None
    group, now = stream.groups[reading.group], session.engine.now.milliseconds
    entries = list(islice(stream.walk(group.last + 1), count))
    move = chosen(session.engine.version, advance)
    for number, _ in entries:
        move(stream, group, number)
        if reading.keeps:
            delivery = group.assign(number, consumer, now, 1)
            session.also_propagate(claim, key, reading.group, group, number, delivery)
    if entries and reading.keeps:
        consumer.active = now
    elif entries:
        session.also_propagate(set_id, key, reading.group, group)
    return shown(entries)


def history(
    session: Session, stream: Stream, consumer: Consumer, start: int, count: int | None
) -> list[Reply]:
    """Delivers a consumer's pending entries again; null in place of deleted ones."""
    told: list[Reply] = []
    for number, delivery in islice(consumer.pending.walk(start), count):
        content = stream.find(number)
        if content is None:
            told.append([id_text(number), NULL_ARRAY])
            continue
        delivery.time = session.engine.now.milliseconds
        delivery.count = wrapped(delivery.count + 1)
        told.append([id_text(number), content])
    return told


# Options


def read_options(session: Session, args: list[bytes], options: dict[bytes, tuple[int, Option]]) -> Reading:
    """Parses the options, then the streams; raises ``CommandError``."""
    reading = Reading()
    at = 1
    while at < len(args):
        word = args[at].upper()
        if word == STREAMS_WORD and at + 1 < len(args):
            read_streams(args[at + 1 :], reading)
            return reading
        operands, read = options.get(word, (0, refuse))
        if at + operands >= len(args):
            break
        if session.is_script and word == b"BLOCK":
            raise CommandError(script_errors.no_block_in_script(args[0]))
        read(reading, args[at + 1 : at + 1 + operands])
        if word == b"BLOCK" and checks_at_once(session.engine.version):
            check_timeout(session, reading)
        at += 1 + operands
    raise CommandError(errors.SYNTAX)


checks_at_once: Final = by_version(False, {"7.2+": True})
"""Whether a timeout that ends too late is refused at once; 7.0 looks at it when a client is about to wait."""


def check_timeout(session: Session, reading: Reading) -> None:
    if (reading.timeout or 0) > MAX - session.engine.now.milliseconds:
        raise CommandError(errors.TIMEOUT_OUT_OF_RANGE)


def read_streams(words: list[bytes], reading: Reading) -> None:
    half, odd = divmod(len(words), 2)
    if odd:
        raise CommandError(errors.UNBALANCED_STREAMS)
    reading.keys, reading.after = words[:half], words[half:]


def read_block(reading: Reading, operands: list[bytes]) -> None:
    reading.timeout = read_milliseconds(operands[0])
    reading.waits = True


def read_count(reading: Reading, operands: list[bytes]) -> None:
    count = read_integer(operands[0])
    reading.count = count if count > 0 else None


def read_group(reading: Reading, operands: list[bytes]) -> None:
    reading.group, reading.consumer = operands


def read_noack(reading: Reading, _: list[bytes]) -> None:
    reading.keeps = False


def refuse(_: Reading, __: list[bytes]) -> None:
    raise CommandError(errors.SYNTAX)


def refuse_group(_: Reading, __: list[bytes]) -> None:
    raise CommandError(errors.GROUP_IN_XREAD)


def refuse_noack(_: Reading, __: list[bytes]) -> None:
    raise CommandError(errors.NOACK_IN_XREAD)


Option = Callable[[Reading, list[bytes]], None]

OPTIONS_OF_XREAD: Final[dict[bytes, tuple[int, Option]]] = {
    b"BLOCK": (1, read_block),
    b"COUNT": (1, read_count),
    b"GROUP": (2, refuse_group),
    b"NOACK": (0, refuse_noack),
}
"""Each option: its number of operands, and how to apply it."""

OPTIONS_OF_XREADGROUP: Final = OPTIONS_OF_XREAD | {b"GROUP": (2, read_group), b"NOACK": (0, read_noack)}
