"""The subcommands of CLUSTER that change it: slots get other nodes, replicas become primaries."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Final

from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import Membership, of_cluster
from ...cluster.slots import SLOTS
from ...cluster.topology import Node
from ...declarations.registry import command
from ...numbers.numbers import parse_integer, read_integer
from ...protocol import errors
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply, status
from . import cluster as _container  # noqa: F401, whoever imports this module first

OF_ADMINS: Final = "admin stale no_async_loading"

BUS: Final = 10000
"""How far the port of the bus is from the TCP port, where nothing else is said."""

MOST: Final = 65535
"""The highest port."""


def read_slot(word: bytes) -> int:
    """A slot; raises ``CommandError`` if there is none of this number."""
    try:
        slot = read_integer(word)
    except CommandError:
        slot = -1
    if not 0 <= slot < SLOTS:
        raise CommandError(cluster_errors.OUT_OF_SLOTS)
    return slot


# Slots with an owner and without


@command("CLUSTER ADDSLOTS", -3, OF_ADMINS, acl="", since="3.0.0", syntax="slot:integer...")
def add_slots(session: Session, args: list[bytes]) -> Reply:
    """Gives slots that have no node to this one."""
    return change_slots(session, [read_slot(word) for word in args[2:]], adds=True)


@command(
    "CLUSTER ADDSLOTSRANGE", -4, OF_ADMINS, acl="", since="7.0.0",
    syntax="start-slot_end-slot{start-slot:integer end-slot:integer}...",
)  # fmt: skip
def add_slots_range(session: Session, args: list[bytes]) -> Reply:
    """Gives ranges of slots that have no node to this one."""
    return change_slots(session, in_ranges(args, b"addslotsrange"), adds=True)


@command("CLUSTER DELSLOTS", -3, OF_ADMINS, acl="", since="3.0.0", syntax="slot:integer...")
def del_slots(session: Session, args: list[bytes]) -> Reply:
    """Makes this node forget who has these slots; if it does itself, it no longer serves them."""
    return change_slots(session, [read_slot(word) for word in args[2:]], adds=False)


@command(
    "CLUSTER DELSLOTSRANGE", -4, OF_ADMINS, acl="", since="7.0.0",
    syntax="start-slot_end-slot{start-slot:integer end-slot:integer}...",
)  # fmt: skip
def del_slots_range(session: Session, args: list[bytes]) -> Reply:
    """Makes this node forget who has ranges of slots; if it does itself, it no longer serves them."""
    return change_slots(session, in_ranges(args, b"delslotsrange"), adds=False)


def in_ranges(args: list[bytes], name: bytes) -> list[int]:
    if len(args) % 2:
        raise CommandError(errors.wrong_arity(b"cluster|" + name))
    slots: list[int] = []
    for first, last in zip(args[2::2], args[3::2], strict=True):
        start, end = read_slot(first), read_slot(last)
        if start > end:
            raise CommandError(cluster_errors.slots_reversed(start, end))
        slots += range(start, end + 1)
    return slots


def change_slots(session: Session, slots: list[int], *, adds: bool) -> Reply:
    cluster = of_cluster(session.engine)
    seen: set[int] = set()
    for slot in slots:
        if (cluster.owner_of(slot) is not None) == adds:
            raise CommandError(cluster_errors.slot_taken(slot) if adds else cluster_errors.slot_free(slot))
        if slot in seen:
            raise CommandError(cluster_errors.slot_repeated(slot))
        seen.add(slot)
    if adds:
        for slot in slots:
            cluster.importing.pop(slot, None)
        cluster.unassigned -= seen
        cluster.topology.assign(slots, cluster.node)
    else:
        unassign(cluster, seen)
    return OK


def unassign(cluster: Membership, slots: set[int]) -> None:
    """This node knows no owner of some slots any more; the others do."""
    cluster.unassigned |= slots
    cluster.topology.changed()


@command("CLUSTER FLUSHSLOTS", 2, OF_ADMINS, acl="", since="3.0.0")
def flush_slots(session: Session, args: list[bytes]) -> Reply:
    """Takes all slots from this node, which must have no keys."""
    cluster = of_cluster(session.engine)
    if session.db.values:
        raise CommandError(cluster_errors.FLUSHSLOTS_NEEDS_EMPTY)
    unassign(cluster, {slot for slot, owner in enumerate(cluster.owners) if owner is cluster.node})
    return OK


# Slots on their way


@command(
    "CLUSTER SETSLOT", -4, OF_ADMINS, acl="", since="3.0.0",
    syntax="slot:integer subcommand(IMPORTING node-id|MIGRATING node-id|NODE node-id|STABLE~stable)",
)  # fmt: skip
def set_slot(session: Session, args: list[bytes]) -> Reply:
    """Says where a slot is going, where it comes from, or who has it."""
    cluster = of_cluster(session.engine)
    if cluster.node.primary is not None:
        raise CommandError(cluster_errors.SETSLOT_OF_REPLICA)
    slot = read_slot(args[2])
    action = SLOT_ACTIONS.get((args[3].lower(), len(args)))
    if action is None:
        raise CommandError(cluster_errors.SETSLOT_ACTION)
    action(cluster, slot, args[4] if len(args) > 4 else b"")
    return OK


def set_migrating(cluster: Membership, slot: int, name: bytes) -> None:
    if cluster.owner_of(slot) is not cluster.node:
        raise CommandError(cluster_errors.not_my_slot(slot))
    cluster.migrating[slot] = primary_named(cluster, name, cluster_errors.no_such_node)


def set_importing(cluster: Membership, slot: int, name: bytes) -> None:
    if cluster.owner_of(slot) is cluster.node:
        raise CommandError(cluster_errors.my_slot(slot))
    cluster.importing[slot] = primary_named(cluster, name, cluster_errors.no_such_node)


def set_stable(cluster: Membership, slot: int, _: bytes) -> None:
    cluster.migrating.pop(slot, None)
    cluster.importing.pop(slot, None)


def set_owner(cluster: Membership, slot: int, name: bytes) -> None:
    node, topology = primary_named(cluster, name, cluster_errors.unknown_node), cluster.topology
    is_leaving = cluster.owner_of(slot) is cluster.node and node is not cluster.node
    is_empty = not cluster.has_keys(slot)
    if is_leaving and not is_empty:
        raise CommandError(cluster_errors.slot_with_keys(slot))
    if is_empty:
        cluster.migrating.pop(slot, None)
    if node is cluster.node and cluster.importing.pop(slot, None) is not None:
        topology.bump(node)
    cluster.unassigned.discard(slot)
    topology.assign([slot], node)
    if is_leaving and cluster.node not in topology.serving:
        cluster.become_replica(node)


def primary_named(cluster: Membership, name: bytes, refusal: Callable[[bytes], bytes]) -> Node:
    node = cluster.find(name)
    if node is None:
        raise CommandError(refusal(name))
    if node.primary is not None:
        raise CommandError(cluster_errors.NOT_A_MASTER)
    return node


SLOT_ACTIONS: Final[dict[tuple[bytes, int], Callable[[Membership, int, bytes], None]]] = {
    (b"migrating", 5): set_migrating,
    (b"importing", 5): set_importing,
    (b"stable", 4): set_stable,
    (b"node", 5): set_owner,
}
"""By the word and the number of arguments."""


# Roles


@command(
    "CLUSTER FAILOVER", -2, OF_ADMINS, acl="", since="3.0.0",
    syntax="[options(FORCE~force|TAKEOVER~takeover)]",
)  # fmt: skip
def cluster_failover(session: Session, args: list[bytes]) -> Reply:
    """Makes this replica the primary of its shard."""
    cluster = of_cluster(session.engine)
    if len(args) > 3:
        raise CommandError(errors.subcommand_or_arity(args[1], b"CLUSTER"))
    kind = args[2].decode("latin-1").lower() if len(args) > 2 else ""
    if kind not in {"", "force", "takeover"} or (len(args) > 2 and not kind):
        raise CommandError(errors.SYNTAX)
    primary = cluster.node.primary
    if primary is None or cluster.topology.listener is None:
        raise CommandError(cluster_errors.NO_REPLICA_TO_FAIL_OVER)
    if not kind and (primary.has_failed or session.engine.replication.upstream.is_down):
        raise CommandError(cluster_errors.PRIMARY_FAILED)
    cluster.topology.listener.fail_over(cluster.node, is_forced=bool(kind))
    return OK


@command("CLUSTER REPLICATE", 3, OF_ADMINS, acl="", since="3.0.0", syntax="node-id")
def replicate(session: Session, args: list[bytes]) -> Reply:
    """Makes this node the replica of another one."""
    cluster = of_cluster(session.engine)
    node = cluster.find(args[2])
    if node is None:
        raise CommandError(cluster_errors.unknown_node(args[2]))
    if node is cluster.node:
        raise CommandError(cluster_errors.REPLICATES_ITSELF)
    if node.primary is not None:
        raise CommandError(cluster_errors.REPLICATES_REPLICA)
    if cluster.node.primary is None and (session.db.values or cluster.node in cluster.owners):
        raise CommandError(cluster_errors.REPLICATE_NEEDS_EMPTY)
    cluster.become_replica(node)
    return OK


# Members


@command(
    "CLUSTER MEET", -4, OF_ADMINS, acl="", since="3.0.0",
    syntax="ip port:integer [cluster_bus_port:integer@4.0.0]",
)  # fmt: skip
def meet(session: Session, args: list[bytes]) -> Reply:
    """Joins the cluster of this node and that of the node at an address."""
    cluster = of_cluster(session.engine)
    if len(args) > 5:
        raise CommandError(errors.subcommand_or_arity(args[1], b"CLUSTER"))
    port = read_port(args[3], "base")
    bus_port = read_port(args[4], "bus") if len(args) > 4 else port + BUS
    if not is_address(args[2]) or not 0 < port <= MOST or not 0 < bus_port <= MOST:
        raise CommandError(cluster_errors.invalid_node_address(args[2], args[3]))
    if cluster.topology.listener is not None:
        cluster.topology.listener.meet(cluster.node, args[2].decode(), port)
    return OK


def read_port(word: bytes, kind: str) -> int:
    port = parse_integer(word)
    if port is None:
        raise CommandError(cluster_errors.invalid_node_port(kind.encode(), word))
    return port


def is_address(word: bytes) -> bool:
    """Whether it is an address, and not a name."""
    try:
        ip_address(word.decode())
    except ValueError:
        return False
    return True


@command("CLUSTER FORGET", 3, OF_ADMINS, acl="", since="3.0.0", syntax="node-id")
def forget(session: Session, args: list[bytes]) -> Reply:
    """Makes this node forget another one; it hears nothing of it for a minute."""
    cluster = of_cluster(session.engine)
    node = cluster.find(args[2])
    if node is None:
        raise CommandError(cluster_errors.unknown_node(args[2]))
    if node is cluster.node:
        raise CommandError(cluster_errors.FORGETS_ITSELF)
    if node is cluster.node.primary:
        raise CommandError(cluster_errors.FORGETS_ITS_MASTER)
    cluster.topology.forget(node, cluster.node, session.engine.now.milliseconds)
    return OK


@command("CLUSTER RESET", -2, "admin noscript stale", acl="", since="3.0.0", syntax="[hard_soft(HARD|SOFT)]")
def reset(session: Session, args: list[bytes]) -> Reply:
    """Makes this node forget all others; a replica becomes a primary without data."""
    cluster = of_cluster(session.engine)
    if len(args) > 3:
        raise CommandError(errors.subcommand_or_arity(args[1], b"CLUSTER"))
    kind = args[2].lower() if len(args) > 2 else b"soft"
    if kind not in {b"hard", b"soft"}:
        raise CommandError(errors.SYNTAX)
    if cluster.node.primary is None and session.db.values:
        raise CommandError(cluster_errors.RESET_NEEDS_EMPTY)
    cluster.reset(is_hard=kind == b"hard")
    return OK


# Epochs


@command("CLUSTER SET-CONFIG-EPOCH", 3, OF_ADMINS, acl="", since="3.0.0", syntax="config-epoch:integer")
def set_config_epoch(session: Session, args: list[bytes]) -> Reply:
    """Sets the epoch of a node that knows no other yet."""
    cluster, epoch = of_cluster(session.engine), read_integer(args[2])
    if epoch < 0:
        raise CommandError(cluster_errors.invalid_epoch(args[2]))
    if len(cluster.known) > 1:
        raise CommandError(cluster_errors.EPOCH_NEEDS_SOLITUDE)
    if cluster.node.epoch:
        raise CommandError(cluster_errors.EPOCH_IS_SET)
    cluster.node.epoch = epoch
    cluster.topology.epoch = max(cluster.topology.epoch, epoch)
    return OK


@command("CLUSTER BUMPEPOCH", 2, OF_ADMINS, acl="", tips="nondeterministic_output", since="3.0.0")
def bump_epoch(session: Session, args: list[bytes]) -> Reply:
    """Makes this node's epoch the highest one."""
    cluster = of_cluster(session.engine)
    word = b"BUMPED" if cluster.topology.bump(cluster.node) else b"STILL"
    return status(b"%b %d" % (word, cluster.node.epoch))


@command("CLUSTER SAVECONFIG", 2, OF_ADMINS, acl="", since="3.0.0")
def save_config(session: Session, args: list[bytes]) -> Reply:
    """Does nothing: what is known of the cluster is in memory only."""
    of_cluster(session.engine)
    return OK
