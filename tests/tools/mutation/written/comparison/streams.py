"""Small faults of streams, their groups and who waits for them."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["STREAMS"]

STREAMS: Final = (
    Mutant(
        "XDEL does not note the highest id it took",
        "miniredis/engine/values/streams.py",
        "        self.max_deleted = max(self.max_deleted, number)\n",
        "",
        ("recorded.stream-tombstones",),
    ),
    Mutant(
        "approximate trimming keeps one entry less",
        "miniredis/engine/values/streams.py",
        "self.length - more < length or",
        "self.length - more < length - 1 or",
    ),
    Mutant(
        "a range of a stream includes an end that is open",
        "miniredis/engine/commands/streams/streams.py",
        "    return low, high - ends_open\n",
        "    return low, high\n",
        ("recorded.streams",),
    ),
    Mutant(
        "a reader of a stream is woken by what it has seen",
        "miniredis/engine/commands/streams/reading.py",
        "stream.walk(after[key] + 1)",
        "stream.walk(after[key])",
        ("recorded.stream-blocking",),
    ),
    Mutant(
        "a consumer keeps what it acknowledged",
        "miniredis/engine/values/groups.py",
        "            return False\n        delivery.consumer.pending.pop(number)\n",
        "            return False\n",
        ("recorded.events-streams",),
    ),
    Mutant(
        "NOACK makes entries pending",
        "miniredis/engine/commands/streams/reading.py",
        "        if reading.keeps:\n",
        "        if reading.keeps or reading.count == 1:\n",
        ("recorded.stream-groups",),
    ),
    Mutant(
        "XCLAIM takes what is not pending",
        "miniredis/engine/commands/streams/pending.py",
        "(delivery is None and not claim.force)",
        "(delivery is None and not claim.force and claim.just_ids)",
        ("recorded.stream-groups",),
    ),
    Mutant(
        "a group does not count what it gives out",
        "miniredis/engine/values/stream_progress.py",
        "wrapped(group.entries_read + 1)",
        "group.entries_read",
    ),
    Mutant(
        "who reads for a group waits for a stream that is gone",
        "miniredis/engine/clients/waiting.py",
        "            elif waiter.when_gone is not None:\n",
        "            elif waiter.when_gone is not None and len(waiter.keys) > 1:\n",
        ("recorded.types-waited-for",),
    ),
    Mutant(
        "XLEN counts one too many",
        "miniredis/engine/commands/streams/streams.py",
        "    return 0 if stream is None else len(stream)\n",
        "    return 0 if stream is None else len(stream) + 1\n",
        ("wire.streams",),
    ),
)
