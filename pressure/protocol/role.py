"""The two roles of a queue, and a hold: what an operation holds of a role.

A role is a list with one element while it is free (``:producer_free``, ``:consumer_free``). Popping the
element takes the role, pushing one gives it back. ``:producer`` and ``:consumer``, the holder keys, say who
holds the role, or held it last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pressure.identity import released
from pressure.keys import Keys
from pressure.protocol.operation import Command, Context


@dataclass(frozen=True, slots=True)
class Role:
    """One of the two roles and where its keys are.

    Attributes:
        name: ``"producer"`` or ``"consumer"``.
        free: The key of the list that has an element while the role is free.
        holder: The holder key.
    """

    name: str
    free: Callable[[Keys], bytes]
    holder: Callable[[Keys], bytes]


PRODUCER: Final = Role("producer", lambda keys: keys.producer_free, lambda keys: keys.producer)
CONSUMER: Final = Role("consumer", lambda keys: keys.consumer_free, lambda keys: keys.consumer)
ROLES: Final = (PRODUCER, CONSUMER)


@dataclass(slots=True)
class Hold:
    """What an operation holds at the moment, and so has to give back.

    Attributes:
        role: The role.
        id: The id of this hold.
        before: What the holder key said when the role was popped. If it says something else by now, and not
            our id, somebody has freed the role.
        claimed: Whether our id was written to the holder key.
        watched: Whether the holder key is watched since ``before`` was read.
        token: Whether we hold the element of ``:not_full``.
        held: Whether we hold the role at all.
        unacked: How many messages we have that are not acknowledged; they go back with the role.
    """

    role: Role
    id: bytes
    before: bytes | None = None
    claimed: bool = False
    watched: bool = False
    token: bool = False
    held: bool = False
    unacked: int = 0

    @property
    def expected(self) -> bytes | None:
        """What the holder key says for as long as the role is ours."""
        return self.id if self.claimed else self.before


def claim_command(ctx: Context, hold: Hold) -> Command:
    """The command that says we hold the role, for as long as our lease lasts if we have one."""
    lease = (b"PX", ctx.lease_ms) if ctx.lease else ()
    return (b"SET", hold.role.holder(ctx.keys), hold.id, *lease)


def release_commands(keys: Keys, role: Role, hold_id: bytes) -> tuple[Command, Command]:
    """The commands that free a role, and mark it as given back, or freed, by this hold."""
    return (b"SET", role.holder(keys), released(hold_id)), (b"LPUSH", role.free(keys), 0)


def token_commands(ctx: Context, hold: Hold) -> tuple[Command, ...]:
    """The commands that put the token back which a failed Put had popped."""
    return refill(ctx) if hold.token else ()


def put_back(ctx: Context) -> Command:
    """The command that puts back what was received last; once for each value, the order holds."""
    return (b"LMOVE", ctx.keys.unacked, ctx.keys.queue, b"LEFT", b"RIGHT")


def refill(ctx: Context) -> tuple[Command, Command]:
    """The commands after which ``:not_full`` has exactly one element, whatever others left in it.

    The documents' earlier ``LTRIM 0 1`` leaves two; any value and any length is accepted from other clients.
    """
    return (b"LPUSH", ctx.keys.not_full, 0), (b"LTRIM", ctx.keys.not_full, 0, 0)
