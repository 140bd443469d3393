"""Take one of a queue's two roles, and give it back on every way out.

A producer may also hold the token that it popped from ``:not_full``.

Rules:
    - Each attempt to pop a role also reads ``:bound`` and ``:closed``, in the same round trip. If the queue
      is deleted or closed, an attempt that popped the role gives it back before it raises.
    - Delete removes the list that clients wait for. So they wait in slices and read these keys after each.
    - A client that waits for a role also frees the role of a dead holder (``healing``).
    - A client that has popped a role becomes its holder by compare-and-set: from the value of the holder key
      right after the pop to the id of its hold. If the key has another value by then, another client has
      freed the role, and this client goes on waiting.
    - From then on the holder key is watched, and every write compares it. A holder's last transaction also
      frees the role and marks the id as released. So a holder that has lost its role writes nothing.
    - The documents' pseudocode raises without giving the role back; here ``holding`` always gives it back.
"""

from __future__ import annotations

from typing import Final

from pressure.connections.identity import released
from pressure.errors import ServerReplyError
from pressure.protocol.commands import atomic, attempt, check, executed, is_full, transaction_replies
from pressure.protocol.healing import free_by_script, heal
from pressure.protocol.operation import Batch, Command, Context, Deadline, Operation, Reply, T
from pressure.protocol.problems import does_not_exist, first_error, in_use, is_closed, not_ours, note_failure
from pressure.protocol.role import (
    PRODUCER,
    Hold,
    claim_command,
    drop_token,
    look_at_size,
    put_back,
    refill,
    release_commands,
    token_commands,
)

#: For how many milliseconds the ``:closing`` key lasts; it is written again before each wait.
_CLOSING_FOR_MS: Final = 5000


def take_role(
    ctx: Context, hold: Hold, deadline: Deadline, *, refuse_closed: bool = False
) -> Operation[None]:
    """Take a role, waiting for it as long as ``deadline`` allows.

    Raises:
        QueueDoesNotExistError: ``:bound`` is gone, at once or while waiting.
        QueueClosedError: The queue is closed and ``refuse_closed`` is set.
        QueueInUseError: The role did not come free in time; names its holder.
    """
    hold.watched = not ctx.server.scripts  # a script compares the holder key itself
    try:
        yield from _popped(ctx, hold, deadline, refuse_closed)
    except GeneratorExit:
        raise
    except BaseException as error:
        if hold.held:
            note_failure(error, ctx, (yield from give_back(ctx, hold)))
        elif hold.watched:
            yield Batch(((b"UNWATCH",),))
        raise


def _popped(ctx: Context, hold: Hold, deadline: Deadline, refuse_closed: bool) -> Operation[None]:
    keys, role = ctx.keys, hold.role
    holder = role.holder(keys)
    watch: tuple[Command, ...] = ((b"UNWATCH",), (b"WATCH", holder)) if hold.watched else ()
    looks: tuple[Command, ...] = ((b"GET", holder), (b"EXISTS", keys.bound), (b"EXISTS", keys.closed))
    seconds: float | None = 0.0
    attempts = deadline.attempts()
    while seconds is not None:
        popped, *seen = yield attempt((role.free(keys),), seconds, (*watch, *looks))
        before, exists, closed = seen[-3:]
        hold.held = popped is not None and not isinstance(popped, ServerReplyError)
        hold.before, hold.claimed, hold.token = before, False, False
        check([popped, before, exists, closed])
        if not exists:
            raise does_not_exist(ctx)
        if closed and refuse_closed:
            raise is_closed(ctx, PRODUCER)
        if hold.held:
            return
        healed = yield from heal(ctx, role, before, deadline)
        seconds = 0.0 if healed else next(attempts, None)
        if hold.closes and seconds:
            yield Batch(((b"SET", keys.closing, hold.id, b"PX", _CLOSING_FOR_MS),))
    raise in_use(ctx, role, hold.before)


def let_close(ctx: Context, hold: Hold, deadline: Deadline) -> Operation[None]:
    """Let a client have the producer's role that waits to close the queue; then take the role again.

    Raises:
        PressureError: As in ``take_role``; the queue is closed then.
        ServerReplyError: The role could not be given back.
    """
    if (refused := first_error((yield from give_back(ctx, hold)))) is not None:
        raise refused
    yield from take_role(ctx, hold, deadline, refuse_closed=True)


def take(
    ctx: Context,
    hold: Hold,
    deadline: Deadline,
    work: tuple[Command, ...] = (),
    then: tuple[Command, ...] = (),
    *,
    refuse_closed: bool = False,
) -> Operation[list[Reply]]:
    """Take a role, unless it was popped already, and write the hold's id to the holder key.

    Returns the replies to that SET, to ``work``, which is part of the same transaction, and to ``then``,
    which follows it.
    """
    while True:
        if not hold.held:
            yield from take_role(ctx, hold, deadline, refuse_closed=refuse_closed)
        replies = yield from _claimed(ctx, hold, work, then)
        if replies is not None:
            return replies
        hold.held = False


def _claimed(
    ctx: Context, hold: Hold, work: tuple[Command, ...], then: tuple[Command, ...]
) -> Operation[list[Reply] | None]:
    """Write the hold's id for a role that was popped; None if another client has freed the role since."""
    claim = atomic(claim_command(ctx, hold), *work)
    done = None
    while done is None:
        if not hold.watched:  # the server has refused a script since the pop, or the queue's keys have moved
            *_, holder = yield Batch(((b"UNWATCH",), *is_ours(ctx, hold)))
            if holder != hold.before and not isinstance(holder, ServerReplyError):
                yield Batch(((b"UNWATCH",),))
                return None
        replies = yield Batch((*claim, *then))
        first, rest = replies[: len(claim)], replies[len(claim) :]
        if isinstance(first[0], ServerReplyError):  # its own SET has broken the watch of before
            rest = (yield Batch(((b"UNWATCH",), *then)))[1:]
        done = executed(first)
        hold.watched = done is not None
    hold.claimed = not isinstance(done[0], ServerReplyError)
    return [*done, *rest]


def is_ours(ctx: Context, hold: Hold, *watched: bytes) -> tuple[Command, Command]:
    """The commands that watch the holder key (and more keys), and read it."""
    holder = hold.role.holder(ctx.keys)
    return (b"WATCH", holder, *watched), (b"GET", holder)


def check_ours(ctx: Context, hold: Hold, *watched: bytes) -> Operation[None]:
    """Watch the holder key (and more keys).

    Raises:
        PressureError: The hold has lost the role, or the queue was deleted.
    """
    _, holder = check((yield Batch(is_ours(ctx, hold, *watched))))
    if holder != hold.id:
        raise (yield from lost_role(ctx, hold))


def as_holder(
    ctx: Context, hold: Hold, replies: list[Reply], work: tuple[Command, ...], end: int = -1
) -> Operation[list[Reply] | None]:
    """The replies to a holder's transaction (see ``executed``); None if the role or the queue is gone.

    Renewing a lease changes the watched holder key, and a watch ends when the keys move to another node. So
    the transaction may fail although the hold still has the role. Then ``work`` is tried again. In a deleted
    queue only a consumer tries again: it has its role to give back, for which the delete waits; a producer
    has nothing more to write.

    Raises:
        ServerReplyError: The server refused the transaction as a whole, or the check that comes before it is
            tried again; nothing was done.
    """
    bound = ctx.keys.bound
    done = executed(replies, end)
    while done is None:
        *_, holder, exists = check((yield Batch((*is_ours(ctx, hold, bound), (b"EXISTS", bound)))))
        if holder != hold.expected or (hold.role is PRODUCER and not exists):
            yield Batch(((b"UNWATCH",),))
            return None
        done = executed((yield Batch(atomic(*work))))
    return done


def do_as_holder(ctx: Context, hold: Hold, *work: Command) -> Operation[list[Reply]]:
    """Do a holder's work in a transaction that begins with ``check_ours``. Nothing is watched after it.

    Raises:
        PressureError: As in ``check_ours`` and ``as_holder``.
    """
    yield from check_ours(ctx, hold)
    done = yield from as_holder(ctx, hold, (yield Batch(atomic(*work))), work)
    if done is None:
        raise (yield from lost_role(ctx, hold))
    return done


def keep_role(ctx: Context, hold: Hold, work: tuple[Command, ...]) -> Operation[list[Reply] | None]:
    """Do a holder's work, as ``as_holder`` does, and keep the role.

    If it was done, ``hold.held`` says whether the hold has the role afterwards.
    """
    replies = yield Batch((*atomic(*work), *is_ours(ctx, hold)))
    done = yield from as_holder(ctx, hold, replies, work, end=-3)
    if done is None:
        return None
    holder = replies[-1]
    if replies[-3] is None:  # the work was tried again, and that transaction has ended the watch
        *_, holder = yield Batch(is_ours(ctx, hold))
    hold.held = holder == hold.expected or isinstance(holder, ServerReplyError)
    return done


def finish(ctx: Context, hold: Hold, work: tuple[Command, ...]) -> Operation[list[Reply] | None]:
    """Do the last work of a holder and free the role in one transaction, as ``as_holder`` does.

    If it was done, ``hold.held`` says whether the role could not be freed.
    """
    whole = (*work, *release_commands(ctx.keys, hold.role, hold.id))
    done = yield from as_holder(ctx, hold, (yield Batch(atomic(*whole))), whole)
    if done is not None:
        hold.held = isinstance(done[-1], ServerReplyError)
    return done


def finish_or_refusal(ctx: Context, hold: Hold, work: tuple[Command, ...]) -> Operation[list[Reply] | None]:
    """``finish``; if the server refuses the whole transaction, the error is the only reply."""
    try:
        return (yield from finish(ctx, hold, work))
    except ServerReplyError as error:
        return [error]


def holding(ctx: Context, hold: Hold, body: Operation[T]) -> Operation[T]:
    """Run a body; if it raises, give back what is held, then let the exception pass.

    A body that returns has itself given back what it has to, in its last batch. ``GeneratorExit`` means that
    the driver has lost the connection, so nothing is sent.
    """
    try:
        return (yield from body)
    except GeneratorExit:
        raise
    except BaseException as error:
        if hold.held or hold.token:
            note_failure(error, ctx, (yield from give_back(ctx, hold)))
        raise


def give_back(ctx: Context, hold: Hold) -> Operation[list[Reply]]:
    """Give back role and token, unless another client has freed the role; the replies of the last batch.

    If the server refuses to show the holder key, the role counts as this hold's.
    """
    looks = look_at_size(ctx) if hold.unacked else ()
    free = release_commands(ctx.keys, hold.role, hold.id)
    release = (*token_commands(ctx, hold), *(free if hold.claimed else free[-1:]))
    # If the last LPUSH of ``finish`` was refused, the id is marked as released, but the role is not free.
    expected = (hold.expected, released(hold.id)) if hold.held else (hold.expected,)
    hold.held = False
    while True:
        _, _, holder, *size = yield Batch(((b"UNWATCH",), *is_ours(ctx, hold), *looks))
        if holder not in expected and first_error([holder, hold.expected]) is None:
            return (yield from _token_that_was_not_ours(ctx, hold))
        back = (*(put_back(ctx),) * hold.unacked, *drop_token(ctx, hold.unacked, *size)) if size else ()
        replies = yield Batch(atomic(*back, *release))
        if is_full(replies) and ctx.server.scripts:
            known = next((each for each in (holder, *expected) if isinstance(each, bytes)), None)
            return (yield Batch((free_by_script(ctx, hold.role, known, hold.id, token=hold.token),)))
        if replies[-1] is not None:  # else a renewed lease has changed the watched key, or it has moved
            return transaction_replies(replies)


def _token_that_was_not_ours(ctx: Context, hold: Hold) -> Operation[list[Reply]]:
    """Put back a token that a hold popped after it had lost its role; not in a deleted queue."""
    bound = ctx.keys.bound
    if not hold.token:
        return (yield Batch(((b"UNWATCH",),)))
    while True:
        *_, exists = replies = yield Batch(((b"UNWATCH",), (b"WATCH", bound), (b"EXISTS", bound)))
        if exists != 1:
            yield Batch(((b"UNWATCH",),))
            return replies
        replies = yield Batch(atomic(*refill(ctx)))
        if replies[-1] is not None:
            return transaction_replies(replies)


def lost_role(ctx: Context, hold: Hold) -> Operation[Exception]:
    """The error for a transaction that was not executed: the queue was deleted, or the role is lost."""
    keys = ctx.keys
    bound, holder = check((yield Batch(((b"GET", keys.bound), (b"GET", hold.role.holder(keys))))))
    return does_not_exist(ctx) if bound is None else not_ours(ctx, hold.role, holder)
