"""Redrive: put rejected messages into the queue again, the oldest first.

Rules:
    - A message is put before it is removed from ``:rejected``, so that none is lost.
    - The last element of ``:rejected`` is removed only if it is still the message that was put: another
      redrive may have removed that one.
    - A message that is rejected during a redrive is left for the next redrive. Otherwise a redrive might
      never end.
"""

from __future__ import annotations

from pressure.errors import PressureError
from pressure.protocol.commands import atomic, check, executed
from pressure.protocol.operation import (
    CHECKPOINT,
    Batch,
    Command,
    Context,
    Deadline,
    Operation,
    operation,
    with_done,
)
from pressure.protocol.problems import does_not_exist
from pressure.protocol.put import put_values
from pressure.protocol.scripts import PutProgress


@operation
def redrive(ctx: Context, deadline: Deadline, most: int) -> Operation[int]:
    """Put at most ``most`` rejected messages again, the oldest first; returns how many were put.

    Raises:
        PressureError: As in ``put``; its ``done`` says how many messages were put before the error.
    """
    keys, done, end = ctx.keys, 0, most
    looks: tuple[Command, ...] = ((b"EXISTS", keys.bound), (b"LLEN", keys.rejected), _oldest(ctx))
    try:
        while done < end:
            found, length, values = check((yield Batch(looks)))
            if not found:
                raise does_not_exist(ctx)
            if not done:
                end = min(most, length)
            if not values:
                break
            yield CHECKPOINT
            yield from with_done(done, put_values(ctx, PutProgress(values), deadline, overfill=False))
            done += 1
            yield from _remove(ctx, values)
    except PressureError as error:
        error.done = done
        raise
    return done


def _oldest(ctx: Context) -> Command:
    return (b"LRANGE", ctx.keys.rejected, -1, -1)


def _remove(ctx: Context, values: list[bytes]) -> Operation[None]:
    """Remove the oldest message, if it is still the one that was put."""
    while True:
        _, now = check((yield Batch(((b"WATCH", ctx.keys.rejected), _oldest(ctx)))))
        if now != values:
            yield Batch(((b"UNWATCH",),))
            return
        done = executed((yield Batch(atomic((b"RPOP", ctx.keys.rejected)))))
        if done is not None:
            check(done)
            return
