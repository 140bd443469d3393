"""The commands for the server as a whole."""

from __future__ import annotations

from typing import Final

from ...clients.client_flags import EXECUTING
from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import check_not_in_cluster
from ...declarations.registry import command, completed_in
from ...keyspace.keyspace import Database
from ...numbers.numbers import read_range
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NO_REPLY, OK, Reply, Verbatim, status
from ...replication.report import role_of_replica
from ...statistics.info import report
from ..connections.connection import MAX32, MIN32, database

ALL_SHARDS = "request_policy:all_shards response_policy:all_succeeded"
GLOB = set(b"*?[")
ADMIN = "admin noscript loading stale"
STARTED: Final = status(b"Background saving started")
SCHEDULED: Final = status(b"Background saving scheduled")


@command(
    "DBSIZE",
    1,
    "readonly fast",
    acl="keyspace",
    tips="request_policy:all_shards response_policy:agg_sum",
    since="1.0.0",
)
def dbsize(session: Session, args: list[bytes]) -> Reply:
    """Counts the keys of the selected database."""
    return len(session.db)


@command(
    "FLUSHDB",
    -1,
    "write",
    acl="keyspace dangerous",
    tips=ALL_SHARDS,
    since="1.0.0",
    syntax="[async(ASYNC@4.0.0|SYNC@6.2.0)]",
)
def flushdb(session: Session, args: list[bytes]) -> Reply:
    """Deletes all keys of the selected database."""
    return flush(session, args, session.db)


@command(
    "FLUSHALL",
    -1,
    "write",
    acl="keyspace dangerous",
    tips=ALL_SHARDS,
    since="1.0.0",
    syntax="[async(ASYNC@4.0.0|SYNC@6.2.0)]",
)
def flushall(session: Session, args: list[bytes]) -> Reply:
    """Deletes all keys of all databases."""
    return flush(session, args, None)


@completed_in("7.4-8.0", "flushdb flushall")
def invalidate_before_reply(session: Session, _: list[bytes], reply: Reply) -> Reply:
    """FLUSHDB and FLUSHALL invalidate the keys of their own client before they reply to a request."""
    if session.runs_request:
        session.engine.notifier.tracking.command_over()
    return reply


def flush(session: Session, args: list[bytes], database: Database | None) -> Reply:
    if len(args) > 2 or (len(args) == 2 and args[1].upper() not in {b"SYNC", b"ASYNC"}):
        raise CommandError(errors.SYNTAX)
    session.engine.keyspace.flush(database)
    if database is None:
        session.engine.saves.flushed()
    return OK


@command(
    "SWAPDB", 3, "write fast", acl="keyspace dangerous", since="4.0.0", syntax="index1:integer index2:integer"
)
def swapdb(session: Session, args: list[bytes]) -> Reply:
    """Exchanges the contents of two databases; connected clients see the exchange at once."""
    check_not_in_cluster(session, cluster_errors.not_in_cluster(b"SWAPDB"))
    numbers = [
        read_range(args[1], MIN32, MAX32, errors.FIRST_DB_INDEX),
        read_range(args[2], MIN32, MAX32, errors.SECOND_DB_INDEX),
    ]
    one, other = (database(session, number) for number in numbers)
    session.engine.keyspace.changes += 1
    if one is not other:
        session.engine.keyspace.swap(one, other)
    return OK


@command("TIME", 1, "loading stale fast", acl="", tips="nondeterministic_output", since="2.6.0")
def time(session: Session, args: list[bytes]) -> Reply:
    """Returns the clock time: seconds since 1970, and microseconds of the current second."""
    seconds, microseconds = divmod(session.engine.now.wall, 1_000_000)
    return [b"%d" % seconds, b"%d" % microseconds]


@command(
    "INFO",
    -1,
    "loading stale",
    acl="dangerous",
    tips="nondeterministic_output request_policy:all_shards response_policy:special",
    since="1.0.0",
    syntax="[section]...",
)
def info(session: Session, args: list[bytes]) -> Reply:
    """Shows facts and statistics about the server, by section."""
    return Verbatim(report(session.engine, [name.decode("latin-1").lower() for name in args[1:]]).encode())


@command("ROLE", 1, "noscript loading stale fast", acl="admin dangerous", since="2.8.12")
def role(session: Session, args: list[bytes]) -> Reply:
    """Shows the role of this server, and the replication offsets that go with it."""
    engine = session.engine
    if engine.replication.upstream.address is not None:
        return role_of_replica(engine.replication.upstream, engine.replication.upstream.address)
    replicas = [
        [each.address, b"%d" % each.port, b"%d" % each.offset]
        for each in engine.replication.replicas.all.values()
        if each.is_online
    ]
    return [b"master", engine.replication.history.offset, replicas]


@command("SAVE", 1, "admin noscript no_async_loading no_multi", acl="", since="1.0.0")
def save(session: Session, args: list[bytes]) -> Reply:
    """Saves all data to a file; no other command runs meanwhile."""
    session.engine.saves.save()
    return OK


@command(
    "BGSAVE",
    -1,
    "admin noscript no_async_loading",
    acl="",
    since="1.0.0",
    syntax="[SCHEDULE@3.2.2]",
)
def bgsave(session: Session, args: list[bytes]) -> Reply:
    """Saves all data to a file in the background; in a transaction, after the transaction."""
    if len(args) > 2 or (len(args) == 2 and args[1].upper() != b"SCHEDULE"):
        raise CommandError(errors.SYNTAX)
    saves = session.engine.saves
    may_wait = session.flags & EXECUTING or len(args) > 1
    if (session.flags & EXECUTING or saves.must_wait) and may_wait and saves.began is None:
        saves.schedule()
        return SCHEDULED
    saves.start()
    return STARTED


@command(
    "LASTSAVE",
    1,
    "loading stale fast",
    acl="admin dangerous",
    tips="nondeterministic_output",
    since="1.0.0",
)
def lastsave(session: Session, args: list[bytes]) -> Reply:
    """Returns when data was last saved, or else when the server started, in seconds since 1970."""
    return session.engine.saves.last


@command(
    "SHUTDOWN",
    -1,
    "admin noscript loading stale no_multi allow_busy",
    acl="",
    since="1.0.0",
    syntax="[nosave_save(NOSAVE|SAVE)] [NOW@7.0.0] [FORCE@7.0.0] [ABORT@7.0.0]",
)
def shutdown(session: Session, args: list[bytes]) -> Reply:
    """Stops the server; first saves the data if the directive save or the word SAVE demands it."""
    options = {word.upper() for word in args[1:]}
    if not options <= {b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"ABORT"} or options >= {b"SAVE", b"NOSAVE"}:
        raise CommandError(errors.SYNTAX)
    if b"ABORT" in options:
        raise CommandError(errors.SYNTAX if len(args) > 2 else errors.NO_SHUTDOWN)
    if session.engine.conditions.busy and b"NOSAVE" not in options:
        raise CommandError(session.engine.scripts.busy_text)
    if b"NOSAVE" in options or session.engine.conditions.loading:  # incomplete data must not replace the file
        session.engine.saves.cancel()
    elif not session.engine.saves.write_at_end(is_asked_for=b"SAVE" in options) and b"FORCE" not in options:
        raise CommandError(errors.NO_SHUTDOWN_NOW)
    session.engine.shutdown_requested = True
    return NO_REPLY
