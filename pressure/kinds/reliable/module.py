"""Reliable queues by the commands of the module RedisMQ.

Ids, delivery counters and the order of deliveries are the module's. It knows of no heartbeat and recovers the
oldest delivery whatever becomes of it; so heartbeats are kept beside it, and what is recovered though its
heartbeat is young is left where it is: that only set back the time for which it was idle, as a heartbeat
does. It counted a delivery, which is taken back in the hash of deliveries; that hash also has the deliveries
of a message before it was delayed.
"""

from __future__ import annotations

from collections.abc import Sequence

from pressure.errors import ServerReplyError
from pressure.kinds.asking import asked, now, pairs
from pressure.kinds.reliable.lua import MODULE
from pressure.kinds.reliable.model import Capabilities, Delivered, Pending, ReliableKeys
from pressure.protocol.numbers import moment, number_in
from pressure.protocol.steps import Batch, Command, Operation, Reply, Wait, carrying, check


class Module:
    """The backend of servers that have the commands."""

    capabilities = Capabilities("module", True, True, True, False)
    scripts = MODULE

    def pushing(self, keys: ReliableKeys, key: bytes, data: bytes, deliveries: int) -> Command:
        """See ``Backend``, as for all that follow."""
        return (b"MQ.PUSH", key, data)

    def id_in(self, reply: Reply) -> bytes:
        """See there."""
        return bytes(reply[0])

    def pushed(self, keys: ReliableKeys, counts: Sequence[tuple[bytes, int]]) -> tuple[Command, ...]:
        """See there."""
        known = [word for each, deliveries in counts if deliveries for word in (each, deliveries)]
        return ((b"HSET", keys.deliveries, *known),) if known else ()

    def popping(self, keys: ReliableKeys, count: int, block: int | None) -> Command:
        """See there."""
        waiting: Command = () if block is None else (b"BLOCK", block)
        return (b"MQ.POP", count, keys.queue, *waiting)

    def popped(self, keys: ReliableKeys, count: int, reply: Reply) -> Operation[list[Delivered]]:
        """See there."""
        check([reply])
        if not reply:
            return []
        looking = _before(keys, [each for each, _ in reply])
        before = yield from carrying([data for _, data in reply], looking)
        return [Delivered(each, data, 1 + before[each]) for each, data in reply]

    def pop_any(
        self, queues: Sequence[ReliableKeys], count: int, block: int | None
    ) -> Operation[list[tuple[int, Delivered]]]:
        """One command; what was delivered before is looked up for all queues together."""
        first, *others = (each.queue for each in queues)
        waiting: Command = () if block is None else (b"BLOCK", block)
        command: Command = (b"MQ.POP", count, first, b"KEYS", len(others), *others, *waiting)
        (reply,) = yield Batch((command,)) if block is None else Wait((command,), block / 1000)
        numbers = {each.queue: number for number, each in reversed(list(enumerate(queues)))}
        found = [(numbers[key], each, data) for key, each, data in check([reply])[0] or ()]
        if not found:
            return []
        looks = [(b"HGET", queues[number].deliveries, each) for number, each, _ in found]
        counts = yield from carrying([data for *_, data in found], asked(*looks))
        return [
            (number, Delivered(each, data, 1 + (number_in(before) or 0)))
            for (number, each, data), before in zip(found, counts, strict=True)
        ]

    def acknowledging(self, keys: ReliableKeys, ids: Sequence[bytes]) -> tuple[Command, ...]:
        """See there."""
        return (
            (b"MQ.ACK", keys.queue, *ids),
            (b"HDEL", keys.deliveries, *ids),
            (b"ZREM", keys.beats, *ids),
        )

    def acknowledged(self, ids: Sequence[bytes], replies: list[Reply]) -> list[bytes]:
        """See there."""
        return list(replies[0] or [])

    def recover(self, keys: ReliableKeys, count: int, idle: int) -> Operation[list[Delivered]]:
        """As long as all that comes has a young heartbeat, there may be more behind it."""
        while True:
            (reply,) = yield from asked((b"MQ.RECOVER", keys.queue, count, idle))
            if not reply:
                return []
            datas = [data for _, data in reply]
            young = yield from carrying(datas, _young(keys, [each for each, _ in reply], idle))
            found = [(each, data) for each, data in reply if each not in young]
            if found:
                return (yield from carrying([data for _, data in found], _recovered(keys, found)))
            if len(reply) < count:
                return []

    def heartbeat(self, keys: ReliableKeys, ids: Sequence[bytes]) -> Operation[list[bytes]]:
        """The module does not tell which of them are delivered still."""
        (time,) = yield from asked((b"TIME",))
        at = now(time)
        yield from asked((b"ZADD", keys.beats, *(word for each in ids for word in (at, each))))
        return list(ids)

    def inspect(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Delivered]]:
        """See there."""
        found = yield from _inspected(keys, start, count)
        return [Delivered(each, data, 0) for each, data in found]

    def pending(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Pending]]:
        """See there."""
        found = yield from _inspected(keys, b"PENDING", start, count)
        if not found:
            return []
        ids = [each[0] for each in found]
        before = yield from _before(keys, ids)
        time, beats = yield from asked((b"TIME",), (b"ZMSCORE", keys.beats, *ids))
        at = now(time)
        heard = [
            max(since, moment(beat or 0)) for (_, _, since, _, _), beat in zip(found, beats, strict=True)
        ]
        return [
            Pending(Delivered(each, data, deliveries + before[each]), since / 1000, (at - since) / 1000)
            for (each, data, _, _, deliveries), since in zip(found, heard, strict=True)
        ]

    def info(self, keys: ReliableKeys, key: bytes) -> Operation[tuple[bytes, int, int]]:
        """See there."""
        (reply,) = yield Batch(((b"MQ.QINFO", key),))
        if _is_missing(reply):
            return b"", 0, 0
        known = dict(pairs(check([reply])[0]))
        waiting, delivered = known[b"undelivered-queue-length"], known[b"delivered-queue-length"]
        return bytes(known[b"last-id"]), int(waiting), int(delivered)


def _before(keys: ReliableKeys, ids: Sequence[bytes]) -> Operation[dict[bytes, int]]:
    """Deliveries of messages that the module does not count, or has counted too many."""
    (counts,) = yield from asked((b"HMGET", keys.deliveries, *ids))
    return {each: number_in(count) or 0 for each, count in zip(ids, counts, strict=True)}


def _young(keys: ReliableKeys, ids: Sequence[bytes], idle: int) -> Operation[set[bytes]]:
    """Those of which a heartbeat was heard since; their count is taken back."""
    time, beats = yield from asked((b"TIME",), (b"ZMSCORE", keys.beats, *ids))
    since = now(time) - idle
    young = {each for each, beat in zip(ids, beats, strict=True) if beat is not None and float(beat) > since}
    if young:
        yield from asked(*((b"HINCRBY", keys.deliveries, each, -1) for each in young))
    return young


def _recovered(keys: ReliableKeys, found: Sequence[tuple[bytes, bytes]]) -> Operation[list[Delivered]]:
    """With their deliveries, told at the end of the queue of the delivered; what is not there is done."""
    before = yield from _before(keys, [each for each, _ in found])
    counts: dict[bytes, int] = {}
    for start, many in ((-len(found), len(found)), (0, 1 << 31)):
        if not counts.keys() >= before.keys():
            counts = {each[0]: each[4] for each in (yield from _inspected(keys, b"PENDING", start, many))}
    return [Delivered(each, data, counts[each] + before[each]) for each, data in found if each in counts]


def _inspected(keys: ReliableKeys, *words: bytes | int) -> Operation[list[Reply]]:
    (reply,) = yield Batch(((b"MQ.INSPECT", keys.queue, *words),))
    if _is_missing(reply):
        return []
    found: list[Reply] = check([reply])[0]
    return found


def _is_missing(reply: Reply) -> bool:
    return isinstance(reply, ServerReplyError) and reply.code == "EMPTYKEY"
