"""CLUSTER, and what clients say to a node of a cluster before they read."""

from __future__ import annotations

from typing import Final

from ...clients.client_flags import ASKS, READS_REPLICA
from ...clients.session import Session
from ...cluster import cluster_errors
from ...cluster.membership import Membership, of_cluster
from ...cluster.slots import SLOTS, key_slot
from ...cluster.topology import Node
from ...declarations.help import help_on
from ...declarations.registry import command, container
from ...numbers.numbers import read_integer
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Map, Reply, Verbatim

OF_REPLICAS: Final = "admin stale"
UNSTEADY: Final = "nondeterministic_output"

container("CLUSTER", -2, module=__name__, summary="Shows the cluster of this node.", since="3.0.0")


@command(
    "CLUSTER COUNT-FAILURE-REPORTS",
    3,
    OF_REPLICAS,
    acl="",
    tips=UNSTEADY,
    since="3.0.0",
    syntax="node-id",
)
def count_failure_reports(session: Session, args: list[bytes]) -> Reply:
    """Returns how many nodes say that a node has failed: none."""
    named(session, args[2])
    return 0


@command("CLUSTER COUNTKEYSINSLOT", 3, "stale", acl="", since="3.0.0", syntax="slot:integer")
def count_keys_in_slot(session: Session, args: list[bytes]) -> Reply:
    """Counts this node's keys in a slot."""
    of_cluster(session.engine)
    slot = read_integer(args[2])
    if not 0 <= slot < SLOTS:
        raise CommandError(cluster_errors.INVALID_SLOT)
    return len(keys_in(session, slot))


@command(
    "CLUSTER GETKEYSINSLOT",
    4,
    "stale",
    acl="",
    tips=UNSTEADY,
    since="3.0.0",
    syntax="slot:integer count:integer",
)
def get_keys_in_slot(session: Session, args: list[bytes]) -> Reply:
    """Returns keys of this node in a slot, the newest first."""
    of_cluster(session.engine)
    slot, count = read_integer(args[2]), read_integer(args[3])
    if not 0 <= slot < SLOTS or count < 0:
        raise CommandError(cluster_errors.INVALID_SLOT_OR_COUNT)
    return list(keys_in(session, slot)[:count])


def keys_in(session: Session, slot: int) -> list[bytes]:
    """The keys of a slot that the server has, the newest first."""
    return [key for key in reversed(session.db.values) if key_slot(key) == slot]


@command("CLUSTER HELP", 2, "loading stale", acl="", since="5.0.0")
def cluster_help(session: Session, args: list[bytes]) -> Reply:
    """Lists the subcommands."""
    of_cluster(session.engine)
    return list(help_on(session.engine.commands, b"cluster"))


@command("CLUSTER INFO", 2, "stale", acl="", tips=UNSTEADY, since="3.0.0")
def cluster_info(session: Session, args: list[bytes]) -> Reply:
    """Returns the state of the cluster."""
    cluster = of_cluster(session.engine)
    owners = [owner for owner in cluster.owners if owner is not None]
    failed = sum(owner.has_failed for owner in owners)
    facts = {
        "cluster_state": "fail" if cluster.is_down else "ok",
        "cluster_slots_assigned": len(owners),
        "cluster_slots_ok": len(owners) - failed,
        "cluster_slots_pfail": 0,
        "cluster_slots_fail": failed,
        "cluster_known_nodes": len(cluster.known),
        "cluster_size": len(set(owners)),
        "cluster_current_epoch": cluster.topology.epoch,
        "cluster_my_epoch": cluster.node.served_epoch,
        "cluster_stats_messages_sent": 0,
        "cluster_stats_messages_received": 0,
        "total_cluster_links_buffer_limit_exceeded": 0,
    }
    return Verbatim("".join(f"{name}:{value}\r\n" for name, value in facts.items()).encode())


@command("CLUSTER KEYSLOT", 3, "stale", acl="", since="3.0.0", syntax="key")
def cluster_keyslot(session: Session, args: list[bytes]) -> Reply:
    """Returns the slot of a key."""
    of_cluster(session.engine)
    return key_slot(args[2])


@command("CLUSTER LINKS", 2, "stale", acl="", tips=UNSTEADY, since="7.0.0")
def cluster_links(session: Session, args: list[bytes]) -> Reply:
    """Lists this node's links to others: two to each, as on the bus of a redis-server."""
    cluster = of_cluster(session.engine)
    return [
        Map(
            {
                b"direction": direction,
                b"node": node.name,
                b"create-time": max(node.since, cluster.node.since),
                b"events": b"r",
                b"send-buffer-allocated": 0,
                b"send-buffer-used": 0,
            }
        )
        for node in cluster.known
        if node is not cluster.node and not node.has_failed
        for direction in (b"to", b"from")
    ]


@command("CLUSTER MYID", 2, "stale", acl="", since="3.0.0")
def cluster_myid(session: Session, args: list[bytes]) -> Reply:
    """Returns this node's name."""
    return of_cluster(session.engine).node.name


@command("CLUSTER NODES", 2, "stale", acl="", tips=UNSTEADY, since="3.0.0")
def cluster_nodes(session: Session, args: list[bytes]) -> Reply:
    """Lists the nodes, a line each."""
    cluster = of_cluster(session.engine)
    now = session.engine.now.milliseconds
    return Verbatim(b"".join(line_about(cluster, node, now) for node in cluster.known))


def line_about(cluster: Membership, node: Node, now: int) -> bytes:
    """A node in the layout of CLUSTER NODES; others have answered a ping just now."""
    is_self = node is cluster.node
    flags = (
        [b"myself"] * is_self
        + [b"slave" if node.primary else b"master"]
        + [b"fail"] * node.has_failed
        + [b"nofailover"] * (node.config["cluster-replica-no-failover"] == "yes")
    )
    head = b"%b %b@%d %b %b 0 %d %d %b" % (
        node.name,
        node.address,
        node.bus_port,
        b",".join(flags),
        node.primary.name if node.primary else b"-",
        0 if is_self else now,
        node.served_epoch,
        b"disconnected" if node.has_failed else b"connected",
    )
    slots = [
        b"%d" % start if start == end else b"%d-%d" % (start, end) for start, end in cluster.ranges_of(node)
    ]
    if is_self:
        slots += [b"[%d->-%b]" % (slot, other.name) for slot, other in sorted_by_slot(cluster.migrating)]
        slots += [b"[%d-<-%b]" % (slot, other.name) for slot, other in sorted_by_slot(cluster.importing)]
    return b" ".join([head, *slots]) + b"\n"


def sorted_by_slot(moving: dict[int, Node]) -> list[tuple[int, Node]]:
    return sorted(moving.items(), key=lambda item: item[0])


@command("CLUSTER REPLICAS", 3, OF_REPLICAS, acl="", tips=UNSTEADY, since="5.0.0", syntax="node-id")
def cluster_replicas(session: Session, args: list[bytes]) -> Reply:
    """Lists a node's replicas, a line of CLUSTER NODES each."""
    cluster, node = of_cluster(session.engine), named(session, args[2])
    if node.primary is not None:
        raise CommandError(cluster_errors.ONLY_MASTERS_HAVE_REPLICAS)
    now = session.engine.now.milliseconds
    return [line_about(cluster, each, now)[:-1] for each in cluster.replicas_of(node)]


@command("CLUSTER SHARDS", 2, "stale", acl="", tips=UNSTEADY, since="7.0.0")
def cluster_shards(session: Session, args: list[bytes]) -> Reply:
    """Lists slots with the nodes that have them."""
    cluster = of_cluster(session.engine)
    return [
        Map(
            {
                b"slots": [slot for bounds in cluster.ranges_of(node) for slot in bounds],
                b"nodes": [facts_about(each) for each in (node, *cluster.replicas_of(node))],
            }
        )
        for node in cluster.known
        if node.primary is None
    ]


def facts_about(node: Node) -> Map:
    return Map(
        {
            b"id": node.name,
            b"port": node.port,
            b"ip": node.host,
            b"endpoint": node.host,
            b"role": b"replica" if node.primary else b"master",
            b"replication-offset": node.offset,
            b"health": node.health,
        }
    )


@command(
    "CLUSTER SLAVES", 3, OF_REPLICAS, acl="", tips=UNSTEADY, since="3.0.0", syntax="node-id",
    deprecated="5.0.0", replaced_by="`CLUSTER REPLICAS`",
)  # fmt: skip
def cluster_slaves(session: Session, args: list[bytes]) -> Reply:
    """Lists a node's replicas."""
    return cluster_replicas(session, args)


@command(
    "CLUSTER SLOTS", 2, "stale", acl="", tips=UNSTEADY, since="3.0.0",
    deprecated="7.0.0", replaced_by="`CLUSTER SHARDS`",
)  # fmt: skip
def cluster_slots(session: Session, args: list[bytes]) -> Reply:
    """Lists runs of slots, each with its node and the replicas that can be read."""
    cluster = of_cluster(session.engine)
    return [
        [start, end, *(place_of(node) for node in (owner, *readable(cluster.replicas_of(owner))))]
        for start, end, owner in cluster.ranges()
        if owner is not None
    ]


def place_of(node: Node) -> Reply:
    return [node.host, node.port, node.name, Map()]


def readable(replicas: list[Node]) -> list[Node]:
    return [each for each in replicas if each.health == b"online"]


def named(session: Session, name: bytes) -> Node:
    """The node of that name; raises ``CommandError`` if there is none."""
    node = of_cluster(session.engine).find(name)
    if node is None:
        raise CommandError(cluster_errors.unknown_node(name))
    return node


# What concerns the connection


@command("ASKING", 1, "fast", acl="connection", since="3.0.0")
def asking(session: Session, args: list[bytes]) -> Reply:
    """Precedes a request that another node sent here by ASK."""
    of_cluster(session.engine)
    session.flags |= ASKS
    return OK


@command("READONLY", 1, "loading stale fast", acl="connection", since="3.0.0")
def readonly(session: Session, args: list[bytes]) -> Reply:
    """Allows this connection to read from a replica."""
    of_cluster(session.engine)
    session.flags |= READS_REPLICA
    return OK


@command("READWRITE", 1, "loading stale fast", acl="connection", since="3.0.0")
def readwrite(session: Session, args: list[bytes]) -> Reply:
    """Ends READONLY."""
    of_cluster(session.engine)
    session.flags &= ~READS_REPLICA
    return OK
