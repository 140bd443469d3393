"""COMMAND DOCS: the purpose and arguments of commands, generated from their declarations."""

from __future__ import annotations

from ...clients.session import Session
from ...declarations.registry import Command, command, commands
from ...declarations.syntax import documented, parse
from ...protocol.replies import Map, Reply, Set, status
from ...versions.version import MODULE
from .. import FOLDER, GROUPS
from .introspection import FLAGS, UNORDERED, is_of_module, named


@command(
    "COMMAND DOCS", -2, FLAGS, acl="connection", tips=UNORDERED, since="7.0.0", syntax="[command-name]..."
)
def command_docs(session: Session, args: list[bytes]) -> Reply:
    """Returns summaries and arguments of the named commands, or of all commands."""
    table = session.engine.commands
    wanted = [named(table, name) for name in args[2:]] if len(args) > 2 else commands(table.lookup)
    return Map({declared.name: docs(declared) for declared in wanted if declared is not None})


def docs(declared: Command) -> Map:
    """The documentation of one command, as COMMAND DOCS shows it."""
    about = declared.docs
    shown: dict[bytes, Reply] = {b"summary": about.summary.encode()}
    if about.since:
        shown[b"since"] = about.since.removeprefix("valkey-").encode()
    shown[b"group"] = GROUPS[about.module.removeprefix(f"{FOLDER}.")].encode()
    if is_of_module(declared):
        shown[b"module"] = MODULE.encode()
    flags = [*(["deprecated"] if about.deprecated else []), *about.flags.split()]
    if flags:
        shown[b"doc_flags"] = Set(status(flag.encode()) for flag in flags)
    if about.deprecated:
        shown[b"deprecated_since"] = about.deprecated.encode()
        shown[b"replaced_by"] = about.replaced_by.encode()
    if about.syntax:
        shown[b"arguments"] = [documented(argument) for argument in parse(about.syntax)]
    if declared.subcommands:
        shown[b"subcommands"] = Map({part.name: docs(part) for part in commands(declared.subcommands)})
    return Map(shown)
