"""CLIENT: shows and changes the connections of the caller and of other clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...clients.client_flags import MUTE, NO_EVICT, REPLIES_OFF, SKIPS_NEXT
from ...clients.client_list import Filter, by_address, by_type, describe, filters, select
from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import by_version, chosen, command, container
from ...numbers.numbers import MAX, parse_integer, read_integer, read_milliseconds
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NO_REPLY, OK, Reply, Verbatim
from .connection import checked_name, is_name

OWN: Final = "noscript loading stale"
ADMIN: Final = "admin noscript loading stale"

container("CLIENT", -2, module=__name__, summary="Shows, changes and closes connections.", since="2.4.0")


@command("CLIENT ID", 2, OWN, acl="connection", since="5.0.0")
def client_id(session: Session, args: list[bytes]) -> Reply:
    """Returns the id of this connection."""
    return session.id


@command("CLIENT GETNAME", 2, OWN, acl="connection", since="2.6.9")
def client_getname(session: Session, args: list[bytes]) -> Reply:
    """Returns the name of this connection; null if it has none."""
    return session.name or None


@command("CLIENT SETNAME", 3, OWN, acl="connection", since="2.6.9", syntax="connection-name")
def client_setname(session: Session, args: list[bytes]) -> Reply:
    """Gives this connection a name; an empty name removes it."""
    session.name = checked_name(session, args[2])
    return OK


@command(
    "CLIENT SETINFO",
    4,
    OWN,
    acl="connection",
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="7.2.0",
    syntax="attr(LIB-NAME libname|LIB-VER libver)",
)
def client_setinfo(session: Session, args: list[bytes]) -> Reply:
    """Keeps the name or the version of this connection's library for CLIENT LIST."""
    attribute = args[2].lower()
    if attribute not in {b"lib-name", b"lib-ver"}:
        raise CommandError(errors.unrecognized_option(args[2]))
    text = errors.until_nul(args[3])
    if not is_name(text):
        raise CommandError(errors.special_characters(args[2]))
    session.library = {**session.library, attribute: text}
    return OK


@command("CLIENT INFO", 2, OWN, acl="connection", tips="nondeterministic_output", since="6.2.0")
def client_info(session: Session, args: list[bytes]) -> Reply:
    """Shows this connection in the format of CLIENT LIST."""
    return Verbatim(describe(session, args) + b"\n")


@command(
    "CLIENT LIST",
    -2,
    ADMIN,
    acl="connection",
    tips="nondeterministic_output",
    since="2.4.0",
    syntax=(
        "[TYPE normal_master_replica_pubsub@5.0.0(NORMAL|MASTER|REPLICA|PUBSUB)] [ID "
        "id@6.2.0{client-id:integer...}]"
    ),
)
def client_list(session: Session, args: list[bytes]) -> Reply:
    """Lists all connections, or those of one type or with some ids, one line each."""
    shown = chosen(session.engine.version, listed)(session, args[2:])
    return Verbatim(b"".join(describe(each, args if each is session else None) + b"\n" for each in shown))


def listed(session: Session, words: list[bytes]) -> Iterable[Session]:
    sessions = session.engine.sessions
    if not words:
        return sessions.values()
    option = words[0].upper()
    if option == b"TYPE" and len(words) == 2:
        return select(session, by_type(session, words[1]))
    if option == b"ID" and len(words) > 1:
        numbers = [read_integer(word, errors.INVALID_CLIENT_ID) for word in words[1:]]
        return [sessions[number] for number in numbers if number in sessions]
    raise CommandError(errors.SYNTAX)


@command(
    "CLIENT UNBLOCK",
    -3,
    ADMIN,
    acl="connection",
    since="5.0.0",
    syntax="client-id:integer [timeout_error(TIMEOUT|ERROR)]",
)
def client_unblock(session: Session, args: list[bytes]) -> Reply:
    """Ends the wait of a blocked client by a timeout or an error; returns whether it was blocked."""
    if len(args) > 4:
        raise CommandError(errors.subcommand_or_arity(args[1], b"CLIENT"))
    reason = args[3].upper() if len(args) == 4 else b"TIMEOUT"
    if reason not in {b"TIMEOUT", b"ERROR"}:
        raise CommandError(errors.UNBLOCK_REASON)
    other = session.engine.sessions.get(read_integer(args[2]))
    if other is None or other.waiter is None:
        return 0
    reply = other.waiter.reply_when_over() if reason == b"TIMEOUT" else CommandError(errors.UNBLOCKED)
    return int(session.engine.unblock(other, reply))


@command(
    "CLIENT KILL",
    -3,
    ADMIN,
    acl="connection",
    since="2.4.0",
    syntax=(
        "filter(ip:port@-2.8.12|new-format([ID client-id:integer@2.8.12]|[TYPE "
        "normal_master_slave_pubsub@2.8.12(NORMAL|MASTER@3.2.0|SLAVE|REPLICA@5.0.0|PUBSUB)]|[USER "
        "username]|[ADDR ip:port]|[LADDR ip:port@6.2.0]|[SKIPME yes/no])...)"
    ),
)
def client_kill(session: Session, args: list[bytes]) -> Reply:
    """Closes the connection with an address, or all connections that pass some filters."""
    if len(args) == 3:
        victims = select(session, by_address(session, args[2]))
        if not victims:
            raise CommandError(errors.NO_SUCH_CLIENT)
        kill(session, victims[:1])
        return OK
    victims = select(session, *read_filters(session, args[2:], spare=True))
    kill(session, victims)
    return len(victims)


def read_filters(session: Session, words: list[bytes], *, spare: bool) -> list[Filter]:
    """The filters of a request; ``spare`` tells whether they leave the caller out by default."""
    known = chosen(session.engine.version, filters)()
    takes_several = take_several(session.engine.version)
    found: dict[bytes, Filter] = {}
    ids: dict[bytes, set[int]] = {}
    at = 0
    while at < len(words):
        option, value = words[at].upper(), words[at + 1 : at + 2]
        if option in takes_several:
            numbers = read_ids(words[at + 1 :])
            ids.setdefault(option, set()).update(numbers)
            at += len(numbers) - 1
        elif not value:
            raise CommandError(errors.SYNTAX)
        elif option == b"SKIPME":
            spare = read_yes_or_no(value[0])
        else:
            found[option] = known.get(option, refuse)(session, value[0])
        at += 2
    for option, kept in ids.items():
        found[option] = lambda other, kept=kept, has=option == b"ID": (other.id in kept) == has  # type: ignore[misc]
    return [*found.values(), *([lambda other: other is not session] if spare else [])]


take_several: Final = by_version((), {"valkey-8.1": (b"ID",), "valkey-9.1+": (b"ID", b"NOT-ID")})
"""The filters that take several ids."""


def read_ids(words: list[bytes]) -> list[int]:
    """The numbers up to the first word that is none."""
    numbers: list[int] = []
    for word in words:
        number = parse_integer(word)
        if number is None:
            break
        if number < 1:
            raise CommandError(errors.CLIENT_ID_NOT_POSITIVE)
        numbers.append(number)
    return numbers


def refuse(_: Session, __: bytes) -> Filter:
    raise CommandError(errors.SYNTAX)


def read_yes_or_no(text: bytes) -> bool:
    if text.lower() not in {b"yes", b"no"}:
        raise CommandError(errors.SYNTAX)
    return text.lower() == b"yes"


def kill(session: Session, victims: Iterable[Session]) -> None:
    for victim in victims:
        if victim is session:
            session.close()  # closes after its own reply is sent
        else:
            session.engine.hang_up(victim)


# Settings of the connection


@command("CLIENT REPLY", 3, OWN, acl="connection", since="3.2.0", syntax="on_off_skip(ON|OFF|SKIP)")
def client_reply(session: Session, args: list[bytes]) -> Reply:
    """Turns replies to this connection on or off, or skips the next one."""
    mode = args[2].upper()
    if mode == b"ON":
        session.flags &= ~MUTE
        return OK
    if mode == b"OFF":
        session.flags |= REPLIES_OFF
    elif mode == b"SKIP":
        session.flags |= 0 if session.flags & REPLIES_OFF else SKIPS_NEXT
    else:
        raise CommandError(errors.SYNTAX)
    return NO_REPLY


@command("CLIENT NO-EVICT", 3, ADMIN, acl="connection", since="7.0.0", syntax="enabled(ON|OFF)")
def client_no_evict(session: Session, args: list[bytes]) -> Reply:
    """Protects this connection from being closed when memory is short."""
    if args[2].upper() not in {b"ON", b"OFF"}:
        raise CommandError(errors.SYNTAX)
    if args[2].upper() == b"ON":
        session.flags |= NO_EVICT
    else:
        session.flags &= ~NO_EVICT
    return OK


@command(
    "CLIENT PAUSE",
    -3,
    ADMIN,
    acl="connection",
    since="2.9.50",
    syntax="timeout:integer [mode@6.2.0(WRITE|ALL)]",
)
def client_pause(session: Session, args: list[bytes]) -> Reply:
    """Delays all commands, or only writes, for some milliseconds."""
    if len(args) > 4:
        raise CommandError(errors.subcommand_or_arity(args[1], b"CLIENT"))
    mode = args[3].upper() if len(args) == 4 else b"ALL"
    if mode not in {b"WRITE", b"ALL"}:
        raise CommandError(errors.PAUSE_MODE)
    engine = session.engine
    milliseconds = read_milliseconds(args[2]) or 0
    if milliseconds <= MAX - engine.now.milliseconds:  # a larger sum wraps into the past in Redis
        engine.start_pause(engine.now.monotonic + milliseconds * 1000, writes_only=mode == b"WRITE")
    return OK


@command("CLIENT UNPAUSE", 2, ADMIN, acl="connection", since="6.2.0")
def client_unpause(session: Session, args: list[bytes]) -> Reply:
    """Ends CLIENT PAUSE early."""
    session.engine.end_pause()
    return OK


@command("CLIENT HELP", 2, "loading stale", acl="connection", since="5.0.0")
def client_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"client"))
