"""CLIENT LIST and CLIENT KILL of Valkey, which take the same filters: many, with opposites, since 9.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from ...clients.client_list import (
    FIELDS,
    FILTERS,
    Filter,
    by_age,
    by_user,
    describe,
    flags,
    seconds_since,
    select,
)
from ...clients.session import Session
from ...declarations.registry import chosen, in_versions, instead_of
from ...numbers.numbers import as_c_int, parse_integer, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply, Verbatim
from .clients import client_kill, kill, read_yes_or_no

Readers: TypeAlias = Mapping[bytes, Callable[[bytes], Filter]]

FLAGS: Final = frozenset(b"bcdeirtuxABEIMNOPRSTU")
CAPABILITIES: Final = frozenset(b"r")


def by_known_user(session: Session, text: bytes) -> Filter:
    if text not in session.engine.users.by_name:
        raise CommandError(errors.no_such_user(text))
    return by_user(text)


def by_letters(what: bytes, known: frozenset[int], of: Callable[[Session], bytes], text: bytes) -> Filter:
    """Clients that have all letters of a text, which ends at a NUL."""
    text = errors.until_nul(text)
    if not known.issuperset(text):
        raise CommandError(errors.unknown_letters(what, text))
    return lambda other: set(text) <= set(of(other))


def by_text(of: Callable[[Session], bytes], text: bytes) -> Filter:
    """Clients of which something is that text; an empty one is as none."""
    return lambda other: bool(text) and of(other) == text


def by_idle_time(text: bytes) -> Filter:
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


def readers(session: Session) -> Readers:
    """What reads the filters but ID, by option."""
    return {
        **{name: FILTERS[name] for name in (b"TYPE", b"ADDR", b"LADDR")},
        b"USER": partial(by_known_user, session),
        b"MAXAGE": by_age,
    }


@instead_of(readers, "valkey-9.1+")
def readers_of_9_1(session: Session) -> Readers:
    """The same with more filters, and NOT- in front of those that are no times."""
    timed: dict[bytes, Callable[[bytes], Filter]] = {b"MAXAGE": by_age, b"IDLE": by_idle_time}
    found: dict[bytes, Callable[[bytes], Filter]] = {
        **readers(session),
        b"FLAGS": partial(by_letters, b"flags", FLAGS, flags),
        b"CAPA": partial(by_letters, b"capa", CAPABILITIES, FIELDS[b"capa"]),
        b"NAME": partial(by_text, lambda other: other.name),
        b"LIB-NAME": partial(by_text, lambda other: other.library[b"lib-name"]),
        b"LIB-VER": partial(by_text, lambda other: other.library[b"lib-ver"]),
        b"IP": partial(by_text, lambda other: other.address.rpartition(b":")[0].strip(b"[]")),
        b"DB": partial(by_database, session),
    }
    return {**found, **{b"NOT-" + name: opposite(name, read) for name, read in found.items()}, **timed} | {
        b"NOT-" + name: refuse for name in timed
    }


def refuse(_: bytes) -> Filter:
    raise CommandError(errors.SYNTAX)


def opposite(name: bytes, read: Callable[[bytes], Filter]) -> Callable[[bytes], Filter]:
    def read_opposite(text: bytes) -> Filter:
        try:
            passes = read(text)
        except CommandError as error:
            raise CommandError(errors.of_opposite_filter(error.message, name)) from None
        return lambda other: not passes(other)

    return read_opposite


def read_filters(session: Session, words: list[bytes], *, spare: bool) -> list[Filter]:
    """The filters of a request; ``spare`` tells whether they leave the caller out by default."""
    known = chosen(session.engine.version, readers)(session)
    found: dict[bytes, Filter] = {}
    ids: dict[bytes, set[int]] = {}
    at = 0
    while at < len(words):
        option, value = words[at].upper(), words[at + 1 : at + 2]
        if option == b"ID" or (option == b"NOT-ID" and b"NOT-TYPE" in known):
            numbers = read_ids(words[at + 1 :])
            ids.setdefault(option, set()).update(numbers)
            at += len(numbers) - 1
        elif not value:
            raise CommandError(errors.SYNTAX)
        elif option == b"SKIPME":
            spare = read_yes_or_no(value[0])
        else:
            found[option] = known.get(option, refuse)(value[0])
        at += 2
    for option, kept in ids.items():
        found[option] = lambda other, kept=kept, has=option == b"ID": (other.id in kept) == has  # type: ignore[misc]
    return [*found.values(), *([lambda other: other is not session] if spare else [])]


def read_ids(words: list[bytes]) -> list[int]:
    """The numbers at the beginning of some words: of none, no client has the number."""
    numbers: list[int] = []
    for word in words:
        number = parse_integer(word)
        if number is None:
            break
        if number < 1:
            raise CommandError(errors.CLIENT_ID_NOT_POSITIVE)
        numbers.append(number)
    return numbers


@in_versions("valkey-8.1+", "client|list")
def client_list(session: Session, args: list[bytes]) -> Reply:
    """CLIENT LIST with the filters of CLIENT KILL."""
    if len(args) == 3:
        raise CommandError(errors.SYNTAX)
    listed = select(session, *read_filters(session, args[2:], spare=False))
    return Verbatim(b"".join(describe(each, args if each is session else None) + b"\n" for each in listed))


@in_versions("valkey-8.1+", "client|kill")
def client_kill_filtered(session: Session, args: list[bytes]) -> Reply:
    """CLIENT KILL with several ids."""
    if len(args) == 3:
        return client_kill(session, args)
    victims = select(session, *read_filters(session, args[2:], spare=True))
    kill(session, victims)
    return len(victims)
