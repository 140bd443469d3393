"""The connection commands, CLIENT among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .. import errors
from ..clients import FILTERS, Filter, describe, select
from ..errors import CommandError
from ..keyspace import Database
from ..numbers import read_integer
from ..registry import AT_ONCE, command, container
from ..replies import OK, PONG, Map, Reply, Verbatim
from ..session import Session
from ..version import VERSION

OPEN_TO_ALL: Final = "noscript loading stale fast no_auth allow_busy"
OWN: Final = "noscript loading stale"
MIN32: Final = -(1 << 31)
MAX32: Final = (1 << 31) - 1
ADMIN: Final = "admin noscript loading stale"


@command(
    "PING",
    -1,
    "fast",
    acl="connection",
    tips="request_policy:all_shards response_policy:all_succeeded",
)
def ping(session: Session, args: list[bytes]) -> Reply:
    """Answers PONG, or the argument."""
    if len(args) > 2:
        raise CommandError(errors.wrong_arity(b"ping"))
    return PONG if len(args) == 1 else args[1]


@command("ECHO", 2, "loading stale fast", acl="connection")
def echo(session: Session, args: list[bytes]) -> Reply:
    """Answers the argument."""
    return args[1]


@command("QUIT", -1, OPEN_TO_ALL, acl="connection", in_transaction=AT_ONCE)
def quit_(session: Session, args: list[bytes]) -> Reply:
    """Answers OK and hangs up."""
    session.close()
    return OK


@command("SELECT", 2, "loading stale fast", acl="connection")
def select_(session: Session, args: list[bytes]) -> Reply:
    """Chooses the database that the next commands work on."""
    session.db = database(session, read_index(args[1]))
    return OK


def read_index(text: bytes) -> int:
    """A 32-bit number, such as a database has."""
    index = read_integer(text)
    if not MIN32 <= index <= MAX32:
        raise CommandError(errors.outside(MIN32, MAX32))
    return index


def database(session: Session, index: int) -> Database:
    """The database of that number; raises Redis's error where there is none."""
    databases = session.engine.keyspace.databases
    if not 0 <= index < len(databases):
        raise CommandError(errors.DB_INDEX)
    return databases[index]


# HELLO


@command("HELLO", -1, OPEN_TO_ALL, acl="connection")
def hello(session: Session, args: list[bytes]) -> Reply:
    """Changes the version of the protocol, and tells who the server is."""
    resp = read_version(args[1]) if len(args) > 1 else session.resp
    name = read_hello_options(args[2:])
    if name is not None:
        session.name = name
    session.resp = resp
    return Map(
        {
            b"server": b"redis",
            b"version": VERSION.encode(),
            b"proto": resp,
            b"id": session.id,
            b"mode": b"standalone",
            b"role": b"master",
            b"modules": [],
        }
    )


def read_version(text: bytes) -> int:
    version = read_integer(text, errors.PROTOCOL_NOT_AN_INTEGER)
    if version not in {2, 3}:
        raise CommandError(errors.NO_PROTOCOL)
    return version


def read_hello_options(words: list[bytes]) -> bytes | None:
    """Checks AUTH, which any password of the default user passes, and returns the name of SETNAME."""
    name = None
    at = 0
    while at < len(words):
        option, left = words[at].upper(), len(words) - at - 1
        if option == b"AUTH" and left >= 2:
            check_user(words[at + 1])
            at += 3
        elif option == b"SETNAME" and left >= 1:
            name = checked_name(words[at + 1])
            at += 2
        else:
            raise CommandError(errors.hello_option(words[at]))
    return name


def check_user(user: bytes) -> None:
    if user != b"default":
        raise CommandError(errors.WRONG_PASSWORD)


# CLIENT

container("CLIENT", -2)


@command("CLIENT ID", 2, OWN, acl="connection")
def client_id(session: Session, args: list[bytes]) -> Reply:
    """This connection's number."""
    return session.id


@command("CLIENT GETNAME", 2, OWN, acl="connection")
def client_getname(session: Session, args: list[bytes]) -> Reply:
    """This connection's name, or null."""
    return session.name or None


@command("CLIENT SETNAME", 3, OWN, acl="connection")
def client_setname(session: Session, args: list[bytes]) -> Reply:
    """Names this connection; an empty name takes the name away."""
    session.name = checked_name(args[2])
    return OK


def checked_name(name: bytes) -> bytes:
    if any(not ord("!") <= byte <= ord("~") for byte in name):
        raise CommandError(errors.CLIENT_NAME)
    return name


@command("CLIENT INFO", 2, OWN, acl="connection", tips="nondeterministic_output")
def client_info(session: Session, args: list[bytes]) -> Reply:
    """This connection, as CLIENT LIST shows it."""
    return Verbatim(describe(session) + b"\n")


@command("CLIENT LIST", -2, ADMIN, acl="connection", tips="nondeterministic_output")
def client_list(session: Session, args: list[bytes]) -> Reply:
    """All connections, or those of a type or with one of some numbers, a line each."""
    chosen = listed(session, args[2:])
    return Verbatim(b"".join(describe(each) + b"\n" for each in chosen))


def listed(session: Session, words: list[bytes]) -> Iterable[Session]:
    sessions = session.engine.sessions
    if not words:
        return sessions.values()
    option = words[0].upper()
    if option == b"TYPE" and len(words) == 2:
        return select(session, FILTERS[b"TYPE"](words[1]))
    if option == b"ID" and len(words) > 1:
        numbers = [read_integer(word, errors.INVALID_CLIENT_ID) for word in words[1:]]
        return [sessions[number] for number in numbers if number in sessions]
    raise CommandError(errors.SYNTAX)


@command("CLIENT UNBLOCK", -3, ADMIN, acl="connection")
def client_unblock(session: Session, args: list[bytes]) -> Reply:
    """Ends another client's wait, as if its time were over or with an error; tells whether it waited."""
    if len(args) > 4:
        raise CommandError(errors.subcommand_or_arity(args[1], b"CLIENT"))
    reason = args[3].upper() if len(args) == 4 else b"TIMEOUT"
    if reason not in {b"TIMEOUT", b"ERROR"}:
        raise CommandError(errors.UNBLOCK_REASON)
    other = session.engine.sessions.get(read_integer(args[2]))
    if other is None or other.waiter is None:
        return 0
    error = CommandError(errors.UNBLOCKED)
    session.engine.unblock(other, other.waiter.when_over if reason == b"TIMEOUT" else error)
    return 1


@command("CLIENT KILL", -3, ADMIN, acl="connection")
def client_kill(session: Session, args: list[bytes]) -> Reply:
    """Hangs up on the client with an address, or on all that pass some filters."""
    if len(args) == 3:
        victims = select(session, FILTERS[b"ADDR"](args[2]))
        if not victims:
            raise CommandError(errors.NO_SUCH_CLIENT)
        kill(session, victims[:1])
        return OK
    victims = select(session, *read_filters(session, args[2:]))
    kill(session, victims)
    return len(victims)


def read_filters(session: Session, words: list[bytes]) -> list[Filter]:
    """The filters of CLIENT KILL; unless told otherwise it spares its caller."""
    if len(words) % 2:
        raise CommandError(errors.SYNTAX)
    filters: dict[bytes, Filter] = {}
    spare = True
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option.upper() == b"SKIPME":
            spare = read_yes_or_no(value)
        elif option.upper() in FILTERS:
            filters[option.upper()] = FILTERS[option.upper()](value)
        else:
            raise CommandError(errors.SYNTAX)
    return [*filters.values(), *([lambda other: other is not session] if spare else [])]


def read_yes_or_no(text: bytes) -> bool:
    if text.lower() not in {b"yes", b"no"}:
        raise CommandError(errors.SYNTAX)
    return text.lower() == b"yes"


def kill(session: Session, victims: Iterable[Session]) -> None:
    for victim in victims:
        if victim is session:
            session.close()  # once its own reply is sent
        else:
            session.engine.hang_up(victim)
