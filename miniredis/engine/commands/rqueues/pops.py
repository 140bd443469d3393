"""MQ.POP: delivers the oldest messages of reliable queues, in the order of the keys, blocking or not.

The reply is null, as modules send it, if there is no message: at once, after the timeout, or inside MULTI.
Blocked clients are served from the queue that was pushed to first, oldest client first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...clients.session import Session
from ...declarations.registry import Keys, KeywordCountedKeys, command
from ...keyspace.keyspace import RQUEUE, Database
from ...numbers.numbers import read_integer, read_milliseconds
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NO_REPLY, Reply
from ...scripts import script_errors
from ...values.rqueues import RQueue
from .rqueues import read_count

POPPED: Final = "RW access update"


@dataclass(slots=True)
class PopArguments:
    """The arguments of MQ.POP.

    Attributes:
        count: the most messages of all queues together.
        keys: the keys of the queues, highest priority first.
        names_keys: whether each message is returned with the key of its queue.
        waits: whether to block if there are no messages.
        timeout: in milliseconds; None for ever.
    """

    count: int
    keys: list[bytes]
    names_keys: bool = False
    waits: bool = False
    timeout: int | None = None


@command(
    "MQ.POP",
    -3,
    "write module blocking movablekeys",
    acl="",
    keys=(Keys(2, POPPED), KeywordCountedKeys("KEYS", 3, POPPED)),
    syntax="count:integer key#0 [KEYS more{numkeys:integer key#1...}] [BLOCK milliseconds:integer]",
)
def mq_pop(session: Session, args: list[bytes]) -> Reply:
    """Delivers the oldest messages, which then have to be acknowledged; can wait for a message."""
    wanted = read_wanted(session, args)
    db = session.db
    queues = [(key, db.lookup_write(key, RQUEUE)) for key in wanted.keys]  # all types are checked first
    popped: list[Reply] = []
    for key, queue in queues:
        if queue is not None and queue.undelivered and len(popped) < wanted.count:
            popped += take(session, session.db, key, queue, wanted, wanted.count - len(popped))
    if popped or not wanted.waits or not session.may_block:
        return popped or None

    def serve(db: Database, key: bytes, queue: RQueue) -> Reply:
        if not queue.undelivered:
            return NO_REPLY
        return take(session, db, key, queue, wanted, wanted.count)

    return session.block(wanted.keys, RQueue, serve, wanted.timeout, when_over=None)


def take(
    session: Session, db: Database, key: bytes, queue: RQueue, wanted: PopArguments, count: int
) -> list[Reply]:
    """Delivers up to ``count`` messages of a queue that has some."""
    popped = queue.pop(count, session.engine.now.milliseconds)
    db.signal_modified(key, "mq.pop")
    if wanted.names_keys:
        return [[key, *message] for message in popped]
    return [list(message) for message in popped]


# Options


def read_wanted(session: Session, args: list[bytes]) -> PopArguments:
    """Parses a request; raises ``CommandError``. The options come in any order, each at most once."""
    wanted = PopArguments(read_count(args[1]), [args[2]])
    left = dict(OPTIONS)
    rest = args[3:]
    while rest:
        word = rest.pop(0).upper()
        read = left.pop(word, None)
        if read is None or not rest:
            raise CommandError(errors.SYNTAX)
        if session.is_script and word == b"BLOCK":
            raise CommandError(script_errors.no_block_in_script(args[0]))
        rest = read(wanted, rest)
    return wanted


def read_keys(wanted: PopArguments, rest: list[bytes]) -> list[bytes]:
    """Parses ``numkeys key ...``; returns the words after it."""
    number = read_integer(rest[0])
    if number < 1:
        raise CommandError(errors.NUMKEYS_NOT_POSITIVE)
    if number >= len(rest):
        raise CommandError(errors.SYNTAX)
    wanted.keys += rest[1 : number + 1]
    wanted.names_keys = True
    return rest[number + 1 :]


def read_block(wanted: PopArguments, rest: list[bytes]) -> list[bytes]:
    """Parses ``milliseconds``; returns the words after it."""
    wanted.timeout = read_milliseconds(rest[0])
    wanted.waits = True
    return rest[1:]


OPTIONS: Final[dict[bytes, Callable[[PopArguments, list[bytes]], list[bytes]]]] = {
    b"KEYS": read_keys,
    b"BLOCK": read_block,
}
"""Parses the operands of each option, which has at least one."""
