"""COMMAND: lists and describes commands, from their declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.key_positions import KeysError, keys_of
from ...declarations.registry import (
    Command,
    CommandTable,
    CountedKeys,
    Keys,
    KeySpecification,
    KeywordCountedKeys,
    KeywordKeys,
    UnknownKeys,
    chosen,
    command,
    commands,
    find,
)
from ...glob import compile_glob
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import Map, Reply, Set, status
from ...versions.version import MODULE

FLAGS: Final = "loading stale"
UNORDERED: Final = "nondeterministic_output_order"

Parts: TypeAlias = "Mapping[bytes, int | bytes]"
Where: TypeAlias = "tuple[tuple[bytes, Parts], tuple[bytes, Parts]]"
"""How COMMAND describes the positions of keys: ``begin_search`` and ``find_keys``."""


@command("COMMAND", -1, FLAGS, acl="connection", tips=UNORDERED, since="2.8.13")
def command_(session: Session, args: list[bytes]) -> Reply:
    """Describes every command."""
    describe = chosen(session.engine.version, details)
    return [describe(declared) for declared in listed(session.engine.commands)]


UNLISTED: Final = "unlisted"
"""A flag of commands that work without being in the table that clients are told."""


@cache  # a table does not change any more once all of it is loaded
def listed(table: CommandTable) -> tuple[Command, ...]:
    """The commands of a version that COMMAND tells of."""
    return tuple(declared for declared in commands(table.lookup) if UNLISTED not in declared.flags)


@cache
def with_parts(table: CommandTable) -> tuple[Command, ...]:
    """All commands of a version, each followed by its subcommands."""
    return tuple(
        each for declared in commands(table.lookup) for each in (declared, *commands(declared.subcommands))
    )


@command("COMMAND COUNT", 2, FLAGS, acl="connection", since="2.8.13")
def command_count(session: Session, args: list[bytes]) -> Reply:
    """Counts the commands of this server."""
    return len(listed(session.engine.commands))


@command(
    "COMMAND INFO", -2, FLAGS, acl="connection", tips=UNORDERED, since="2.8.13", syntax="[command-name]..."
)
def command_info(session: Session, args: list[bytes]) -> Reply:
    """Describes the named commands, null for an unknown one; or all commands."""
    if len(args) == 2:
        return command_(session, args)
    describe = chosen(session.engine.version, details)
    found = [named(session.engine.commands, name) for name in args[2:]]
    return [
        None if declared is None or UNLISTED in declared.flags else describe(declared) for declared in found
    ]


def named(table: CommandTable, name: bytes) -> Command | None:
    """The command or ``command|subcommand`` with that name."""
    parent, bar, part = name.partition(b"|")
    declared = find(table.lookup, parent)
    return find(declared.subcommands, part) if declared and bar else declared


@command(
    "COMMAND LIST",
    -2,
    FLAGS,
    acl="connection",
    tips=UNORDERED,
    since="7.0.0",
    syntax="[FILTERBY filterby(MODULE module-name|ACLCAT category|PATTERN pattern:pattern)]",
)
def command_list(session: Session, args: list[bytes]) -> Reply:
    """Lists the names of all commands and subcommands, or of those that pass a filter."""
    everything = with_parts(session.engine.commands)
    if len(args) == 2:
        return [declared.name for declared in everything]
    if len(args) != 5 or args[2].upper() != b"FILTERBY" or args[3].upper() not in LIST_FILTERS:
        raise CommandError(errors.SYNTAX)
    passes = LIST_FILTERS[args[3].upper()](args[4])
    return [declared.name for declared in everything if passes(declared)]


def is_of_module(declared: Command) -> bool:
    """Whether Redis has the command only if a module is loaded."""
    return "module" in declared.flags


def in_module(name: bytes) -> Callable[[Command], bool]:
    return lambda declared: is_of_module(declared) and name == MODULE.encode()


def in_category(name: bytes) -> Callable[[Command], bool]:
    category = name.decode("latin-1").lower()
    return lambda declared: category in declared.acl_categories


def fitting(pattern: bytes) -> Callable[[Command], bool]:
    fits = compile_glob(pattern, ignore_case=True)
    return lambda declared: fits(declared.name)


LIST_FILTERS: Final = {b"MODULE": in_module, b"ACLCAT": in_category, b"PATTERN": fitting}


@command(
    "COMMAND GETKEYS",
    -4,
    FLAGS,
    acl="connection",
    since="2.8.13",
)
def command_getkeys(session: Session, args: list[bytes]) -> Reply:
    """Lists the keys in a request."""
    return [key for key, _ in keys_in(session.engine.commands, args[2:])]


@command(
    "COMMAND GETKEYSANDFLAGS",
    -4,
    FLAGS,
    acl="connection",
    since="7.0.0",
)
def command_getkeysandflags(session: Session, args: list[bytes]) -> Reply:
    """Lists the keys in a request, each with how the command uses it."""
    return [[key, flag_words(flags)] for key, flags in keys_in(session.engine.commands, args[2:])]


def keys_in(table: CommandTable, request: list[bytes]) -> list[tuple[bytes, str]]:
    named = table.look_up(request)
    if named is None:
        raise CommandError(errors.NO_SUCH_COMMAND)
    if all(keys.flags == "not_key" for keys in named.keys):
        raise CommandError(errors.NO_KEYS)
    if not named.least <= len(request) <= named.most:
        raise CommandError(errors.KEYS_ARITY)
    try:
        return keys_of(named, request)
    except KeysError:
        if "no_mandatory_keys" in named.flags:
            return []
        raise CommandError(errors.KEYS_ARGUMENTS) from None


@command("COMMAND HELP", 2, FLAGS, acl="connection", since="5.0.0")
def command_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"command"))


NOT_TOLD: Final = "may_replicate"
"""A flag that COMMAND does not show; CLIENT PAUSE WRITE holds up commands with it although they only read."""


@cache  # one request can ask for it many times
def details(declared: Command) -> list[object]:
    """A command as COMMAND INFO shows it."""
    first, last, step = declared.key_range
    return [
        declared.name,
        declared.arity,
        words([flag for flag in declared.flags if flag != NOT_TOLD]),
        first,
        last,
        step,
        words([f"@{category}" for category in declared.acl_categories]),
        Set(tip.encode() for tip in declared.tips),
        Set(key_specification(keys) for keys in declared.keys),
        Set(details(part) for part in commands(declared.subcommands)),
    ]


@cache
def flag_words(flags: str) -> Set:
    return words(flags.split())


def words(names: list[str] | tuple[str, ...]) -> Set:
    return Set(status(name.encode()) for name in names)


def key_specification(keys: KeySpecification) -> Map:
    notes = {b"notes": keys.notes.encode()} if keys.notes else {}
    begin, find = WHERE[type(keys)](keys)
    return Map(
        notes
        | {b"flags": words(keys.flags.split()), b"begin_search": part(*begin), b"find_keys": part(*find)}
    )


def in_range(keys: Keys) -> Where:
    found = {b"lastkey": keys.last, b"keystep": keys.step, b"limit": 0}
    return (b"index", {b"index": keys.first}), (b"range", found)


def counted(keys: CountedKeys) -> Where:
    found = {b"keynumidx": 0, b"firstkey": 1, b"keystep": keys.step}
    return (b"index", {b"index": keys.count_at}), (b"keynum", found)


def behind(keys: KeywordKeys) -> Where:
    found = {b"lastkey": keys.last, b"keystep": 1, b"limit": keys.limit}
    return (b"keyword", {b"keyword": keys.word.encode(), b"startfrom": keys.start}), (b"range", found)


def counted_behind(keys: KeywordCountedKeys) -> Where:
    found = {b"keynumidx": 0, b"firstkey": 1, b"keystep": 1}
    return (b"keyword", {b"keyword": keys.word.encode(), b"startfrom": keys.start}), (b"keynum", found)


def unknown(_: UnknownKeys) -> Where:
    return (b"unknown", {}), (b"unknown", {})


WHERE: Final[dict[type, Callable[[Any], Where]]] = {
    Keys: in_range,
    CountedKeys: counted,
    KeywordKeys: behind,
    KeywordCountedKeys: counted_behind,
    UnknownKeys: unknown,
}


def part(kind: bytes, values: Parts) -> Map:
    return Map({b"type": kind, b"spec": Map(values)})
