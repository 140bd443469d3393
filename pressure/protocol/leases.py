"""Leases: a role that is a client's own for so long only, unless it says again that it is.

The protocol knows none: who holds a role holds it until it is given back. With a lease the key that names
the holder expires, and whoever is alive renews it; a holder that hangs, or cannot reach the server, is found
out by that, wherever its connections are. Other clients see a role like any other.

Rules:
    - Renewing compares and extends in one transaction: a role that was taken away is not taken back.
    - A holder whose lease ran out finds at its next write that the role is not its own, as after a repair.
    - The role's list is not touched when a lease runs out; repair frees it.
"""

from __future__ import annotations

from collections.abc import Collection

from pressure.protocol.commands import atomic
from pressure.protocol.operation import Batch, Command, Context, Operation, operation


@operation
def renew(ctx: Context, names: Collection[bytes]) -> Operation[None]:
    """Extend the lease of whichever role is held by one of these clients."""
    keys = (ctx.keys.producer, ctx.keys.consumer)
    _, *holders = yield Batch(((b"WATCH", *keys), *((b"GET", key) for key in keys)))
    ours = [key for key, holder in zip(keys, holders, strict=True) if holder in names]
    if not ours:
        yield Batch(((b"UNWATCH",),))
        return
    work: tuple[Command, ...] = tuple((b"PEXPIRE", key, ctx.lease_ms) for key in ours)
    yield Batch(atomic(*work))
