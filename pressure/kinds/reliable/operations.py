"""The operations on reliable queues, for both backends, as generators over batches.

Rules:
    - Until it is acknowledged, a message is always waiting, pending, delayed or dead. A retry acknowledges it
      and adds it to the delayed messages in one atomic step; it is pushed again when it is due.
    - The next pop delivers delayed messages that are due (``popping``).
    - A message that was delivered too often goes to the dead-letter queue, with the reason.
    - Functions take and return public ids (``notes``), and send each lane its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pressure.errors import PressureError, ServerReplyError
from pressure.kinds.commands import execute, now
from pressure.kinds.kind import KindContext
from pressure.kinds.kind_check import creating, modifying, reading
from pressure.kinds.reliable.backend import Backend, Other
from pressure.kinds.reliable.collecting import collect
from pressure.kinds.reliable.model import DeadLetter, Delivered, Info, Pending, Recovery, ReliableKeys
from pressure.kinds.reliable.notes import (
    beginning_of,
    by_lane,
    dead_letter_note,
    first_note,
    native_of,
    rest_of,
    retried,
)
from pressure.protocol.commands import atomic, check, executed
from pressure.protocol.operation import Batch, Command, Operation, with_taken
from pressure.protocol.scripts import NO_SCRIPTS, eval_script

#: How many due messages or dead letters one step moves, at most.
TOGETHER: Final = 100


class QueueState:
    """The keys, the backend and the state of one queue object.

    Args:
        keys: The lane of pushed messages.
        backend: The backend.
        most: How often a message may be delivered; None for no limit.

    Attributes:
        due_first: Whether the next pop of a single message begins with due messages (``popping``).
    """

    __slots__ = ("backend", "due_first", "keys", "most")

    def __init__(self, keys: ReliableKeys, backend: Backend, most: int | None) -> None:
        self.keys = keys
        self.backend = backend
        self.most = most
        self.due_first = True


@creating
def push(ctx: KindContext, state: QueueState, data: Sequence[bytes]) -> Operation[list[bytes]]:
    """Add messages in one atomic step; returns their ids."""
    if not data:
        return []
    commands = [state.backend.push_command(state.keys.queue, each) for each in data]
    if len(commands) == 1:
        replies = check((yield Batch(tuple(commands))))
    else:
        replies = check(executed((yield Batch(atomic(*commands)))) or [])
    return [state.backend.pushed_id(reply) for reply in replies]


@modifying
def ack(ctx: KindContext, state: QueueState, ids: Sequence[bytes]) -> Operation[list[bytes]]:
    """Acknowledge messages; returns the ids of those that were still pending."""
    done: set[bytes] = set()
    for lane, known in by_lane(state.keys, ids):
        acked = yield from _ack(ctx, state, lane, list(known))
        done.update(known[each] for each in acked)
    return [each for each in ids if each in done]


def _ack(
    ctx: KindContext, state: QueueState, lane: ReliableKeys, ids: Sequence[bytes]
) -> Operation[list[bytes]]:
    done = yield from eval_script(ctx.server, state.backend.scripts.ack, lane.all, lane.group, *ids)
    if done is NO_SCRIPTS:
        others: list[Other] = []
        if looks := state.backend.before_ack(lane):
            others = state.backend.other_groups(lane, (yield Batch(looks)))
        done = yield from acknowledged(state, lane, ids, others, ())
    return list(done)


def acknowledged(
    state: QueueState,
    lane: ReliableKeys,
    ids: Sequence[bytes],
    others: Sequence[Other],
    first: Sequence[Command],
) -> Operation[list[bytes]]:
    """Run the commands ``first`` and acknowledge messages, in one transaction; the ids acknowledged."""
    steps = atomic(*first, *state.backend.ack_commands(lane, ids, others))
    replies = (executed((yield Batch(steps))) or [])[len(first) :]
    replies = check([0 if isinstance(r, ServerReplyError) and r.code == "NOGROUP" else r for r in replies])
    if rest := state.backend.after_ack(lane, ids, others, replies):
        yield from execute(*rest)
    return state.backend.acked_ids(ids, replies)


@modifying
def retry(
    ctx: KindContext,
    state: QueueState,
    message: Delivered,
    milliseconds: int,
    error: BaseException | None = None,
) -> Operation[bool]:
    """Redeliver a message later, or make it a dead letter; False if it was no longer pending."""
    dead = state.most is not None and message.deliveries >= state.most
    return (
        yield from _retry(
            ctx, state, message, milliseconds, dead_letter_note(message, error) if dead else None
        )
    )


def _retry(
    ctx: KindContext, state: QueueState, message: Delivered, delay: int, burial: bytes | None
) -> Operation[bool]:
    state.due_first = True
    lane = state.keys.due if b"@" in message.id else state.keys
    native = native_of(message.id)
    rest = rest_of(message.data, message.deliveries, retried(message))
    args = (native, rest, delay, *(() if burial is None else (message.data, burial)))
    reply = yield from eval_script(ctx.server, state.backend.scripts.retry, lane.all, lane.group, *args)
    if reply is not NO_SCRIPTS:
        return bool(reply)
    looks: tuple[Command, ...] = ((b"TIME",), (b"ZCARD", state.keys.delayed))
    time, delayed, *seen = yield Batch((*looks, *state.backend.before_ack(lane)))
    check([time, delayed])  # a message that cannot be delayed is not acknowledged
    others = state.backend.other_groups(lane, seen)
    member = beginning_of(time) + rest
    add: Command = (b"ZADD", state.keys.delayed, now(time) + delay, member)
    remove: Command = (b"ZREM", state.keys.delayed, member)
    if not (yield from acknowledged(state, lane, [native], others, (add,))):
        yield from execute(remove)
        return False
    if burial is not None:  # delayed until the dead-letter queue has it
        (reply,) = yield from execute(state.backend.push_command(state.keys.dead, message.data, 0, burial))
        known = state.backend.after_push(state.keys.dead, [(state.backend.pushed_id(reply), 0, burial)])
        yield from execute(*known, remove)
    return True


#: For how many milliseconds a message stays delayed if its move to the dead-letter queue is interrupted.
_ON_THE_WAY: Final = 1000


@modifying
def recover(ctx: KindContext, state: QueueState, count: int, idle: int) -> Operation[list[Delivered]]:
    """Redeliver messages idle for ``idle`` milliseconds; those delivered too often become dead letters.

    Recovered messages are returned even if the server refuses a later command, as in ``collecting``. A
    message that could not be moved to the dead-letter queue stays pending or is delayed; it is not lost.
    """
    good: list[Delivered] = []
    recovery = Recovery(idle)
    try:
        while len(good) < count:
            found = yield from with_taken(_datas(good), _recover(ctx, state, count - len(good), recovery))
            dead = [each for each in found if state.most is not None and each.deliveries > state.most]
            good += [each for each in found if each not in dead]
            for each in dead:
                yield from with_taken(
                    _datas(good), _retry(ctx, state, each, _ON_THE_WAY, dead_letter_note(each, None))
                )
            if not dead:
                break
    except PressureError:
        if not good:
            raise
    return good


def _recover(
    ctx: KindContext, state: QueueState, count: int, recovery: Recovery
) -> Operation[list[Delivered]]:
    def take(most: int) -> Operation[list[Delivered]]:
        return state.backend.recover(state.keys, most, recovery)

    return (yield from collect(ctx, count, take, lambda each: each.data))


def _datas(messages: Sequence[Delivered]) -> list[bytes]:
    return [each.data for each in messages]


@modifying
def heartbeat(
    ctx: KindContext, state: QueueState, messages: Sequence[Delivered | bytes]
) -> Operation[list[bytes]]:
    """Restart the idle time of messages; returns the ids of those that are pending, as far as is known.

    Args:
        ctx: The context.
        state: The queue.
        messages: The messages; an id in place of one does not tell when it was delivered first.
    """
    delivered = [each for each in messages if isinstance(each, Delivered)]
    firsts = {each.id: first_note(each) for each in delivered if each.deliveries == 1}
    ids = [each.id if isinstance(each, Delivered) else each for each in messages]
    heard: set[bytes] = set()
    for lane, known in by_lane(state.keys, ids):
        notes = {native: firsts[each] for native, each in known.items() if each in firsts}
        beats = yield from state.backend.heartbeat(lane, list(known), notes)
        heard.update(known[each] for each in beats)
    return [each for each in ids if each in heard]


@reading
def inspect(ctx: KindContext, state: QueueState, start: int, count: int) -> Operation[list[Delivered]]:
    """Up to ``count`` waiting messages, from place ``start`` on."""
    return (yield from state.backend.inspect(state.keys, start, count))


@reading
def pending(ctx: KindContext, state: QueueState, start: int, count: int) -> Operation[list[Pending]]:
    """Up to ``count`` pending messages, from place ``start`` on."""
    return (yield from state.backend.pending(state.keys, start, count))


@reading
def info(ctx: KindContext, state: QueueState) -> Operation[Info]:
    """The queue's counts, read in a few round trips."""
    last, undelivered, delivered = yield from state.backend.info(state.keys, state.keys.queue)
    _, waiting, taken = yield from state.backend.info(state.keys.due, state.keys.due.queue)
    _, dead, _ = yield from state.backend.info(state.keys, state.keys.dead)
    (delayed,) = yield from execute((b"ZCARD", state.keys.delayed))
    return Info(last, undelivered + waiting, delivered + taken, int(delayed), dead)


@reading
def dead_letters(ctx: KindContext, state: QueueState, count: int) -> Operation[list[DeadLetter]]:
    """The oldest dead letters."""
    return (yield from state.backend.dead_letters(state.keys, count))
