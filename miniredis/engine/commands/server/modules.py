"""MODULE and LOLWUT: this server loads no modules, and draws nothing."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import command, container
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Reply, Verbatim

DIRECTIVE: Final = "enable-module-command"
LOADS: Final = "admin noscript no_async_loading"

container("MODULE", -2, module=__name__, summary="Shows which modules are loaded.", since="4.0.0")


@command("MODULE LIST", 2, "admin noscript", acl="", tips="nondeterministic_output_order", since="4.0.0")
def module_list(session: Session, args: list[bytes]) -> Reply:
    """Lists the modules that were loaded: none, as the commands of RedisMQ are built in."""
    return []


@command("MODULE LOAD", -3, LOADS, acl="", allowed_by=DIRECTIVE, since="4.0.0", syntax="path [arg...]")
def module_load(session: Session, args: list[bytes]) -> Reply:
    """Is refused: no value of ``enable-module-command`` but ``no`` is accepted."""
    raise CommandError(errors.not_allowed(b"module", DIRECTIVE))


@command(
    "MODULE LOADEX",
    -3,
    LOADS,
    acl="",
    allowed_by=DIRECTIVE,
    since="7.0.0",
    syntax="path [CONFIG configs{name value}]...! [ARGS args{arg}]...",
)
def module_loadex(session: Session, args: list[bytes]) -> Reply:
    """Is refused as MODULE LOAD is."""
    raise CommandError(errors.not_allowed(b"module", DIRECTIVE))


@command("MODULE UNLOAD", 3, LOADS, acl="", allowed_by=DIRECTIVE, since="4.0.0", syntax="name")
def module_unload(session: Session, args: list[bytes]) -> Reply:
    """Is refused as MODULE LOAD is."""
    raise CommandError(errors.not_allowed(b"module", DIRECTIVE))


@command("MODULE HELP", 2, "loading stale", acl="", since="5.0.0")
def module_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"module"))


SIZES: Final = {5: 3, 6: 2}
"""How many numbers LOLWUT may take that say how large the art of a version is."""


@command("LOLWUT", -1, "readonly fast", acl="", since="5.0.0", syntax="[VERSION version:integer]")
def lolwut(session: Session, args: list[bytes]) -> Reply:
    """Returns the version of the server, without the art of versions 5 and 6."""
    if len(args) > 2 and args[1].upper() == b"VERSION":
        version = read_integer(args[2])
        for size in args[3 : 3 + SIZES.get(version, 0)]:
            read_integer(size)
    return Verbatim(b"Redis ver. %b\n" % session.engine.version.number.encode())
