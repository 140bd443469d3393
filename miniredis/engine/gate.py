"""The gate: every check that comes before a command runs, in Redis's order.

Only what the gate refuses makes EXEC refuse the transaction; what a command itself refuses does not. To add a
check, write a function and give it its row in ``CHECKS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from .clients.client_flags import IN_MULTI, LIMITED, MONITORS, READS_REPLICA, REDIRECTS, REPLICA, SPECIAL
from .cluster import cluster_errors
from .declarations.registry import Command, by_version, chosen, find, instead_of
from .protocol import errors
from .protocol.errors import CommandError
from .replication import replication_errors
from .scripts.script_flags import may_be_stale, may_write, says_it_writes

if TYPE_CHECKING:
    from .clients.session import Session, Transaction

__all__ = ["check_allowed", "is_allowed", "is_held_up", "refuse", "reject_unknown"]

OF_BROWSERS: Final = {b"post", b"host:"}
"""The words by which a request of HTTP is known: what follows them may be commands that a page made up."""

OF_SUBSCRIBERS: Final = frozenset(
    b"ping subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe quit reset".split()
)
"""What a client that is subscribed may say in RESP2, where a reply would look like a message."""

Check: TypeAlias = "Callable[[Session, Command, list[bytes]], bytes | None]"
"""Tells why a command may not run now; None if it may."""


# The checks


def arity(session: Session, command: Command, args: list[bytes]) -> bytes | None:
    if command.least <= len(args) <= command.most:
        return None
    reason = errors.wrong_arity(command.name)
    return reason if "no_auth" in command.flags else told_reason(session, reason)


def directive(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    is_refused = command.allowed_by and not is_allowed(session, command.allowed_by)
    return errors.not_allowed(command.name, command.allowed_by) if is_refused else None


def is_allowed(session: Session, directive: str) -> bool:
    """Whether a directive says ``yes``, or ``local`` and the client is of this machine."""
    verdict = session.engine.config[directive]
    return verdict == "yes" or (verdict == "local" and session.is_local)


def authentication(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    return errors.NO_AUTH if session.must_authenticate and "no_auth" not in command.flags else None


def transaction(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    is_refused = session.flags & IN_MULTI and "no_multi" in command.flags
    return chosen(session.engine.version, errors.not_in_transaction)(command.name) if is_refused else None


def rights(session: Session, command: Command, args: list[bytes]) -> bytes | None:
    if not session.flags & LIMITED:
        return None
    denial = session.engine.users.denied(session, command, args)
    return None if denial is None else denial.error(session.engine.version, session.user.name)


def cluster(session: Session, command: Command, args: list[bytes]) -> bytes | None:
    membership = session.engine.cluster
    if membership is not None:
        return membership.redirection(session, command, args)
    return redirection(session, command) if session.flags & REDIRECTS else None


def redirection(session: Session, command: Command) -> bytes | None:
    """Where the primary is, for a client that a replica need not serve."""
    primary = session.engine.replication.upstream.address
    kinds = {"write"} if session.flags & READS_REPLICA else {"write", "readonly"}
    return cluster_errors.redirect(primary) if primary is not None and does(session, command, kinds) else None


def disk(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    refusal = session.engine.conditions.disk_refusal
    return refusal if refusal and (command.name == b"ping" or does(session, command, {"write"})) else None


def replicas(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    is_refused = session.engine.conditions.lacks_replicas and does(session, command, {"write"})
    return replication_errors.NO_REPLICAS if is_refused else None


def read_only(session: Session, command: Command, args: list[bytes]) -> bytes | None:
    is_refused = session.engine.conditions.is_read_only and (
        does(session, command, {"write"}) or says_it_writes(session.engine, command, args)
    )
    return replication_errors.READ_ONLY_REPLICA if is_refused else None


def subscription(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    is_open = not session.subscriptions or session.resp > 2 or command.name in OF_SUBSCRIBERS
    if is_open:
        return None
    return chosen(session.engine.version, errors.only_for_listeners)(command.name)


def stale(session: Session, command: Command, args: list[bytes]) -> bytes | None:
    if not session.engine.conditions.is_stale:
        return None
    if command.name == b"exec" and session.transaction is not None:
        may = all(may_be_stale(session.engine, *queued) for queued in session.transaction.queued)
    else:
        may = may_be_stale(session.engine, command, args)
    return None if may else replication_errors.MASTER_DOWN


def loading(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    if session.engine.conditions.loading is None:
        return None
    commands = [command]
    if command.name == b"exec" and session.transaction is not None:
        commands = [queued for queued, _ in session.transaction.queued]
    return None if all("loading" in each.flags for each in commands) else errors.LOADING


def busy(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    is_refused = session.engine.conditions.busy and "allow_busy" not in command.flags
    return session.engine.scripts.busy_text if is_refused else None


def monitor(session: Session, command: Command, _args: list[bytes]) -> bytes | None:
    is_sent_only = session.flags & (MONITORS | REPLICA)
    is_refused = is_sent_only and does(session, command, {"write", "readonly", "may_replicate"})
    return errors.MONITOR_OF_KEYS if is_refused else None


CHECKS: Final[tuple[Check, ...]] = (
    arity,
    directive,
    authentication,
    transaction,
    rights,
    cluster,
    disk,
    replicas,
    read_only,
    subscription,
    stale,
    loading,
    busy,
    monitor,
)

OF_MASTERS: Final[tuple[Check, ...]] = (arity,)
"""The checks for who must be obeyed: its commands were checked when they were new."""

OF_CONDITIONS: Final = {cluster, disk, replicas, read_only, stale, loading, busy}
"""The checks that refuse nothing while none of the server's ``Conditions`` holds."""

OF_SPECIAL_CLIENTS: Final = {authentication, transaction, rights, subscription, monitor}
"""The checks that refuse nothing to a client with none of the ``SPECIAL`` flags."""

WHILE_QUIET: Final = tuple(check for check in CHECKS if check not in OF_CONDITIONS)
OF_MOST: Final = tuple(check for check in WHILE_QUIET if check not in OF_SPECIAL_CLIENTS)
"""The checks that are left then."""


def check_allowed(session: Session, command: Command, args: list[bytes]) -> bytes | None:
    """Why a command may not run now; None if it may."""
    if not session.engine.conditions.is_quiet:
        checks = CHECKS
    else:
        checks = WHILE_QUIET if session.flags & SPECIAL else OF_MOST
    for check in OF_MASTERS if session.must_obey else checks:
        if reason := check(session, command, args):
            return reason
    return None


def is_held_up(session: Session, command: Command, args: list[bytes]) -> bool:
    """Whether CLIENT PAUSE holds a command up."""
    pause = session.engine.conditions.pause
    if pause is None or session.flags & (MONITORS | REPLICA):
        return False
    if command.name == b"exec" and session.transaction is not None:
        return session.transaction.may_write or not pause.writes_only
    return not pause.writes_only or may_write(session.engine, command, args)


def does(session: Session, command: Command, kinds: set[str]) -> bool:
    """Whether a command, or one of those that an EXEC would run, has one of some flags."""
    if command.name == b"exec" and session.transaction is not None:
        return any(not kinds.isdisjoint(queued.flags) for queued, _ in session.transaction.queued)
    return not kinds.isdisjoint(command.flags)


# What is told to whom it keeps out


def reject_unknown(session: Session, args: list[bytes]) -> None:
    """There is no such command; a browser that was led here to do harm is not even told so."""
    if errors.until_nul(args[0]).lower() in OF_BROWSERS:
        session.engine.hang_up(session)
        return
    commands = session.engine.commands
    command = find(commands.lookup, args[0])
    if command is None:
        reason = chosen(commands.version, errors.unknown_command)(args)
    else:
        reason = chosen(commands.version, errors.unknown_subcommand)(command.name, args[1])
    refuse(session, None, args, told_reason(session, reason))


def told_reason(session: Session, reason: bytes) -> bytes:
    """Why a request is no command; a client that must authenticate first hears only that in some versions."""
    return errors.NO_AUTH if session.must_authenticate and hides_reasons(session.engine.version) else reason


hides_reasons: Final = by_version(False, {"valkey-9.1+": True})
"""Whether a version says nothing else to clients that must authenticate."""


def refuse(session: Session, command: Command | None, args: list[bytes], reason: bytes) -> None:
    """A request may not run: its client hears why, and a transaction is not to be executed."""
    refusal = CommandError(reason)
    if command is not None and command.name == b"exec":
        session.leave_transaction()
        if not reason.startswith(cluster_errors.REDIRECTIONS):
            refusal = CommandError(errors.exec_aborted(reason))
            session.engine.conditions.show(session.engine.now, session, args)
    elif session.transaction is not None:
        chosen(session.engine.version, abort)(session.transaction)
    session.reply(session.engine.statistics.rejected(command, refusal))


def abort(transaction: Transaction) -> None:
    """A command could not be queued: EXEC will refuse the transaction."""
    transaction.aborted = True


@instead_of(abort, "valkey-8.1+")
def abort_and_forget(transaction: Transaction) -> None:
    """The same; no command is queued any more, so that a pause of writes does not hold EXEC up."""
    transaction.aborted, transaction.may_write = True, False
    transaction.queued.clear()
