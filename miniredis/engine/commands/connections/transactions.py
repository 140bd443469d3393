"""MULTI, EXEC and DISCARD, and WATCH, which makes EXEC fail if watched keys are modified."""

from __future__ import annotations

from typing import Final

from ...acl import acl_errors
from ...call import answer
from ...clients.client_flags import EXECUTING, LIMITED, WATCH_BROKEN
from ...clients.session import Session, Transaction
from ...declarations.registry import AT_ONCE, Keys, command
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NO_REPLY, NULL_ARRAY, OK, Encoded, NoReply, Reply

HOUSEKEEPING: Final = "noscript loading stale fast allow_busy"


@command("MULTI", 1, HOUSEKEEPING, acl="transaction", in_transaction=AT_ONCE, since="1.2.0")
def multi(session: Session, args: list[bytes]) -> Reply:
    """Begins a transaction: queues the commands that follow until EXEC."""
    if session.transaction is not None:
        raise CommandError(errors.NESTED_MULTI)
    session.begin_transaction()
    return OK


@command(
    "EXEC", 1, "noscript loading stale skip_slowlog", acl="transaction", in_transaction=AT_ONCE, since="1.2.0"
)
def exec_(session: Session, args: list[bytes]) -> Reply:
    """Runs the queued commands of a transaction, with no other commands between them."""
    transaction = session.transaction
    if transaction is None:
        raise CommandError(errors.EXEC_WITHOUT_MULTI)
    databases = session.engine.keyspace.databases
    expired = any(databases[index].expired_since_watch(key, session) for index, key in session.watched)
    broken = session.flags & WATCH_BROKEN or expired
    session.leave_transaction()
    if transaction.aborted:
        raise CommandError(errors.EXEC_ABORTED)
    return NULL_ARRAY if broken else run(session, transaction)


def run(session: Session, transaction: Transaction) -> NoReply:
    """Runs the queued commands. Each sends its own reply, as HELLO and CLIENT REPLY change later replies."""
    session.reply(Encoded(b"*%d\r\n" % len(transaction.queued)))
    session.flags |= EXECUTING
    try:
        for command, args in transaction.queued:
            if session.flags & LIMITED and (
                denial := session.engine.users.denied(session, command, args, b"multi")
            ):
                refusal = CommandError(acl_errors.not_any_more(denial.kind.later))
                session.reply(session.engine.statistics.count_error(refusal))
            else:
                answer(session, command, args)
    finally:
        session.flags &= ~EXECUTING
    return NO_REPLY


@command("DISCARD", 1, HOUSEKEEPING, acl="transaction", in_transaction=AT_ONCE, since="2.0.0")
def discard(session: Session, args: list[bytes]) -> Reply:
    """Drops the queued commands and ends the transaction."""
    if session.transaction is None:
        raise CommandError(errors.DISCARD_WITHOUT_MULTI)
    session.leave_transaction()
    return OK


@command(
    "WATCH",
    -2,
    HOUSEKEEPING,
    acl="transaction",
    keys=Keys(1, "RO", last=-1),
    in_transaction=AT_ONCE,
    since="2.2.0",
    syntax="key#0...",
)
def watch(session: Session, args: list[bytes]) -> Reply:
    """Makes the next EXEC fail if one of the keys changes before it."""
    if session.transaction is not None:
        raise CommandError(errors.WATCH_INSIDE_MULTI)
    if not session.flags & WATCH_BROKEN:
        for key in args[1:]:
            session.watch(key)
    return OK


@command("UNWATCH", 1, HOUSEKEEPING, acl="transaction", since="2.2.0")
def unwatch(session: Session, args: list[bytes]) -> Reply:
    """Stops watching all keys."""
    session.unwatch()
    return OK
