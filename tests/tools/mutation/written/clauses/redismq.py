"""Reliable queues that are wrong: the server's commands, and ``pressure``'s queue on whatever carries it."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["REDISMQ"]

QUEUE: Final = "miniredis/engine/values/rqueues.py"
COMMANDS: Final = "miniredis/engine/commands/rqueues/rqueues.py"
POPS: Final = "miniredis/engine/commands/rqueues/pops.py"
OPERATIONS: Final = "pressure/kinds/reliable/operations.py"
POPPING: Final = "pressure/kinds/reliable/popping.py"
STREAM: Final = "pressure/kinds/reliable/stream.py"
LUA: Final = "pressure/kinds/reliable/lua.py"

REDISMQ: Final = (
    # The commands
    Mutant("calls a queue a stream", "miniredis/engine/keyspace/keyspace.py", 'RQueue: b"Queue-EDU"', 'RQueue: b"stream"', ("mq.type",)),
    Mutant("creates no queue", COMMANDS, '    db.create(key, queue, "mq.push")\n', "", ("mq.push.creates",)),
    Mutant("answers the ids of a push the wrong way round", COMMANDS, '    db.create(key, queue, "mq.push")\n    return ids\n', '    db.create(key, queue, "mq.push")\n    return ids[::-1]\n', ("mq.push.ids",)),
    Mutant("pushes to what is no queue", COMMANDS, "    queue = db.lookup_write(key, RQUEUE)\n", "    queue = db.lookup_write(key)\n    queue = queue if type(queue) is RQueue else None\n", ("mq.push.wrong-type",)),
    Mutant("pops the youngest message first", QUEUE, "        take = self.undelivered.popleft\n", "        take = self.undelivered.pop\n", ("mq.fifo",)),
    Mutant("answers payloads before ids", POPS, "    return [list(message) for message in popped]\n", "    return [list(message[::-1]) for message in popped]\n", ("mq.pop.reply",)),
    Mutant("answers a pop from a missing queue with an empty array", POPS, "        return popped or None\n", "        return popped or (None if queues[0][1] is not None else [])\n", ("mq.pop.missing",)),
    Mutant("answers a pop from an empty queue with an empty array", POPS, "        return popped or None\n", "        return popped or (None if queues[0][1] is None else [])\n", ("mq.pop.nothing",)),
    Mutant("takes what is no queue for none", POPS, "(key, db.lookup_write(key, RQUEUE))", "(key, value if type(value := db.lookup_write(key)) is RQueue else None)", ("mq.pop.wrong-type",)),
    Mutant("pops one message at least", COMMANDS, "    if count < 1:\n        raise CommandError(errors.COUNT_NOT_POSITIVE)\n    return count\n", "    return max(count, 1)\n", ("mq.pop.count-bad",)),
    Mutant("pops from the last of several queues first", POPS, "    for key, queue in queues:\n", "    for key, queue in reversed(queues):\n", ("mq.pop.keys",)),
    Mutant("pops the count from each of several queues", POPS, "wanted, wanted.count - len(popped))", "wanted, wanted.count)", ("mq.pop.keys",)),
    Mutant("ends a wait for messages with an empty array", POPS, "wanted.timeout, when_over=None)", "wanted.timeout, when_over=[])", ("mq.pop.timed-out",)),
    Mutant("answers an acknowledgement of nothing with an empty array", COMMANDS, "    if queue is None:\n        return None\n    acknowledged", "    if queue is None:\n        return []\n    acknowledged", ("mq.ack.nothing",)),
    Mutant("recovers without noting the time", QUEUE, "payload, now, deliveries + 1", "payload, time, deliveries + 1", ("mq.recover.timestamp",)),
    Mutant("recovers one message too many", QUEUE, "        for _ in range(min(count, len(delivered))):\n", "        for _ in range(min(count + 1, len(delivered))):\n", ("mq.recover.count", "mq.recover.moves")),
    Mutant("skips a message where it is to begin behind the first", COMMANDS, "window(queue.undelivered, start, count)", "window(queue.undelivered, start + (start > 0), count)", ("mq.inspect.undelivered",)),
    Mutant("counts no place from the end", COMMANDS, "window(queue.undelivered, start, count)", "window(queue.undelivered, abs(start), count)", ("mq.inspect.negative",)),
    Mutant("answers the time since a delivery as the time of it", COMMANDS, "[each, payload, time, max(now - time, 0), deliveries]", "[each, payload, max(now - time, 0), time, deliveries]", ("mq.inspect.pending", "mq.recover.timestamp")),
    Mutant("takes a missing queue for an empty one", COMMANDS, "        raise CommandError(errors.EMPTY_KEY)\n", "        return RQueue()\n", ("mq.inspect.missing",)),
    Mutant("counts the delivered as undelivered, too", COMMANDS, 'b"undelivered-queue-length", len(queue.undelivered)]', 'b"undelivered-queue-length", len(queue)]', ("mq.info", "mq.two-lists")),
    # The queue of ``pressure``
    Mutant("tells the ids of messages the wrong way round", OPERATIONS, "    return [state.backend.pushed_id(reply) for reply in replies]\n", "    return [state.backend.pushed_id(reply) for reply in replies][::-1]\n", ("reliable.push",)),
    Mutant("pushes several messages the wrong way round", OPERATIONS, "for each in data]\n    if len(commands)", "for each in reversed(data)]\n    if len(commands)", ("reliable.order",)),
    Mutant("keeps nothing of what it delivers", LUA, "'COUNT', most, 'STREAMS'", "'COUNT', most, 'NOACK', 'STREAMS'", ("reliable.kept", "reliable.ack-tells")),
    Mutant("sees one message too many where it begins behind the first", STREAM, "            entries = entries[start:]\n", "            entries = entries[max(start - 1, 0) :]\n", ("reliable.inspect",)),
    Mutant("tells deliveries of a recovered message as they were", STREAM, "times[entry[0]] + 1, at", "times[entry[0]], at", ("reliable.recover-counts",)),
    Mutant("tells wrong times of what is delivered", STREAM, "(at - idle) / 1000, idle / 1000)", "at - idle, idle)", ("reliable.inspect-pending",)),
    Mutant("delivers one message more than asked for", POPPING, "state.keys.group, most, share)\n", "state.keys.group, most + 1, share)\n", ("reliable.pop",)),
    Mutant("delivers again where nothing is left", POPPING, "    return found, None if first is None else float(first) / 1000 - at\n", "    if not found:\n        from pressure.kinds.reliable.model import Recovery\n        found = yield from state.backend.recover(state.keys, most, Recovery(0))\n    return found, None if first is None else float(first) / 1000 - at\n", ("reliable.pop-empty",)),
    Mutant("sees too few messages where it begins behind the first", STREAM, '"COUNT", start + count)', '"COUNT", count)', ("reliable.inspect",)),
    Mutant("recovers what another client has recovered in the meantime", STREAM, "keys.group, CONSUMER, idle, *times)", "keys.group, CONSUMER, 0, *times)", ("reliable.recover",)),
    Mutant("recovers what was delivered just now", OPERATIONS, "state.backend.recover(state.keys, most, recovery)", "state.backend.recover(state.keys, most, Recovery(0, recovery.seen))", ("reliable.recover",)),
    Mutant("counts the undelivered as delivered", OPERATIONS, "Info(last, undelivered + waiting, delivered + taken,", "Info(last, delivered + taken, undelivered + waiting,", ("reliable.info",)),
    Mutant("loses a message that is to be retried at once", LUA, "redis.call('ZADD', delayed, now + delay, member)\n", "if delay ~= '0' then redis.call('ZADD', delayed, now + delay, member) end\n", ("reliable.never-lost",)),
    Mutant("delivers once more than it may", OPERATIONS, "each.deliveries > state.most]", "each.deliveries > state.most + 1]", ("reliable.dead",)),
    Mutant("cancels, and delivers all the same", LUA, "then return redis.call('ZREM', delayed, member) end", "then return 1 end", ("reliable.cancel",)),
    Mutant("forgets why a message is dead", OPERATIONS, "dead_letter_note(message, error) if dead else None", "dead_letter_note(message, None) if dead else None", ("reliable.dead-why",)),
    Mutant("puts all that is dead back where one was asked for", "pressure/kinds/reliable/redriving.py", "    most = min(count, TOGETHER)\n", "    most = TOGETHER\n", ("reliable.redrive",)),
    Mutant("hears no heartbeat", OPERATIONS, "        beats = yield from state.backend.heartbeat(lane, list(known), notes)\n", "        beats = []\n", ("reliable.heartbeat",)),
    Mutant("delivers the last first of what is due", LUA, "redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT'", "redis.call('ZREVRANGEBYSCORE', delayed, now, '-inf', 'LIMIT'", ("reliable.due-order",)),
    Mutant("shows nothing in flight behind what was delayed", STREAM, "                start = max(start - length, 0)\n", "", ("reliable.in-any-order",)),
)  # fmt: skip
