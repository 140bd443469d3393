"""Doctor: report the state of a queue at one moment, and its problems. Nothing is changed.

Rules:
    - One transaction reads all keys. A contradiction between keys is a problem only if the role is free whose
      holder might be about to correct them.
    - CLIENT LIST, sent after that, tells which clients are connected. If the server refuses it, that is not
      known. Then the roles are read once more: a holder whose connection was not listed is dead if it still
      has the role. Otherwise another client may have taken the role and disconnected in between.
    - A server whose memory is full refuses transactions. There the keys are read one after the other.
    - A role has been held for as long as its holder key was neither written nor read (OBJECT IDLETIME).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

from pressure.connections.identity import connection_in, is_released, unmarked
from pressure.errors import PressureError, ServerReplyError
from pressure.keys import Keys
from pressure.protocol import liveness
from pressure.protocol.commands import atomic, check, executed, is_full
from pressure.protocol.diagnosis import Diagnosis, RoleState, State
from pressure.protocol.foreign import naming_foreign_keys
from pressure.protocol.liveness import Liveness, liveness_of, names_of
from pressure.protocol.numbers import bound_in, count_in, how_to_set_bound, not_a_number
from pressure.protocol.operation import Batch, Command, Context, Operation, Reply, operation
from pressure.protocol.problems import holder_text, no_such_queue
from pressure.protocol.queries import COUNTERS
from pressure.protocol.role import CONSUMER, PRODUCER, Role


@dataclass(frozen=True, slots=True)
class _Keys:
    """The values of a queue's keys."""

    bound: bytes | None
    length: int
    tokens: int
    marks: int
    unacked: int
    rejected: int
    counters: list[bytes | None]
    keys: int

    @property
    def limit(self) -> int | None:
        """The bound as a number; None if it is not a number of 0 or more."""
        return None if self.bound is None else bound_in(self.bound)

    @property
    def counts(self) -> list[int]:
        """The counters as numbers; 0 for a counter that is not a number."""
        return [count_in(count) or 0 for count in self.counters]

    @property
    def malformed(self) -> list[tuple[str, bytes | None]]:
        """The counters that are not numbers of 0 or more."""
        pairs = zip(COUNTERS, self.counters, strict=True)
        return [(what, count) for what, count in pairs if count_in(count) is None]


@operation
@naming_foreign_keys
def doctor(ctx: Context) -> Operation[Diagnosis]:
    """Examine the queue.

    Raises:
        QueueDoesNotExistError: None of its keys exists.
    """
    (found,) = yield from examine((ctx,))
    if isinstance(found, PressureError):
        raise found
    return found


def examine(contexts: Sequence[Context]) -> Operation[list[Diagnosis | PressureError]]:
    """Examine several queues, each at one moment; an error for each that cannot be."""
    if not contexts:
        return []
    replies = yield _batch(contexts, atomic)
    full = is_full(replies)
    if full:
        replies = yield _batch(contexts, _one_by_one)
    size = (len(replies) - 1) // len(contexts) - _ROLES
    rest = iter(replies)
    first = [list(islice(rest, size)) for _ in contexts]
    clients, *roles = rest
    holders = (holder for holder in roles if isinstance(holder, bytes))
    over = {holder for holder in holders if contexts[0].holds.is_dead(holder)}
    if over:  # they may have ended after the server was asked
        roles = yield Batch(_roles(contexts))
    names = yield from names_of(contexts[0], clients, roles[1::2])
    rest = iter(roles)
    return [
        _diagnosis(ctx, _Seen(looked, list(islice(rest, _ROLES)), clients, names, over, full))
        for ctx, looked in zip(contexts, first, strict=True)
    ]


def _batch(contexts: Sequence[Context], wrapped: Callable[..., tuple[Command, ...]]) -> Batch:
    looks = [(*_times(ctx), *wrapped(*_looks(ctx))) for ctx in contexts]
    return Batch((*chain.from_iterable(looks), (b"CLIENT", b"LIST"), *_roles(contexts)))


def _roles(contexts: Sequence[Context]) -> tuple[Command, ...]:
    return tuple(chain.from_iterable(_looks(ctx)[-_ROLES:] for ctx in contexts))


def _one_by_one(*commands: Command) -> tuple[Command, ...]:
    return commands


def _times(ctx: Context) -> tuple[Command, ...]:
    """The commands for the idle times of the holder keys, and for the time until they expire.

    They come first, since reading a key ends its idle time. They are not part of the transaction, since the
    server may refuse them to this user, and that would make it fail.
    """
    keys = (ctx.keys.producer, ctx.keys.consumer)
    return (*((b"OBJECT", b"IDLETIME", key) for key in keys), *((b"PTTL", key) for key in keys))


def _looks(ctx: Context) -> tuple[Command, ...]:
    keys = ctx.keys
    return (
        (b"GET", keys.bound),
        (b"LLEN", keys.queue),
        (b"LLEN", keys.not_full),
        (b"LLEN", keys.closed),
        (b"LLEN", keys.unacked),
        (b"LLEN", keys.rejected),
        (b"MGET", keys.produced_messages, keys.produced_bytes, keys.consumed_messages, keys.consumed_bytes),
        (b"EXISTS", *keys.all),
        (b"LLEN", keys.producer_free),
        (b"GET", keys.producer),
        (b"LLEN", keys.consumer_free),
        (b"GET", keys.consumer),
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the server has answered about a queue.

    Attributes:
        first: The replies about its keys.
        roles: Those about its roles, a moment later.
        clients: The reply to CLIENT LIST, in between.
        names: The names of the open connections, those at other nodes too; None if that is not known.
        over: The holds of this process that were over before ``roles`` were read.
        full: Whether the keys were read without a transaction.
    """

    first: list[Reply]
    roles: list[Reply]
    clients: Reply
    names: frozenset[bytes] | None
    over: set[bytes]
    full: bool


def _diagnosis(ctx: Context, replies: _Seen) -> Diagnosis | PressureError:
    idle_p, idle_c, left_p, left_c, *looked = replies.first
    try:
        found: list[Any] = check(looked if replies.full else executed(looked) or [])
    except ServerReplyError as error:
        return error
    seen = _Keys(*found[:8])
    if not seen.keys:
        return no_such_queue(ctx.keys)
    producer = _role(ctx, PRODUCER, found[8:10], replies.roles[:2], (left_p, idle_p), replies)
    consumer = _role(ctx, CONSUMER, found[10:], replies.roles[2:], (left_c, idle_c), replies)
    state = _state(seen, producer, consumer)
    return Diagnosis(
        ctx.keys.name, state, seen.length, seen.limit, producer, consumer, seen.tokens, seen.marks,
        seen.unacked, _blocked(replies.clients), tuple(_problems(ctx.keys, seen, state, producer, consumer)),
        *(*seen.counts, seen.rejected),
    )  # fmt: skip


def _role(
    ctx: Context, role: Role, found: list[Any], later: list[Reply], times: Sequence[Reply], replies: _Seen
) -> RoleState:
    (free, holder), (left, idle), names = found, times, replies.names
    life, name = None, None if holder is None else connection_in(unmarked(holder))
    if not free and found == later:
        life = liveness_of(holder, names, holder in replies.over)
    there = None if names is None or name is None or (not free and found != later) else name in names
    lease = left / 1000 if isinstance(left, int) and left >= 0 else None
    lapsed = bool(ctx.lease) and not free and holder is None
    who = None if holder is None or life is Liveness.SILENT else unmarked(holder)
    idle = idle if isinstance(idle, int) else None
    just_now = holder is not None and is_released(holder) and (idle is None or idle < liveness.PROBE_INTERVAL)
    about = "" if life is None or (life is Liveness.SILENT and just_now) else life.value
    return RoleState(role.name, free, who, idle, there, lease, lapsed, about)


#: How many of ``_looks``, the last ones, read the roles.
_ROLES: Final = 4

#: What is known about a dead holder, and the words that a problem adds to it.
_DEAD: Final = {
    Liveness.OWN.value: ", an operation of this process that is over; the next operation frees it",
    Liveness.GONE.value: ", whose connection is gone; a client that waits for the role frees it",
    Liveness.SILENT.value: "; a client that waits for the role frees it",
}


#: The commands in which clients of a queue are blocked.
_WAITS: Final = (b"brpop", b"blpop", b"blmove", b"brpoplpush", b"blmpop")


def _blocked(clients: Reply) -> int | None:
    if isinstance(clients, ServerReplyError) or not isinstance(clients, bytes):
        return None
    clients_of = ((word.partition(b"=") for word in line.split()) for line in clients.splitlines())
    clients_told = ({name: value for name, _, value in words} for words in clients_of)
    return sum(each.get(b"cmd") in _WAITS and b"b" in each.get(b"flags", b"") for each in clients_told)


def _state(seen: _Keys, producer: RoleState, consumer: RoleState) -> State:
    if seen.bound is None:
        return "half deleted"
    untouched = not (seen.tokens or seen.length or seen.marks or any(seen.counters))
    if untouched and producer.holder is consumer.holder is None and consumer.free <= producer.free:
        return "half created"
    return "closed" if seen.marks else "open"


def _problems(
    keys: Keys, seen: _Keys, state: State, producer: RoleState, consumer: RoleState
) -> Iterator[str]:
    if state == "half deleted":
        yield "a delete did not finish, or still waits for a role; repair finishes it"
        return
    if state == "half created":
        yield "a create did not finish; repair finishes it"
        return
    if seen.limit is None:
        yield f"{not_a_number('bound', seen.bound)}; {how_to_set_bound(keys)}"
    for role in (producer, consumer):
        if role.free > 1:
            yield f"the list :{role.role}_free has {role.free} elements instead of one; repair mends it"
        if role.about in _DEAD:
            who = "a client whose lease ran out" if role.lapsed else holder_text(role.holder)
            yield f"the {role.role} role is held by {who}{_DEAD[role.about]}, and so does repair"
    if seen.rejected:
        what, them = ("message", "it") if seen.rejected == 1 else ("messages", "them")
        shows = f"`pressure peek --rejected` shows {them}, `pressure redrive` puts {them} back"
        yield f"{seen.rejected} rejected {what}: {shows}"
    yield from _lists(seen, producer, consumer)
    yield from _deadlocks(seen, producer, consumer)


def _lists(seen: _Keys, producer: RoleState, consumer: RoleState) -> Iterator[str]:
    """Contradictions between keys, if the roles are free whose holders might be about to correct them."""
    if seen.marks == 1 and not consumer.taken:
        yield "the key :closed has one element instead of two; repair restores the other"
    if consumer.taken:
        return
    if seen.unacked:
        what, them = ("message is", "it") if seen.unacked == 1 else ("messages are", "them")
        yield f"{seen.unacked} {what} unacknowledged, and no client consumes; repair puts {them} back"
    if producer.taken:
        return
    full = bool(seen.limit) and seen.length + seen.unacked >= (seen.limit or 0)
    if seen.limit is not None and not full and not seen.tokens:
        yield "the queue has room, but the token in :not_full that says so is missing; repair restores it"
    if full and seen.tokens:
        yield "the queue is full, but a token in :not_full says that it has room; repair removes it"
    counts = seen.counts
    for what, count in seen.malformed:
        yield f"{not_a_number(f'counter of {what}', count)}; repair recounts it"
    if not seen.malformed and counts[0] - counts[2] != seen.length + seen.unacked:
        yield (
            f"the counters do not add up: {counts[0]} messages were produced and {counts[2]} consumed, but "
            f"{seen.length + seen.unacked} are in the queue; repair corrects the counters"
        )


def _deadlocks(seen: _Keys, producer: RoleState, consumer: RoleState) -> Iterator[str]:
    full = bool(seen.limit) and seen.length >= (seen.limit or 0)
    if (
        producer.taken
        and producer.about not in _DEAD
        and full
        and not seen.tokens
        and (not consumer.taken or consumer.connected is False)
    ):
        gone = consumer.holder is not None and not consumer.connected
        last = holder_text(consumer.holder)
        who = f"; the connection of the last consumer, {last}, is gone" if gone else ""
        yield f"the producer waits for room in a full queue, and no client consumes{who}"
    if (
        consumer.taken
        and consumer.about not in _DEAD
        and not (seen.length or seen.marks or seen.unacked)
        and producer.connected is False
    ):
        who = holder_text(producer.holder)
        yield f"the consumer waits for values, but the connection of the last producer, {who}, is gone"
