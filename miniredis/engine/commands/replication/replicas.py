"""REPLCONF, PSYNC and SYNC, which a replica sends to its master; RESTORE-ASKING, which nodes send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...clients.client_flags import MONITORS, REPLICA
from ...clients.session import Session
from ...declarations.registry import Keys, command
from ...numbers.numbers import parse_integer, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import NO_REPLY, OK, NoReply, Reply
from ...protocol.requests import split_arguments
from ...replication import replication_errors
from ...replication.replica import DATA, FUNCTIONS, Replica
from ..keys.dump import RESTORE_SYNTAX, restore_

OF_REPLICAS: Final = "admin noscript no_async_loading no_multi"

LONGEST_ADDRESS: Final = 255


def listening_port(replica: Replica, value: bytes) -> None:
    replica.port = read_integer(value)


def ip_address(replica: Replica, value: bytes) -> None:
    if len(value) > LONGEST_ADDRESS:
        raise CommandError(replication_errors.replica_address_too_long(len(value)))
    replica.announced_address = value


def capa(replica: Replica, value: bytes) -> None:
    replica.knows_names |= value.lower() == b"psync2"


def rdb_only(replica: Replica, value: bytes) -> None:
    number = read_integer(value)
    if number not in {0, 1}:
        raise CommandError(errors.outside(0, 1))
    replica.is_snapshot_all = bool(number)


def rdb_filter_only(replica: Replica, value: bytes) -> None:
    words = split_arguments(value)
    if words is None:
        raise CommandError(replication_errors.NO_FILTERS)
    replica.leaves_out = frozenset((DATA, FUNCTIONS))
    for word in words:
        if word.lower() != b"functions":
            raise CommandError(replication_errors.unsupported_filter(word))
        replica.leaves_out -= {FUNCTIONS}


def ack(replica: Replica, value: bytes) -> NoReply:
    offset = parse_integer(value)
    if replica.session.flags & REPLICA and offset is not None:
        replica.session.engine.replication.replicas.acks.hear(replica, offset)
    return NO_REPLY


def getack(replica: Replica, _value: bytes) -> NoReply:
    replica.session.engine.replication.upstream.link.acknowledge(before=[b"REPLCONF", b"GETACK", b"*"])
    return NO_REPLY


OPTIONS: Final[dict[bytes, Callable[[Replica, bytes], NoReply | None]]] = {
    b"listening-port": listening_port,
    b"ip-address": ip_address,
    b"capa": capa,
    b"ack": ack,
    b"getack": getack,
    b"rdb-only": rdb_only,
    b"rdb-filter-only": rdb_filter_only,
}


def replica_of(session: Session) -> Replica:
    if session.replica is None:
        session.replica = Replica(session)
    return session.replica


@command(
    "REPLCONF",
    -1,
    "admin noscript loading stale allow_busy",
    acl="",
    since="3.0.0",
    doc_flags="syscmd",
)
def replconf(session: Session, args: list[bytes]) -> Reply:
    """Reports a replica's port, capabilities and offset to its master."""
    if len(args) % 2 == 0:
        raise CommandError(errors.SYNTAX)
    for option, value in zip(args[1::2], args[2::2], strict=True):
        act = OPTIONS.get(option.lower())
        if act is None:
            raise CommandError(replication_errors.unrecognized_replconf(option))
        if act(replica_of(session), value) is NO_REPLY:
            return NO_REPLY
    return OK


@command(
    "PSYNC",
    -3,
    OF_REPLICAS,
    acl="",
    since="2.8.0",
    syntax="replicationid offset:integer",
)
def psync(session: Session, args: list[bytes]) -> Reply:
    """Makes this connection a replica's; continues from an offset if possible."""
    if session.flags & (REPLICA | MONITORS):
        return NO_REPLY
    if len(args) > 3 and args[3].lower() == b"failover":
        take_over(session, args[1])
    check_may_synchronize(session)
    start = read_integer(args[2])
    replicas, replica = session.engine.replication.replicas, replica_of(session)
    if not replicas.resume(replica, args[1], start):
        replicas.synchronize(replica)
    return NO_REPLY


def take_over(session: Session, name: bytes) -> None:
    """Makes this replica the master, since its master fails over to it."""
    engine = session.engine
    if engine.replication.upstream.address is None:
        raise CommandError(replication_errors.FAILOVER_TO_MASTER)
    if name.lower() != engine.replication.history.name:
        raise CommandError(replication_errors.FAILOVER_OF_ANOTHER)
    engine.replication.upstream.lead()


@command("SYNC", 1, OF_REPLICAS, acl="", since="1.0.0")
def sync(session: Session, args: list[bytes]) -> Reply:
    """Makes this connection a replica's; sends all data, and expects no acknowledgements."""
    if session.flags & (REPLICA | MONITORS):
        return NO_REPLY
    check_may_synchronize(session)
    replica = replica_of(session)
    replica.acknowledges = False
    session.engine.replication.replicas.synchronize(replica)
    return NO_REPLY


def check_may_synchronize(session: Session) -> None:
    """Raises ``CommandError`` where no replica can be served now."""
    session.engine.replication.failover.check_none()
    if session.engine.replication.upstream.is_down:
        raise CommandError(replication_errors.NO_MASTER_LINK)
    if session.outgoing:
        raise CommandError(replication_errors.SYNC_WITH_OUTPUT)


@command(
    "RESTORE-ASKING", -4, "write denyoom asking", acl="keyspace dangerous", keys=Keys(1, "OW update"),
    since="3.0.0", syntax=RESTORE_SYNTAX, doc_flags="syscmd",
)  # fmt: skip
def restore_asking(session: Session, args: list[bytes]) -> Reply:
    """Does what RESTORE does, also in a slot that is on its way here."""
    return restore_(session, args)
