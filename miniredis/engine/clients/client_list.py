"""The lines of CLIENT LIST, and the filters of CLIENT KILL and CLIENT LIST."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from ..declarations.registry import chosen, instead_of
from ..numbers.numbers import parse_integer, read_integer
from ..protocol import errors
from ..protocol.errors import CommandError
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

__all__ = ["FILTERS", "Filter", "describe", "filters", "redirection", "select"]

Filter: TypeAlias = "Callable[[Session], bool]"


def describe(session: Session, running: list[bytes] | None = None) -> bytes:
    """A client's line in CLIENT LIST, without its line end.

    Bytes of input and output are counted as Redis counts them. Memory that Redis allocates in addition, and
    the overhead of its allocator, are 0.

    Args:
        session: the client.
        running: the running command if it is this client's; then all bytes that were read with it count.
    """
    fields = chosen(session.engine.version, ordered)(session)
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
    b"db": lambda session: b"%d" % session.db.index,
    b"sub": listening(CHANNELS),
    b"psub": listening(PATTERNS),
    b"ssub": listening(SHARDS),
    b"multi": queued_commands,
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
    b"cmd": lambda session: session.last_command.name if session.last_command else b"NULL",
    b"user": lambda session: b"(superuser)" if session.must_obey else session.user.name,
    b"redir": lambda session: b"%d" % redirection(session),
    b"resp": lambda session: b"%d" % session.resp,
}


def more_fields(session: Session) -> dict[bytes, bytes]:  # noqa: ARG001
    """What other versions tell besides."""
    return {}


@instead_of(more_fields, "7.2")
def library(session: Session) -> dict[bytes, bytes]:
    return session.library


def ordered(session: Session) -> dict[bytes, bytes]:
    """All fields, in their order."""
    return {name: value(session) for name, value in FIELDS.items()} | chosen(
        session.engine.version, more_fields
    )(session)


NOT_IN_6_2: Final = (b"ssub", b"multi-mem", b"rbs", b"rbp", b"resp")
NOT_IN_6_0: Final = (*NOT_IN_6_2, b"laddr", b"redir")


@instead_of(ordered, "6.2")
def fields_of_6_2(session: Session) -> dict[bytes, bytes]:
    return {name: value(session) for name, value in FIELDS.items() if name not in NOT_IN_6_2}


@instead_of(ordered, "6.0")
def fields_of_6_0(session: Session) -> dict[bytes, bytes]:
    return {name: value(session) for name, value in FIELDS.items() if name not in NOT_IN_6_0}


@instead_of(ordered, "7.4+ valkey-8.1+")
def with_watched_keys(session: Session) -> dict[bytes, bytes]:
    """The fields with the number of watched keys, and since 8.0 those of Redis or Valkey alone."""
    fields: dict[bytes, bytes] = {}
    for name, value in FIELDS.items():
        if name == b"db":
            fields |= chosen(session.engine.version, fields_before_db)(session)
        fields[name] = value(session)
        if name == b"multi":
            fields[b"watch"] = b"%d" % len(session.watched)
    return fields | session.library | chosen(session.engine.version, last_fields)(session)


def fields_before_db(session: Session) -> dict[bytes, bytes]:  # noqa: ARG001
    return {}


def last_fields(session: Session) -> dict[bytes, bytes]:  # noqa: ARG001
    return {}


@instead_of(fields_before_db, "valkey-8.1+")
def capabilities(session: Session) -> dict[bytes, bytes]:
    """What CLIENT CAPA has told of the client."""
    return {b"capa": b"r" if session.flags & REDIRECTS else b""}


@instead_of(last_fields, "8.0")
def thread(session: Session) -> dict[bytes, bytes]:  # noqa: ARG001
    """One thread does it all."""
    return {b"io-thread": b"0"}


def redirection(session: Session) -> int:
    """The number of the client that gets the invalidations of this one; 0 for itself, -1 without tracking."""
    return -1 if session.tracker is None else session.tracker.redirect


def by_number(text: bytes) -> Filter:
    number = parse_integer(text)
    if number is None or number < 1:
        raise CommandError(errors.CLIENT_ID_NOT_POSITIVE)
    return lambda session: session.id == number


def by_type(text: bytes) -> Filter:
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


def by_user(text: bytes) -> Filter:
    return lambda session: session.user.name == text and not session.must_obey


def by_address(text: bytes) -> Filter:
    return lambda session: session.address == text


def by_local_address(text: bytes) -> Filter:
    return lambda session: session.local_address == text


FILTERS: Final[dict[bytes, Callable[[bytes], Filter]]] = {
    b"ID": by_number,
    b"TYPE": by_type,
    b"USER": by_user,
    b"ADDR": by_address,
    b"LADDR": by_local_address,
}
"""The filters of CLIENT KILL, by option."""


def by_age(text: bytes) -> Filter:
    seconds = read_integer(text, errors.AGE_NOT_AN_INTEGER)
    if seconds <= 0:
        raise CommandError(errors.AGE_NOT_POSITIVE)
    return lambda session: int(seconds_since(session, session.created.wall)) >= seconds


def filters() -> dict[bytes, Callable[[bytes], Filter]]:
    return FILTERS


@instead_of(filters, "7.4+ valkey-8.1+")
def filters_since_7_4() -> dict[bytes, Callable[[bytes], Filter]]:
    return {**FILTERS, b"MAXAGE": by_age}


@instead_of(filters, "6.0-6.2")
def filters_of_6() -> dict[bytes, Callable[[bytes], Filter]]:
    return {**FILTERS, b"ID": by_any_number}


def by_any_number(text: bytes) -> Filter:
    """Clients of that number; all if it is 0."""
    number = read_integer(text)
    return lambda session: number in {0, session.id}


def select(session: Session, *filters: Filter) -> list[Session]:
    """The connected clients that pass all filters, oldest first."""
    return [other for other in session.engine.sessions.values() if all(passes(other) for passes in filters)]
