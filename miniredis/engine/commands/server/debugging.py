"""DEBUG: what tests need to see of a server, or to change in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from ... import digests
from ...clients.session import Session
from ...config.kinds import read_memory
from ...declarations.registry import command, prepared_in
from ...numbers.numbers import MAX, leading_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Encoded, Reply, status
from ..keys.objects import encoding, idle_seconds, reference_count
from .faulting import debug_fault
from .reloading import debug_loadaof, debug_reload


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
    """Gives tests control over the server, and shows its internal state."""
    name = args[1].upper()
    part = PARTS.get((name, len(args))) or PARTS.get((name, ANY_NUMBER))
    if part is None:
        raise CommandError(errors.subcommand_or_arity(args[1], b"DEBUG"))
    return part(session, args)


@prepared_in("valkey-8.1+", "debug")
def with_any_depth(session: Session, args: list[bytes]) -> list[bytes]:
    """DEBUG OBJECT takes a word behind the key, such as FAST."""
    return args[:3] if len(args) == 4 and args[1].upper() == b"OBJECT" else args


LEADING_FLOAT: Final = re.compile(
    rb"\s*+([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)"
).match


def debug_sleep(session: Session, args: list[bytes]) -> Reply:
    """Serves no client for some seconds; invalid numbers, and more microseconds than 64 bits hold, are 0."""
    seconds = LEADING_FLOAT(args[2])
    microseconds = float(seconds[1]) * 1_000_000 if seconds else 0
    if 0 < microseconds <= MAX:
        engine = session.engine
        engine.statistics.sleep(microseconds / 1_000_000)
        engine.conditions.sleep_until(engine.now.monotonic + int(microseconds))
    return OK


def debug_set_active_expire(session: Session, args: list[bytes]) -> Reply:
    """Whether keys expire unasked; if not, they go when somebody looks for them."""
    session.engine.timers.active_expire = leading_integer(args[2]) != 0
    return OK


def debug_object(session: Session, args: list[bytes]) -> Encoded:
    """Internals of the value of a key, such as its encoding."""
    db, key = session.db, args[2]
    value = db.values.get(key)  # expired keys that were not deleted yet count, too
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
    """A digest of the value of each key; zeros for a missing key."""
    return [status(digests.text(digests.digest_of_key(session.db, key))) for key in args[2:]]


def debug_quicklist_packed_threshold(session: Session, args: list[bytes]) -> Reply:
    """Checks its argument and changes nothing: lists have no nodes here."""
    size = read_memory(args[2].decode("latin-1"))
    if size is None or size > LARGEST_THRESHOLD:
        raise CommandError(errors.NO_PACKED_THRESHOLD)
    return OK


LARGEST_THRESHOLD: Final = (1 << 32) - (1 << 20)


def debug_error(session: Session, args: list[bytes]) -> Encoded:
    """Replies with this error, which is not counted as one."""
    return Encoded(b"-%b\r\n" % args[2].translate(IN_ONE_LINE))


IN_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")


def debug_protocol(session: Session, args: list[bytes]) -> Encoded:
    """A sample reply of a RESP3 type, for testing clients."""
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
    (b"ERROR", 3): debug_error,
    (b"FAULT", ANY_NUMBER): debug_fault,
    (b"LOADAOF", 2): debug_loadaof,
    (b"OBJECT", 3): debug_object,
    (b"PROTOCOL", 3): debug_protocol,
    (b"QUICKLIST-PACKED-THRESHOLD", 3): debug_quicklist_packed_threshold,
    (b"RELOAD", 2): debug_reload,
    (b"SET-ACTIVE-EXPIRE", 3): debug_set_active_expire,
    (b"SLEEP", 3): debug_sleep,
    (b"HELP", 2): debug_help,
}
"""The subcommands, by name and number of words in the request."""
