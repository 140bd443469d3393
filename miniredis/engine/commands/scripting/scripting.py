"""EVAL and SCRIPT: runs scripts that clients send; no other command runs meanwhile."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import CountedKeys, command, container
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from ...scripts import script_errors

RUNS: Final = "noscript stale skip_monitor may_replicate no_mandatory_keys movablekeys"
RUNS_READING: Final = "readonly noscript stale skip_monitor no_mandatory_keys movablekeys"
WORST: Final = "We cannot tell how the keys will be used so we assume the worst, "
ANY_KEYS: Final = CountedKeys(2, "RW access update", WORST + "RW and UPDATE")
READ_KEYS: Final = CountedKeys(2, "RO access", WORST + "RO and ACCESS")
SHA_LENGTH: Final = 40
EVERY_NODE: Final = "request_policy:all_nodes response_policy:all_succeeded"


def read_key_count(args: list[bytes]) -> int:
    """The number of keys among a script's arguments."""
    count = read_integer(args[2])
    if count > len(args) - 3:
        raise CommandError(errors.TOO_MANY_KEYS)
    if count < 0:
        raise CommandError(script_errors.KEYS_NEGATIVE)
    return count


def evaluate(session: Session, args: list[bytes], *, is_read_only: bool = False) -> Reply:
    """Runs a script given as text."""
    session.engine.conditions.show(session.engine.now, session, args)  # MONITOR shows it before its commands
    keys = read_key_count(args)
    scripts = session.engine.scripts
    return scripts.evaluate(session, scripts.load(args[1]), args, keys, is_read_only=is_read_only)


def evaluate_loaded(session: Session, args: list[bytes], *, is_read_only: bool = False) -> Reply:
    """Runs a loaded script."""
    session.engine.conditions.show(session.engine.now, session, args)
    if len(args[1]) != SHA_LENGTH:
        raise CommandError(script_errors.NO_SCRIPT)
    keys = read_key_count(args)
    scripts = session.engine.scripts
    return scripts.evaluate(session, scripts.find(args[1]), args, keys, is_read_only=is_read_only)


@command(
    "EVAL",
    -3,
    RUNS,
    acl="scripting",
    keys=ANY_KEYS,
    since="2.6.0",
    syntax="script numkeys:integer [key#0...] [arg...]",
)
def eval_(session: Session, args: list[bytes]) -> Reply:
    """Runs a Lua script, given as text."""
    return evaluate(session, args)


@command(
    "EVALSHA",
    -3,
    RUNS,
    acl="scripting",
    keys=CountedKeys(2, "RW access update"),
    since="2.6.0",
    syntax="sha1 numkeys:integer [key#0...] [arg...]",
)
def evalsha(session: Session, args: list[bytes]) -> Reply:
    """Runs a Lua script of the script cache, given by the SHA1 of its text."""
    return evaluate_loaded(session, args)


@command(
    "EVAL_RO",
    -3,
    RUNS_READING,
    acl="scripting",
    keys=READ_KEYS,
    since="7.0.0",
    syntax="script numkeys:integer [key#0...] [arg...]",
)
def eval_ro(session: Session, args: list[bytes]) -> Reply:
    """Runs a Lua script that writes nothing, given as text."""
    return evaluate(session, args, is_read_only=True)


@command(
    "EVALSHA_RO",
    -3,
    RUNS_READING,
    acl="scripting",
    keys=CountedKeys(2, "RO access"),
    since="7.0.0",
    syntax="sha1 numkeys:integer [key#0...] [arg...]",
)
def evalsha_ro(session: Session, args: list[bytes]) -> Reply:
    """Runs a Lua script of the script cache that writes nothing, given by its SHA1."""
    return evaluate_loaded(session, args, is_read_only=True)


container("SCRIPT", -2, module=__name__, summary="Manages stored and running scripts.", since="2.6.0")


@command("SCRIPT LOAD", 3, "noscript stale", acl="scripting", tips=EVERY_NODE, since="2.6.0", syntax="script")
def script_load(session: Session, args: list[bytes]) -> Reply:
    """Stores a script for EVALSHA; returns the SHA1 of its text."""
    return session.engine.scripts.load(args[2]).sha


@command(
    "SCRIPT EXISTS",
    -3,
    "noscript",
    acl="scripting",
    tips="request_policy:all_shards response_policy:agg_logical_and",
    since="2.6.0",
    syntax="sha1...",
)
def script_exists(session: Session, args: list[bytes]) -> Reply:
    """Returns for each SHA1 whether a script with it is stored."""
    return [int(session.engine.scripts.has(sha)) for sha in args[2:]]


@command(
    "SCRIPT FLUSH",
    -2,
    "noscript",
    acl="scripting",
    tips=EVERY_NODE,
    since="2.6.0",
    syntax="[async@6.2.0(ASYNC|SYNC)]",
)
def script_flush(session: Session, args: list[bytes]) -> Reply:
    """Deletes all stored scripts."""
    if len(args) > 3 or (len(args) == 3 and args[2].upper() not in {b"SYNC", b"ASYNC"}):
        raise CommandError(script_errors.SCRIPT_FLUSH)
    session.engine.scripts.flush()
    return OK


@command(
    "SCRIPT KILL",
    2,
    "noscript allow_busy",
    acl="scripting",
    tips="request_policy:all_shards response_policy:one_succeeded",
    since="2.6.0",
)
def script_kill(session: Session, args: list[bytes]) -> Reply:
    """Stops the running script, if it has written nothing."""
    session.engine.scripts.kill(is_function=False)
    return OK


@command("SCRIPT DEBUG", 3, "noscript", acl="scripting", since="3.2.0", syntax="mode(YES|SYNC|NO)")
def script_debug(session: Session, args: list[bytes]) -> Reply:
    """Turns the script debugger off; this server has no debugger to turn on."""
    mode = args[2].upper()
    if mode not in {b"YES", b"SYNC", b"NO"}:
        raise CommandError(script_errors.SCRIPT_DEBUG)
    if mode != b"NO":
        raise CommandError(script_errors.NO_DEBUGGER)
    return OK


@command("SCRIPT HELP", 2, "loading stale", acl="scripting", since="5.0.0")
def script_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"script"))
