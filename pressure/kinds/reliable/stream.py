"""Reliable queues over a stream and a consumer group, for any Redis.

Ids, delivery counters and idle times are the stream's. An acknowledged message is deleted, so that the stream
holds what is to be done and nothing else. All clients are one consumer of the group: who has a message does
not matter, since it is recovered by time.

Rules:
    - The group begins at the stream's beginning, and is made when it is missed.
    - A message is an entry with the field ``payload``, and ``deliveries`` if it was delivered before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pressure.errors import PressureError, ServerReplyError
from pressure.kinds.asking import asked, now, pairs
from pressure.kinds.reliable.lua import STREAM
from pressure.kinds.reliable.model import Capabilities, Delivered, Pending, ReliableKeys
from pressure.protocol.numbers import count_in
from pressure.protocol.steps import Batch, Command, Operation, Reply, Wait, carrying, check

CONSUMER: Final = b"pressure"

#: How many messages are looked at together on the way to a place in the middle.
PAGE: Final = 1000


class Stream:
    """The backend that every server has."""

    capabilities = Capabilities("stream", False, False, False, True)
    scripts = STREAM

    def pushing(self, keys: ReliableKeys, key: bytes, data: bytes, deliveries: int) -> Command:
        """See ``Backend``, as for all that follow."""
        before: Command = (b"deliveries", deliveries) if deliveries else ()
        return (b"XADD", key, b"*", b"payload", data, *before)

    def id_in(self, reply: Reply) -> bytes:
        """See there."""
        return bytes(reply)

    def pushed(self, keys: ReliableKeys, counts: Sequence[tuple[bytes, int]]) -> tuple[Command, ...]:
        """They carry their earlier deliveries."""
        return ()

    def popping(self, keys: ReliableKeys, count: int, block: int | None) -> Command:
        """See there."""
        waiting: Command = () if block is None else (b"BLOCK", block)
        return (
            b"XREADGROUP", b"GROUP", keys.group, CONSUMER, b"COUNT", count, *waiting, b"STREAMS", keys.queue,
            b">",
        )  # fmt: skip

    def popped(self, keys: ReliableKeys, count: int, reply: Reply) -> Operation[list[Delivered]]:
        """Makes the group if it is missed."""
        if isinstance(reply, ServerReplyError) and reply.code in ("NOGROUP", "UNBLOCKED"):
            yield from _make_group(keys)
            (reply,) = yield Batch((self.popping(keys, count, None),))
        check([reply])
        return [_message(entry) for _, entries in pairs(reply or []) for entry in entries]

    def pop_any(
        self, queues: Sequence[ReliableKeys], count: int, block: int | None
    ) -> Operation[list[tuple[int, Delivered]]]:
        """One queue after the other; the wait is for something to be there, and takes nothing."""
        if block is not None:
            yield from _wait_for_any(queues, block)
        found: list[tuple[int, Delivered]] = []
        for number, keys in enumerate(queues):
            datas = [each.data for _, each in found]
            try:
                some = yield from carrying(datas, self._pop(keys, count - len(found)))
            except PressureError:
                if found:  # what was delivered is returned, whatever is refused after it
                    break
                raise
            found += [(number, each) for each in some]
            if len(found) >= count:
                break
        return found

    def _pop(self, keys: ReliableKeys, count: int) -> Operation[list[Delivered]]:
        (reply,) = yield Batch((self.popping(keys, count, None),))
        return (yield from self.popped(keys, count, reply))

    def acknowledging(self, keys: ReliableKeys, ids: Sequence[bytes]) -> tuple[Command, ...]:
        """See there."""
        return (*((b"XACK", keys.queue, keys.group, each) for each in ids), (b"XDEL", keys.queue, *ids))

    def acknowledged(self, ids: Sequence[bytes], replies: list[Reply]) -> list[bytes]:
        """See there."""
        return [each for each, done in zip(ids, replies, strict=False) if done]

    def recover(self, keys: ReliableKeys, count: int, idle: int) -> Operation[list[Delivered]]:
        """XCLAIM takes only what is idle still, so that two who found the same do not both get it."""
        ends: Command = (b"-", b"+", count)
        found = yield from _of_group((b"XPENDING", keys.queue, keys.group, b"IDLE", idle, *ends))
        if not found:
            return []
        times = {each: deliveries for each, _, _, deliveries in found}
        (entries,) = yield from asked((b"XCLAIM", keys.queue, keys.group, CONSUMER, idle, *times))
        return [_message(entry, times[entry[0]] + 1) for entry in entries if entry is not None]

    def heartbeat(self, keys: ReliableKeys, ids: Sequence[bytes]) -> Operation[list[bytes]]:
        """To claim without counting sets back the time for which it was idle."""
        claim: Command = (b"XCLAIM", keys.queue, keys.group, CONSUMER, 0, *ids, b"JUSTID")
        return list((yield from _of_group(claim)))

    def inspect(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Delivered]]:
        """See there."""
        last = yield from _last_delivered(keys)
        if start < 0:
            (entries,) = yield from asked((b"XREVRANGE", keys.queue, b"+", b"(" + last, b"COUNT", -start))
            entries = entries[::-1][:count] if len(entries) == -start else []
        else:
            (entries,) = yield from asked((b"XRANGE", keys.queue, b"(" + last, b"+", b"COUNT", start + count))
            entries = entries[start:]
        return [_message(entry, 0) for entry in entries]

    def pending(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Pending]]:
        """See there."""
        most = start + count
        if start < 0:
            summary = yield from _of_group((b"XPENDING", keys.queue, keys.group))
            most = summary[0] if summary else 0
            start += most
        if most < 1 or start < 0:
            return []
        found = yield from _of_group((b"XPENDING", keys.queue, keys.group, b"-", b"+", most))
        looks = [(b"XRANGE", keys.queue, each[0], each[0]) for each in found[start : start + count]]
        time, *entries = yield from asked((b"TIME",), *looks)
        at = now(time)
        return [
            Pending(_message(entry[0], deliveries), (at - idle) / 1000, idle / 1000)
            for (_, _, idle, deliveries), entry in zip(found[start:], entries, strict=False)
            if entry
        ]

    def info(self, keys: ReliableKeys, key: bytes) -> Operation[tuple[bytes, int, int]]:
        """See there."""
        stream, summary = yield Batch(((b"XINFO", b"STREAM", key), (b"XPENDING", key, keys.group)))
        if isinstance(stream, ServerReplyError) and "no such key" in str(stream):
            return b"", 0, 0
        check([stream])
        known = dict(pairs(stream))
        delivered = 0 if isinstance(summary, ServerReplyError) else int(summary[0])
        return known[b"last-generated-id"], int(known[b"length"]) - delivered, delivered


def _message(entry: Reply, deliveries: int = 1) -> Delivered:
    each, fields = entry
    known = dict(pairs(fields))
    data = known.get(b"payload", fields[1])
    before = count_in(known.get(b"deliveries")) or 0
    return Delivered(each, data, deliveries + (before if deliveries else 0))


def _make_group(keys: ReliableKeys) -> Operation[None]:
    create: Command = (b"XGROUP", b"CREATE", keys.queue, keys.group, 0, b"MKSTREAM")
    (reply,) = yield Batch((create,))
    if not (isinstance(reply, ServerReplyError) and reply.code == "BUSYGROUP"):
        check([reply])


def _of_group(command: Command) -> Operation[list[Reply]]:
    """The reply to a command; nothing if there is no group yet."""
    (reply,) = yield Batch((command,))
    if isinstance(reply, ServerReplyError) and reply.code == "NOGROUP":
        return []
    found: list[Reply] = check([reply])[0]
    return found


def _wait_for_any(queues: Sequence[ReliableKeys], block: int) -> Operation[None]:
    """Waits until there is something behind what was delivered last, in any of these."""
    after = []
    for keys in queues:
        after.append((yield from _last_delivered(keys)))  # noqa: PERF401, an operation each
    streams = (b"STREAMS", *(keys.queue for keys in queues), *after)
    check((yield Wait(((b"XREAD", b"COUNT", 1, b"BLOCK", block, *streams),), block / 1000)))


def _last_delivered(keys: ReliableKeys) -> Operation[bytes]:
    (groups,) = yield Batch(((b"XINFO", b"GROUPS", keys.queue),))
    if isinstance(groups, ServerReplyError) and "no such key" in str(groups):
        return b"0-0"
    check([groups])
    known = [dict(pairs(group)) for group in groups]
    found = [bytes(each[b"last-delivered-id"]) for each in known if each[b"name"] == keys.group]
    return found[0] if found else b"0-0"
