"""Filters of Valkey: its CLIENT LIST takes those of CLIENT KILL; since 9.1 there are more, with opposites."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from ...clients.client_list import (
    FIELDS,
    FILTERS,
    Filter,
    ReadFilter,
    by_age,
    filters,
    flags,
    seconds_since,
    select,
)
from ...clients.session import Session
from ...declarations.registry import instead_of
from ...numbers.numbers import as_c_int, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from .clients import listed, read_filters, refuse


@instead_of(listed, "valkey-8.1+")
def listed_by_filters(session: Session, words: list[bytes]) -> Iterable[Session]:
    """The clients that CLIENT LIST shows."""
    if len(words) == 1:
        raise CommandError(errors.SYNTAX)
    return select(session, *read_filters(session, words, spare=False))


def by_letters(_: Session, text: bytes, what: bytes, known: bytes, of: Callable[[Session], bytes]) -> Filter:
    """Clients that have all letters of a text, which ends at a NUL."""
    text = errors.until_nul(text)
    if not set(text) <= set(known):
        raise CommandError(errors.unknown_letters(what, text))
    return lambda other: set(text) <= set(of(other))


def by_text(_: Session, text: bytes, of: Callable[[Session], bytes]) -> Filter:
    """Clients of which something is that text; an empty one is as none."""
    return lambda other: bool(text) and of(other) == text


def by_idle_time(_: Session, text: bytes) -> Filter:
    seconds = read_integer(text, errors.IDLE_NOT_AN_INTEGER)
    if seconds <= 0:
        raise CommandError(errors.IDLE_NOT_POSITIVE)
    return lambda other: int(seconds_since(other, other.last_active.wall)) >= seconds


def by_database(session: Session, text: bytes) -> Filter:
    index, last = read_integer(text, errors.DB_NOT_AN_INTEGER), len(session.engine.keyspace.databases) - 1
    if index != as_c_int(index):
        raise CommandError(errors.DB_NOT_AN_INTEGER)
    if not 0 <= index <= last:
        raise CommandError(errors.no_database(last))
    return lambda other: other.db.index == index


def opposite(session: Session, text: bytes, name: bytes, read: ReadFilter) -> Filter:
    """Clients that do not pass a filter."""
    try:
        passes = read(session, text)
    except CommandError as error:
        raise CommandError(errors.of_opposite_filter(error.message, name)) from None
    return lambda other: not passes(other)


WITH_OPPOSITES: Final[dict[bytes, ReadFilter]] = {
    **FILTERS,
    b"FLAGS": partial(by_letters, what=b"flags", known=b"bcdeirtuxABEIMNOPRSTU", of=flags),
    b"CAPA": partial(by_letters, what=b"capa", known=b"r", of=FIELDS[b"capa"]),
    b"NAME": partial(by_text, of=lambda other: other.name),
    b"LIB-NAME": partial(by_text, of=FIELDS[b"lib-name"]),
    b"LIB-VER": partial(by_text, of=FIELDS[b"lib-ver"]),
    b"IP": partial(by_text, of=lambda other: other.address.rpartition(b":")[0].strip(b"[]")),
    b"DB": by_database,
}
OF_TIMES: Final[dict[bytes, ReadFilter]] = {b"MAXAGE": by_age, b"IDLE": by_idle_time}
OPPOSITES: Final[dict[bytes, ReadFilter]] = {
    **{b"NOT-" + name: partial(opposite, name=name, read=read) for name, read in WITH_OPPOSITES.items()},
    **{b"NOT-" + name: refuse for name in OF_TIMES},
}

instead_of(filters, "valkey-9.1+")(lambda: WITH_OPPOSITES | OPPOSITES | OF_TIMES)
