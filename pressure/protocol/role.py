"""The two roles of a queue, and ``Hold``: what an operation holds of a role.

A role is a list with one element while it is free (``:producer_free``, ``:consumer_free``). Popping the
element takes the role, pushing one gives it back. ``:producer`` and ``:consumer``, the holder keys, have the
id of the holder, or of the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pressure.connections.identity import released
from pressure.keys import Keys
from pressure.protocol.numbers import bound_in
from pressure.protocol.operation import Command, Context, Reply


@dataclass(frozen=True, slots=True)
class Role:
    """One of the two roles, and its keys.

    Attributes:
        name: ``"producer"`` or ``"consumer"``.
        free: The key of the list that has an element while the role is free.
        holder: The holder key.
        suspect: The key of the holder that a client found dead and could not free yet (``healing``).
    """

    name: str
    free: Callable[[Keys], bytes]
    holder: Callable[[Keys], bytes]
    suspect: Callable[[Keys], bytes]


PRODUCER: Final = Role(
    "producer",
    free=lambda keys: keys.producer_free,
    holder=lambda keys: keys.producer,
    suspect=lambda keys: keys.suspect_producer,
)
CONSUMER: Final = Role(
    "consumer",
    free=lambda keys: keys.consumer_free,
    holder=lambda keys: keys.consumer,
    suspect=lambda keys: keys.suspect_consumer,
)
ROLES: Final = (PRODUCER, CONSUMER)


@dataclass(slots=True)
class Hold:
    """What an operation holds at the moment, and so has to give back.

    Attributes:
        role: The role.
        id: The id of this hold.
        before: The value of the holder key when the role was popped. If the key has another value now, and
            not this hold's id, another client has freed the role.
        claimed: Whether this hold's id was written to the holder key.
        watched: Whether the holder key is watched since ``before`` was read.
        token: Whether the operation has the element of ``:not_full``.
        held: Whether it has the role.
        unacked: How many messages it has not acknowledged; they go back with the role.
        closes: Whether it is to close the queue. A producer that waits for room gives way to it.
    """

    role: Role
    id: bytes
    before: bytes | None = None
    claimed: bool = False
    watched: bool = False
    token: bool = False
    held: bool = False
    unacked: int = 0
    closes: bool = False

    @property
    def expected(self) -> bytes | None:
        """The value of the holder key as long as this hold has the role."""
        return self.id if self.claimed else self.before


def claim_command(ctx: Context, hold: Hold) -> Command:
    """The command that writes the hold's id to the holder key; the key expires when the lease runs out."""
    lease = (b"PX", ctx.lease_ms) if ctx.lease else ()
    return (b"SET", hold.role.holder(ctx.keys), hold.id, *lease)


def release_commands(keys: Keys, role: Role, hold_id: bytes) -> tuple[Command, Command]:
    """The commands that free a role, and write this hold's released id to the holder key."""
    return (b"SET", role.holder(keys), released(hold_id)), (b"LPUSH", role.free(keys), 0)


def token_commands(ctx: Context, hold: Hold) -> tuple[Command, ...]:
    """The commands that put back the token that a failed Put had popped."""
    return refill(ctx) if hold.token else ()


def put_back(ctx: Context) -> Command:
    """The command that moves the last received message back to the front of the queue.

    Repeated once for each message, it keeps their order.
    """
    return (b"LMOVE", ctx.keys.unacked, ctx.keys.queue, b"LEFT", b"RIGHT")


def look_at_size(ctx: Context) -> tuple[Command, Command]:
    """The commands that read the bound and the length."""
    return (b"GET", ctx.keys.bound), (b"LLEN", ctx.keys.queue)


def drop_token(ctx: Context, more: int, bound: Reply, length: Reply) -> tuple[Command, ...]:
    """The command that removes the token of a queue which ``more`` messages fill; none if they do not.

    Such messages go back to the queue. Had they never been taken, there would be no token.
    """
    limit = bound_in(bound)
    is_full = bool(limit) and isinstance(length, int) and length + more >= (limit or 0)
    return ((b"DEL", ctx.keys.not_full),) if is_full else ()


def refill(ctx: Context) -> tuple[Command, Command]:
    """The commands after which ``:not_full`` has exactly one element, whatever it had before.

    The documents' earlier ``LTRIM 0 1`` leaves two. Other clients may leave any value and any length.
    """
    return (b"LPUSH", ctx.keys.not_full, 0), (b"LTRIM", ctx.keys.not_full, 0, 0)
