"""Leases: a client holds a role for a limited time, unless it renews its lease.

The protocol has no leases: a holder holds a role until it gives the role back. With a lease the holder key
expires, and a live holder renews it. So a holder that hangs, or cannot reach the server, loses its role even
if its connections stay open. Other clients see a role like any other.

Rules:
    - One transaction compares the holder key and extends its time. A role that was freed is not taken back.
    - A holder whose lease ran out finds at its next write that it has lost the role, as after a repair.
    - The end of a lease does not change the role's list. ``repair`` frees the role, or a client that waits.
"""

from __future__ import annotations

from collections.abc import Collection

from pressure.protocol.commands import atomic
from pressure.protocol.operation import Batch, Command, Context, Operation, operation


@operation
def renew(ctx: Context, names: Collection[bytes]) -> Operation[None]:
    """Extend the lease of each role that one of these holds has."""
    keys = (ctx.keys.producer, ctx.keys.consumer)
    _, *holders = yield Batch(((b"WATCH", *keys), *((b"GET", key) for key in keys)))
    ours = [key for key, holder in zip(keys, holders, strict=True) if holder in names]
    work: tuple[Command, ...] = tuple((b"PEXPIRE", key, ctx.lease_ms) for key in ours)
    if work:  # else nothing is unwatched: each attempt has a connection of its own
        yield Batch(atomic(*work))
