"""FUNCTION and FCALL: libraries of functions, kept on the server."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import command, container
from ...glob import compile_glob
from ...numbers.numbers import parse_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Map, Reply, Set, status
from ...scripts import script_errors
from ...scripts.libraries import POLICIES, Library
from ...scripts.library_payloads import codes_in, payload_of
from .scripting import ANY_KEYS, READ_KEYS, RUNS, RUNS_READING

EVERY_SHARD: Final = "request_policy:all_shards response_policy:all_succeeded"


def call(session: Session, args: list[bytes], *, is_read_only: bool) -> Reply:
    """Runs a function."""
    session.engine.conditions.show(session.engine.now, session, args)  # MONITOR shows it before its commands
    libraries = session.engine.libraries
    function = libraries.find(args[1])
    keys = parse_integer(args[2])
    if keys is None:
        raise CommandError(script_errors.BAD_KEY_COUNT)
    if keys > len(args) - 3:
        raise CommandError(errors.TOO_MANY_KEYS)
    if keys < 0:
        raise CommandError(script_errors.KEYS_NEGATIVE)
    return libraries.call(session, function, args, keys, is_read_only=is_read_only)


@command(
    "FCALL",
    -3,
    RUNS,
    acl="scripting",
    keys=ANY_KEYS,
    since="7.0.0",
    syntax="function numkeys:integer [key#0...] [arg...]",
)
def fcall(session: Session, args: list[bytes]) -> Reply:
    """Calls a function of a library."""
    return call(session, args, is_read_only=False)


@command(
    "FCALL_RO",
    -3,
    RUNS_READING,
    acl="scripting",
    keys=READ_KEYS,
    since="7.0.0",
    syntax="function numkeys:integer [key#0...] [arg...]",
)
def fcall_ro(session: Session, args: list[bytes]) -> Reply:
    """Calls a function of a library that is declared to write nothing."""
    return call(session, args, is_read_only=True)


container("FUNCTION", -2, module=__name__, summary="Manages libraries of functions.", since="7.0.0")


@command(
    "FUNCTION LOAD",
    -3,
    "write denyoom noscript",
    acl="scripting",
    tips=EVERY_SHARD,
    since="7.0.0",
    syntax="[REPLACE] function-code",
)
def function_load(session: Session, args: list[bytes]) -> Reply:
    """Adds a library; returns its name."""
    for word in args[2:-1]:
        if word.upper() != b"REPLACE":
            raise CommandError(script_errors.unknown_load_option(word))
    name = session.engine.libraries.load(args[-1], replace=len(args) > 3)
    session.engine.keyspace.changes += 1
    return name


@command(
    "FUNCTION DELETE",
    3,
    "write noscript",
    acl="scripting",
    tips=EVERY_SHARD,
    since="7.0.0",
    syntax="library-name",
)
def function_delete(session: Session, args: list[bytes]) -> Reply:
    """Deletes a library with its functions."""
    session.engine.libraries.delete(args[2])
    session.engine.keyspace.changes += 1
    return OK


@command(
    "FUNCTION FLUSH",
    -2,
    "write noscript",
    acl="scripting",
    tips=EVERY_SHARD,
    since="7.0.0",
    syntax="[async(ASYNC|SYNC)]",
)
def function_flush(session: Session, args: list[bytes]) -> Reply:
    """Deletes all libraries."""
    if len(args) > 3:
        raise CommandError(errors.subcommand_or_arity(args[1], b"FUNCTION"))
    if len(args) == 3 and args[2].upper() not in {b"SYNC", b"ASYNC"}:
        raise CommandError(script_errors.FUNCTION_FLUSH)
    session.engine.libraries.flush()
    session.engine.keyspace.changes += 1
    return OK


@command(
    "FUNCTION LIST",
    -2,
    "noscript",
    acl="scripting",
    tips="nondeterministic_output_order",
    since="7.0.0",
    syntax="[LIBRARYNAME library-name-pattern] [WITHCODE]",
)
def function_list(session: Session, args: list[bytes]) -> Reply:
    """Lists the libraries, or those whose names match a pattern, with their functions."""
    pattern, with_code = read_list_options(args[2:])
    fits = compile_glob(pattern, ignore_case=True)
    libraries = session.engine.libraries.libraries
    return [described(library, with_code=with_code) for library in libraries if fits(library.name)]


def read_list_options(words: list[bytes]) -> tuple[bytes, bool]:
    pattern, with_code = None, False
    rest = iter(words)
    for word in rest:
        if word.upper() == b"WITHCODE" and not with_code:
            with_code = True
        elif word.upper() == b"LIBRARYNAME" and pattern is None:
            pattern = next(rest, None)
            if pattern is None:
                raise CommandError(script_errors.NO_LIBRARY_PATTERN)
        else:
            raise CommandError(script_errors.unknown_list_option(word))
    return b"*" if pattern is None else pattern, with_code


def described(library: Library, *, with_code: bool) -> Map:
    functions = [
        Map({b"name": each.name, b"description": each.description, b"flags": Set(map(status, each.flags))})
        for each in library.functions
    ]
    code = {b"library_code": library.code} if with_code else {}
    return Map({b"library_name": library.name, b"engine": b"LUA", b"functions": functions} | code)


@command("FUNCTION DUMP", 2, "noscript", acl="scripting", since="7.0.0")
def function_dump(session: Session, args: list[bytes]) -> Reply:
    """Returns all libraries in the binary format that FUNCTION RESTORE accepts."""
    return payload_of(library.code for library in session.engine.libraries.libraries)


@command(
    "FUNCTION RESTORE",
    -3,
    "write denyoom noscript",
    acl="scripting",
    tips=EVERY_SHARD,
    since="7.0.0",
    syntax="serialized-value [policy(FLUSH|APPEND|REPLACE)]",
)
def function_restore(session: Session, args: list[bytes]) -> Reply:
    """Adds the libraries from FUNCTION DUMP."""
    if len(args) > 4:
        raise CommandError(errors.subcommand_or_arity(args[1], b"FUNCTION"))
    policy = args[3].upper() if len(args) == 4 else b"APPEND"
    if policy not in POLICIES:
        raise CommandError(script_errors.RESTORE_POLICY)
    session.engine.libraries.restore(codes_in(args[2]), policy)
    session.engine.keyspace.changes += 1
    return OK


@command(
    "FUNCTION KILL",
    2,
    "noscript allow_busy",
    acl="scripting",
    tips="request_policy:all_shards response_policy:one_succeeded",
    since="7.0.0",
)
def function_kill(session: Session, args: list[bytes]) -> Reply:
    """Stops the running function, if it has written nothing."""
    session.engine.scripts.kill(is_function=True)
    return OK


@command(
    "FUNCTION STATS",
    2,
    "noscript allow_busy",
    acl="scripting",
    tips="nondeterministic_output request_policy:all_shards response_policy:special",
    since="7.0.0",
)
def function_stats(session: Session, args: list[bytes]) -> Reply:
    """Shows which function is running, and how many functions and libraries there are."""
    run = session.engine.scripts.running
    if run is not None and not run.is_function:
        raise CommandError(session.engine.scripts.busy_text)
    libraries = session.engine.libraries
    counts = Map({b"libraries_count": len(libraries.libraries), b"functions_count": libraries.function_count})
    return Map({b"running_script": running(session), b"engines": Map({b"LUA": counts})})


def running(session: Session) -> Reply:
    """The running function; null if none runs."""
    scripts = session.engine.scripts
    run = scripts.running
    if run is None:
        return None
    return Map({b"name": run.name, b"command": run.request, b"duration_ms": scripts.milliseconds})


@command("FUNCTION HELP", 2, "loading stale", acl="scripting", since="7.0.0")
def function_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"function"))
