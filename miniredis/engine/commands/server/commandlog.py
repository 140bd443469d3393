"""COMMANDLOG of Valkey: the slow log under a newer name; it knows no large requests and replies."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import command, container
from ...numbers.numbers import MAX, read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from .watching import ADMIN, slowlog_get, slowlog_len, slowlog_reset

TYPE: Final = "type(SLOW|LARGE-REQUEST|LARGE-REPLY)"
SINCE: Final = "valkey-8.1.0"

container("COMMANDLOG", -2, module=__name__, summary="Shows and empties the logs of commands.", since=SINCE)


def is_slow(word: bytes) -> bool:
    """Whether the slow log is meant; the others are empty, as if their directives were -1."""
    if word.lower() not in {b"slow", b"large-request", b"large-reply"}:
        raise CommandError(errors.LOG_TYPE)
    return word.lower() == b"slow"


@command(
    "COMMANDLOG GET", 4, ADMIN, acl="", tips="request_policy:all_nodes nondeterministic_output", since=SINCE,
    syntax=f"count:integer {TYPE}",
)  # fmt: skip
def commandlog_get(session: Session, args: list[bytes]) -> Reply:
    """Returns the newest entries of a log: COUNT of them, or all with -1."""
    read_range(args[2], -1, MAX, errors.SLOWLOG_COUNT)
    return slowlog_get(session, args[:3]) if is_slow(args[3]) else []


@command(
    "COMMANDLOG LEN", 3, ADMIN, acl="", since=SINCE, syntax=TYPE,
    tips="request_policy:all_nodes response_policy:agg_sum nondeterministic_output",
)  # fmt: skip
def commandlog_len(session: Session, args: list[bytes]) -> Reply:
    """Counts the entries of a log."""
    return slowlog_len(session, args) if is_slow(args[2]) else 0


@command(
    "COMMANDLOG RESET", 3, ADMIN, acl="", tips="request_policy:all_nodes response_policy:all_succeeded",
    since=SINCE, syntax=TYPE,
)  # fmt: skip
def commandlog_reset(session: Session, args: list[bytes]) -> Reply:
    """Empties a log."""
    return slowlog_reset(session, args) if is_slow(args[2]) else OK


@command("COMMANDLOG HELP", 2, "loading stale", acl="", since=SINCE)
def commandlog_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"commandlog"))
