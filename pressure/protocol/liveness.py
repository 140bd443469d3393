"""Whether the holder of a role is dead: the one judgement that healing, ``repair`` and ``doctor`` share.

A hold of ours lives on one connection, and a connection that is gone does not come back. So neither a restart
of the server nor a failover makes a difference. Whoever gives a role back marks the holder key; so a marked
id, or none, while the role is taken means that somebody has popped the role and not said so yet. That takes
a moment, and who needs longer is fenced.

Rule: a holder is dead if the role was taken, and the holder key the same, at two probes, ``PROBE_INTERVAL``
seconds apart, and nothing spoke for the holder at either. A hold of this process that is over is dead at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from pressure.identity import connection_in, is_released
from pressure.pool import Holds
from pressure.protocol.commands import check
from pressure.protocol.operation import Batch, Command, Context, Operation, Reply
from pressure.protocol.role import CONSUMER, PRODUCER, ROLES, Role

#: Seconds between two probes.
PROBE_INTERVAL: Final = 5.0
#: For which part of that a client waits for a role before it takes the first probe of the holder.
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
        """Whether a holder of which this is known all the time is dead."""
        return self in (Liveness.OWN, Liveness.GONE, Liveness.SILENT)


def liveness_of(holder: bytes | None, connections: frozenset[bytes] | None, holds: Holds) -> Liveness:
    """What is known about a holder, by what the holder key says and who is connected."""
    if holder is None or is_released(holder):
        return Liveness.SILENT
    name = connection_in(holder)
    if name is None:
        return Liveness.FOREIGN
    if holds.is_dead(holder):
        return Liveness.OWN
    if connections is None:
        return Liveness.UNKNOWN
    return Liveness.CONNECTED if name in connections else Liveness.GONE


@dataclass(frozen=True, slots=True)
class Probe:
    """What one probe sees of the queue and of who is connected.

    Attributes:
        bound: What ``:bound`` holds.
        keys: How many keys there are.
        free: Elements of each role's list.
        holder: What each role's holder key says.
        connections: The names that connections carry; None if that is not known.
    """

    bound: bytes | None
    keys: int
    free: dict[Role, int]
    holder: dict[Role, bytes | None]
    connections: frozenset[bytes] | None = None


def probe(ctx: Context) -> Operation[Probe]:
    """Look at the queue, and at who is connected; in this order.

    A holder that is seen was there before the connections were listed.
    """
    keys = ctx.keys
    commands: list[Command] = [(b"GET", keys.bound), (b"EXISTS", *keys.all)]
    commands += [(b"LLEN", role.free(keys)) for role in ROLES]
    commands += [(b"GET", role.holder(keys)) for role in ROLES]
    *replies, clients = yield Batch((*commands, (b"CLIENT", b"LIST")))
    bound, count, free_p, free_c, holder_p, holder_c = check(replies)
    free, holder = {PRODUCER: free_p, CONSUMER: free_c}, {PRODUCER: holder_p, CONSUMER: holder_c}
    return Probe(bound, count, free, holder, connected(clients))


def connected(reply: Reply) -> frozenset[bytes] | None:
    """The names that connections carry, or None when the server does not tell."""
    if not isinstance(reply, bytes):
        return None
    fields = (word for line in reply.splitlines() for word in line.split(b" "))
    return frozenset(word.removeprefix(b"name=") for word in fields if word.startswith(b"name="))


def sign_of_life(role: Role, first: Probe, last: Probe, holds: Holds) -> str | None:
    """Why the role's holder may be alive, by two probes; None if it is dead."""
    probes = (first, last)
    if any(seen.free[role] for seen in probes):
        return "it was free for a moment"
    if last.holder[role] is None:  # a lease that ran out is not renewed any more
        return None
    if first.holder[role] != last.holder[role]:
        return "its holder changed"
    lives = (liveness_of(seen.holder[role], seen.connections, holds) for seen in probes)
    return next((life.value for life in lives if not life.is_dead), None)
