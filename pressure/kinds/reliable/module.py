"""The backend for the commands of the module RedisMQ.

Ids, delivery counts and the order of deliveries are the module's. It has no heartbeats: MQ.RECOVER redelivers
the oldest deliveries in any case. So heartbeats are stored in a sorted set, and a recovered message with a
recent heartbeat is not returned: the recovery only restarted its idle time, as a heartbeat does. The module
has counted a delivery for it; the hash of deliveries subtracts that. The hash also adds the deliveries of a
message before it was delayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pressure.errors import ServerReplyError
from pressure.kinds.commands import block_ms, execute, now, pairs
from pressure.kinds.reliable.backend import Other
from pressure.kinds.reliable.lua import MODULE
from pressure.kinds.reliable.model import Capabilities, DeadLetter, Delivered, Pending, Recovery, ReliableKeys
from pressure.kinds.reliable.notes import dead_letter, delivered
from pressure.protocol.commands import check
from pressure.protocol.numbers import milliseconds_in, number_in
from pressure.protocol.operation import Batch, Command, Operation, Reply, Wait, with_taken


class Module:
    """The backend for servers with the module."""

    capabilities = Capabilities("module", True, True, True, False)
    scripts = MODULE

    def push_command(self, key: bytes, data: bytes, deliveries: int = 0, note: bytes = b"") -> Command:
        """See ``Backend``, also for the methods below."""
        return (b"MQ.PUSH", key, data)

    def pushed_id(self, reply: Reply) -> bytes:
        """See ``Backend``."""
        return bytes(reply[0])

    def after_push(self, key: bytes, known: Sequence[tuple[bytes, int, bytes]]) -> tuple[Command, ...]:
        """See ``Backend``."""
        counts = [word for each, deliveries, _ in known if deliveries for word in (each, deliveries)]
        notes = [word for each, _, note in known if note for word in (each, note)]
        tables = ((b":deliveries", counts), (b":notes", notes))
        return tuple((b"HSET", key + suffix, *words) for suffix, words in tables if words)

    def prepare_commands(self, keys: ReliableKeys) -> tuple[Command, ...]:
        """See ``Backend``."""
        return ()

    def pop_command(self, keys: ReliableKeys, count: int, block: int | None = None) -> Command:
        """See ``Backend``."""
        waiting: Command = () if block is None else (b"BLOCK", block)
        return (b"MQ.POP", count, keys.queue, *waiting)

    def read_popped(
        self, keys: ReliableKeys, count: int, reply: Reply, at: float | None
    ) -> Operation[list[Delivered]]:
        """See ``Backend``."""
        found = check([reply])[0]
        return (yield from _looked_up([(keys, each, data) for each, data in found], at)) if found else []

    def read_reply(self, keys: ReliableKeys, found: Sequence[Reply], at: float) -> list[Delivered]:
        """See ``Backend``."""
        return [_message(keys, each, data, count, note, at) for each, data, count, note in found]

    def wait(
        self, queues: Sequence[ReliableKeys], seconds: float
    ) -> Operation[list[tuple[int, Delivered]] | None]:
        """Sends one command for all queues; the module serves the client that has waited longest."""
        first, *others = (each.queue for each in queues)
        words: Command = (b"KEYS", len(others), *others, b"BLOCK", block_ms(seconds))
        reply, time = yield Wait(((b"MQ.POP", 1, first, *words), (b"TIME",)), seconds)
        numbers = {each.queue: number for number, each in reversed(list(enumerate(queues)))}
        found = [(numbers[key], each, data) for key, each, data in check([reply])[0] or ()]
        looking = _looked_up([(queues[number], each, data) for number, each, data in found], now(time) / 1000)
        messages = (yield from looking) if found else []
        return [(number, message) for (number, _, _), message in zip(found, messages, strict=True)] or None

    def before_ack(self, keys: ReliableKeys) -> tuple[Command, ...]:
        """See ``Backend``."""
        return ()

    def other_groups(self, keys: ReliableKeys, seen: Sequence[Reply]) -> list[Other]:
        """Empty: a queue of the module has no groups."""
        return []

    def ack_commands(
        self, keys: ReliableKeys, ids: Sequence[bytes], others: Sequence[Other]
    ) -> tuple[Command, ...]:
        """See ``Backend``."""
        return (
            (b"MQ.ACK", keys.queue, *ids),
            (b"HDEL", keys.deliveries, *ids),
            (b"ZREM", keys.beats, *ids),
            (b"HDEL", keys.notes, *ids),
        )

    def acked_ids(self, ids: Sequence[bytes], replies: list[Reply]) -> list[bytes]:
        """See ``Backend``."""
        return list(replies[0] or [])

    def after_ack(
        self, keys: ReliableKeys, ids: Sequence[bytes], others: Sequence[Other], replies: list[Reply]
    ) -> tuple[Command, ...]:
        """See ``Backend``."""
        return ()

    def recover(self, keys: ReliableKeys, count: int, recovery: Recovery) -> Operation[list[Delivered]]:
        """Recovers from the lane of due messages first."""
        found = yield from _recover(keys.due, count, recovery)
        if len(found) < count:
            more = _recover(keys, count - len(found), recovery)
            found += yield from (with_taken([each.data for each in found], more) if found else more)
        return found

    def heartbeat(
        self, keys: ReliableKeys, ids: Sequence[bytes], firsts: Mapping[bytes, bytes]
    ) -> Operation[list[bytes]]:
        """Returns all ids: the module does not tell which are still pending, nor when they were delivered."""
        (time,) = yield from execute((b"TIME",))
        at = now(time)
        yield from execute((b"ZADD", keys.beats, *(word for each in ids for word in (at, each))))
        return list(ids)

    def inspect(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Delivered]]:
        """See ``Backend``."""
        found = yield from _inspected(keys, start, count)
        return [Delivered(each, data, 0) for each, data in found]

    def pending(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Pending]]:
        """Messages that were delayed come before the others."""
        if start < 0:
            lengths = []
            for lane in (keys.due, keys):
                lengths.append((yield from self.info(lane, lane.queue))[2])  # noqa: PERF401, an operation each
            start += sum(lengths)
        found: list[Pending] = []
        if start < 0:
            return found
        for lane in (keys.due, keys):
            if len(found) < count:
                some = yield from _pending(lane, 0, start + count - len(found))
                found += some[start:]
                start = max(start - len(some), 0)
        return found

    def info(self, keys: ReliableKeys, key: bytes) -> Operation[tuple[bytes, int, int]]:
        """See ``Backend``."""
        (reply,) = yield Batch(((b"MQ.QINFO", key),))
        if _is_missing(reply):
            return b"", 0, 0
        known = dict(pairs(check([reply])[0]))
        waiting, delivered = known[b"undelivered-queue-length"], known[b"delivered-queue-length"]
        return bytes(known[b"last-id"]), int(waiting), int(delivered)

    def dead_letters(self, keys: ReliableKeys, count: int) -> Operation[list[DeadLetter]]:
        """See ``Backend``."""
        of_dead = ReliableKeys.of(keys.dead, keys.group)
        known = []
        for words in ((b"PENDING", 0, count), (0, count)):
            known += yield from _inspected(of_dead, *words)
        found = known[:count]
        if not found:
            return []
        (notes,) = yield from execute((b"HMGET", of_dead.notes, *(each[0] for each in found)))
        return [
            dead_letter(Delivered(each[0], each[1], 0), note) for each, note in zip(found, notes, strict=True)
        ]


def _message(
    keys: ReliableKeys,
    each: bytes,
    data: bytes,
    count: Reply,
    note: Reply,
    at: float | None,
    deliveries: int = 1,
) -> Delivered:
    return delivered(keys, each, data, deliveries + (number_in(count) or 0), at, note)


def _looked_up(
    found: Sequence[tuple[ReliableKeys, bytes, bytes]], at: float | None
) -> Operation[list[Delivered]]:
    """Popped messages, with the deliveries and notes that are stored beside them."""
    looks = [(b"HGET", key, each) for keys, each, _ in found for key in (keys.deliveries, keys.notes)]
    known = yield from with_taken([data for *_, data in found], execute(*looks))
    beside = zip(known[::2], known[1::2], strict=True)
    return [_message(*each, *more, at) for each, more in zip(found, beside, strict=True)]


def _recover(keys: ReliableKeys, count: int, recovery: Recovery) -> Operation[list[Delivered]]:
    """Recover from one lane; go on while all recovered messages have recent heartbeats."""
    idle, before = recovery.idle, recovery.seen[keys.queue]
    while True:
        (reply,) = yield from execute((b"MQ.RECOVER", keys.queue, count, idle))
        if not reply:
            return []
        datas = [data for _, data in reply]
        young = yield from with_taken(datas, _young(keys, [each for each, _ in reply], idle, before))
        found = [(each, data) for each, data in reply if each not in young]
        is_last = len(reply) < count or not young.isdisjoint(before)  # the oldest deliveries come first
        before += [each for each, _ in found]
        if found:
            return (yield from with_taken([data for _, data in found], _recovered(keys, found)))
        if is_last:
            return []


def _pending(keys: ReliableKeys, start: int, count: int) -> Operation[list[Pending]]:
    found = yield from _inspected(keys, b"PENDING", start, count)
    if not found:
        return []
    ids = [each[0] for each in found]
    looks: tuple[Command, ...] = (
        (b"TIME",),
        (b"ZMSCORE", keys.beats, *ids),
        (b"HMGET", keys.deliveries, *ids),
        (b"HMGET", keys.notes, *ids),
    )
    time, beats, counts, notes = yield from execute(*looks)
    at = now(time)
    pending = []
    for (each, data, popped, _, deliveries), beat, count, note in zip(
        found, beats, counts, notes, strict=True
    ):
        since = max(popped, milliseconds_in(beat or 0))
        message = _message(keys, each, data, count, note, popped / 1000, deliveries)
        pending.append(Pending(message, since / 1000, (at - since) / 1000))
    return pending


def _young(
    keys: ReliableKeys, ids: Sequence[bytes], idle: int, before: Sequence[bytes]
) -> Operation[set[bytes]]:
    """The ids recovered before, or with a heartbeat in the last ``idle`` ms; each counts one less."""
    time, beats = yield from execute((b"TIME",), (b"ZMSCORE", keys.beats, *ids))
    since = now(time) - idle
    young = {each for each, beat in zip(ids, beats, strict=True) if beat is not None and float(beat) > since}
    young |= set(ids).intersection(before)
    if young:
        yield from execute(*((b"HINCRBY", keys.deliveries, each, -1) for each in young))
    return young


def _recovered(keys: ReliableKeys, found: Sequence[tuple[bytes, bytes]]) -> Operation[list[Delivered]]:
    """The messages that are still pending, with their deliveries from the list of pending messages."""
    ids = [each for each, _ in found]
    before, notes, time = yield from execute(
        (b"HMGET", keys.deliveries, *ids), (b"HMGET", keys.notes, *ids), (b"TIME",)
    )
    counts: dict[bytes, int] = {}
    for start, many in ((-len(found), len(found)), (0, 1 << 31)):
        if not counts.keys() >= set(ids):
            counts = {each[0]: each[4] for each in (yield from _inspected(keys, b"PENDING", start, many))}
    at = now(time) / 1000
    return [
        _message(keys, each, data, count, note, at, counts[each])
        for (each, data), count, note in zip(found, before, notes, strict=True)
        if each in counts
    ]


def _inspected(keys: ReliableKeys, *words: bytes | int) -> Operation[list[Reply]]:
    (reply,) = yield Batch(((b"MQ.INSPECT", keys.queue, *words),))
    if _is_missing(reply):
        return []
    found: list[Reply] = check([reply])[0]
    return found


def _is_missing(reply: Reply) -> bool:
    return isinstance(reply, ServerReplyError) and reply.code == "EMPTYKEY"
