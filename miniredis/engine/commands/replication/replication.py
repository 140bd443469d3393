"""REPLICAOF: makes the server a replica of another one, or a master."""

from __future__ import annotations

from typing import Final

from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import check_not_in_cluster
from ...declarations.registry import command
from ...numbers.numbers import read_range
from ...protocol.replies import OK, Reply, status
from ...replication import replication_errors
from ...replication.upstream import Address

HIGHEST_PORT: Final = 65535
SYNTAX: Final = "args(host-port{host port:integer}|no-one{NO ONE})"
ALREADY: Final = status(b"OK Already connected to specified master")


@command(
    "REPLICAOF",
    3,
    "admin noscript stale no_async_loading",
    acl="",
    since="5.0.0",
    syntax=SYNTAX,
)
def replicaof(session: Session, args: list[bytes]) -> Reply:
    """Makes this server a replica of another server, or with NO ONE a master."""
    return follow(session, args)


@command(
    "SLAVEOF",
    3,
    "admin noscript stale no_async_loading",
    acl="",
    since="1.0.0",
    syntax=SYNTAX,
    deprecated="5.0.0",
    replaced_by="`REPLICAOF`",
)
def slaveof(session: Session, args: list[bytes]) -> Reply:
    """The former name of REPLICAOF."""
    return follow(session, args)


def follow(session: Session, args: list[bytes]) -> Reply:
    check_not_in_cluster(session, cluster_errors.REPLICAOF_IN_CLUSTER)
    upstream = session.engine.replication.upstream
    if [word.lower() for word in args[1:]] == [b"no", b"one"]:
        upstream.lead()
        return OK
    port = read_range(args[2], 0, HIGHEST_PORT, replication_errors.MASTER_PORT)
    is_new = upstream.follow(Address(args[1].decode("utf-8", "surrogateescape"), port))
    return OK if is_new else ALREADY
