"""Create and Delete, and reads that take no role (pressure protocol 0.15, Create to Closed, Delete).

Rules:
    - Create is one transaction that watches every key of the queue. The documents' SETNX and three pushes,
      run during a Delete, leave only ``:bound``, and so a queue that is stuck.
    - A queue without ``:bound`` is deleted. Running Delete again finishes a Delete that was interrupted.
    - Delete waits for each role in slices, as other operations do. A role that is not free and has no holder
      was removed by an earlier Delete, or a client has popped it and not written its id yet. If this lasts
      for a whole slice, it was an earlier Delete.
    - Two clients may delete a queue at the same time, and a third may create it again when the first of them
      has finished. So a Delete removes nothing once ``:bound`` exists again: the queue that it began to
      delete is gone. If it has popped a role of the new queue, it frees that.
    - Waiting for a close rotates ``:closed`` (BRPOPLPUSH onto itself). Popping the marks would open the queue
      again.
"""

from __future__ import annotations

from pressure.errors import QueueAlreadyExistsError
from pressure.protocol.commands import atomic, attempt, blocking, check, executed, is_full
from pressure.protocol.healing import free_role, heal, was_done
from pressure.protocol.operation import Batch, Command, Context, Deadline, Operation, operation
from pressure.protocol.problems import does_not_exist, in_use, no_such_queue
from pressure.protocol.role import ROLES, Role
from pressure.protocol.waits import bound_of
from pressure.text import printable


@operation
def create(ctx: Context, bound: int) -> Operation[None]:
    """Create the queue; a bound of 0 means any number of values.

    Raises:
        QueueAlreadyExistsError: One of its keys exists, or another queue with which it would share a key.
    """
    keys = ctx.keys
    present = (*keys.twelve, *keys.neighbours())
    while True:
        counts = check((yield Batch(((b"WATCH", *present), *_count(present)))))[1:]
        if taken := [key for key, count in zip(present, counts, strict=True) if count]:
            yield Batch(((b"UNWATCH",),))
            raise _already(ctx, min(taken, key=lambda key: (key != keys.bound, key in keys.twelve)))
        replies = yield Batch(atomic((b"SET", keys.bound, bound), *_fresh(ctx)))
        if (done := executed(replies)) is not None:
            check(done)
            return


def _fresh(ctx: Context) -> tuple[Command, ...]:
    """The pushes that initialize a queue."""
    keys = ctx.keys
    return tuple((b"LPUSH", key, 0) for key in (keys.producer_free, keys.consumer_free, keys.not_full))


def _count(present: tuple[bytes, ...]) -> tuple[Command, ...]:
    return tuple((b"EXISTS", key) for key in present)


def _already(ctx: Context, key: bytes) -> QueueAlreadyExistsError:
    keys = ctx.keys
    shown = printable(key)
    if key == keys.bound:
        return QueueAlreadyExistsError(
            f"queue {keys} already exists; with exist_ok, create accepts it if its bound is the same"
        )
    if key in keys.twelve:
        return QueueAlreadyExistsError(
            f"queue {keys} cannot be created: key {shown} exists; an unfinished delete has left it (repair "
            "finishes that), or another program uses it"
        )
    return QueueAlreadyExistsError(
        f"queue {keys} cannot be created: it would share a key with the queue of key {shown}; choose another "
        "name"
    )


@operation
def exists(ctx: Context) -> Operation[bool]:
    """Whether the queue was created and not deleted."""
    (found,) = check((yield Batch(((b"EXISTS", ctx.keys.bound),))))
    return bool(found)


@operation
def length(ctx: Context) -> Operation[int]:
    """How many values are in the queue.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    count, _ = yield from length_and_bound(ctx)
    return count


@operation
def length_and_bound(ctx: Context) -> Operation[tuple[int, int]]:
    """How many values are in the queue, and how many it may hold (0: any number).

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    bound, count = check((yield Batch(((b"GET", ctx.keys.bound), (b"LLEN", ctx.keys.queue)))))
    return count, bound_of(ctx, bound)


@operation
def closed(ctx: Context) -> Operation[bool]:
    """Whether the queue is closed.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    found, marked = check((yield Batch(_open(ctx))))
    if not found:
        raise does_not_exist(ctx)
    return bool(marked)


def _open(ctx: Context) -> tuple[Command, Command]:
    return (b"EXISTS", ctx.keys.bound), (b"EXISTS", ctx.keys.closed)


@operation
def wait_closed(ctx: Context, deadline: Deadline) -> Operation[bool]:
    """Wait until the queue is closed; False if it is still open at the deadline.

    Raises:
        QueueDoesNotExistError: Never created, or deleted by now.
    """
    if (yield from closed(ctx)):
        return True
    marks = ctx.keys.closed
    for seconds in deadline.attempts():
        if not seconds:
            return (yield from closed(ctx))
        replies = yield blocking(b"BRPOPLPUSH", marks, marks, seconds=seconds, then=_open(ctx))
        mark, found, marked = check(replies)
        if not found:
            raise does_not_exist(ctx)
        if mark is not None or marked:
            return True
    return False


@operation
def delete(ctx: Context, deadline: Deadline) -> Operation[None]:
    """Delete the queue, or finish a Delete that was interrupted.

    All clients that wait are woken first; then this waits for both roles. If that takes too long or is
    interrupted, the queue does not exist for its users, and running Delete again removes its last keys.

    Raises:
        QueueDoesNotExistError: None of its keys exists.
        QueueInUseError: A role did not come free in time; names its holder.
    """
    yield from _begin_delete(ctx)
    try:
        for role in ROLES:
            if not (yield from _collect(ctx, role, deadline)):
                return
        yield from unless_created(ctx, ((b"DEL", *ctx.keys.deleted),))
    except Exception as error:
        error.add_note(f"queue {ctx.keys} is half deleted: delete it again, or repair finishes it")
        raise


def _begin_delete(ctx: Context) -> Operation[None]:
    """Remove ``:bound``, and wake the clients that wait for room or for a close."""
    keys = ctx.keys
    wake: tuple[Command, ...] = (
        (b"DEL", keys.bound),
        (b"LPUSH", keys.not_full, 0),
        (b"LPUSH", keys.closed, 0, 0),
    )
    while True:
        # Watched, so that this does not delete a queue that was created again in this moment.
        replies = check((yield Batch(((b"WATCH", keys.bound), (b"EXISTS", *keys.all)))))
        if not replies[-1]:
            yield Batch(((b"UNWATCH",),))
            raise no_such_queue(ctx.keys)
        replies = yield Batch(atomic(*wake))
        if is_full(
            replies
        ):  # no client can create it again there; those that wait read ``:bound`` each second
            replies = [(yield Batch(wake[:1]))]
        if (done := executed(replies)) is not None:
            check(done)
            return


def _collect(ctx: Context, role: Role, deadline: Deadline) -> Operation[bool]:
    """Wait for a role and remove it; False if the queue was created again meanwhile."""
    free, holder = role.free(ctx.keys), role.holder(ctx.keys)
    looks: tuple[Command, ...] = ((b"GET", holder), (b"EXISTS", ctx.keys.bound))
    popped, held_by, exists = check((yield attempt((free,), 0.0, looks)))
    attempts = deadline.attempts()
    absent = 0.0
    while popped is None and not exists and absent < ctx.slice:
        healed = held_by is not None and (yield from heal(ctx, role, held_by, deadline))
        seconds = 0.0 if healed else next(attempts, None)
        if seconds is None:
            raise in_use(ctx, role, held_by)
        popped, held_by, exists = check((yield attempt((free,), seconds, looks)))
        absent = absent + seconds if held_by is None else 0.0
    if exists and popped is not None:
        yield from free_role(ctx, role, held_by)  # unless another client has freed it since the pop
    return not exists and (yield from unless_created(ctx, ((b"DEL", free, holder),)))


def unless_created(ctx: Context, work: tuple[Command, ...]) -> Operation[bool]:
    """Send the commands unless the queue exists, in one transaction; whether they were run."""
    bound = ctx.keys.bound
    while True:
        _, exists = check((yield Batch(((b"WATCH", bound), (b"EXISTS", bound)))))
        if exists:
            yield Batch(((b"UNWATCH",),))
            return False
        replies = yield Batch(atomic(*work))
        if is_full(replies):  # no client can create the queue there
            check((yield Batch(work)))
            return True
        if was_done(replies):
            return True
