"""The gate: every check that comes before a command runs, in Redis's order.

Only what the gate refuses makes EXEC refuse the transaction; what a command itself refuses does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import errors
from .errors import CommandError
from .registry import AT_ONCE, LOOKUP, Command, find
from .replies import QUEUED, Reply

if TYPE_CHECKING:
    from .session import Session

__all__ = ["call", "execute"]


def execute(session: Session, args: list[bytes]) -> None:
    """Runs, queues or refuses one request, and serves whoever waited for what it did."""
    try:
        command = look_up(args)
        session.last_command = command
        if session.transaction is not None and command.in_transaction != AT_ONCE:
            reply: Reply = enqueue(session, command, args)
        else:
            reply = call(session, command, args)
    except CommandError as refusal:
        reply = refuse(session, refusal)
    session.reply(reply)
    session.engine.waiting.serve_ready()


def look_up(args: list[bytes]) -> Command:
    """The command a request names; raises what Redis says of unknown names and wrong counts."""
    name = args[0]
    command = LOOKUP.get(name) or find(LOOKUP, name)
    if command is None:
        raise CommandError(errors.unknown_command(args))
    if command.subcommands and len(args) > 1:
        subcommand = find(command.subcommands, args[1])
        if subcommand is None:
            raise CommandError(errors.unknown_subcommand(command.name, args[1]))
        command = subcommand
    if not command.takes(len(args)):
        raise CommandError(errors.wrong_arity(command.name))
    return command


def enqueue(session: Session, command: Command, args: list[bytes]) -> Reply:
    """Keeps a command for EXEC."""
    assert session.transaction is not None
    if "no_multi" in command.flags:
        raise CommandError(errors.NOT_IN_TRANSACTION)
    session.transaction.queued.append((command, args))
    return QUEUED


def refuse(session: Session, refusal: CommandError) -> CommandError:
    """The gate's answer to what may not run."""
    session.engine.count_error(refusal)
    if session.transaction is not None:
        session.transaction.aborted = True
    return refusal


def call(session: Session, command: Command, args: list[bytes]) -> Reply:
    """Runs one command that passed the gate; its errors are its reply."""
    assert command.handler is not None
    session.engine.commands_processed += 1
    try:
        return command.handler(session, args)
    except CommandError as error:
        session.engine.count_error(error)
        return error
