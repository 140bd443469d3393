"""Freeing the role of a dead holder: what ``repair`` does, and whoever waits for the role.

Rules:
    - A role is compared and freed in one transaction, which marks the holder key by a value that nobody else
      writes. So whoever was freed by mistake is fenced: its next write finds another value there. What a dead
      consumer received and did not acknowledge goes back in the same transaction, and so does the mark of a
      close that it had popped: afterwards the next one may be at work, and have popped one itself.
    - A hold of this process that is over is freed at once. Any other holder has to look dead in two probes
      (see ``liveness``), the first of which is taken when a client has waited for a second.
    - A server that is out of memory refuses that transaction. There a script frees the role, if it may.
    - What was seen of a holder is shared by all operations of a queue object. So a client that asks again and
      again, and does not wait, frees the role, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pressure.errors import ServerReplyError
from pressure.identity import released
from pressure.protocol import liveness
from pressure.protocol.commands import atomic, check, executed
from pressure.protocol.liveness import probe, sign_of_life
from pressure.protocol.lua import FREE
from pressure.protocol.numbers import bound_in
from pressure.protocol.operation import Batch, Command, Context, NewHold, Observation, Operation, Reply
from pressure.protocol.role import CONSUMER, Role, put_back, refill, release_commands


@dataclass(frozen=True, slots=True)
class Freed:
    """What went back when a role was freed.

    Attributes:
        orphans: How many unacknowledged messages.
        mark: Whether the mark of a close that the dead consumer had popped.
    """

    orphans: int
    mark: bool


def free_role(ctx: Context, role: Role, holder: bytes | None) -> Operation[Freed | None]:
    """Free a role if it is still taken, and by the same holder, in one transaction; None if it is not."""
    keys = ctx.keys
    free, holder_key = role.free(keys), role.holder(keys)
    (hold_id,) = yield NewHold()
    looks: tuple[Command, ...] = (
        (b"UNWATCH",),
        (b"WATCH", free, holder_key, keys.unacked, keys.closed),
        (b"LLEN", free),
        (b"GET", holder_key),
        (b"LLEN", keys.unacked),
        (b"LLEN", keys.closed),
    )
    *_, count, now, unacked, marks = check((yield Batch(looks)))
    if count or now != holder:
        yield Batch(((b"UNWATCH",),))
        return None
    freed = Freed(unacked, marks == 1) if role is CONSUMER else Freed(0, False)
    back = (*(put_back(ctx),) * freed.orphans, *(mark_back(ctx),) * freed.mark)
    try:
        replies = yield Batch(atomic(*back, *release_commands(keys, role, hold_id)))
        return freed if was_done(replies) else None
    except ServerReplyError as error:
        if error.code != "OOM" or not ctx.server.scripts:
            raise
        return (yield from _freed_by_script(ctx, role, holder, hold_id))


def _freed_by_script(
    ctx: Context, role: Role, holder: bytes | None, hold_id: bytes
) -> Operation[Freed | None]:
    """The same where memory is full: a dead consumer's role has to come free, or it stays full."""
    keys = ctx.keys
    names = (role.free(keys), role.holder(keys), keys.queue, keys.unacked, keys.closed)
    args = (released(hold_id), holder or b"", int(role is CONSUMER))
    (reply,) = check((yield Batch(((b"EVAL", FREE.text, len(names), *names, *args),))))
    return None if reply is None else Freed(reply[0], bool(reply[1]))


def mark_back(ctx: Context) -> Command:
    """The command that pushes the mark back that somebody has popped from ``:closed``."""
    return (b"LPUSH", ctx.keys.closed, 0)


def was_done(replies: list[Reply]) -> bool:
    """Whether a transaction was carried out, and not given up since somebody was at work.

    Raises:
        ServerReplyError: The server refused it, or a command in it.
    """
    done = executed(replies)
    return done is not None and bool(check(done))


@dataclass(frozen=True, slots=True)
class TokenFound:
    """What was found, and done, about the token in ``:not_full``.

    Attributes:
        bound: What ``:bound`` holds.
        tokens: How many there were.
        restored: Whether there is one now, and was none or more than one.
    """

    bound: bytes | None
    tokens: int
    restored: bool = False


def restore_token(ctx: Context, owed: bool) -> Operation[TokenFound]:
    """Have one token in ``:not_full`` if there is room, and no producer works or a dead consumer owed it.

    In the second case a producer may wait for the token for ever. If it was not waiting but just about to
    push, the bound is passed by one this once, as the documents' own clients may. More than one is what is
    left where a client could push and not trim. The messages are watched, too: a script that fills the queue
    changes neither the role nor an absent token.
    """
    keys = ctx.keys
    looks: tuple[Command, ...] = (
        (b"WATCH", keys.producer_free, keys.not_full, keys.bound, keys.queue),
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
        return TokenFound(limit, tokens)
    replies = yield Batch(atomic(*refill(ctx)))
    return TokenFound(limit, tokens, was_done(replies))


def heal(ctx: Context, role: Role, holder: bytes | None) -> Operation[bool]:
    """A role was found to be taken by this holder: free it if the holder is dead; whether that was done."""
    if holder is not None and ctx.holds.is_dead(holder):
        return (yield from _heal(ctx, role, holder))
    if not ctx.heal:
        return False
    now, observations = ctx.clock(), ctx.server.observations
    last = observations.get(role.name)
    lapsed = last is not None and holder is None  # a lease that ran out leaves nothing in the holder key
    if last is None or (last.holder != holder and not lapsed):
        observations[role.name] = Observation(holder, now)
        return False
    if now - last.since < liveness.PROBE_INTERVAL * (liveness.FIRST_PROBE if last.probe is None else 1):
        return False
    seen = yield from probe(ctx)
    observations[role.name] = Observation(holder, ctx.clock(), seen)  # the probe may have taken long
    if last.probe is None or sign_of_life(role, last.probe, seen, ctx.holds) is not None:
        return False
    return (yield from _heal(ctx, role, holder))


def heal_room(ctx: Context, room: bool, free: int, holder: bytes | None) -> Operation[None]:
    """A producer waits for room: see to a dead consumer, and to a token that got lost beside one.

    While the consumer's role is free, and there is room, the token is in ``:not_full``, or it is nowhere.
    """
    if not free:
        yield from heal(ctx, CONSUMER, holder)
    observations = ctx.server.observations
    if not (ctx.heal and free and room):
        observations.pop(_ROOM, None)
        return
    now = ctx.clock()
    if now - observations.setdefault(_ROOM, Observation(None, now)).since >= liveness.PROBE_INTERVAL:
        observations.pop(_ROOM, None)
        yield from restore_token(ctx, owed=True)


#: What is waited for beside the roles.
_ROOM: Final = "room"


def _heal(ctx: Context, role: Role, holder: bytes | None) -> Operation[bool]:
    freed = yield from free_role(ctx, role, holder)
    if freed is not None:  # a dead consumer may have owed the token, and a dead producer may have had it
        try:
            yield from restore_token(ctx, owed=True)
        except ServerReplyError as error:
            if error.code != "OOM":  # then the next get restores it, or whoever waits for room
                raise
    return freed is not None
