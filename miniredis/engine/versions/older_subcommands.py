"""Subcommands of 6.0 and 6.2: what they check in another order than in 7.0, or refuse in other words.

Their commands know them, not the gate: a subcommand that there is not, or that has too few words, is refused
when it runs, also in a transaction. ``refused_part`` and ``counting_words`` do so before all other checks.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..cluster import cluster_errors
from ..commands.server.introspection import command_info
from ..commands.server.watching import slowlog_get
from ..declarations.registry import (
    DECLARED,
    Handler,
    chosen,
    in_versions,
    instead_of,
    variant,
    wrap_in_versions,
)
from ..keyspace.events import LETTERS
from ..keyspace.keyspace import STREAM
from ..numbers.numbers import read_integer
from ..protocol import errors
from ..protocol.errors import CommandError
from .variants import OLD, old_unknown_subcommand
from .version import versions_in

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..protocol.replies import Reply

NOT_IN_CAPITALS: Final = b"ERR unknown subcommand or wrong number of arguments"

XGROUPS: Final = ("create", "setid", "destroy", "delconsumer", "createconsumer")
XINFOS: Final = ("groups", "consumers", "stream", "help")
ARITIES: Final = {
    "command|getkeys": -3,
    "config|get": 3,
    "config|set": 4,
    "script|exists": -2,
    "client|caching": -3,
    **dict.fromkeys(map("xgroup|{}".format, XGROUPS), -4),
}
"""How many words subcommands took where 7.0 takes others."""

OF_XINFO: Final = [f"xinfo|{name}" for name in XINFOS]
ARITIES_OF: Final = {
    "6.0": {**ARITIES, "client|pause": 3, "script|flush": 2, **dict.fromkeys(OF_XINFO, -2)},
    "6.2": {**ARITIES, **dict.fromkeys(OF_XINFO, -3), "xinfo|help": -2},
}


def xinfo_without_key(subcommand: bytes) -> bytes:
    return old_unknown_subcommand(b"xinfo", subcommand)


@instead_of(xinfo_without_key, "6.0")
def xinfo_without_key_of_6_0(subcommand: bytes) -> bytes:  # noqa: ARG001
    return errors.SYNTAX + b", try 'XINFO HELP'"


def refused_part(session: Session, args: list[bytes]) -> Reply:
    """A subcommand that there is not: its command refuses it when it runs, also in a transaction."""
    command = args[0].lower()
    if command == b"cluster" and session.engine.cluster is None:
        raise CommandError(cluster_errors.NO_CLUSTER)
    if (command, args[1].upper()) == (b"client", b"KILL"):
        raise CommandError(errors.SYNTAX)
    if command == b"xgroup" and len(args) > 3 and session.db.lookup_write(args[2], STREAM) is None:
        raise CommandError(errors.XGROUP_NO_KEY)
    if command == b"xinfo" and len(args) == 2:
        raise CommandError(chosen(session.engine.version, xinfo_without_key)(args[1]))
    if command == b"xinfo" and session.db.lookup_read(args[2], STREAM) is None:
        raise CommandError(errors.NO_SUCH_KEY)
    raise CommandError(chosen(session.engine.version, errors.unknown_subcommand)(command, args[1]))


def counting_words(handler: Handler, arity: int) -> Handler:
    """A subcommand that counts its words, and refuses what it does not know, in the same words."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if len(args) < abs(arity) or len(args) > arity > 0:
            return refused_part(session, args)
        try:
            return handler(session, args)
        except CommandError as error:
            if not error.message.startswith(NOT_IN_CAPITALS):
                raise
            return refused_part(session, args)

    return run


@in_versions(OLD, "command|info")
def named_commands(session: Session, args: list[bytes]) -> Reply:
    """COMMAND INFO, which describes no subcommands, and without a name nothing."""
    shown = [b"" if b"|" in word else word for word in args]
    return command_info(session, shown) if len(args) > 2 else []


@in_versions(OLD, "slowlog|get")
def slowlog_get_of_6(session: Session, args: list[bytes]) -> Reply:
    """SLOWLOG GET, to which every negative number means all."""
    shown = args
    if len(args) == 3 and read_integer(args[2]) < 0:
        shown = [*args[:2], b"-1"]
    return slowlog_get(session, shown)


# CONFIG SET

FAILED: Final = re.compile(rb"ERR CONFIG SET failed \(possibly related to argument '[^']*'\) - (.*)", re.S)
UNEXPLAINED: Final = {b"notify-keyspace-events", b"save"}


def one_directive(handler: Handler, *, unknown: str) -> Handler:
    """CONFIG SET in the words of 6.x, which does not have all classes of keyspace events."""

    def run(session: Session, args: list[bytes]) -> Reply:
        name = args[2].lower()
        refusal = b"ERR Invalid argument '%b' for CONFIG SET '%b'" % (args[3], args[2])
        if name == b"notify-keyspace-events" and not set(args[3].decode("latin-1")) <= LETTERS - {*unknown}:
            raise CommandError(refusal)
        try:
            return handler(session, args)
        except CommandError as error:
            if error.message.startswith(b"ERR Unknown option or number of arguments for CONFIG SET"):
                raise CommandError(b"ERR Unsupported CONFIG parameter: " + args[2]) from None
            found = FAILED.fullmatch(error.message)
            if found and found[1] == b"can't set immutable config":
                raise CommandError(b"ERR Unsupported CONFIG parameter: " + args[2]) from None
            if found:
                reason = b"" if name in UNEXPLAINED else b" - " + found[1]
                raise CommandError(refusal + reason) from None
            raise

    return run


wrap_in_versions("6.0", "config|set", partial(one_directive, unknown="nd"))
wrap_in_versions("6.2", "config|set", partial(one_directive, unknown="n"))


# XGROUP and XINFO


def with_key_first(handler: Handler, sizes: range, *, needs_group: bool) -> Handler:
    """A subcommand of XGROUP, which looks at the key and the group before it counts its words."""

    def run(session: Session, args: list[bytes]) -> Reply:
        makes = len(args) == 6 and args[1].upper() == b"CREATE"
        if makes and args[5].upper() != b"MKSTREAM":
            raise CommandError(old_unknown_subcommand(b"xgroup", args[1]))
        stream: Any = session.db.lookup_write(args[2], STREAM)
        if stream is None and not makes:
            raise CommandError(errors.XGROUP_NO_KEY)
        if needs_group and args[3] not in stream.groups:
            raise CommandError(errors.no_group_of_key(args[2], args[3]))
        if len(args) not in sizes:
            raise CommandError(old_unknown_subcommand(b"xgroup", args[1]))
        return handler(session, args)

    return run


def with_stream_first(handler: Handler, sizes: range) -> Handler:
    """A subcommand of XINFO, which does the same."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if len(args) < 3:
            raise CommandError(chosen(session.engine.version, xinfo_without_key)(args[1]))
        if session.db.lookup_read(args[2], STREAM) is None:
            raise CommandError(errors.NO_SUCH_KEY)
        if len(args) not in sizes:
            raise CommandError(old_unknown_subcommand(b"xinfo", args[1]))
        return handler(session, args)

    return run


for name, sizes, needs_group in (
    ("create", range(5, 7), False),
    ("setid", range(5, 6), True),
    ("destroy", range(4, 5), False),
    ("delconsumer", range(5, 6), True),
    ("createconsumer", range(5, 6), True),
):
    wrap_in_versions(OLD, f"xgroup|{name}", partial(with_key_first, sizes=sizes, needs_group=needs_group))
for name, sizes in (("groups", range(3, 4)), ("consumers", range(4, 5)), ("stream", range(3, 99))):
    wrap_in_versions(OLD, f"xinfo|{name}", partial(with_stream_first, sizes=sizes))


# MODULE, which needs no directive and finds no module


def refusing(text: bytes) -> Handler:
    """A command that only has this error."""

    def run(session: Session, args: list[bytes]) -> Reply:  # noqa: ARG001
        raise CommandError(text)

    return run


for name, text in (
    ("load", b"ERR Error loading the extension. Please check the server logs."),
    ("unload", b"ERR Error unloading module: no such module with that name"),
):
    in_versions(OLD, f"module|{name}", allowed_by="")(refusing(text))


# Last: subcommands count their words before they do anything else

wrap_in_versions(OLD, "debug", partial(counting_words, arity=-2))
for version in versions_in(OLD):
    for declared in tuple(DECLARED.values()):
        container, bar, _ = declared.name.decode().partition("|")
        if bar and declared.is_in(version):
            arity = ARITIES_OF[version.name].get(declared.name.decode(), declared.arity)
            wrap_in_versions(version.name, declared.name.decode(), partial(counting_words, arity=arity))
            variant(version.name, declared.name.decode(), arity=-2)
            variant(version.name, container, unknown_part=refused_part)
