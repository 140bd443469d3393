"""Free the role of a dead holder: for ``repair``, and for clients that wait for the role.

Rules:
    - One transaction compares the holder key, frees the role and writes a new value into the holder key. So
      a holder that was freed by mistake is fenced: its next write finds that value. The same transaction puts
      back the messages that a dead consumer did not acknowledge, and the mark of ``:closed`` that it had
      popped. Later they could not be told from those of the next consumer.
    - A hold of this process that is over is freed at once. Any other holder has to look dead in two probes
      (see ``liveness``). A client takes the first probe after it has waited for a second.
    - A server that is out of memory refuses that transaction. Then a script frees the role, if allowed.
    - All operations of a queue object share what they have observed of a holder. So a client that tries
      again and again without waiting frees the role, too.
    - Programs that each wait for a shorter time than that share it, too. A client whose first probe found
      the holder dead records it in the role's ``:suspect`` key. A client that has no time left takes its
      first probe at once. If the record is old enough, that probe is the second one. Where the server
      refuses the record, only a client that waits for long enough frees the role.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pressure.connections.identity import released
from pressure.errors import ServerReplyError
from pressure.protocol import liveness
from pressure.protocol.commands import atomic, check, executed
from pressure.protocol.liveness import probe, sign_of_life
from pressure.protocol.lua import FREE
from pressure.protocol.numbers import bound_in
from pressure.protocol.operation import (
    Batch,
    Command,
    Context,
    Deadline,
    NewHold,
    Observation,
    Operation,
    Reply,
)
from pressure.protocol.role import CONSUMER, Role, drop_token, put_back, refill, release_commands


@dataclass(frozen=True, slots=True)
class Freed:
    """What went back when a role was freed.

    Attributes:
        orphans: How many unacknowledged messages went back to the queue.
        mark: Whether a mark went back to ``:closed``.
    """

    orphans: int
    mark: bool


def free_role(ctx: Context, role: Role, holder: bytes | None) -> Operation[Freed | None]:
    """Free a role in one transaction; None if ``holder`` does not hold it any more."""
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
    while True:
        *_, count, now, unacked, marks = check((yield Batch(looks)))
        if count or now != holder:
            yield Batch(((b"UNWATCH",),))
            return None
        freed = Freed(unacked, marks == 1) if role is CONSUMER else Freed(0, False)
        back = (*(put_back(ctx),) * freed.orphans, *(mark_back(ctx),) * freed.mark)
        try:
            if was_done((yield Batch(atomic(*back, *release_commands(keys, role, hold_id))))):
                return freed
        except ServerReplyError as error:
            if error.code != "OOM" or not ctx.server.scripts:
                raise
            (reply,) = check((yield Batch((free_by_script(ctx, role, holder, hold_id, token=False),))))
            return None if reply is None else Freed(reply[0], bool(reply[1]))


def free_by_script(ctx: Context, role: Role, holder: bytes | None, hold_id: bytes, *, token: bool) -> Command:
    """The command that frees a role where memory is full; with ``token``, it puts back the token, too.

    Only consumers free memory there, so their role must come free.
    """
    keys = ctx.keys
    names = (role.free(keys), role.holder(keys), keys.queue, keys.unacked, keys.closed, keys.not_full)
    args = (released(hold_id), holder or b"", int(role is CONSUMER), int(token))
    return (b"EVAL", FREE.text, len(names), *names, *args)


def mark_back(ctx: Context) -> Command:
    """The command that pushes back a mark which a client has popped from ``:closed``."""
    return (b"LPUSH", ctx.keys.closed, 0)


def was_done(replies: list[Reply]) -> bool:
    """Whether a transaction was executed; False if a watched key had changed.

    Raises:
        ServerReplyError: The server refused it, or a command in it.
    """
    done = executed(replies)
    return done is not None and bool(check(done))


@dataclass(frozen=True, slots=True)
class TokenFound:
    """What ``restore_token`` has found and done.

    Attributes:
        bound: The value of ``:bound``.
        before: How many elements ``:not_full`` had.
        now: How many it has now.
    """

    bound: bytes | None
    before: int
    now: int


def restore_token(ctx: Context, owed: bool) -> Operation[TokenFound]:
    """Leave one token in ``:not_full`` if there is room, and none if there is not.

    Where a client produces, the token is restored only if it is ``owed``.

    It is owed if a dead client should have pushed it: a producer may wait for it for ever. If that producer
    was not waiting but about to put, the queue exceeds its bound by one value, once, as with the documents'
    own clients. Several tokens are left by a client that may push and not trim. The list of
    messages is watched, too: a script that fills the queue changes neither the role nor an absent token.
    """
    keys = ctx.keys
    looks: tuple[Command, ...] = (
        (b"WATCH", keys.producer_free, keys.not_full, keys.bound, keys.queue),
        (b"LLEN", keys.producer_free),
        (b"LLEN", keys.not_full),
        (b"GET", keys.bound),
        (b"LLEN", keys.queue),
        (b"LLEN", keys.unacked),  # the consumer pushes the token when it settles these
    )
    while True:
        _, free, tokens, limit, length, unacked = check((yield Batch(looks)))
        bound = bound_in(limit)
        is_full = bound is None or (bound and length + unacked >= bound)
        work = drop_token(ctx, 0, limit, length) if tokens else ()
        if not is_full and tokens != 1 and (free or owed):
            work = refill(ctx)
        if not work:
            yield Batch(((b"UNWATCH",),))
            return TokenFound(limit, tokens, tokens)
        if was_done((yield Batch(atomic(*work)))):
            return TokenFound(limit, tokens, 0 if is_full else 1)


def heal(ctx: Context, role: Role, holder: bytes | None, deadline: Deadline) -> Operation[bool]:
    """Free a role that ``holder`` was found to hold, if that holder is dead; whether the role was freed."""
    if holder is not None and ctx.holds.is_dead(holder):
        return (yield from _heal(ctx, role, holder))
    if not ctx.heal:
        return False
    now, observations = ctx.clock(), ctx.server.observations
    last = observations.get(role.name)
    lapsed = last is not None and holder is None  # a holder key expires when its lease runs out
    if last is None or (last.holder != holder and not lapsed):
        last = observations[role.name] = Observation(holder, now)
    if not _probe_is_due(ctx, last, now, deadline):
        return False
    seen = yield from probe(ctx)
    ctx.server.last_probe = ctx.clock()  # the probe may have taken long
    observations[role.name] = Observation(holder, ctx.server.last_probe, seen)
    if sign_of_life(role, last.probe or seen, seen, ctx.holds) is not None:
        return False
    if last.probe is None and not (yield from _was_suspect(role.suspect(ctx.keys), seen.holder[role] or b"")):
        return False
    return (yield from _heal(ctx, role, holder))


def _probe_is_due(ctx: Context, last: Observation, now: float, deadline: Deadline) -> bool:
    """Whether the holder that was observed has to be probed now."""
    first = liveness.PROBE_INTERVAL * liveness.FIRST_PROBE
    if last.probe is not None:
        return now - last.since >= liveness.PROBE_INTERVAL
    return now - last.since >= first or (not deadline.waits and now - ctx.server.last_probe >= first)


def _was_suspect(key: bytes, found: bytes) -> Operation[bool]:
    """Whether a client has found the same at least ``PROBE_INTERVAL`` ago; if none has, record it now."""
    recorded, left_ms = yield Batch(((b"GET", key), (b"PTTL", key)))
    if recorded == found and isinstance(left_ms, int):
        return 0 <= left_ms <= _SUSPECT_FOR_MS - liveness.PROBE_INTERVAL * 1000
    yield Batch(((b"SET", key, found, b"PX", _SUSPECT_FOR_MS),))  # a refusal does no harm
    return False


#: For how many milliseconds a ``:suspect`` key lasts.
_SUSPECT_FOR_MS: Final = 3_600_000


def heal_room(
    ctx: Context, room: bool, free: int, holder: bytes | None, deadline: Deadline
) -> Operation[None]:
    """Free the role of a dead consumer, and restore a lost token, for a producer that waits for room.

    The token is lost if for ``PROBE_INTERVAL`` there is room, the consumer's role is free and no token comes;
    or if that was so in the last look of a client, and is so in the last look of another.
    """
    if not free:
        yield from heal(ctx, CONSUMER, holder, deadline)
    observations = ctx.server.observations
    if not (ctx.heal and free and room):
        observations.pop(_ROOM, None)
        return
    now = ctx.clock()
    is_lost = now - observations.setdefault(_ROOM, Observation(None, now)).since >= liveness.PROBE_INTERVAL
    if is_lost or (not deadline.waits and (yield from _was_suspect(ctx.keys.suspect_token, b""))):
        observations.pop(_ROOM, None)
        yield from restore_token(ctx, owed=True)


#: The key, beside the roles' names, of what was observed of a missing token.
_ROOM: Final = "room"


def _heal(ctx: Context, role: Role, holder: bytes | None) -> Operation[bool]:
    freed = yield from free_role(ctx, role, holder)
    if freed is not None:  # a dead consumer may owe the token, a dead producer may have popped it
        try:
            yield from restore_token(ctx, owed=True)
        except ServerReplyError as error:
            if error.code != "OOM":  # then the next get restores it, or a client that waits for room
                raise
    return freed is not None
