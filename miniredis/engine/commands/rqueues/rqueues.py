"""Reliable queues: pushing, acknowledging, recovering and inspecting messages.

These are the commands of the module RedisMQ, declared as Redis shows commands of modules. Arguments are
checked before the key, so invalid requests fail whatever the key holds. MQ.POP is in ``rqueue_pops.py``.
"""

from __future__ import annotations

import re
from collections.abc import Reversible, Sized
from itertools import islice
from typing import Final, Protocol, TypeVar

from ...clients.session import Session
from ...declarations.registry import Keys, command
from ...keyspace.keyspace import RQUEUE
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply
from ...values.rqueues import LARGEST, RQueue

ID: Final = re.compile(rb"(0|[1-9][0-9]{0,19})-(0|[1-9][0-9]{0,19})").fullmatch

PENDING: Final = b"PENDING"

T_co = TypeVar("T_co", covariant=True)


class Line(Sized, Reversible[T_co], Protocol[T_co]):
    """A collection that can be iterated from both ends."""


@command("MQ.PUSH", -3, "write denyoom module", acl="", keys=Keys(1, "RW insert"), syntax="key#0 element...")
def mq_push(session: Session, args: list[bytes]) -> Reply:
    """Adds messages to a reliable queue, and creates it if needed; returns their ids."""
    db, key, now = session.db, args[1], session.engine.now.milliseconds
    queue = db.lookup_write(key, RQUEUE)
    if queue is not None:
        ids = queue.push(args[2:], now)
        db.signal_ready(key, "mq.push")
        return ids
    queue = RQueue()
    ids = queue.push(args[2:], now)
    db.create(key, queue, "mq.push")
    return ids


@command("MQ.ACK", -3, "write module", acl="", keys=Keys(1, "RW delete"), syntax="key#0 id...")
def mq_ack(session: Session, args: list[bytes]) -> Reply:
    """Acknowledges delivered messages and removes them; returns the ids of those that were pending."""
    for text in args[2:]:
        check_id(text)
    queue = session.db.lookup_write(args[1], RQUEUE)
    if queue is None:
        return None
    acknowledged = queue.acknowledge(args[2:])
    if acknowledged:
        session.db.signal_modified(args[1], "mq.ack")
    return acknowledged


def check_id(text: bytes) -> None:
    """Raises ``CommandError`` if a text is not an id in canonical form."""
    numbers = ID(text)
    if numbers is None or max(int(numbers[1]), int(numbers[2])) > LARGEST:
        raise CommandError(errors.MESSAGE_ID)


def read_count(text: bytes) -> int:
    """A number of messages; at least 1."""
    count = read_integer(text)
    if count < 1:
        raise CommandError(errors.COUNT_NOT_POSITIVE)
    return count


@command(
    "MQ.RECOVER",
    4,
    "write module",
    acl="",
    keys=Keys(1, "RW access update"),
    syntax="key#0 count:integer elapsed:integer",
)
def mq_recover(session: Session, args: list[bytes]) -> Reply:
    """Redelivers messages that were not acknowledged within some milliseconds."""
    count, elapsed = read_count(args[2]), read_integer(args[3])
    if elapsed < 0:
        raise CommandError(errors.ELAPSED_NEGATIVE)
    queue = session.db.lookup_write(args[1], RQUEUE)
    if queue is None:
        return None
    recovered = queue.recover(count, elapsed, session.engine.now.milliseconds)
    if recovered:
        session.db.signal_modified(args[1], "mq.recover")
    return [list(message) for message in recovered]


# Inspecting


@command(
    "MQ.INSPECT",
    -4,
    "readonly module",
    acl="",
    keys=Keys(1, "RO access"),
    syntax="key#0 [PENDING] start:integer count:integer",
)
def mq_inspect(session: Session, args: list[bytes]) -> Reply:
    """Lists messages from one place on: undelivered ones, or with PENDING unacknowledged ones."""
    is_pending = args[2].upper() == PENDING
    if len(args) != 4 + is_pending:
        raise CommandError(errors.SYNTAX)
    start, count = read_integer(args[-2]), read_count(args[-1])
    queue = existing(session, args[1])
    if not is_pending:
        return [list(message) for message in window(queue.undelivered, start, count)]
    now = session.engine.now.milliseconds
    return [
        [each, payload, time, max(now - time, 0), deliveries]
        for each, (payload, time, deliveries) in window(queue.delivered.items(), start, count)
    ]


def window(line: Line[T_co], start: int, count: int) -> list[T_co]:
    """Up to ``count`` items from one index on, reached from the nearer end; [] if the index is out of range.

    Args:
        line: the items.
        start: the index of the first item; negative indexes count from the end.
        count: the most items.
    """
    size = len(line)
    begin = start + size if start < 0 else start
    if not 0 <= begin < size:
        return []
    end = min(begin + count, size)
    if begin <= size - end:
        return list(islice(line, begin, end))
    return list(islice(reversed(line), size - end, size - begin))[::-1]


def existing(session: Session, key: bytes) -> RQueue:
    """The queue at a key that is only read; raises ``CommandError`` if there is none."""
    queue = session.db.lookup_read(key, RQUEUE)
    if queue is None:
        raise CommandError(errors.EMPTY_KEY)
    return queue


@command("MQ.QINFO", 2, "readonly module", acl="", keys=Keys(1, "RO"), syntax="key#0")
def mq_qinfo(session: Session, args: list[bytes]) -> Reply:
    """Returns the last id of a reliable queue, and counts its undelivered and delivered messages."""
    queue = existing(session, args[1])
    lengths: list[Reply] = [b"undelivered-queue-length", len(queue.undelivered)]
    lengths += [b"delivered-queue-length", len(queue.delivered)]
    return [b"last-id", b"%d-%d" % queue.last, *lengths]
