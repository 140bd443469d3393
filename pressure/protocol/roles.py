"""Taking one of a queue's two roles, and giving it back on every way out.

A role is a list with one element while it is free (``:producer_free``, ``:consumer_free``); popping the
element takes the role, pushing one gives it back. ``:producer`` and ``:consumer`` say who took it last.
Beside its role a producer may hold the token it popped from ``:not_full``.

Rules:
    - The looks that tell whether the queue is usable travel with every attempt to pop. An attempt that
      finds the queue gone or closed but popped the role gives it back before it raises.
    - Nobody waits for ever: after each slice of waiting the looks are repeated, since Delete removes the
      very list that is waited for.
    - The holder's key is watched from the moment it is written. What a holder does last, giving the role back
      included, is one transaction, so that nothing is written by a holder whose role was taken away.
    - The documents' pseudocode raises without giving the role back; here ``holding`` gives it back whatever
      happens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pressure.errors import QueueClosedError, QueueDoesNotExistError, QueueInUseError, ServerReplyError
from pressure.keys import Keys
from pressure.protocol.steps import (
    Batch,
    Command,
    Context,
    NewHold,
    Operation,
    Patience,
    Reply,
    T,
    atomic,
    blocking,
    check,
    executed,
    told,
)
from pressure.text import printable


@dataclass(frozen=True, slots=True)
class Role:
    """One of the two roles and where its keys are.

    Attributes:
        name: ``"producer"`` or ``"consumer"``.
        free: The key of the list that has an element while the role is free.
        holder: The key that says who took the role last.
    """

    name: str
    free: Callable[[Keys], bytes]
    holder: Callable[[Keys], bytes]


PRODUCER: Final = Role("producer", lambda keys: keys.producer_free, lambda keys: keys.producer)
CONSUMER: Final = Role("consumer", lambda keys: keys.consumer_free, lambda keys: keys.consumer)


@dataclass(slots=True)
class Hold:
    """What an operation holds at the moment, and so has to give back.

    Attributes:
        role: The role that was popped.
        id: The id of this hold.
        claimed: Whether the id was written to the role's holder key.
        token: Whether we hold the element of ``:not_full``.
        held: Whether we hold the role at all.
        unacked: How many messages we have that are not acknowledged; they go back with the role.
    """

    role: Role
    id: bytes
    claimed: bool = False
    token: bool = False
    held: bool = False
    unacked: int = 0


def does_not_exist(ctx: Context) -> QueueDoesNotExistError:
    """The error for a queue whose ``:bound`` is gone."""
    return QueueDoesNotExistError(
        f"queue {ctx.keys} does not exist: it was never created, or it has been deleted"
    )


def is_closed(ctx: Context, role: Role) -> QueueClosedError:
    """The error of a Put, or of a Get, for a queue whose ``:closed`` has marks."""
    why = " and empty" if role is CONSUMER else ": nothing can be put into it any more"
    return QueueClosedError(f"queue {ctx.keys} is closed{why}")


def is_closed_already(ctx: Context) -> QueueClosedError:
    """The error of a Close for such a queue."""
    return QueueClosedError(f"queue {ctx.keys} is closed already")


def in_use(ctx: Context, role: Role, holder: bytes | None) -> QueueInUseError:
    """The error for a role that another client holds."""
    by = printable(holder) if holder else "a client that has not written its id"
    return QueueInUseError(
        f"queue {ctx.keys}: the {role.name} role is held by {by}; repair frees it if that client is dead",
        role.name,
        holder,
    )


def not_ours(ctx: Context, role: Role, holder: bytes | None) -> QueueInUseError:
    """The error for a role that we held, and hold no more."""
    if holder:
        why = f"it was freed by a repair, and is held by {printable(holder)} now"
    elif ctx.lease:
        why = f"its lease of {ctx.lease:g} s ran out; repair frees it"
    else:
        why = "it was freed by a repair"
    return QueueInUseError(
        f"queue {ctx.keys}: this client has lost the {role.name} role: {why}", role.name, holder
    )


def new_hold(role: Role) -> Operation[Hold]:
    """A hold that holds nothing yet."""
    (hold_id,) = yield NewHold()
    return Hold(role, hold_id)


def take_role(
    ctx: Context, hold: Hold, patience: Patience, *, refuse_closed: bool = False
) -> Operation[None]:
    """Take a role, waiting for it as long as ``patience`` allows.

    Raises:
        QueueDoesNotExistError: ``:bound`` is gone, at once or while waiting.
        QueueClosedError: The queue is closed and ``refuse_closed`` is set.
        QueueInUseError: The role did not come free in time; names its holder.
    """
    keys, role = ctx.keys, hold.role
    free = role.free(keys)
    looks: tuple[Command, ...] = ((b"EXISTS", keys.bound), (b"EXISTS", keys.closed))
    *seen, popped = yield Batch((*looks, (b"RPOP", free)))
    attempts = patience.attempts()
    while True:
        yield from _usable(ctx, free, popped, seen, refuse_closed)
        if popped is not None:
            hold.held, hold.claimed, hold.token = True, False, False
            return
        seconds = next(attempts, None)
        if seconds is None:
            raise in_use(ctx, role, (yield from _holder(ctx, role)))
        popped, *seen = yield attempt((free,), seconds, looks)


def attempt(lists: tuple[bytes, ...], seconds: float, looks: tuple[Command, ...]) -> Batch:
    """One more try to pop from the first of the lists that has something, with looks right after it.

    Without waiting only the first list is tried. The popped reply is ``[list, value]`` with waiting, a
    value without.
    """
    if seconds:
        return blocking(b"BRPOP", *lists, seconds=seconds, then=looks)
    return Batch(((b"RPOP", lists[0]), *looks))


def _usable(
    ctx: Context, free: bytes, popped: Reply, seen: list[Reply], refuse_closed: bool
) -> Operation[None]:
    """Raise if the queue is gone, or closed and so refused; a role popped on the way goes back first."""
    problem: Exception | None = None
    try:
        exists, closed = check([popped, *seen])[1:]
    except ServerReplyError as error:
        problem = error
    else:
        if not exists:
            problem = does_not_exist(ctx)
        elif closed and refuse_closed:
            problem = is_closed(ctx, PRODUCER)
    if problem is None:
        return
    if popped is not None and not isinstance(popped, ServerReplyError):
        _note_failure(problem, ctx, (yield Batch(((b"LPUSH", free, 0),))))
    raise problem


def _holder(ctx: Context, role: Role) -> Operation[bytes | None]:
    """Who took the role last, if anybody did."""
    (holder,) = yield Batch(((b"GET", role.holder(ctx.keys)),))
    return holder if isinstance(holder, bytes) else None


def claim(ctx: Context, hold: Hold, *watched: bytes) -> tuple[Command, Command]:
    """The commands that say we hold the role, and watch that nobody says so after us (and more keys)."""
    return said(ctx, hold), (b"WATCH", hold.role.holder(ctx.keys), *watched)


def said(ctx: Context, hold: Hold) -> Command:
    """The command that says we hold the role, for as long as our lease lasts if we have one."""
    lease = (b"PX", ctx.lease_ms) if ctx.lease else ()
    return (b"SET", hold.role.holder(ctx.keys), hold.id, *lease)


def as_holder(
    ctx: Context, hold: Hold, replies: list[Reply], work: tuple[Command, ...], end: int = -1
) -> Operation[list[Reply] | None]:
    """What a holder's transaction answered (see ``executed``), or answers when its work is done again.

    A lease that is renewed changes the key that is watched, so that a transaction fails though the role is
    ours; then it is tried again. On a queue that was deleted meanwhile a producer has nothing to write any
    more, while a consumer has its role to give back, for which the delete waits.

    Raises:
        ServerReplyError: The server refused the transaction as a whole, or the look that comes before it is
            tried again; nothing was done.
    """
    keys, role = ctx.keys, hold.role
    holder = role.holder(keys)
    done = executed(replies, end)
    while done is None and ctx.lease:
        _, bound, name = check(
            (yield Batch(((b"WATCH", holder, keys.bound), (b"EXISTS", keys.bound), (b"GET", holder))))
        )
        if name != hold.id or (role is PRODUCER and not bound):
            yield Batch(((b"UNWATCH",),))
            return None
        done = executed((yield Batch(atomic(*work))))
    return done


def finish(ctx: Context, hold: Hold, work: tuple[Command, ...]) -> Operation[list[Reply] | None]:
    """Do the last work of a holder, as ``as_holder`` does it; a refusal of the whole is a reply, too."""
    try:
        return (yield from as_holder(ctx, hold, (yield Batch(atomic(*work))), work))
    except ServerReplyError as error:
        return [error]


def holding(ctx: Context, hold: Hold, body: Operation[T]) -> Operation[T]:
    """Run the body; if it ends by an exception, give back what is held before passing it on.

    A body that returns has given back itself what it has to, in its last batch. ``GeneratorExit`` means that
    the driver has no connection any more, so nothing is sent.
    """
    try:
        return (yield from body)
    except GeneratorExit:
        raise
    except BaseException as error:
        if not hold.held:
            raise
        replies = yield from give_back(ctx, hold)
        _note_failure(error, ctx, replies)
        raise


def give_back(ctx: Context, hold: Hold) -> Operation[list[Reply]]:
    """Give back the role and the token, unless the role was taken away; the replies of the last batch sent.

    Where the server does not let us ask whose the role is, it counts as ours.
    """
    messages = (put_back(ctx),) * hold.unacked
    release = (*token_back(ctx, hold), *messages, (b"LPUSH", hold.role.free(ctx.keys), 0))
    if not hold.claimed:
        return (yield Batch(((b"UNWATCH",), *release)))
    holder = hold.role.holder(ctx.keys)
    while True:
        replies = yield Batch(((b"UNWATCH",), (b"WATCH", holder), (b"GET", holder)))
        if replies[-1] != hold.id and not isinstance(replies[-1], ServerReplyError):
            return (yield from _token_that_was_not_ours(ctx, hold))
        replies = yield Batch(atomic(*release))
        if replies[-1] is not None or not ctx.lease:  # a lease that is renewed changes the key
            return told(replies)


def _token_that_was_not_ours(ctx: Context, hold: Hold) -> Operation[list[Reply]]:
    """Somebody who has no role any more took the token from whoever has it; unless the queue is gone."""
    bound = ctx.keys.bound
    if not hold.token:
        return (yield Batch(((b"UNWATCH",),)))
    *_, exists = replies = yield Batch(((b"UNWATCH",), (b"WATCH", bound), (b"EXISTS", bound)))
    if exists == 1:
        return told((yield Batch(atomic(*refill(ctx)))))
    yield Batch(((b"UNWATCH",),))
    return replies


def token_back(ctx: Context, hold: Hold) -> tuple[Command, ...]:
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


def trouble(replies: list[Reply]) -> ServerReplyError | None:
    """The first error among the replies of a batch, inside its transaction too."""
    for reply in replies:
        if isinstance(reply, ServerReplyError):
            return reply
        if isinstance(reply, list) and (inner := trouble(reply)):
            return inner
    return None


def _note_failure(error: BaseException, ctx: Context, replies: list[Reply]) -> None:
    """Say in the error that the role could not be given back, if the replies say so."""
    if refused := trouble(replies):
        error.add_note(f"a role of queue {ctx.keys} could not be given back ({refused}); repair frees it")


def lost_role(ctx: Context, role: Role) -> Operation[Exception]:
    """The error for a transaction that was not carried out: the queue was deleted, or the role taken away."""
    keys = ctx.keys
    bound, holder = check((yield Batch(((b"GET", keys.bound), (b"GET", role.holder(keys))))))
    return does_not_exist(ctx) if bound is None else not_ours(ctx, role, holder)


__all__ = [
    "CONSUMER",
    "PRODUCER",
    "Hold",
    "Role",
    "as_holder",
    "attempt",
    "claim",
    "does_not_exist",
    "finish",
    "give_back",
    "holding",
    "in_use",
    "is_closed",
    "is_closed_already",
    "lost_role",
    "new_hold",
    "not_ours",
    "put_back",
    "refill",
    "said",
    "take_role",
    "token_back",
    "trouble",
]
