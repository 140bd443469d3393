"""XPENDING, XCLAIM and XAUTOCLAIM: pending entries, and claiming them for another consumer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from ...clients.session import Session
from ...declarations.registry import Keys, command, completed_in
from ...effects.propagation import claim as as_claim
from ...effects.propagation import set_id
from ...keyspace.keyspace import Database, Value
from ...numbers.numbers import MAX, read_integer, read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NULL_ARRAY, Reply
from ...values.groups import Consumer, ConsumerGroup
from ...values.stream_ids import read_strict_id
from ...values.stream_nodes import id_text, wrapped
from ...values.streams import Stream
from .reading import attending, see
from .streams import read_interval, read_start

# XPENDING


@dataclass(frozen=True, slots=True)
class Window:
    """The arguments of XPENDING.

    Attributes:
        idle: the least milliseconds since the last delivery.
        low: the first id.
        high: the last id.
        count: the most entries.
        consumer: the consumer whose entries to show; None for all.
    """

    idle: int
    low: int
    high: int
    count: int
    consumer: bytes | None


@command(
    "XPENDING",
    -3,
    "readonly",
    acl="stream",
    keys=Keys(1, "RO access"),
    tips="nondeterministic_output",
    since="5.0.0",
    syntax=("key#0 group [filters{[IDLE min-idle-time:integer@6.2.0] start end count:integer [consumer]}]"),
)
def xpending(session: Session, args: list[bytes]) -> Reply:
    """Counts the pending entries of a group by consumer, or lists them."""
    window = read_window(args) if len(args) > 3 else None
    _, group = find_group(session.db, args[1], args[2])
    if window is None:
        return summary(group)
    source: ConsumerGroup | Consumer | None = group
    if window.consumer is not None:
        source = group.consumers.get(window.consumer)
    return [] if source is None else listed(source, window, session.engine.now.milliseconds)


def read_window(args: list[bytes]) -> Window:
    if not 6 <= len(args) <= 9:
        raise CommandError(errors.SYNTAX)
    at, idle = 3, 0
    if args[3].upper() == b"IDLE":
        at, idle = 5, read_integer(args[4])
        if len(args) < 8:
            raise CommandError(errors.SYNTAX)
    count = max(read_integer(args[at + 2]), 0)
    low, high = read_interval(args[at], args[at + 1])
    return Window(idle, low, high, count, args[at + 3] if len(args) > at + 3 else None)


def summary(group: ConsumerGroup) -> list[Reply]:
    if not len(group.pending):
        return [0, None, None, NULL_ARRAY]
    low, high = group.pending.edges()
    holders = [
        [name, b"%d" % len(consumer.pending)]
        for name, consumer in sorted(group.consumers.items())
        if len(consumer.pending)
    ]
    return [len(group.pending), id_text(low), id_text(high), holders]


def listed(source: ConsumerGroup | Consumer, window: Window, now: int) -> list[Reply]:
    told: list[Reply] = []
    for number, delivery in source.pending.walk(window.low):
        if number > window.high or len(told) == window.count:
            break
        idle = now - delivery.time
        if not window.idle or idle >= window.idle:
            told.append([id_text(number), delivery.consumer.name, max(idle, 0), delivery.count])
    return told


def find_group(db: Database, key: bytes, name: bytes) -> tuple[Stream, ConsumerGroup]:
    """The stream and the group at a key; raises NOGROUP if either is missing."""
    return group_in(db.lookup_read(key), key, name)


def group_in(value: Value | None, key: bytes, name: bytes) -> tuple[Stream, ConsumerGroup]:
    """The same, for the value found at the key."""
    if not isinstance(value, Stream | None):
        raise CommandError(errors.WRONG_TYPE)
    group = None if value is None else value.groups.get(name)
    if value is None or group is None:
        raise CommandError(errors.no_group(key, name))
    return value, group


# Claiming


@dataclass(slots=True)
class Claim:
    """The options of XCLAIM.

    Attributes:
        time: the delivery time to set, in milliseconds of wall time.
        retries: the delivery count to set; None for one more than before.
        force: whether to claim entries that are not pending, too.
        just_ids: whether to return only ids, without counting a delivery.
        last: raises the group's last delivered id to at least this one.
    """

    now: int
    time: int = field(init=False)
    retries: int | None = None
    force: bool = False
    just_ids: bool = False
    last: int = 0

    def __post_init__(self) -> None:
        self.time = self.now

    def set_time(self, time: int) -> None:
        """Sets the delivery time; a time in the future or before the epoch becomes now."""
        self.time = time if 0 <= time <= self.now else self.now

    def count(self, before: int) -> int:
        """The new delivery count of an entry."""
        if self.retries is not None:
            return self.retries
        return before if self.just_ids else wrapped(before + 1)


@command(
    "XCLAIM",
    -6,
    "write fast",
    acl="stream",
    keys=Keys(1, "RW update"),
    tips="nondeterministic_output",
    since="5.0.0",
    syntax=(
        "key#0 group consumer min-idle-time id... [IDLE ms:integer] "
        "[TIME unix-time-milliseconds:unix-time] [RETRYCOUNT count:integer] [FORCE] [JUSTID] [LASTID id]"
    ),
)
def xclaim(session: Session, args: list[bytes]) -> Reply:
    """Assigns pending entries to a consumer, if they have been idle for long enough."""
    key = args[1]
    stream, group = find_group(session.db, key, args[2])
    idle = read_integer(args[4], errors.invalid_in_claim(b"min-idle-time", b"XCLAIM"))
    numbers, options = read_ids(args[5:])
    claim = read_claim(options, session.engine.now.milliseconds)
    is_raised = claim.last > group.last
    group.last = max(group.last, claim.last)
    told, dropped = [], 0
    for number in numbers:
        content = stream.find(number)
        if content is None:
            dropped += drop(session, args, group, number)
        elif take(session, args, group, number, claim, idle):
            told.append(claimed(number, content, just_id=claim.just_ids))
    is_raised_alone = is_raised and not told
    if is_raised_alone:
        session.also_propagate(set_id, key, args[2], group)
    changes = len(told) + dropped + is_raised_alone
    if changes:
        session.db.changed_beside(key, count=changes)
    return told


def read_ids(words: list[bytes]) -> tuple[list[int], list[bytes]]:
    """The ids at the beginning, and the options after them: the first word that is not an id starts these."""
    numbers: list[int] = []
    for word in words:
        try:
            numbers.append(read_strict_id(word))
        except CommandError:
            break
    return numbers, words[len(numbers) :]


def take(
    session: Session, args: list[bytes], group: ConsumerGroup, number: int, claim: Claim, idle: int
) -> bool:
    """Claims an entry if it may be claimed, creating the consumer if necessary; returns whether it did."""
    delivery = group.pending.get(number)
    is_young = delivery is not None and idle > 0 and claim.now - delivery.time < idle
    if is_young or (delivery is None and not claim.force):
        return False
    count = claim.count(delivery.count if delivery else 1)
    consumer = attending(session, args[1], group, args[3])
    delivery = group.assign(number, consumer, claim.time, count)
    consumer.active = claim.now
    session.also_propagate(as_claim, args[1], args[2], group, number, delivery)
    return True


def drop(session: Session, args: list[bytes], group: ConsumerGroup, number: int) -> bool:
    """Releases a pending entry that was deleted from the stream; returns whether it was pending."""
    delivery = group.pending.get(number)
    if delivery is None:
        return False
    session.also_propagate(as_claim, args[1], args[2], group, number, delivery)
    group.release(number)
    return True


def claimed(number: int, content: list[bytes], *, just_id: bool) -> Reply:
    return id_text(number) if just_id else [id_text(number), content]


def read_claim(words: list[bytes], now: int) -> Claim:
    claim = Claim(now)
    rest = iter(words)
    for word in rest:
        option = word.upper()
        if option == b"FORCE":
            claim.force = True
        elif option == b"JUSTID":
            claim.just_ids = True
        elif option in OPERANDS and (operand := next(rest, None)) is not None:
            OPERANDS[option](claim, operand)
        else:
            raise CommandError(errors.claim_option(word))
    return claim


def read_idle(claim: Claim, text: bytes) -> None:
    claim.set_time(claim.now - read_integer(text, errors.invalid_in_claim(b"IDLE option", b"XCLAIM")))


def read_time(claim: Claim, text: bytes) -> None:
    claim.set_time(read_integer(text, errors.invalid_in_claim(b"TIME option", b"XCLAIM")))


def read_retries(claim: Claim, text: bytes) -> None:
    retries = read_integer(text, errors.invalid_in_claim(b"RETRYCOUNT option", b"XCLAIM"))
    claim.retries = retries if retries >= 0 else None


def read_last(claim: Claim, text: bytes) -> None:
    claim.last = read_strict_id(text)


OPERANDS: Final[dict[bytes, Callable[[Claim, bytes], None]]] = {
    b"IDLE": read_idle,
    b"TIME": read_time,
    b"RETRYCOUNT": read_retries,
    b"LASTID": read_last,
}
"""Parses the operand of each option."""


# XAUTOCLAIM

TRIED_FOR_EACH: Final = 10
"""How many pending entries XAUTOCLAIM examines for each one it may claim."""

MOST_CLAIMED: Final = MAX // 16
MOST_ALLOCATED: Final = 1 << 43
"""Redis cannot allocate more ids than this: it allocates ``COUNT`` ids in advance."""

CLAIMED_AT_ONCE: Final = 100


@command(
    "XAUTOCLAIM",
    -6,
    "write fast",
    acl="stream",
    keys=Keys(1, "RW delete"),
    tips="nondeterministic_output",
    since="6.2.0",
    syntax="key#0 group consumer min-idle-time start [COUNT count:integer] [JUSTID]",
)
def xautoclaim(session: Session, args: list[bytes]) -> Reply:
    """Assigns entries that were idle for long enough to a consumer, and returns the next start id."""
    key, now = args[1], session.engine.now.milliseconds
    value = session.db.lookup_read(key)
    idle = read_integer(args[4], errors.invalid_in_claim(b"min-idle-time", b"XAUTOCLAIM"))
    start = read_start(args[5])
    count, claim = read_autoclaim(args[6:], now)
    stream, group = group_in(value, key, args[2])
    if count > MOST_ALLOCATED:
        raise CommandError(errors.AUTOCLAIM_MEMORY)
    told: list[Reply] = []
    deleted: list[Reply] = []
    pending = group.pending.walk(start)
    for number, _ in islice(pending, count * TRIED_FOR_EACH):
        content = stream.find(number)
        if content is None:
            drop(session, args, group, number)
            deleted.append(id_text(number))
        elif take(session, args, group, number, claim, idle):
            told.append(claimed(number, content, just_id=claim.just_ids))
        if len(told) + len(deleted) == count:
            break
    if told or deleted:
        session.db.changed_beside(key, count=len(told) + len(deleted))
    following = next(pending, None)
    return [id_text(following[0] if following else 0), told, deleted]


@completed_in("6.2", "xautoclaim")
def without_deleted(_: Session, __: list[bytes], reply: Any) -> Reply:
    """XAUTOCLAIM of 6.2 does not tell of deleted entries."""
    told: Reply = reply[:2]
    return told


@completed_in("7.2+", "xclaim xautoclaim")
def sees_claimant(session: Session, args: list[bytes], reply: Reply) -> Reply:
    """XCLAIM and XAUTOCLAIM create the consumer also where there is nothing for it."""
    see(session, *args[1:4])
    return reply


def read_autoclaim(words: list[bytes], now: int) -> tuple[int, Claim]:
    count, claim = CLAIMED_AT_ONCE, Claim(now)
    rest = iter(words)
    for word in rest:
        option = word.upper()
        if option == b"JUSTID":
            claim.just_ids = True
        elif option == b"COUNT" and (number := next(rest, None)) is not None:
            count = read_range(number, 1, MOST_CLAIMED, errors.COUNT_BELOW_1)
        else:
            raise CommandError(errors.SYNTAX)
    return count, claim
