"""DEBUG and MEMORY: looking behind the scenes, for those who test."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any, Final, TypeAlias

from .. import digests, errors
from ..config.kinds import read_memory
from ..errors import CommandError
from ..groups import Group
from ..hashes import HashValue
from ..help import help_on
from ..keyspace import StringValue, Value
from ..numbers import MAX, leading_integer, read_integer
from ..registry import Keys, command, container
from ..replies import OK, Encoded, Reply, status
from ..rqueues import RQueue
from ..session import Session
from ..sets import SetValue
from ..sorted_sets import SortedSet
from ..streams import Stream
from .objects import encoding, idle_seconds, reference_count
from .reloading import debug_loadaof, debug_reload

# DEBUG


@command(
    "DEBUG",
    -2,
    "admin noscript loading stale",
    acl="",
    allowed_by="enable-debug-command",
    since="1.0.0",
    doc_flags="syscmd",
)
def debug(session: Session, args: list[bytes]) -> Reply:
    """Makes the server do what tests need, or tells what they want to know."""
    name = args[1].upper()
    part = PARTS.get((name, len(args))) or PARTS.get((name, ANY_NUMBER))
    if part is None:
        raise CommandError(errors.subcommand_or_arity(args[1], b"DEBUG"))
    return part(session, args)


LEADING_FLOAT: Final = re.compile(
    rb"\s*+([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)"
).match


def debug_sleep(session: Session, args: list[bytes]) -> Reply:
    """Answers nobody for so many seconds; no number, or more microseconds than 64 bits hold, count as 0."""
    seconds = LEADING_FLOAT(args[2])
    microseconds = float(seconds[1]) * 1_000_000 if seconds else 0
    if 0 < microseconds <= MAX:
        session.engine.conditions.sleep_until(session.engine.now.monotonic + int(microseconds))
    return OK


def debug_set_active_expire(session: Session, args: list[bytes]) -> Reply:
    """Whether keys expire unasked; if not, they go when somebody looks for them."""
    session.engine.active_expire = leading_integer(args[2]) != 0
    return OK


def debug_object(session: Session, args: list[bytes]) -> Encoded:
    """How the value of a key is kept."""
    db, key = session.db, args[2]
    value = db.values.get(key)  # even one that has expired and is still there
    if value is None:
        raise CommandError(errors.NO_SUCH_KEY)
    used = db.used.get(key, session.engine.now.milliseconds) // 1000
    return status(
        b"Value at:0x%012x refcount:%d encoding:%b lru:%d lru_seconds_idle:%d"
        % (
            id(value),
            reference_count(value),
            encoding(value),
            used & LRU_MASK,
            idle_seconds(session, key),
        )
    )


LRU_MASK: Final = (1 << 24) - 1
"""Redis keeps the second of the last use in 24 bits."""


def debug_digest(session: Session, args: list[bytes]) -> Encoded:
    """A digest of all data, the same as redis-server's for the same data."""
    return status(digests.text(digests.digest_of_all(session.engine.keyspace.databases)))


def debug_digest_value(session: Session, args: list[bytes]) -> Reply:
    """A digest of the value of each key; zeros for a key that is not there."""
    return [status(digests.text(digests.digest_of_key(session.db, key))) for key in args[2:]]


def debug_quicklist_packed_threshold(session: Session, args: list[bytes]) -> Reply:
    """Checks its argument, and changes nothing: lists are not kept in nodes."""
    size = read_memory(args[2].decode("latin-1"))
    if size is None or size > LARGEST_THRESHOLD:
        raise CommandError(errors.NO_PACKED_THRESHOLD)
    return OK


LARGEST_THRESHOLD: Final = (1 << 32) - (1 << 20)


def debug_protocol(session: Session, args: list[bytes]) -> Encoded:
    """A sample of a type of RESP3, for those who test a client."""
    sample = PROTOCOL_SAMPLES.get(args[2].lower())
    if sample is None:
        raise CommandError(errors.UNKNOWN_SAMPLE % b"|".join(PROTOCOL_SAMPLES))
    if sample is PUSHED and session.resp < 3:
        raise CommandError(errors.ONLY_RESP3)
    return Encoded(sample[session.resp - 2])


def in_both(wire: bytes) -> tuple[bytes, bytes]:
    return wire, wire


PUSHED: Final = in_both(
    b">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n$40\r\nSome real reply following the push reply\r\n"
)
ATTRIBUTE: Final = b"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"
BEHIND_ATTRIBUTE: Final = b"$39\r\nSome real reply following the attribute\r\n"
BIG_NUMBER: Final = b"1234567999999999999999999999999999999"

PROTOCOL_SAMPLES: Final[dict[bytes, tuple[bytes, bytes]]] = {
    b"string": in_both(b"$11\r\nHello World\r\n"),
    b"integer": in_both(b":12345\r\n"),
    b"double": (b"$5\r\n3.141\r\n", b",3.141\r\n"),
    b"bignum": (b"$37\r\n%b\r\n" % BIG_NUMBER, b"(%b\r\n" % BIG_NUMBER),
    b"null": (b"$-1\r\n", b"_\r\n"),
    b"array": in_both(b"*3\r\n:0\r\n:1\r\n:2\r\n"),
    b"set": (b"*3\r\n:0\r\n:1\r\n:2\r\n", b"~3\r\n:0\r\n:1\r\n:2\r\n"),
    b"map": (
        b"*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n",
        b"%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n",
    ),
    b"attrib": (BEHIND_ATTRIBUTE, ATTRIBUTE + BEHIND_ATTRIBUTE),
    b"push": PUSHED,
    b"verbatim": (b"$25\r\nThis is a verbatim\nstring\r\n", b"=29\r\ntxt:This is a verbatim\nstring\r\n"),
    b"true": (b":1\r\n", b"#t\r\n"),
    b"false": (b":0\r\n", b"#f\r\n"),
}
"""The samples of DEBUG PROTOCOL, in RESP2 and RESP3."""


Part: TypeAlias = Callable[[Session, list[bytes]], Reply]


def debug_help(session: Session, args: list[bytes]) -> Reply:
    """Prints these lines."""
    lines = [b"DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"]
    for (name, _), part in PARTS.items():
        lines += [name, b"    " + (part.__doc__ or "").encode()]
    return [status(line) for line in lines]


ANY_NUMBER: Final = 0

PARTS: Final[dict[tuple[bytes, int], Part]] = {
    (b"DIGEST", 2): debug_digest,
    (b"DIGEST-VALUE", ANY_NUMBER): debug_digest_value,
    (b"LOADAOF", 2): debug_loadaof,
    (b"OBJECT", 3): debug_object,
    (b"PROTOCOL", 3): debug_protocol,
    (b"QUICKLIST-PACKED-THRESHOLD", 3): debug_quicklist_packed_threshold,
    (b"RELOAD", 2): debug_reload,
    (b"SET-ACTIVE-EXPIRE", 3): debug_set_active_expire,
    (b"SLEEP", 3): debug_sleep,
    (b"HELP", 2): debug_help,
}
"""The subcommands, by name and by how many words the request has."""


# MEMORY

KEY_OVERHEAD: Final = 160
"""About what a key takes beside its name and value, in bytes: its places in the tables, its header."""

ELEMENT_OVERHEAD: Final = 41
"""The header of an element, and its place in the list."""

SAMPLES: Final = 5

MOST_SAMPLES: Final = 50_000
"""So many elements are measured at most: more make the answer, which is about, no better, only slower."""

container("MEMORY", -2, module=__name__, summary="Tells what takes memory.", since="4.0.0")


@command(
    "MEMORY USAGE",
    -3,
    "readonly",
    acl="",
    keys=Keys(2, "RO"),
    since="4.0.0",
    syntax="key#0 [SAMPLES count:integer]",
)
def memory_usage(session: Session, args: list[bytes]) -> Reply:
    """About how many bytes a key and its value take; elements are measured by a sample."""
    samples = read_samples(args[3:])
    value = session.db.values.get(args[2])
    return None if value is None else KEY_OVERHEAD + len(args[2]) + size(value, samples)


def read_samples(words: list[bytes]) -> int:
    samples = SAMPLES
    rest = iter(words)
    for word in rest:
        number = next(rest, None)
        if word.upper() != b"SAMPLES" or number is None:
            raise CommandError(errors.SYNTAX)
        samples = read_integer(number)
        if samples < 0:
            raise CommandError(errors.SYNTAX)
    return samples


Columns: TypeAlias = tuple[Iterable[bytes], ...]

COLUMNS: Final[dict[type, Callable[[Any], Columns]]] = {
    deque: lambda values: (values,),
    HashValue: lambda values: (values.fields.keys(), values.fields.values()),
    SetValue: lambda values: (values,),
    SortedSet: lambda values: (values.scores.keys(),),
    RQueue: lambda queue: (map(b"".join, chain(queue.undelivered, queue.redelivered())),),
}
"""The strings of an aggregate's elements: one iterable for each string that an element has."""


def size(value: Value, samples: int) -> int:
    """About how many bytes a value takes; 0 samples measure as many elements as are ever measured."""
    if isinstance(value, StringValue):
        return len(value)
    if isinstance(value, Stream):
        return sum(node.size for node in value.nodes) + sum(map(group_size, value.groups.values()))
    measured = min(samples or MOST_SAMPLES, MOST_SAMPLES, len(value))
    if not measured:
        return 0
    strings = sum(sum(map(len, islice(column, measured))) for column in COLUMNS[type(value)](value))
    return len(value) * (strings + measured * ELEMENT_OVERHEAD) // measured


def group_size(group: Group) -> int:
    """The bytes of a consumer group."""
    return (len(group.pending) * 2 + len(group.consumers) + 1) * ELEMENT_OVERHEAD


@command("MEMORY HELP", 2, "loading stale", acl="", since="4.0.0")
def memory_help(session: Session, args: list[bytes]) -> Reply:
    """Prints these lines."""
    return list(help_on(b"memory"))
