"""COMMAND DOCS: what commands are for and which arguments they take, told from their declarations."""

from __future__ import annotations

from typing import Final

from ..registry import LOOKUP, Command, command, commands
from ..replies import Map, Reply, Set, status
from ..session import Session
from ..syntax import documented, parse
from ..version import MODULE
from .introspection import FLAGS, UNORDERED, is_of_module, named

GROUPS: Final = {
    "bitfields": "bitmap",
    "bitmaps": "bitmap",
    "clients": "connection",
    "config": "server",
    "connection": "connection",
    "debugging": "server",
    "replicas": "server",
    "rewriting": "server",
    "documentation": "server",
    "dump": "generic",
    "expiring": "generic",
    "functions": "scripting",
    "generic": "generic",
    "geo": "geo",
    "geo_search": "geo",
    "hash_members": "hash",
    "hashes": "hash",
    "hyperloglogs": "hyperloglog",
    "introspection": "server",
    "lcs": "string",
    "list_elements": "list",
    "lists": "list",
    "objects": "generic",
    "pubsub": "pubsub",
    "rqueue_pops": "module",
    "rqueues": "module",
    "scanning": "generic",
    "scripting": "scripting",
    "server": "server",
    "set_algebra": "set",
    "sets": "set",
    "sorted_set_algebra": "sorted-set",
    "sorted_set_pops": "sorted-set",
    "sorted_set_ranges": "sorted-set",
    "sorted_set_samples": "sorted-set",
    "sorted_sets": "sorted-set",
    "sorting": "generic",
    "stream_groups": "stream",
    "stream_info": "stream",
    "stream_pending": "stream",
    "stream_reading": "stream",
    "stream_trimming": "stream",
    "streams": "stream",
    "strings": "string",
    "tracking": "connection",
    "transactions": "transactions",
    "watching": "server",
}
"""Redis's group of the commands in each module here."""


@command(
    "COMMAND DOCS", -2, FLAGS, acl="connection", tips=UNORDERED, since="7.0.0", syntax="[command-name]..."
)
def command_docs(session: Session, args: list[bytes]) -> Reply:
    """What the commands named are for, and their arguments; all commands if none is named."""
    chosen = [named(name) for name in args[2:]] if len(args) > 2 else commands(LOOKUP)
    return Map({declared.name: docs(declared) for declared in chosen if declared is not None})


def docs(declared: Command) -> Map:
    """One command as COMMAND DOCS shows it."""
    about = declared.docs
    shown: dict[bytes, Reply] = {b"summary": about.summary.encode()}
    if about.since:
        shown[b"since"] = about.since.encode()
    shown[b"group"] = GROUPS[about.module.rpartition(".")[2]].encode()
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
