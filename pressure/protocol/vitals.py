"""Whether the holder of a role is dead: what is looked at, and every reason for doubt.

A role's holder key is stale between the pop of a role and the SET, and after a release; clients of other
authors never name their connections; a forked child keeps its parent's connection listed; a failover empties
CLIENT LIST; a holder that works on a message does not use its connection, which a server may then close. So
whatever cannot be found out counts for the holder.

To add a reason for doubt: what it needs in ``Seen`` and ``look``, and a line in ``doubt``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pressure.errors import ServerReplyError
from pressure.identity import connection_in
from pressure.keys import Keys
from pressure.protocol.roles import CONSUMER, PRODUCER, Role
from pressure.protocol.steps import Batch, Command, Context, Operation, Reply, check

#: Seconds between two looks.
LOOK_APART: Final = 5.0
#: Seconds for which the server must have been up.
STEADY: Final = 60

ROLES: Final = (PRODUCER, CONSUMER)


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at the queue and, if that was asked for, at who is connected.

    Attributes:
        bound: What ``:bound`` holds.
        keys: How many keys there are.
        free: Elements of each role's list.
        holder: What names each role's holder.
        used: Whether there is a key that only a finished Create or a client's work leaves.
        unacked: Messages that are not acknowledged.
        connected: The names that connections carry; None if that is not known.
        others: How many connections there are beside the one that asks; None if that is not known.
        steady: Whether the list of connections can be trusted.
        patient: Whether the server keeps connections that are silent.
        leased: The roles whose holder's key expires.
        leases: Whether whoever looks says that holders have leases.
    """

    bound: bytes | None
    keys: int
    free: dict[Role, int]
    holder: dict[Role, bytes | None]
    used: bool = True
    unacked: int = 0
    connected: frozenset[bytes] | None = None
    others: int | None = None
    steady: bool = False
    patient: bool = False
    leased: frozenset[Role] = frozenset()
    leases: bool = False

    @property
    def half_created(self) -> bool:
        """Whether a Create stopped between the bound and its last push; they come in the protocol's order."""
        free = (self.free[PRODUCER], self.free[CONSUMER])
        return self.bound is not None and not self.used and free in ((0, 0), (1, 0), (1, 1))


#: What tells of the server.
_ASKED: Final[tuple[Command, ...]] = (
    (b"CLIENT", b"LIST"),
    (b"CLIENT", b"ID"),
    (b"CONFIG", b"GET", b"timeout"),
    (b"INFO", b"server"),
    (b"INFO", b"replication"),
)


def look(ctx: Context, *, ask_server: bool) -> Operation[Seen]:
    """Look at the queue, and at who is connected."""
    keys = ctx.keys
    commands: list[Command] = [(b"GET", keys.bound), (b"EXISTS", *keys.all), (b"EXISTS", *_used(keys))]
    commands += [(b"LLEN", keys.unacked)]
    commands += [(b"LLEN", role.free(keys)) for role in ROLES]
    commands += [(b"GET", role.holder(keys)) for role in ROLES]
    times: list[Command] = [(b"PTTL", role.holder(keys)) for role in ROLES]
    replies = yield Batch((*commands, *((*_ASKED, *times) if ask_server else ())))
    bound, count, used, unacked, free_p, free_c, holder_p, holder_c = check(replies[: len(commands)])
    free, holder = {PRODUCER: free_p, CONSUMER: free_c}, {PRODUCER: holder_p, CONSUMER: holder_c}
    if not ask_server:
        return Seen(bound, count, free, holder, bool(used), unacked)
    clients, me, timeout, *info = replies[len(commands) : -len(times)]
    lefts = zip(ROLES, replies[-len(times) :], strict=True)
    leased = frozenset(role for role, left in lefts if isinstance(left, int) and left > 0)
    return Seen(
        bound, count, free, holder, bool(used), unacked,
        connected(clients), _others(clients, me), steady(info), _is_zero(timeout), leased, bool(ctx.lease),
    )  # fmt: skip


def _used(keys: Keys) -> tuple[bytes, ...]:
    early = (keys.bound, keys.producer_free, keys.consumer_free)
    return tuple(key for key in keys.all if key not in early)


def connected(reply: Reply) -> frozenset[bytes] | None:
    """The names that connections carry, or None when the server does not tell."""
    if not isinstance(reply, bytes):
        return None
    fields = (word for line in reply.splitlines() for word in line.split(b" "))
    return frozenset(word.removeprefix(b"name=") for word in fields if word.startswith(b"name="))


def _others(reply: Reply, me: Reply) -> int | None:
    """How many are connected beside us, or None when the server does not tell."""
    if not isinstance(reply, bytes) or not isinstance(me, int):
        return None
    return sum(
        line.startswith(b"id=") and line.split(b" ", 1)[0] != b"id=%d" % me for line in reply.splitlines()
    )


def _is_zero(reply: Reply) -> bool:
    """Whether CONFIG GET tells of a directive that it is 0, in either version of the wire protocol."""
    if isinstance(reply, dict):
        return list(reply.values()) == [b"0"]
    return isinstance(reply, list) and reply[1:] == [b"0"]


def steady(replies: list[Reply]) -> bool:
    """Whether the list of connections can be trusted: up, and master, for long enough.

    Since when a server is master cannot be asked. One that was never a replica has no second replication
    id, so only such a server is trusted.
    """
    if any(isinstance(reply, ServerReplyError) for reply in replies):
        return False
    lines = (line.partition(b":") for reply in replies for line in reply.splitlines())
    info = {name: value for name, _, value in lines}
    up = info.get(b"uptime_in_seconds", b"")
    return (
        up.isdigit()
        and int(up) >= STEADY
        and info.get(b"role") == b"master"
        and not info.get(b"master_replid2", b"?").strip(b"0")
    )


_CHANGED: Final = "its holder changed during the repair"


def doubt(role: Role, first: Seen, last: Seen) -> str | None:
    """Why the role's holder may be alive; None when the role may be freed."""
    looks = (first, last)
    if any(seen.free[role] for seen in looks):
        return "it was free for a moment during the repair"
    holder = last.holder[role]
    if holder is None and (last.leases or role in first.leased):
        return _doubt_about_lease(role, first)
    if holder != first.holder[role]:
        return _CHANGED
    if holder is None:
        return _doubt_about_nobody(first, last)
    name = connection_in(holder)
    works = role is CONSUMER and last.unacked > 0
    doubts = {
        "its holder's id is not of this package's form, so its connections are not known": name is None,
        "the server does not tell who is connected": None in (first.connected, last.connected),
        "its holder's process is connected": any(name in (seen.connected or ()) for seen in looks),
        f"the server may have been started, or become master, less than {STEADY} s ago": not (
            first.steady and last.steady
        ),
        "its holder may work on a message while the server closes idle connections": works
        and not last.patient,
    }
    return next((doubt for doubt, holds in doubts.items() if holds), None)


def _doubt_about_lease(role: Role, first: Seen) -> str | None:
    """There is no name: a lease ran out, or a client without one has taken the role and not said so yet.

    The latter takes no longer than a moment, so that at one of the looks there was a name, or a lease.
    """
    if first.holder[role] is None or role in first.leased:
        return None
    return _CHANGED


def _doubt_about_nobody(first: Seen, last: Seen) -> str | None:
    """Nobody has ever said that the role is theirs: a Create that stopped, or a client before its SET."""
    if last.bound is None:
        return None  # the Delete that stopped had collected it
    if first.half_created and last.half_created:
        return None
    if first.others == last.others == 0:
        return None
    return "its holder has not written its id, and other clients are connected"
