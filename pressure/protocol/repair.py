"""Repair: the way out when a client died holding a role.

The protocol is silent about it: such a queue is stuck for ever. What makes it hard is to tell who is dead;
``vitals`` does that.

Rules:
    - Without force a holder counts as dead only if its identifier has our form, the role list was empty and
      the identifier the same at two looks ``LOOK_APART`` seconds apart, no connection carried its name at
      either, and the server has been up, and nobody's replica, for ``STEADY`` seconds.
    - A holder whose lease ran out (``leases``) has no name any more, and loses its role whoever is connected:
      if it had a lease at the first look and no name at the second, or no name at either and we were told
      that holders have leases.
    - With force whatever holds a role loses it.
    - A role is compared and freed in one transaction. Its holder key goes with it, so that the last
      transaction of a holder that was alive after all fails instead of freeing the role a second time. What
      a dead consumer received and did not acknowledge goes back in the same transaction, and so does the mark
      of a close that it had popped: afterwards the next one may be at work, and have popped one itself.
    - A queue without ``:bound`` is a Delete that did not finish: it is finished. A queue whose roles were
      never filled in is a Create that did not finish: it is finished.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pressure.protocol.counters import restore_counters
from pressure.protocol.foreign import naming_foreign_keys
from pressure.protocol.numbers import bound_in, by_hand, not_a_number
from pressure.protocol.roles import CONSUMER, PRODUCER, Role, does_not_exist, put_back, refill
from pressure.protocol.steps import (
    Batch,
    Command,
    Context,
    Operation,
    Pause,
    Reply,
    atomic,
    check,
    executed,
    operation,
)
from pressure.protocol.vitals import LOOK_APART, ROLES, Seen, look
from pressure.protocol.vitals import doubt as doubt_about
from pressure.text import printable


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What ``repair`` did, and what it did not do.

    Attributes:
        queue: The queue's name.
        done: What was repaired, one sentence each.
        left: What was not repaired and why, one sentence each; such as a role whose holder may be alive.
    """

    queue: bytes
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for each thing done or left."""
        return "\n".join((*self.done, *self.left)) or "nothing to repair"


@dataclass(slots=True)
class _Findings:
    """What a repair has found and done so far."""

    freed: set[Role] = field(default_factory=set)
    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def note_put_back(self, orphans: int) -> None:
        """Says how many messages went back to the queue."""
        if orphans:
            what = "message" if orphans == 1 else "messages"
            self.done.append(f"put {orphans} unacknowledged {what} back into the queue")

    def note_mark(self, restored: bool) -> None:
        """Says that the mark of a close went back that somebody had popped."""
        if restored:
            self.done.append("restored the second element of :closed")

    def note_counted(self, missing: int, anew: int) -> None:
        """Says how many messages were counted as consumed, or (below 0) produced; and what was no number."""
        if anew:
            what = "counter that was not a number" if anew == 1 else "counters that were not numbers"
            self.done.append(f"reset {anew} {what}")
        if missing:
            what = "1 message" if abs(missing) == 1 else f"{abs(missing)} messages"
            how = "taken" if missing > 0 else "put"
            self.done.append(f"counted {what} that a client had {how} and not counted")


@operation
@naming_foreign_keys
def repair(ctx: Context, force: bool = False, only: str | None = None) -> Operation[RepairReport]:
    """Free the roles of dead holders, finish a half done Create or Delete, restore what they lost.

    ``only`` names the one role that may be freed. Without force and with a role taken this takes
    ``LOOK_APART`` seconds.

    Raises:
        QueueDoesNotExistError: There is nothing of it.
    """
    found = _Findings()
    first = last = yield from look(ctx, ask_server=not force)
    if not first.keys:
        raise does_not_exist(ctx)
    if not force and not all(first.free.values()):
        yield Pause(LOOK_APART)
        last = yield from look(ctx, ask_server=True)
    settled: dict[Role, bool] = {}
    for role in ROLES:
        if only in (None, role.name):
            doubt = None if force else doubt_about(role, first, last)
            settled[role] = yield from _settle(ctx, role, doubt, last, found)
        else:
            settled[role] = bool(last.free[role])
    if last.bound is None:
        yield from _finish_delete(ctx, settled, found)
    else:
        yield from _restore(ctx, settled, found)
    return RepairReport(ctx.keys.name, tuple(found.done), tuple(found.left))


def _settle(ctx: Context, role: Role, doubt: str | None, last: Seen, found: _Findings) -> Operation[bool]:
    """Free the role unless there is doubt; whether nobody holds it now."""
    if last.free[role]:
        return True
    holder = last.holder[role]
    by = f"held by {printable(holder)}" if holder else "held by a client that has not written its id"
    if doubt is not None:
        found.left.append(f"did not free the {role.name} role, {by}: {doubt}; force frees it all the same")
        return False
    if last.bound is None:
        return True  # nothing to free: the Delete that is finished now removes it
    if not (yield from _free(ctx, role, holder, found)):
        found.left.append(f"did not free the {role.name} role: its holder changed during the repair")
        return False
    found.freed.add(role)
    found.done.append(f"freed the {role.name} role, {by}")
    return True


def _free(ctx: Context, role: Role, holder: bytes | None, found: _Findings) -> Operation[bool]:
    """Free the role if it is still taken, and taken by the same holder, in one transaction."""
    keys = ctx.keys
    free, holder_key = role.free(keys), role.holder(keys)
    watch: Command = (b"WATCH", free, holder_key, keys.unacked, keys.closed)
    looks: tuple[Command, ...] = ((b"LLEN", free), (b"GET", holder_key))
    lengths: tuple[Command, ...] = ((b"LLEN", keys.unacked), (b"LLEN", keys.closed))
    _, count, now, unacked, marks = check((yield Batch((watch, *looks, *lengths))))
    if count or now != holder:
        yield Batch(((b"UNWATCH",),))
        return False
    orphans = unacked if role is CONSUMER else 0
    popped = role is CONSUMER and marks == 1
    back = (*(put_back(ctx),) * orphans, *(_mark_back(ctx),) * popped)
    replies = yield Batch(atomic((b"DEL", holder_key), *back, (b"LPUSH", free, 0)))
    done = executed(replies)
    if done is None or not check(done):
        return False
    found.note_put_back(orphans)
    found.note_mark(popped)
    return True


def _restore_orphans(ctx: Context, found: _Findings) -> Operation[None]:
    """Put back what is not acknowledged while nobody consumes."""
    keys = ctx.keys
    looks: tuple[Command, ...] = ((b"LLEN", keys.consumer_free), (b"LLEN", keys.unacked))
    _, free, orphans = check((yield Batch(((b"WATCH", keys.consumer_free, keys.unacked), *looks))))
    if not free or not orphans:
        yield Batch(((b"UNWATCH",),))
        return
    replies = yield Batch(atomic(*(put_back(ctx),) * orphans))
    if _was_done(replies):
        found.note_put_back(orphans)


def _finish_delete(ctx: Context, settled: dict[Role, bool], found: _Findings) -> Operation[None]:
    if not all(settled.values()):
        found.left.append("did not finish the delete of the queue: it waits for a role that is held")
        return
    keys = ctx.keys
    _, exists = check((yield Batch(((b"WATCH", keys.bound), (b"EXISTS", keys.bound)))))
    if exists:
        yield Batch(((b"UNWATCH",),))
        found.left.append("did not finish the delete: the queue was created again during the repair")
        return
    # Whoever still waits for room or for a close is woken by these pushes, once the transaction is over; a
    # list that is deleted in it serves nobody, so they are pushed and deleted apart.
    wake: tuple[Command, ...] = ((b"LPUSH", keys.not_full, 0), (b"LPUSH", keys.closed, 0, 0))
    replies = yield Batch((*atomic(*wake), (b"DEL", *keys.all)))
    check(replies)
    found.done.append("finished a delete that was interrupted")


def _restore(ctx: Context, settled: dict[Role, bool], found: _Findings) -> Operation[None]:
    """Bring the lists back to what they hold while nobody works: one element each, two marks if closed."""
    keys = ctx.keys
    if settled[CONSUMER]:
        yield from _restore_orphans(ctx, found)
    owed = CONSUMER in found.freed
    if settled[PRODUCER] or owed:
        yield from _restore_token(ctx, owed, found)
    for role in (role for role in ROLES if settled[role]):
        count, _ = check((yield Batch(((b"LLEN", role.free(keys)), (b"LTRIM", role.free(keys), 0, 0)))))
        if count > 1:
            found.done.append(f"reduced :{role.name}_free from {count} elements to one")
    if settled[CONSUMER]:
        found.note_mark((yield from _restore_mark(ctx)))
    if all(settled.values()):
        found.note_counted(*(yield from restore_counters(ctx)))


def _was_done(replies: list[Reply]) -> bool:
    """Whether a transaction was carried out, and not given up since somebody was at work."""
    done = executed(replies)
    return done is not None and bool(check(done))


def _restore_token(ctx: Context, owed: bool, found: _Findings) -> Operation[None]:
    """Have one token in ``:not_full`` if there is room, and no producer works or a dead consumer owed it.

    In the second case a producer may wait for the token for ever. If it was not waiting but just about to
    push, the bound is passed by one this once, as the documents' own clients may. More than one is what is
    left where a client could push and not trim.
    """
    keys = ctx.keys
    looks: tuple[Command, ...] = (
        (b"WATCH", keys.producer_free, keys.not_full, keys.bound),
        (b"LLEN", keys.producer_free),
        (b"LLEN", keys.not_full),
        (b"GET", keys.bound),
        (b"LLEN", keys.queue),
        (b"LLEN", keys.unacked),  # a consumer at work gives the token when it is done with these
    )
    _, free, tokens, limit, length, unacked = check((yield Batch(looks)))
    bound = bound_in(limit)
    if bound is None or not (free or owed) or tokens == 1 or (bound and length + unacked >= bound):
        yield Batch(((b"UNWATCH",),))
        if limit is None:
            raise does_not_exist(ctx)
        if bound is None:
            found.left.append(f"{not_a_number('bound', limit)}; {by_hand(keys)}")
        return
    replies = yield Batch(atomic(*refill(ctx)))
    if _was_done(replies):
        what = f"reduced :not_full from {tokens} elements to one"
        found.done.append(
            what if tokens else "restored the token in :not_full, which says that there is room"
        )


def _restore_mark(ctx: Context) -> Operation[bool]:
    """Push the mark back that a consumer popped and did not live to push back.

    A consumer at work pushes it back itself: the role has to be free still.
    """
    keys = ctx.keys
    looks: tuple[Command, ...] = ((b"LLEN", keys.consumer_free), (b"LLEN", keys.closed))
    _, free, marks = check((yield Batch(((b"WATCH", keys.consumer_free, keys.closed), *looks))))
    if not free or marks != 1:
        yield Batch(((b"UNWATCH",),))
        return False
    replies = yield Batch(atomic(_mark_back(ctx)))
    return _was_done(replies)


def _mark_back(ctx: Context) -> Command:
    """The command that pushes the mark back that somebody has popped."""
    return (b"LPUSH", ctx.keys.closed, 0)
