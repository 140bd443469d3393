"""Subcommands of CLUSTER that came after Redis 7.0, and what others say in other versions than that."""

from __future__ import annotations

from typing import Any, Final

from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import of_cluster
from ...declarations.registry import command, completed_in
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Map, Reply, Verbatim
from .changes import OF_ADMINS, read_slot
from .cluster import UNSTEADY, keys_in

__all__: list[str] = []

SINCE_9_1: Final = {
    "cluster_slots_fail": ("nodes_pfail", "nodes_fail", "voting_nodes_pfail", "voting_nodes_fail"),
    "cluster_stats_messages_received": tuple(
        f"stats_{what}bytes_{way}" for what in ("", "pubsub_", "module_") for way in ("sent", "received")
    ),
}
"""Fields of CLUSTER INFO in Valkey 9.1, by the field that they follow, without ``cluster_``."""


@command("CLUSTER MYSHARDID", 2, "loading stale", acl="", tips=UNSTEADY, since="7.2.0")
def my_shard_id(session: Session, args: list[bytes]) -> Reply:
    """Returns the name of this node's shard."""
    return of_cluster(session.engine).node.shard_id


@command(
    "CLUSTER FLUSHSLOT", -3, "write admin no_async_loading", acl="keyspace", since="valkey-9.0.0",
    syntax="slot:integer [flush-type(ASYNC|SYNC)]",
)  # fmt: skip
def flush_slot(session: Session, args: list[bytes]) -> Reply:
    """Deletes the keys of a slot."""
    of_cluster(session.engine)
    if len(args) > 4:
        raise CommandError(errors.subcommand_or_arity(args[1], b"CLUSTER"))
    slot = read_slot(args[2])
    if len(args) > 3 and args[3].upper() not in {b"ASYNC", b"SYNC"}:
        raise CommandError(errors.SYNTAX)
    for key in keys_in(session, slot):
        session.db.delete(key)
    return OK


@command("CLUSTER GETSLOTMIGRATIONS", 2, OF_ADMINS, acl="", tips=UNSTEADY, since="valkey-9.0.0")
def get_slot_migrations(session: Session, args: list[bytes]) -> Reply:
    """Lists what CLUSTER MIGRATESLOTS moves: nothing."""
    of_cluster(session.engine)
    return []


@command("CLUSTER CANCELSLOTMIGRATIONS", 2, OF_ADMINS, acl="", since="valkey-9.0.0")
def cancel_slot_migrations(session: Session, args: list[bytes]) -> Reply:
    """Ends what CLUSTER MIGRATESLOTS moves: there is never anything."""
    of_cluster(session.engine)
    raise CommandError(cluster_errors.NO_MIGRATIONS)


@completed_in("6.0-6.2", "cluster|info")
def info_of_6(_: Session, __: list[bytes], told: Any) -> Reply:
    """CLUSTER INFO without its last line, which is about links."""
    return Verbatim(told[: told.index(b"total_cluster_links")])


@completed_in("6.0-6.2", "cluster|slots")
def slots_of_6(_: Session, __: list[bytes], runs: Any) -> Reply:
    """CLUSTER SLOTS without what else a node is called."""
    return [[start, end, *(place[:3] for place in places)] for start, end, *places in runs]


@completed_in("valkey-9.1+", "cluster|info")
def info_of_9_1(session: Session, _: list[bytes], told: Any) -> Reply:
    """CLUSTER INFO with what Valkey 9.1 says of nodes and of bytes."""
    lines = told.decode().splitlines()
    failed = [node for node in of_cluster(session.engine).known if node.has_failed]
    more = {
        "nodes_fail": len(failed),
        "voting_nodes_fail": sum(node in of_cluster(session.engine).owners for node in failed),
    }
    for field, names in SINCE_9_1.items():
        at = next(at for at, line in enumerate(lines) if line.startswith(f"{field}:"))
        lines[at + 1 : at + 1] = [f"cluster_{name}:{more.get(name, 0)}" for name in names]
    return Verbatim("".join(f"{line}\r\n" for line in lines).encode())


@completed_in("valkey-9.1+", "cluster|shards")
def shards_of_9_1(session: Session, _: list[bytes], shards: Any) -> Reply:
    """CLUSTER SHARDS with the name of each shard."""
    cluster = of_cluster(session.engine)
    names = [node.shard_id for node in cluster.known if node.primary is None]
    return [Map({**shard, b"id": name}) for shard, name in zip(shards, names, strict=True)]
