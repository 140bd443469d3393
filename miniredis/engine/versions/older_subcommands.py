"""Subcommands of 6.0 and 6.2: what they check in another order than in 7.0, or refuse in other words.

Their commands know them, not the gate: a subcommand that there is not, or that has too few words, is refused
when it runs, also in a transaction. ``refused_part`` and ``counting_words`` do so before all other checks.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ..cluster import cluster_errors
from ..commands.server.introspection import command_info
from ..declarations.registry import (
    DECLARED,
    Handler,
    by_version,
    chosen,
    in_versions,
    prepared_in,
    variant,
    wrap_in_versions,
)
from ..keyspace.events import LETTERS
from ..keyspace.keyspace import STREAM
from ..numbers.numbers import read_integer
from ..protocol import errors
from ..protocol.errors import CommandError
from .version import OLD, versions_in
from .wordings import old_unknown_subcommand

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..protocol.replies import Reply

NOT_IN_CAPITALS: Final = b"ERR unknown subcommand or wrong number of arguments"

ARITIES: Final = {
    "command|getkeys client|caching": -3,
    "acl|load acl|save": -2,
    "config|get": 3,
    "config|set": 4,
    "script|exists": -2,
    "xgroup|create xgroup|setid xgroup|destroy xgroup|delconsumer xgroup|createconsumer": -4,
}
"""How many words subcommands took where 7.0 takes others."""

OF_XINFO: Final = "xinfo|groups xinfo|consumers xinfo|stream"
ARITIES_OF: Final = {
    "6.0": {**ARITIES, "client|pause": 3, "script|flush": 2, f"{OF_XINFO} xinfo|help": -2},
    "6.2": {**ARITIES, OF_XINFO: -3, "xinfo|help": -2},
}


no_key_of_xinfo: Final = by_version(b"", {"6.0": errors.SYNTAX + b", try 'XINFO HELP'"})
"""What XINFO says without a key; empty where it says what it says of unknown subcommands."""


def refused_part(session: Session, args: list[bytes]) -> NoReturn:
    """A subcommand that there is not: its command refuses it when it runs, also in a transaction."""
    command = args[0].lower()
    if command == b"cluster" and session.engine.cluster is None:
        raise CommandError(cluster_errors.NO_CLUSTER)
    if (command, args[1].upper()) == (b"client", b"KILL"):
        raise CommandError(errors.SYNTAX)
    if command == b"xgroup" and len(args) > 3 and session.db.lookup_write(args[2], STREAM) is None:
        raise CommandError(errors.XGROUP_NO_KEY)
    version = session.engine.version
    if command == b"xinfo" and len(args) == 2 and no_key_of_xinfo(version):
        raise CommandError(no_key_of_xinfo(version))
    if command == b"xinfo" and len(args) > 2 and session.db.lookup_read(args[2], STREAM) is None:
        raise CommandError(errors.NO_SUCH_KEY)
    raise CommandError(chosen(version, errors.unknown_subcommand)(command, args[1]))


def counting_words(handler: Handler, arity: int) -> Handler:
    """A subcommand that counts its words, and refuses what it does not know, in the same words."""

    def run(session: Session, args: list[bytes]) -> Reply:
        if len(args) < abs(arity) or len(args) > arity > 0:
            refused_part(session, args)
        try:
            return handler(session, args)
        except CommandError as error:
            if not error.message.startswith(NOT_IN_CAPITALS):
                raise
            refused_part(session, args)

    return run


@in_versions(OLD, "command|info")
def named_commands(session: Session, args: list[bytes]) -> Reply:
    """COMMAND INFO, which describes no subcommands, and without a name nothing."""
    shown = [b"" if b"|" in word else word for word in args]
    return command_info(session, shown) if len(args) > 2 else []


@prepared_in(OLD, "slowlog|get")
def with_any_number(_: Session, args: list[bytes]) -> list[bytes]:
    """SLOWLOG GET takes every negative number for all."""
    return [*args[:2], b"-1"] if len(args) == 3 and read_integer(args[2]) < 0 else args


# CONFIG SET

FAILED: Final = re.compile(
    rb"ERR CONFIG SET failed \(possibly related to argument '[^']*'\) - (.*)"
    rb"|ERR Unknown option or number of arguments for CONFIG SET.*",
    re.DOTALL,
)
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
            found = FAILED.fullmatch(error.message)
            if found is None:
                raise
            if found[1] in {None, b"can't set immutable config"}:
                raise CommandError(b"ERR Unsupported CONFIG parameter: " + args[2]) from None
            why = found[1].replace(b"argument(s) must", b"argument must")
            raise CommandError(refusal + (b"" if name in UNEXPLAINED else b" - " + why)) from None

    return run


wrap_in_versions("6.0", "config|set", partial(one_directive, unknown="nd"))
wrap_in_versions("6.2", "config|set", partial(one_directive, unknown="n"))


# XGROUP and XINFO


def with_key_first(session: Session, args: list[bytes], sizes: range, *, needs_group: bool) -> None:
    """A subcommand of XGROUP looks at the key and the group before it counts its words."""
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


def with_stream_first(session: Session, args: list[bytes], sizes: range) -> None:
    """A subcommand of XINFO does the same."""
    if len(args) not in sizes:
        refused_part(session, args)
    if session.db.lookup_read(args[2], STREAM) is None:
        raise CommandError(errors.NO_SUCH_KEY)


for names, sizes, needs_group in (
    ("xgroup|create", range(5, 7), False),
    ("xgroup|setid xgroup|delconsumer xgroup|createconsumer", range(5, 6), True),
    ("xgroup|destroy", range(4, 5), False),
):
    prepared_in(OLD, names)(partial(with_key_first, sizes=sizes, needs_group=needs_group))
for names, sizes in (
    ("xinfo|groups", range(3, 4)),
    ("xinfo|consumers", range(4, 5)),
    ("xinfo|stream", range(3, 99)),
):
    prepared_in(OLD, names)(partial(with_stream_first, sizes=sizes))


# MODULE, which needs no directive and finds no module


@in_versions(OLD, "module|load module|unload", allowed_by="")
def without_modules(_: Session, args: list[bytes]) -> Reply:
    """MODULE LOAD and MODULE UNLOAD."""
    raise CommandError(MODULE_ERRORS[args[1].lower()])


MODULE_ERRORS: Final = {
    b"load": b"ERR Error loading the extension. Please check the server logs.",
    b"unload": b"ERR Error unloading module: no such module with that name",
}

# Last: subcommands count their words before they do anything else

wrap_in_versions(OLD, "debug", partial(counting_words, arity=-2))
for version in versions_in(OLD):
    arities = {name: arity for names, arity in ARITIES_OF[version.name].items() for name in names.split()}
    for declared in tuple(DECLARED.values()):
        container, bar, _ = (name := declared.name.decode()).partition("|")
        if bar and declared.is_in(version):
            counting = partial(counting_words, arity=arities.get(name, declared.arity))
            wrap_in_versions(version.name, name, counting)
            variant(version.name, name, arity=-2)
            variant(version.name, container, unknown_part=refused_part)
