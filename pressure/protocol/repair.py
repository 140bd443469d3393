"""Repair: free the roles of dead holders at once, and correct what they left behind.

In the protocol's documents a queue with a dead holder is stuck for ever. A client that waits for a role frees
it, too (``healing``); a repair needs no such client, and corrects other keys as well.

Rules:
    - Without ``force`` the role of a dead holder is freed (see ``liveness``), after two probes, or at once if
      it was a hold of this process. With ``force`` every held role is freed.
    - Messages and the mark of a close are put back only while no client holds the consumer role: a live
      consumer puts them back itself.
    - A queue without ``:bound`` is a Delete that did not finish: repair finishes it. A queue without its
      roles' lists is a Create that did not finish: freeing the roles finishes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pressure.protocol import liveness
from pressure.protocol.commands import atomic, check
from pressure.protocol.counters import restore_counters
from pressure.protocol.foreign import naming_foreign_keys
from pressure.protocol.healing import free_role, mark_back, restore_token, was_done
from pressure.protocol.lifecycle import unless_created
from pressure.protocol.liveness import Probe, probe, sign_of_life
from pressure.protocol.numbers import bound_in, how_to_set_bound, not_a_number
from pressure.protocol.operation import Batch, Command, Context, Operation, Pause, operation
from pressure.protocol.problems import holder_text, no_such_queue
from pressure.protocol.role import CONSUMER, PRODUCER, ROLES, Role, put_back


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
        """The sentences, one on each line."""
        return "\n".join((*self.done, *self.left)) or "nothing to repair"


@dataclass(slots=True)
class _Findings:
    """The report of a repair so far, and the roles that it has freed."""

    freed: set[Role] = field(default_factory=set)
    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def note_put_back(self, orphans: int) -> None:
        """Report how many messages went back to the queue."""
        if orphans:
            what = "message" if orphans == 1 else "messages"
            self.done.append(f"put {orphans} unacknowledged {what} back into the queue")

    def note_mark(self, restored: bool) -> None:
        """Report that a mark went back to ``:closed``, if it did."""
        if restored:
            self.done.append("restored the second element of :closed")

    def note_counted(self, missing: int, anew: int) -> None:
        """Report the messages counted as consumed or (below 0) as produced, and the counters counted anew."""
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
    """Free the roles of dead holders, finish an interrupted Create or Delete, correct what was left behind.

    ``only`` names the one role that may be freed. Without ``force`` this takes ``PROBE_INTERVAL`` seconds if
    a role is held, unless by a hold of this process that is over.

    Raises:
        QueueDoesNotExistError: None of its keys exists.
    """
    found = _Findings()
    first = last = yield from probe(ctx)
    if not first.keys:
        raise no_such_queue(ctx.keys)
    if not force and any(_needs_another_look(ctx, role, first) for role in ROLES):
        yield Pause(liveness.PROBE_INTERVAL)
        last = yield from probe(ctx)
    settled: dict[Role, bool] = {}
    for role in ROLES:
        if only in (None, role.name):
            why = None if force else sign_of_life(role, first, last, ctx.holds)
            settled[role] = yield from _free_unless_alive(ctx, role, why, last, found)
        else:
            settled[role] = bool(last.free[role])
    if last.bound is None:
        yield from _finish_delete(ctx, settled, found)
    else:
        yield from _restore(ctx, settled, found)
    return RepairReport(ctx.keys.name, tuple(found.done), tuple(found.left))


def _needs_another_look(ctx: Context, role: Role, seen: Probe) -> bool:
    """Whether one probe is not enough to tell whether the role's holder is dead."""
    if seen.free[role]:
        return False
    return not ctx.holds.is_dead(seen.holder[role])


def _free_unless_alive(
    ctx: Context, role: Role, why: str | None, last: Probe, found: _Findings
) -> Operation[bool]:
    """Free the role, unless ``why`` says that its holder may be alive; whether no client holds it now."""
    if last.free[role]:
        return True
    holder = last.holder[role]
    by = f"held by {holder_text(holder)}"
    if why is not None:
        found.left.append(f"did not free the {role.name} role, {by}: {why}; force frees it all the same")
        return False
    if last.bound is None:
        return True  # ``_finish_delete`` removes it
    freed = yield from free_role(ctx, role, holder)
    if freed is None:
        found.left.append(f"did not free the {role.name} role: its holder changed during the repair")
        return False
    found.note_put_back(freed.orphans)
    found.note_mark(freed.mark)
    found.freed.add(role)
    found.done.append(f"freed the {role.name} role, {by}")
    return True


def _unless_consumed(
    ctx: Context, key: bytes, commands: Callable[[int], tuple[Command, ...]]
) -> Operation[int]:
    """Send the commands for a list if no client holds the consumer role; returns how many were run."""
    free = ctx.keys.consumer_free
    looks: tuple[Command, ...] = ((b"WATCH", free, key), (b"LLEN", free), (b"LLEN", key))
    while True:
        _, is_free, length = check((yield Batch(looks)))
        work = commands(length) if is_free else ()
        if not work:
            yield Batch(((b"UNWATCH",),))
            return 0
        if was_done((yield Batch(atomic(*work)))):
            return len(work)


def _finish_delete(ctx: Context, settled: dict[Role, bool], found: _Findings) -> Operation[None]:
    if not all(settled.values()):
        found.left.append("did not finish the delete of the queue: it waits for a role that is held")
        return
    keys = ctx.keys
    # These pushes wake clients that still wait for room or for a close, when the transaction is over. A list
    # that is deleted in the same transaction wakes no client, so DEL comes in the next one.
    wake: tuple[Command, ...] = ((b"LPUSH", keys.not_full, 0), (b"LPUSH", keys.closed, 0, 0))
    for work in (wake, ((b"DEL", *keys.deleted),)):
        if not (yield from unless_created(ctx, work)):
            found.left.append("did not finish the delete: the queue was created again during the repair")
            return
    found.done.append("finished a delete that was interrupted")


def _restore(ctx: Context, settled: dict[Role, bool], found: _Findings) -> Operation[None]:
    """Correct the keys that the holders of free roles would change: role lists, token, marks, counters."""
    keys = ctx.keys
    if settled[CONSUMER]:
        orphans = yield from _unless_consumed(ctx, keys.unacked, lambda count: (put_back(ctx),) * count)
        found.note_put_back(orphans)
    owed = CONSUMER in found.freed
    if settled[PRODUCER] or owed:
        yield from _restore_token(ctx, owed, found)
    for role in (role for role in ROLES if settled[role]):
        count, _ = check((yield Batch(((b"LLEN", role.free(keys)), (b"LTRIM", role.free(keys), 0, 0)))))
        if count > 1:
            found.done.append(f"reduced :{role.name}_free from {count} elements to one")
    if settled[CONSUMER]:
        marks = yield from _unless_consumed(ctx, keys.closed, lambda count: (mark_back(ctx),) * (count == 1))
        found.note_mark(marks == 1)
    if all(settled.values()):
        counted = yield from restore_counters(ctx)
        if counted is None:
            found.left.append("did not correct the counters: other clients use the queue all the time")
        else:
            found.note_counted(*counted)


def _restore_token(ctx: Context, owed: bool, found: _Findings) -> Operation[None]:
    """Leave one token in ``:not_full`` if there is room, else none (``restore_token``), and report it."""
    token = yield from restore_token(ctx, owed)
    if token.bound is None:
        raise no_such_queue(ctx.keys)
    if bound_in(token.bound) is None:
        found.left.append(f"{not_a_number('bound', token.bound)}; {how_to_set_bound(ctx.keys)}")
    if token.now < token.before:
        number = "one" if token.now else "none: the queue is full"
        found.done.append(f"reduced :not_full from {token.before} elements to {number}")
    elif token.now > token.before:
        found.done.append("restored the token in :not_full, which says that there is room")
