"""Small faults of streams, their groups and who waits for them."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["STREAMS"]

STREAMS: Final = (
    fault(
        "XDEL does not note the highest id it took",
        "streams.py",
        "        self.max_deleted = max(self.max_deleted, number)\n",
        "",
    ),
    fault(
        "approximate trimming keeps one entry less",
        "streams.py",
        "self.length - more < length or",
        "self.length - more < length - 1 or",
    ),
    fault(
        "a range of a stream includes an end that is open",
        "commands/streams.py",
        "    return low, high - ends_open\n",
        "    return low, high\n",
    ),
    fault(
        "a reader of a stream is woken by what it has seen",
        "commands/stream_reading.py",
        "stream.walk(after[key] + 1)",
        "stream.walk(after[key])",
    ),
    fault(
        "a consumer keeps what it acknowledged",
        "groups.py",
        "            return False\n        delivery.consumer.pending.pop(number)\n",
        "            return False\n",
    ),
    fault(
        "NOACK makes entries pending",
        "commands/stream_reading.py",
        "        if reading.keeps:\n",
        "        if reading.keeps or reading.count == 1:\n",
    ),
    fault(
        "XCLAIM takes what is not pending",
        "commands/stream_pending.py",
        "(delivery is None and not claim.force)",
        "(delivery is None and not claim.force and claim.just_ids)",
    ),
    fault(
        "a group does not count what it gives out",
        "stream_progress.py",
        "wrapped(group.entries_read + 1)",
        "group.entries_read",
    ),
    fault(
        "who reads for a group waits for a stream that is gone",
        "waiting.py",
        "            elif waiter.when_gone is not None:\n",
        "            elif waiter.when_gone is not None and len(waiter.keys) > 1:\n",
    ),
)
