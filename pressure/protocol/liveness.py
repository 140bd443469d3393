"""Whether the holder of a role is dead: one rule for healing, ``repair`` and ``doctor``.

A hold of this package lives on one connection, and a closed connection does not come back. So a restart of
the server, or a failover, makes no difference. In a cluster the connection may be at another node than the
queue, whose slot has moved. A client that gives a role back marks the id in the holder key. So if a role is
taken and its holder key is marked or missing, a client has popped the role and not written its id yet. That
takes a moment; a client that takes longer is fenced.

Rule: a holder is dead if at two probes, ``PROBE_INTERVAL`` seconds apart, the role was taken, the holder key
had the same value, and there was no sign of life. A hold of this process that is over is dead at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pressure.connections.identity import connection_in, is_released
from pressure.connections.pool import Holds
from pressure.protocol.commands import check
from pressure.protocol.operation import AtNodes, Batch, Command, Context, Operation, Reply
from pressure.protocol.role import CONSUMER, PRODUCER, ROLES, Role

#: Seconds between two probes.
PROBE_INTERVAL: Final = 5.0
#: The part of that time for which a client waits for a role before it takes the first probe.
FIRST_PROBE: Final = 0.2


class Liveness(Enum):
    """What is known at one moment about the holder of a role that is taken."""

    OWN = "it is an operation of this process that is over"
    GONE = "its connection is gone"
    SILENT = "it has not written its id, or its lease ran out"
    CONNECTED = "its connection is open"
    FOREIGN = "its id is not of this package's form, so its connection is not known"
    UNKNOWN = "the server does not tell who is connected"

    @property
    def is_dead(self) -> bool:
        """Whether a holder of which this is known at both probes is dead."""
        return self in (Liveness.OWN, Liveness.GONE, Liveness.SILENT)


def liveness_of(holder: bytes | None, connections: frozenset[bytes] | None, is_over: bool) -> Liveness:
    """What is known about a holder.

    Args:
        holder: The value of the holder key.
        connections: The names of the open connections; None if they are not known.
        is_over: Whether it is a hold of this process that was over before the key was read.
    """
    if holder is None or is_released(holder):
        return Liveness.SILENT
    name = connection_in(holder)
    if name is None:
        return Liveness.FOREIGN
    if is_over:
        return Liveness.OWN
    if connections is None:
        return Liveness.UNKNOWN
    return Liveness.CONNECTED if name in connections else Liveness.GONE


@dataclass(frozen=True, slots=True)
class Probe:
    """What one probe reads.

    Attributes:
        bound: The value of ``:bound``.
        keys: How many of the queue's keys exist.
        free: The length of each role's list.
        holder: The value of each role's holder key.
        connections: The names of the open connections; None if that is not known.
    """

    bound: bytes | None
    keys: int
    free: dict[Role, int]
    holder: dict[Role, bytes | None]
    connections: frozenset[bytes] | None = None


def probe(ctx: Context) -> Operation[Probe]:
    """Read the queue's keys, and then the names of the open connections.

    In this order, if a holder that the keys name is alive, its connection is among the names.
    """
    keys = ctx.keys
    commands: list[Command] = [(b"GET", keys.bound), (b"EXISTS", *keys.all)]
    commands += [(b"LLEN", role.free(keys)) for role in ROLES]
    commands += [(b"GET", role.holder(keys)) for role in ROLES]
    *replies, clients = yield Batch((*commands, (b"CLIENT", b"LIST")))
    bound, count, free_p, free_c, holder_p, holder_c = check(replies)
    free, holder = {PRODUCER: free_p, CONSUMER: free_c}, {PRODUCER: holder_p, CONSUMER: holder_c}
    names = yield from names_of(ctx, clients, (holder[role] for role in ROLES if not free[role]))
    return Probe(bound, count, free, holder, names)


def names_of(ctx: Context, clients: Reply, holders: Iterable[Reply]) -> Operation[frozenset[bytes] | None]:
    """The names of the open connections, those of these holders among them; None if they are not known.

    In a cluster, a slot can move while a client holds a role. The client's connection stays at the other node
    until its next step, which for a ``receive`` block is the end of the block.

    Args:
        ctx: The context.
        clients: The reply to CLIENT LIST.
        holders: The replies with the values of the holder keys of roles that are taken.
    """
    names = connected(clients)
    wanted = {connection_in(holder) for holder in holders if isinstance(holder, bytes)} - {None}
    if names is None or not ctx.server.in_cluster or wanted <= names:
        return names
    (nodes,) = yield Batch(((b"CLUSTER", b"NODES"),))
    if not isinstance(nodes, bytes):  # this user may not ask
        return names
    for result in (yield AtNodes(((b"CLIENT", b"LIST"),), nodes=other_nodes(nodes))):
        there = connected(result[0]) if isinstance(result, list) else None
        if there is None:
            return None
        names |= there
    return names


def other_nodes(told: bytes) -> tuple[tuple[str, int], ...]:
    """Where the nodes in a reply to CLUSTER NODES are, without the one that replied and those that fail."""
    nodes = []
    for line in told.decode().splitlines():
        _, address, flags, *_ = line.split(" ")
        host, _, port = address.partition("@")[0].rpartition(":")
        if not ABSENT.intersection(flags.split(",")):
            nodes.append((host.strip("[]"), int(port)))
    return tuple(nodes)


#: Flags of nodes that are not asked: the connections of a node that fails are gone.
ABSENT: Final = frozenset({"myself", "fail", "fail?", "noaddr", "handshake"})


def connected(reply: Reply) -> frozenset[bytes] | None:
    """The names in a reply to CLIENT LIST; None if the server refused it."""
    if not isinstance(reply, bytes):
        return None
    fields = (word for line in reply.splitlines() for word in line.split(b" "))
    return frozenset(word.removeprefix(b"name=") for word in fields if word.startswith(b"name="))


def sign_of_life(role: Role, first: Probe, last: Probe, holds: Holds) -> str | None:
    """Why the role's holder may be alive, according to two probes; None if it is dead."""
    probes = (first, last)
    if any(seen.free[role] for seen in probes):
        return "it was free for a moment"
    if last.holder[role] is None:  # a lease that has run out cannot be renewed
        return None
    if first.holder[role] != last.holder[role]:
        return "its holder changed"
    is_over = holds.is_dead(last.holder[role])
    lives = (liveness_of(seen.holder[role], seen.connections, is_over) for seen in probes)
    return next((life.value for life in lives if not life.is_dead), None)
