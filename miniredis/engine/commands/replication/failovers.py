"""FAILOVER: a master and one of its replicas exchange roles."""

from __future__ import annotations

from collections.abc import Iterator

from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import check_not_in_cluster
from ...declarations.registry import command
from ...numbers.numbers import read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply
from ...replication import replication_errors
from ...replication.failover import FailoverState


def option_of(words: Iterator[bytes]) -> bytes:
    """The argument of an option of FAILOVER; raises ``CommandError`` if it is missing."""
    word = next(words, None)
    if word is None:
        raise CommandError(errors.SYNTAX)
    return word


@command(
    "FAILOVER",
    -1,
    "admin noscript stale",
    acl="",
    since="6.2.0",
    syntax="[TO target{host port:integer [FORCE]}] [ABORT] [TIMEOUT milliseconds:integer]",
)
def failover(session: Session, args: list[bytes]) -> Reply:
    """Makes a replica the master once it has all data, and this server its replica."""
    check_not_in_cluster(session, cluster_errors.FAILOVER_IN_CLUSTER)
    process = session.engine.replication.failover
    if [word.lower() for word in args[1:]] == [b"abort"]:
        if process.state is FailoverState.NONE:
            raise CommandError(replication_errors.NO_FAILOVER)
        process.abort()
        return OK
    target, milliseconds, is_forced = read_failover(args[1:])
    check_may_fail_over(session, target, milliseconds, is_forced=is_forced)
    process.start(target, milliseconds, is_forced=is_forced)
    return OK


def read_failover(given: list[bytes]) -> tuple[tuple[bytes, int] | None, int, bool]:
    """The target, the timeout in milliseconds, and FORCE."""
    target, milliseconds, is_forced = None, 0, False
    words = iter(given)
    for word in words:
        option = word.lower()
        if option == b"timeout" and not milliseconds:
            milliseconds = read_integer(option_of(words))
            if milliseconds <= 0:
                raise CommandError(replication_errors.FAILOVER_TIMEOUT)
        elif option == b"to" and target is None:
            host = option_of(words)
            target = host, read_integer(option_of(words))
        elif option == b"force" and not is_forced:
            is_forced = True
        else:
            raise CommandError(errors.SYNTAX)
    return target, milliseconds, is_forced


def check_may_fail_over(
    session: Session, target: tuple[bytes, int] | None, milliseconds: int, *, is_forced: bool
) -> None:
    """Raises ``CommandError`` if no failover is possible now."""
    engine = session.engine
    if engine.replication.failover.state is not FailoverState.NONE:
        raise CommandError(replication_errors.FAILOVER_RUNS)
    if engine.replication.upstream.address is not None:
        raise CommandError(replication_errors.FAILOVER_OF_REPLICA)
    if not engine.replication.replicas.all:
        raise CommandError(replication_errors.FAILOVER_WITHOUT_REPLICAS)
    if is_forced and (not milliseconds or target is None):
        raise CommandError(replication_errors.FAILOVER_FORCE)
    if target is not None:
        replica = engine.replication.failover.find(*target)
        if replica is None:
            raise CommandError(replication_errors.FAILOVER_NO_TARGET)
        if not replica.is_online:
            raise CommandError(replication_errors.FAILOVER_NOT_ONLINE)
