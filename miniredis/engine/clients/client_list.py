"""The lines of CLIENT LIST, and the filters of CLIENT KILL and CLIENT LIST."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from ..declarations.registry import by_version, instead_of
from ..numbers.numbers import parse_integer, read_integer
from ..protocol import errors
from ..protocol.errors import CommandError
from ..versions.version import Version, versions_in
from .client_flags import (
    MASTER,
    MONITORS,
    NO_EVICT,
    NO_TOUCH,
    READS_REPLICA,
    REDIRECTS,
    REPLICA,
    WATCH_BROKEN,
)
from .publishing import CHANNELS, PATTERNS, SHARDS

if TYPE_CHECKING:
    from .publishing import SubscriptionKind
    from .session import Session
    from .tracking import Tracker

__all__ = ["FILTERS", "Filter", "ReadFilter", "describe", "filters", "redirection", "select"]

Filter: TypeAlias = "Callable[[Session], bool]"
ReadFilter: TypeAlias = "Callable[[Session, bytes], Filter]"
"""What makes a filter for a client from the word behind its option."""


def describe(session: Session, running: list[bytes] | None = None) -> bytes:
    """A client's line in CLIENT LIST, without its line end.

    Bytes of input and output are counted as Redis counts them. Memory that Redis allocates in addition, and
    the overhead of its allocator, are 0.

    Args:
        session: the client.
        running: the running command if it is this client's; then all bytes that were read with it count.
    """
    fields = {name: value(session) for name, value in fields_of(session.engine.version).items()}
    if running is not None:
        fields |= {b"qbuf": b"%d" % session.batch, b"argv-mem": b"%d" % sum(map(len, running))}
    fields[b"tot-mem"] = b"%d" % sum(int(fields.get(name, 0)) for name in COUNTED)
    return b" ".join(b"%b=%b" % field for field in fields.items())


def seconds_since(session: Session, wall: int) -> bytes:
    return b"%d" % ((session.engine.now.wall - wall) // 1_000_000)


def flags(session: Session) -> bytes:
    letters = b"O" if session.flags & MONITORS else b"S" if session.flags & REPLICA else b""
    if session.flags & MASTER:
        letters += b"M"
    if session.subscriptions:
        letters += b"P"
    if session.transaction is not None:
        letters += b"x"
    if session.waiter is not None:
        letters += b"b"
    letters += tracking_letters(session.tracker)
    if session.flags & WATCH_BROKEN:
        letters += b"d"
    if session.is_unix:
        letters += b"U"
    if session.flags & READS_REPLICA:
        letters += b"r"
    if session.flags & NO_EVICT:
        letters += b"e"
    if session.flags & NO_TOUCH:
        letters += b"T"
    return letters or b"N"


def tracking_letters(tracker: Tracker | None) -> bytes:
    if tracker is None:
        return b""
    return b"t" + b"R" * tracker.is_broken + b"B" * tracker.broadcasts


def listening(kind: SubscriptionKind) -> Callable[[Session], bytes]:
    return lambda session: b"%d" % len(session.subscriptions.get(kind, ()))


def queued_commands(session: Session) -> bytes:
    return b"%d" % (-1 if session.transaction is None else len(session.transaction.queued))


def last_command(session: Session) -> bytes:
    name = session.last_command.name if session.last_command else b"NULL"
    return name if names_subcommands(session.engine.version) else name.partition(b"|")[0]


names_subcommands: Final = by_version(True, {"6.0-6.2": False})
"""Whether a version tells which subcommand a client has sent."""

POINTER: Final = 8
"""Bytes that each argument takes in a transaction in addition to its own."""

STATIC_BUFFER: Final = 16 * 1024
"""Bytes of output that Redis keeps in each client's static buffer; further output goes to a list."""

COUNTED: Final = (b"qbuf", b"argv-mem", b"multi-mem", b"obl", b"omem")


def queued_bytes(session: Session) -> bytes:
    """The size of the commands that MULTI has queued."""
    queued = session.transaction.queued if session.transaction else []
    return b"%d" % sum(len(argument) + POINTER for _, args in queued for argument in args)


def argument_bytes(session: Session) -> bytes:
    """The size of the command that blocks the client, or of the received part of an incomplete command."""
    held = session.postponed or (session.waiter.args if session.waiter is not None else [])
    return b"%d" % (sum(map(len, held)) or session.parser.begun)


def output_lengths(session: Session) -> tuple[int, int]:
    """The bytes of output in the static buffer and in the list."""
    first = min(session.outgoing_bytes, STATIC_BUFFER)
    return first, session.outgoing_bytes - first


FIELDS: Final[dict[bytes, Callable[[Session], bytes]]] = {
    b"id": lambda session: b"%d" % session.id,
    b"addr": lambda session: session.address,
    b"laddr": lambda session: session.local_address,
    b"fd": lambda session: b"%d" % session.descriptor,
    b"name": lambda session: errors.until_nul(session.name),
    b"age": lambda session: seconds_since(session, session.created.wall),
    b"idle": lambda session: seconds_since(session, session.last_active.wall),
    b"flags": flags,
    b"capa": lambda session: b"r" if session.flags & REDIRECTS else b"",
    b"db": lambda session: b"%d" % session.db.index,
    b"sub": listening(CHANNELS),
    b"psub": listening(PATTERNS),
    b"ssub": listening(SHARDS),
    b"multi": queued_commands,
    b"watch": lambda session: b"%d" % len(session.watched),
    b"qbuf": lambda session: b"%d" % len(session.parser),
    b"qbuf-free": lambda _: b"0",
    b"argv-mem": argument_bytes,
    b"multi-mem": queued_bytes,
    b"rbs": lambda _: b"0",
    b"rbp": lambda _: b"0",
    b"obl": lambda session: b"%d" % output_lengths(session)[0],
    b"oll": lambda _: b"0",
    b"omem": lambda session: b"%d" % output_lengths(session)[1],
    b"tot-mem": lambda _: b"0",
    b"events": lambda _: b"r",
    b"cmd": last_command,
    b"user": lambda session: b"(superuser)" if session.must_obey else session.user.name,
    b"redir": lambda session: b"%d" % redirection(session),
    b"resp": lambda session: b"%d" % session.resp,
    b"lib-name": lambda session: session.library[b"lib-name"],
    b"lib-ver": lambda session: session.library[b"lib-ver"],
    b"io-thread": lambda _: b"0",
}
"""All fields, in their order."""


SOME_HAVE: Final = {
    b"laddr": "6.2+",
    b"redir": "6.2+",
    b"ssub": "7.0+",
    b"multi-mem": "7.0+",
    b"rbs": "7.0+",
    b"rbp": "7.0+",
    b"resp": "7.0+",
    b"lib-name": "7.2+",
    b"lib-ver": "7.2+",
    b"watch": "7.4+ valkey-8.1+",
    b"io-thread": "8.0",
    b"capa": "valkey-8.1+",
}
"""The versions that tell a field, if not all do."""


@cache
def fields_of(version: Version) -> dict[bytes, Callable[[Session], bytes]]:
    """The fields that a version tells."""
    return {
        name: value
        for name, value in FIELDS.items()
        if name not in SOME_HAVE or version in versions_in(SOME_HAVE[name])
    }


def redirection(session: Session) -> int:
    """The number of the client that gets the invalidations of this one; 0 for itself, -1 without tracking."""
    return -1 if session.tracker is None else session.tracker.redirect


def by_number(_: Session, text: bytes) -> Filter:
    number = parse_integer(text)
    if number is None or number < 1:
        raise CommandError(errors.CLIENT_ID_NOT_POSITIVE)
    return lambda session: session.id == number


def by_type(_: Session, text: bytes) -> Filter:
    if text.lower() not in {b"normal", b"master", b"slave", b"replica", b"pubsub"}:
        raise CommandError(errors.unknown_client_type(text))
    wanted = b"replica" if text.lower() == b"slave" else text.lower()
    return lambda session: wanted == type_of(session)


def type_of(session: Session) -> bytes:
    if session.flags & REPLICA:
        return b"replica"
    if session.flags & MASTER:
        return b"master"
    return b"pubsub" if session.subscriptions else b"normal"


def by_user(caller: Session, text: bytes) -> Filter:
    if text not in caller.engine.users.by_name:
        raise CommandError(errors.no_such_user(text))
    return lambda session: session.user.name == text and not session.must_obey


def by_address(_: Session, text: bytes) -> Filter:
    return lambda session: session.address == text


def by_local_address(_: Session, text: bytes) -> Filter:
    return lambda session: session.local_address == text


FILTERS: Final[dict[bytes, ReadFilter]] = {
    b"ID": by_number,
    b"TYPE": by_type,
    b"USER": by_user,
    b"ADDR": by_address,
    b"LADDR": by_local_address,
}
"""The filters of CLIENT KILL, by option."""


def by_any_number(_: Session, text: bytes) -> Filter:
    """Clients of that number; all if it is 0."""
    number = read_integer(text)
    return lambda session: number in {0, session.id}


def by_age(_: Session, text: bytes) -> Filter:
    seconds = read_integer(text, errors.AGE_NOT_AN_INTEGER)
    if seconds <= 0:
        raise CommandError(errors.AGE_NOT_POSITIVE)
    return lambda session: int(seconds_since(session, session.created.wall)) >= seconds


def filters() -> dict[bytes, ReadFilter]:
    """The filters of a version."""
    return FILTERS


instead_of(filters, "6.0-6.2")(lambda: {**FILTERS, b"ID": by_any_number})
instead_of(filters, "7.4+ valkey-8.1")(lambda: {**FILTERS, b"MAXAGE": by_age})


def select(session: Session, *filters: Filter) -> list[Session]:
    """The connected clients that pass all filters, oldest first."""
    return [other for other in session.engine.sessions.values() if all(passes(other) for passes in filters)]
