"""The connection commands, except CLIENT."""

from __future__ import annotations

import re
from typing import Final

from ...acl.user import DEFAULT_NAME
from ...clients.client_flags import UNAUTHENTICATED
from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import check_not_in_cluster
from ...declarations.registry import AT_ONCE, by_version, chosen, command, in_versions
from ...keyspace.keyspace import Database
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, PONG, Map, Reply, status
from ...protocol.requests import REDACTED

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
    since="1.0.0",
    syntax="[message]",
)
def ping(session: Session, args: list[bytes]) -> Reply:
    """Replies with PONG, or with the argument."""
    if len(args) > 2:
        raise CommandError(errors.wrong_arity(b"ping"))
    if session.subscriptions and session.resp == 2:  # where the reply must look like a message
        return [b"pong", *(args[1:] or [b""])]
    return PONG if len(args) == 1 else args[1]


@command("ECHO", 2, "loading stale fast", acl="connection", since="1.0.0", syntax="message")
def echo(session: Session, args: list[bytes]) -> Reply:
    """Replies with the argument."""
    return args[1]


@command("QUIT", -1, OPEN_TO_ALL, acl="connection", in_transaction=AT_ONCE, since="1.0.0")
def quit_(session: Session, args: list[bytes]) -> Reply:
    """Replies with OK, then closes the connection."""
    session.close()
    return OK


@command("SELECT", 2, "loading stale fast", acl="connection", since="1.0.0", syntax="index:integer")
def select_(session: Session, args: list[bytes]) -> Reply:
    """Selects the database for the next commands of this connection."""
    index = read_index(args[1])
    if index:
        check_not_in_cluster(session, cluster_errors.not_in_cluster(b"SELECT"))
    session.db = database(session, index)
    return OK


def read_index(text: bytes) -> int:
    """The 32-bit number of a database."""
    index = read_integer(text)
    if not MIN32 <= index <= MAX32:
        raise CommandError(errors.outside(MIN32, MAX32))
    return index


def database(session: Session, index: int) -> Database:
    """The database with that number; raises ``CommandError`` if there is none."""
    databases = session.engine.keyspace.databases
    if not 0 <= index < len(databases):
        raise CommandError(errors.DB_INDEX)
    return databases[index]


@command("RESET", 1, OPEN_TO_ALL, acl="connection", in_transaction=AT_ONCE, since="6.2.0")
def reset(session: Session, args: list[bytes]) -> Reply:
    """Puts the connection back into the state of a new one."""
    session.reset()
    return status(b"RESET")


# Authentication


@command("AUTH", -2, OPEN_TO_ALL, acl="connection", since="1.0.0", syntax="[username@6.0.0] password")
def auth(session: Session, args: list[bytes]) -> Reply:
    """Authenticates the connection with a password, as the default user or a named one."""
    if len(args) > 3:
        raise CommandError(errors.SYNTAX)
    user, password = args[1:] if len(args) == 3 else (DEFAULT_NAME, args[1])
    args[1:] = [REDACTED] * (len(args) - 1)
    if len(args) == 2 and session.engine.users.default.has_no_password:
        raise CommandError(errors.NO_PASSWORD_SET)
    authenticate(session, user, password, args[0])
    return OK


def authenticate(session: Session, user: bytes, password: bytes, asked_by: bytes) -> None:
    """Makes a client a user; ``asked_by`` is the name of the command as the client sent it."""
    if not session.engine.users.authenticate(session, user, password, asked_by):
        raise CommandError(chosen(session.engine.version, errors.wrong_password)())


# HELLO


@command(
    "HELLO",
    -1,
    OPEN_TO_ALL,
    acl="connection",
    since="6.0.0",
    syntax=("[arguments{protover:integer [AUTH username_password{username password}] [SETNAME clientname]}]"),
)
def hello(session: Session, args: list[bytes]) -> Reply:
    """Chooses the version of the protocol and returns facts about the server."""
    resp = read_version(args[1]) if len(args) > 1 else session.resp
    take_hello_options(session, args)
    if session.flags & UNAUTHENTICATED:
        raise CommandError(errors.HELLO_WITHOUT_AUTH)
    session.resp = resp
    return Map(
        {
            b"server": session.engine.version.product.encode(),
            b"version": session.engine.version.own_number.encode(),
            b"proto": resp,
            b"id": session.id,
            b"mode": b"standalone" if session.engine.cluster is None else b"cluster",
            b"role": b"master",
            b"modules": [],
        }
    )


def read_version(text: bytes) -> int:
    version = read_integer(text, errors.PROTOCOL_NOT_AN_INTEGER)
    if version not in {2, 3}:
        raise CommandError(errors.NO_PROTOCOL)
    return version


def take_hello_options(session: Session, args: list[bytes]) -> None:
    """Applies AUTH and SETNAME one by one; an error does not undo what came before it."""
    at = 2
    while at < len(args):
        option, left = args[at].upper(), len(args) - at - 1
        if option == b"AUTH" and left >= 2:
            user, password = args[at + 1], args[at + 2]
            args[at + 1] = args[at + 2] = REDACTED
            authenticate(session, user, password, args[0])
            at += 3
        elif option == b"SETNAME" and left >= 1:
            session.name = checked_name(session, args[at + 1])
            at += 2
        else:
            raise CommandError(errors.hello_option(args[at]))


@in_versions("7.2+", "hello")
def hello_since_7_2(session: Session, args: list[bytes]) -> Reply:
    """HELLO, which since 7.2 looks at all options before it applies the last of each: AUTH, then SETNAME."""
    if len(args) > 1:
        read_version(args[1])
    at, last = 2, {b"AUTH": args[2:2], b"SETNAME": args[2:2]}
    while at < len(args):
        option = args[at].upper()
        end = at + HELLO_OPTIONS.get(option, len(args)) + 1
        if end > len(args):
            raise CommandError(errors.hello_option(args[at]))
        last[option] = args[at:end]
        if option == b"SETNAME":
            checked_name(session, args[at + 1])
        else:
            args[at + 1 : end] = [REDACTED] * 2
        at = end
    reply = hello(session, [*args[:2], *last[b"AUTH"]])
    for name in last[b"SETNAME"][1:]:
        session.name = name
    return reply


HELLO_OPTIONS: Final = {b"AUTH": 2, b"SETNAME": 1}
"""The operands of each."""


OTHER_THAN_PRINTABLE: Final = re.compile(rb"[^!-~]").search


def checked_name(session: Session, name: bytes) -> bytes:
    """A client's name; raises ``CommandError`` if it has spaces or unprintable characters."""
    if not is_name(errors.until_nul(name) if is_checked_up_to_nul(session.engine.version) else name):
        raise CommandError(errors.CLIENT_NAME)
    return name


is_checked_up_to_nul: Final = by_version(False, {"7.2+": True})
"""Whether only what stands before a NUL is checked of a client's name."""


def is_name(text: bytes) -> bool:
    """Whether a text has neither spaces nor unprintable characters."""
    return OTHER_THAN_PRINTABLE(text) is None
