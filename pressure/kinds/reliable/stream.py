"""The backend for any Redis: a stream and a consumer group.

Ids, delivery counts and idle times are the stream's. Acknowledged messages are deleted, so the stream has
only waiting and pending messages. All clients share one consumer of the group, because messages are recovered
by their idle time, not by their consumer.

Rules:
    - The group starts at the beginning of the stream, and is created when a command fails without it. A pop
      does not create the stream.
    - An entry is deleted once every group of the stream has acknowledged it.
    - A message is an entry with the field ``payload``; ``deliveries`` (earlier ones) and ``note`` may follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pressure.errors import ServerReplyError
from pressure.kinds.commands import block_ms, execute, now, pairs
from pressure.kinds.reliable.backend import Other
from pressure.kinds.reliable.lua import STREAM
from pressure.kinds.reliable.model import Capabilities, DeadLetter, Delivered, Pending, Recovery, ReliableKeys
from pressure.kinds.reliable.notes import dead_letter, delivered, encoded
from pressure.protocol.commands import check
from pressure.protocol.numbers import count_in
from pressure.protocol.operation import Batch, Command, Operation, Reply, Wait, with_taken

CONSUMER: Final = b"pressure"


class Stream:
    """The backend for any Redis."""

    capabilities = Capabilities("stream", False, False, False, True)
    scripts = STREAM

    def push_command(self, key: bytes, data: bytes, deliveries: int = 0, note: bytes = b"") -> Command:
        """See ``Backend``, also for the methods below."""
        fields: Command = (b"payload", data)
        fields += (b"deliveries", deliveries) if deliveries else ()
        return (b"XADD", key, b"*", *fields, *((b"note", note) if note else ()))

    def pushed_id(self, reply: Reply) -> bytes:
        """See ``Backend``."""
        return bytes(reply)

    def after_push(self, key: bytes, known: Sequence[tuple[bytes, int, bytes]]) -> tuple[Command, ...]:
        """No commands: the entries have the deliveries and the notes."""
        return ()

    def prepare_commands(self, keys: ReliableKeys) -> tuple[Command, ...]:
        """Creates the stream and the group; the server refuses that if the group exists."""
        return ((b"XGROUP", b"CREATE", keys.queue, keys.group, 0, b"MKSTREAM"),)

    def pop_command(self, keys: ReliableKeys, count: int, block: int | None = None) -> Command:
        """See ``Backend``."""
        waiting: Command = () if block is None else (b"BLOCK", block)
        return (
            b"XREADGROUP", b"GROUP", keys.group, CONSUMER, b"COUNT", count, *waiting, b"STREAMS", keys.queue,
            b">",
        )  # fmt: skip

    def read_popped(
        self, keys: ReliableKeys, count: int, reply: Reply, at: float | None
    ) -> Operation[list[Delivered]]:
        """Creates a missing group, but not a missing stream."""
        if is_missing(reply):
            if not (yield from _make_group(keys)):
                return []
            (reply,) = yield Batch((self.pop_command(keys, count),))
        check([reply])
        return [_message(keys, entry, 1, at) for _, entries in pairs(reply or []) for entry in entries]

    def read_reply(self, keys: ReliableKeys, found: Sequence[Reply], at: float) -> list[Delivered]:
        """See ``Backend``."""
        return [_message(keys, entry, 1, at) for entry in found]

    def wait(
        self, queues: Sequence[ReliableKeys], seconds: float
    ) -> Operation[list[tuple[int, Delivered]] | None]:
        """Delivers no message (XREAD). Also waits for streams that do not exist yet."""
        after = []
        for keys in queues:
            after.append((yield from _last_delivered(keys)))  # noqa: PERF401, an operation each
        streams = (b"STREAMS", *(keys.queue for keys in queues), *after)
        block = block_ms(seconds)
        (found,) = check((yield Wait(((b"XREAD", b"COUNT", 1, b"BLOCK", block, *streams),), seconds)))
        return [] if found else None

    def before_ack(self, keys: ReliableKeys) -> tuple[Command, ...]:
        """Asks for the groups, except in the lane of due messages, which has one group."""
        return () if keys.is_due else ((b"XINFO", b"GROUPS", keys.queue),)

    def other_groups(self, keys: ReliableKeys, seen: Sequence[Reply]) -> list[Other]:
        """See ``Backend``."""
        if not seen or is_missing(seen[0]):
            return []
        found = [dict(pairs(group)) for group in check(list(seen))[0]]
        return [
            (bytes(each[b"name"]), _number(each[b"last-delivered-id"]))
            for each in found
            if each[b"name"] != keys.group
        ]

    def ack_commands(
        self, keys: ReliableKeys, ids: Sequence[bytes], others: Sequence[Other]
    ) -> tuple[Command, ...]:
        """With other groups, also asks which messages are pending there."""
        acks = ((b"XACK", keys.queue, keys.group, each) for each in ids)
        rest: Iterable[Command] = ((b"XDEL", keys.queue, *ids),)
        if others:
            rest = ((b"XPENDING", keys.queue, name, each, each, 1) for each in ids for name, _ in others)
        return (*acks, *rest, (b"HDEL", keys.notes, *ids))

    def acked_ids(self, ids: Sequence[bytes], replies: list[Reply]) -> list[bytes]:
        """See ``Backend``."""
        return [each for each, done in zip(ids, replies, strict=False) if done]

    def after_ack(
        self, keys: ReliableKeys, ids: Sequence[bytes], others: Sequence[Other], replies: list[Reply]
    ) -> tuple[Command, ...]:
        """Deletes the messages that all groups have acknowledged."""
        asked_ = iter(replies[len(ids) :])
        pending = {each: [(last, bool(next(asked_))) for _, last in others] for each in ids} if others else {}
        gone = [
            each
            for each in self.acked_ids(ids, replies)
            if others and all(_number(each) <= last and not left for last, left in pending[each])
        ]
        return ((b"XDEL", keys.queue, *gone),) if gone else ()

    def recover(self, keys: ReliableKeys, count: int, recovery: Recovery) -> Operation[list[Delivered]]:
        """XCLAIM takes only messages that are still idle, so two clients never recover the same message.

        It goes on behind the last message that it has looked at. The time of the first delivery is stored in
        the message's note, since the claim overwrites it.
        """
        lanes = (keys.due, keys)
        idle, seen = recovery.idle, recovery.seen
        starts = [b"(" + seen[lane.queue][-1] if seen[lane.queue] else b"-" for lane in lanes]
        looks = (
            (b"XPENDING", lane.queue, lane.group, b"IDLE", idle, start, b"+", count)
            for lane, start in zip(lanes, starts, strict=True)
        )
        time, *replies = yield Batch(((b"TIME",), *looks))
        at = now(check([time])[0])
        found: list[Delivered] = []
        for lane, reply in zip(lanes, replies, strict=True):
            pending = ([] if is_missing(reply) else check([reply])[0])[: count - len(found)]
            if pending:
                seen[lane.queue] = [bytes(pending[-1][0])]  # the ids rise
                claim = _claim(lane, pending, idle, at)
                found += yield from (with_taken([each.data for each in found], claim) if found else claim)
        return found

    def heartbeat(
        self, keys: ReliableKeys, ids: Sequence[bytes], firsts: Mapping[bytes, bytes]
    ) -> Operation[list[bytes]]:
        """XCLAIM with JUSTID restarts the idle time and counts no delivery.

        The time of the first delivery is stored in the message's note, since the claim overwrites it.
        """
        claim: Command = (b"XCLAIM", keys.queue, keys.group, CONSUMER, 0, *ids, b"JUSTID")
        notes = ((b"HSETNX", keys.notes, each, note) for each, note in firsts.items())
        reply, *_ = yield Batch((claim, *notes))  # notes are for dead letters, refused where memory is full
        pending = [] if is_missing(reply) else list(check([reply])[0])
        if gone := firsts.keys() - pending:
            yield from execute((b"HDEL", keys.notes, *gone))
        return pending

    def inspect(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Delivered]]:
        """See ``Backend``."""
        last = yield from _last_delivered(keys)
        if start < 0:
            (entries,) = yield from execute((b"XREVRANGE", keys.queue, b"+", b"(" + last, b"COUNT", -start))
            entries = entries[::-1][:count] if len(entries) == -start else []
        else:
            (entries,) = yield from execute(
                (b"XRANGE", keys.queue, b"(" + last, b"+", b"COUNT", start + count)
            )
            entries = entries[start:]
        return [_message(keys, entry, 0) for entry in entries]

    def pending(self, keys: ReliableKeys, start: int, count: int) -> Operation[list[Pending]]:
        """Messages that were delayed come before the others."""
        lanes = (keys.due, keys)
        summaries = yield Batch(tuple((b"XPENDING", lane.queue, lane.group) for lane in lanes))
        lengths = [0 if is_missing(each) else int(check([each])[0][0]) for each in summaries]
        if start < 0:
            start += sum(lengths)
        found: list[tuple[ReliableKeys, Reply]] = []
        if start >= 0:
            for lane, length in zip(lanes, lengths, strict=True):
                most = min(start + count - len(found), length)
                if most > start:
                    some = yield from _of_group((b"XPENDING", lane.queue, lane.group, b"-", b"+", most))
                    found += [(lane, each) for each in some[start:]]
                start = max(start - length, 0)
        looks = [(b"XRANGE", lane.queue, each[0], each[0]) for lane, each in found]
        time, *entries = yield from execute((b"TIME",), *looks)
        at = now(time)
        return [
            Pending(_message(lane, entry[0], deliveries), (at - idle) / 1000, idle / 1000)
            for (lane, (_, _, idle, deliveries)), entry in zip(found, entries, strict=True)
            if entry
        ]

    def info(self, keys: ReliableKeys, key: bytes) -> Operation[tuple[bytes, int, int]]:
        """See ``Backend``."""
        looks: tuple[Command, ...] = (
            (b"XINFO", b"STREAM", key),
            (b"XPENDING", key, keys.group),
            (b"XINFO", b"GROUPS", key),
        )
        stream, summary, groups = yield Batch(looks)
        if is_missing(stream):
            return b"", 0, 0
        known = dict(pairs(check([stream])[0]))
        delivered = 0 if is_missing(summary) else int(check([summary])[0][0])
        all_groups = [dict(pairs(each)) for each in check([groups])[0]]
        lag = next((each.get(b"lag") for each in all_groups if each[b"name"] == keys.group), None)
        waiting = lag if lag is not None and len(all_groups) > 1 else int(known[b"length"]) - delivered
        return known[b"last-generated-id"], int(waiting), delivered

    def dead_letters(self, keys: ReliableKeys, count: int) -> Operation[list[DeadLetter]]:
        """See ``Backend``."""
        (entries,) = yield from execute((b"XRANGE", keys.dead, b"-", b"+", b"COUNT", count))
        return [
            dead_letter(_message(keys, entry, 0), dict(pairs(entry[1])).get(b"note")) for entry in entries
        ]


def is_missing(reply: Reply) -> bool:
    """Whether a reply says that the stream or its group does not exist, or was deleted during a wait."""
    return isinstance(reply, ServerReplyError) and (
        reply.code in ("NOGROUP", "UNBLOCKED") or "no such key" in str(reply)
    )


def _message(
    keys: ReliableKeys, entry: Reply, deliveries: int, at: float | None = None, note: Reply = None
) -> Delivered:
    native, fields = entry
    known = dict(pairs(fields))
    data = known.get(b"payload", fields[1])
    before = count_in(known.get(b"deliveries")) or 0
    deliveries += before if deliveries else 0
    return delivered(keys, native, data, deliveries, at, note, known.get(b"note"))


def _claim(keys: ReliableKeys, pending: Sequence[Reply], idle: int, at: int) -> Operation[list[Delivered]]:
    """Claim those of some pending messages that are still idle."""
    times = {each: deliveries for each, _, _, deliveries in pending}
    firsts = [
        (b"HSETNX", keys.notes, each, encoded(first=at - since))
        for each, _, since, deliveries in pending
        if deliveries == 1
    ]
    claim: Command = (b"XCLAIM", keys.queue, keys.group, CONSUMER, idle, *times)
    replies = yield Batch((claim, (b"HMGET", keys.notes, *times), *firsts))
    entries, notes = check(replies[:2])  # the rest are notes for dead letters, refused where memory is full
    known = {each: note for _, _, each, note in firsts}
    known |= {each: note for each, note in zip(times, notes, strict=True) if note is not None}
    return [
        _message(keys, entry, times[entry[0]] + 1, at / 1000, known.get(entry[0]))
        for entry in entries
        if entry is not None
    ]


def _make_group(keys: ReliableKeys) -> Operation[bool]:
    """Create the group; False if there is no stream. The lane of due messages is created with its group."""
    if keys.is_due or not (yield from execute((b"EXISTS", keys.queue)))[0]:
        return False
    (reply,) = yield Batch(((b"XGROUP", b"CREATE", keys.queue, keys.group, 0),))
    if not (isinstance(reply, ServerReplyError) and reply.code == "BUSYGROUP"):
        check([reply])
    return True


def _of_group(command: Command) -> Operation[list[Reply]]:
    """The reply to a command; empty if the stream or the group does not exist."""
    (reply,) = yield Batch((command,))
    found: list[Reply] = [] if is_missing(reply) else check([reply])[0]
    return found


def _last_delivered(keys: ReliableKeys) -> Operation[bytes]:
    (groups,) = yield Batch(((b"XINFO", b"GROUPS", keys.queue),))
    if is_missing(groups):
        return b"0-0"
    check([groups])
    known = [dict(pairs(group)) for group in groups]
    found = [bytes(each[b"last-delivered-id"]) for each in known if each[b"name"] == keys.group]
    return found[0] if found else b"0-0"


def _number(native: Reply) -> tuple[int, int]:
    """An id as two numbers, so that ids can be compared."""
    ms, _, number = bytes(native).partition(b"-")
    return int(ms), int(number or 0)
