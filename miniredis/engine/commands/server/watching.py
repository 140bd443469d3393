"""MONITOR and SLOWLOG: which commands run, and which are slow."""

from __future__ import annotations

from itertools import islice
from typing import Final

from ...clients.client_flags import MONITORS, REPLICA
from ...clients.session import Session
from ...declarations.help import help_on
from ...declarations.registry import command, container
from ...numbers.numbers import MAX, read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NO_REPLY, OK, Reply

ADMIN: Final = "admin loading stale"
ENTRIES: Final = 10
"""How many entries SLOWLOG GET shows by default."""


@command("MONITOR", 1, "admin noscript loading stale", acl="", since="1.0.0")
def monitor(session: Session, args: list[bytes]) -> Reply:
    """Sends this connection every command that any client runs, from now on."""
    if not session.may_block:
        raise CommandError(errors.MONITOR_IN_TRANSACTION)
    if session.flags & (MONITORS | REPLICA):
        return NO_REPLY
    session.engine.conditions.start_monitoring(session)
    return OK


container("SLOWLOG", -2, module=__name__, summary="Shows and empties the slow log.", since="2.2.12")


@command(
    "SLOWLOG GET",
    -2,
    ADMIN,
    acl="",
    tips="request_policy:all_nodes nondeterministic_output",
    since="2.2.12",
    syntax="[count:integer]",
)
def slowlog_get(session: Session, args: list[bytes]) -> Reply:
    """Returns the newest entries of the slow log: 10, or COUNT of them, or all with -1."""
    if len(args) > 3:
        raise CommandError(errors.subcommand_or_arity(args[1], b"SLOWLOG"))
    count = read_range(args[2], -1, MAX, errors.SLOWLOG_COUNT) if len(args) == 3 else ENTRIES
    entries = islice(session.engine.statistics.slow_log.entries, None if count == -1 else count)
    return [
        [each.number, each.seconds, each.microseconds, each.arguments, each.address, each.name]
        for each in entries
    ]


@command(
    "SLOWLOG LEN",
    2,
    ADMIN,
    acl="",
    tips="request_policy:all_nodes response_policy:agg_sum nondeterministic_output",
    since="2.2.12",
)
def slowlog_len(session: Session, args: list[bytes]) -> Reply:
    """Counts the entries of the slow log."""
    return len(session.engine.statistics.slow_log.entries)


@command(
    "SLOWLOG RESET",
    2,
    ADMIN,
    acl="",
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="2.2.12",
)
def slowlog_reset(session: Session, args: list[bytes]) -> Reply:
    """Empties the slow log."""
    session.engine.statistics.slow_log.entries.clear()
    return OK


@command("SLOWLOG HELP", 2, "loading stale", acl="", since="6.2.0")
def slowlog_help(session: Session, args: list[bytes]) -> Reply:
    """Lists these subcommands."""
    return list(help_on(session.engine.commands, b"slowlog"))
