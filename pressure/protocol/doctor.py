"""Doctor: what a queue looks like at one moment, and what is wrong with it. Nothing is changed.

Rules:
    - The keys are looked at in one transaction, so that what breaks the invariant is broken indeed and not
      about to be mended by a client between two steps; that can only be said while its role is free.
    - Who is connected is asked right before it. Where the server does not tell, it is not known.
    - Since when a role is held is told by how long ago its holder's key was written or read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pressure.errors import ServerReplyError
from pressure.identity import name_in
from pressure.protocol.looks import snapshot
from pressure.protocol.roles import CONSUMER, PRODUCER, Role, does_not_exist
from pressure.protocol.steps import Batch, Command, Context, Operation, Reply, operation
from pressure.protocol.vitals import connected

State: TypeAlias = Literal["open", "closed", "half created", "half deleted"]


@dataclass(frozen=True, slots=True)
class RoleState:
    """One of the two roles.

    Attributes:
        role: ``"producer"`` or ``"consumer"``.
        free: How many elements its list has; 1 while nobody holds it.
        holder: Who holds it, or held it last; None if nobody has said so.
        seconds: About how long ago the holder said so; None if that is not known.
        connected: Whether a connection carries the holder's name; None if that is not known, as of clients
            that do not name theirs.
        lease: How many seconds are left of the holder's lease; None if it has none, or there is no name.
        lapsed: Whether it is held by nobody who says so, where holders have leases: one ran out.
    """

    role: str
    free: int
    holder: bytes | None
    seconds: int | None
    connected: bool | None
    lease: float | None = None
    lapsed: bool = False

    @property
    def taken(self) -> bool:
        """Whether somebody holds it."""
        return not self.free


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A queue at one moment.

    Attributes:
        queue: Its name.
        state: What it is.
        length: How many values are in it.
        bound: How many may be; 0 means any number, None that there is no bound, or none that is a number.
        producer: The one role.
        consumer: The other.
        tokens: Elements of ``:not_full``.
        marks: Elements of ``:closed``.
        unacknowledged: Messages that were received and are not acknowledged.
        blocked: How many clients of the server wait in a blocking command on lists; None if that is not
            known.
        problems: What is wrong, a sentence each.
    """

    queue: bytes
    state: State
    length: int
    bound: int | None
    producer: RoleState
    consumer: RoleState
    tokens: int
    marks: int
    unacknowledged: int
    blocked: int | None
    problems: tuple[str, ...]

    def __str__(self) -> str:
        """A few lines for people."""
        of = f" of {self.bound}" if self.bound else ""
        name = self.queue.decode("utf-8", "backslashreplace")
        roles = (f"{role.role}: {_about(role)}" for role in (self.producer, self.consumer))
        return "\n  ".join((f"{name!r}: {self.state}, {self.length}{of} values", *roles, *self.problems))


def _about(role: RoleState) -> str:
    if not role.taken:
        return "free"
    since = "" if role.seconds is None else f" for about {role.seconds} s"
    lease = "" if role.lease is None else f", with {role.lease:.0f} s left of its lease"
    gone = ", which is not connected" if role.connected is False else ""
    return f"held by {_shown(role.holder)}{since}{lease}{gone}"


def _shown(holder: bytes | None) -> str:
    return holder.decode("utf-8", "backslashreplace") if holder else "nobody known"


@dataclass(frozen=True, slots=True)
class _Keys:
    """What the keys hold."""

    bound: bytes | None
    length: int
    tokens: int
    marks: int
    unacked: int
    counters: list[bytes | None]
    keys: int

    @property
    def limit(self) -> int | None:
        """The bound as a number."""
        try:
            return None if self.bound is None else int(self.bound)
        except ValueError:
            return None


@operation
def doctor(ctx: Context) -> Operation[Diagnosis]:
    """Examine the queue.

    Raises:
        QueueDoesNotExistError: There is nothing of it.
    """
    keys = ctx.keys
    idle: tuple[Command, ...] = tuple((b"OBJECT", b"IDLETIME", key) for key in (keys.producer, keys.consumer))
    left: tuple[Command, ...] = tuple((b"PTTL", key) for key in (keys.producer, keys.consumer))
    clients, times_p, times_c, left_p, left_c = yield Batch(((b"CLIENT", b"LIST"), *idle, *left))
    found: list[Any] = yield from snapshot(
        (b"GET", keys.bound),
        (b"LLEN", keys.queue),
        (b"LLEN", keys.not_full),
        (b"LLEN", keys.closed),
        (b"LLEN", keys.unacked),
        (b"MGET", keys.produced_messages, keys.produced_bytes, keys.consumed_messages, keys.consumed_bytes),
        (b"EXISTS", *keys.all),
        (b"LLEN", keys.producer_free),
        (b"GET", keys.producer),
        (b"LLEN", keys.consumer_free),
        (b"GET", keys.consumer),
    )
    seen = _Keys(*found[:7])
    if not seen.keys:
        raise does_not_exist(ctx)
    producer = _role(ctx, PRODUCER, found[7], found[8], left_p, times_p, clients)
    consumer = _role(ctx, CONSUMER, found[9], found[10], left_c, times_c, clients)
    state = _state(seen, producer, consumer)
    return Diagnosis(
        keys.name, state, seen.length, seen.limit, producer, consumer, seen.tokens, seen.marks,
        seen.unacked, _blocked(clients), tuple(_problems(seen, state, producer, consumer)),
    )  # fmt: skip


def _role(
    ctx: Context, role: Role, free: int, holder: bytes | None, left: Reply, idle: Reply, clients: Reply
) -> RoleState:
    names, name = connected(clients), None if holder is None else name_in(holder)
    there = None if names is None or name is None else name in names
    lease = left / 1000 if isinstance(left, int) and left >= 0 else None
    lapsed = bool(ctx.lease) and not free and holder is None
    return RoleState(role.name, free, holder, idle if isinstance(idle, int) else None, there, lease, lapsed)


#: What clients of a queue wait in.
_WAITS: Final = (b"brpop", b"blpop", b"blmove", b"brpoplpush", b"blmpop")


def _blocked(clients: Reply) -> int | None:
    if isinstance(clients, ServerReplyError) or not isinstance(clients, bytes):
        return None
    clients_of = ((word.partition(b"=") for word in line.split()) for line in clients.splitlines())
    told = ({name: value for name, _, value in words} for words in clients_of)
    return sum(each.get(b"cmd") in _WAITS and b"b" in each.get(b"flags", b"") for each in told)


def _state(seen: _Keys, producer: RoleState, consumer: RoleState) -> State:
    if seen.bound is None:
        return "half deleted"
    untouched = not (seen.tokens or seen.length or seen.marks or any(seen.counters))
    if untouched and producer.holder is consumer.holder is None and consumer.free <= producer.free:
        return "half created"
    return "closed" if seen.marks else "open"


def _problems(seen: _Keys, state: State, producer: RoleState, consumer: RoleState) -> Iterator[str]:
    if state == "half deleted":
        yield "a delete did not finish, or is waiting for a role; repair finishes it"
        return
    if state == "half created":
        yield "a create did not finish; repair finishes it"
        return
    if seen.limit is None:
        yield f"its bound is not a number: {seen.bound!r}"
    for role in (producer, consumer):
        if role.free > 1:
            yield f"the free {role.role} role has {role.free} elements; it should have one"
        if role.taken and role.connected is False:
            who = _shown(role.holder)
            yield f"the {role.role} role is held by {who}, which is not connected; repair frees it"
        if role.lapsed:
            yield f"the {role.role} role is held by nobody who says so: a lease ran out; repair frees it"
    yield from _lists(seen, producer, consumer)
    yield from _deadlocks(seen, producer, consumer)


def _lists(seen: _Keys, producer: RoleState, consumer: RoleState) -> Iterator[str]:
    """What breaks the invariant while the roles that could mend it are free."""
    if seen.marks == 1 and not consumer.taken:
        yield "one mark of the close is lost; repair restores it"
    if consumer.taken:
        return
    if seen.unacked:
        yield f"{seen.unacked} messages are not acknowledged, and nobody consumes; repair puts them back"
    if producer.taken:
        return
    room = seen.limit == 0 or (seen.limit is not None and seen.length + seen.unacked < seen.limit)
    if room and not seen.tokens:
        yield "the token that says there is room is lost; repair restores it"
    counts = [int(count) if count and count.isdigit() else 0 for count in seen.counters]
    if counts[0] - counts[2] != seen.length + seen.unacked:
        yield (
            f"the counters do not add up: {counts[0]} messages produced, {counts[2]} consumed, "
            f"{seen.length + seen.unacked} there"
        )


def _deadlocks(seen: _Keys, producer: RoleState, consumer: RoleState) -> Iterator[str]:
    full = bool(seen.limit) and seen.length >= (seen.limit or 0)
    if producer.taken and full and not seen.tokens and (not consumer.taken or consumer.connected is False):
        gone = consumer.holder is not None and not consumer.connected
        who = f"; the last, {_shown(consumer.holder)}, is gone" if gone else ""
        yield f"the producer waits for room in a full queue, and nobody consumes{who}"
    if consumer.taken and not (seen.length or seen.marks or seen.unacked) and producer.connected is False:
        yield f"the consumer waits for values, and the last producer, {_shown(producer.holder)}, is gone"
