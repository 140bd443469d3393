"""Reliable queues, as in the module RedisMQ: a delivered message is kept until it is acknowledged.

Messages wait in ``undelivered``, in the order of their pushes. A pop moves the oldest to the end of
``delivered``, which is ordered by the last delivery. Acknowledging finds a message by its id in constant
time; recovering takes time proportional to the messages recovered. An empty queue still exists and remembers
its last id.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from ..protocol.errors import QUEUE_EXHAUSTED, CommandError

__all__ = ["LARGEST", "Delivery", "Message", "RQueue"]

LARGEST: Final = (1 << 64) - 1
"""The largest number of either part of an id."""

SPARSE: Final = 4
"""``delivered`` is rebuilt when it has shrunk to less than 1/``SPARSE`` of its largest size."""

SMALL: Final = 1000
"""``delivered`` is not rebuilt if its largest size was at most this."""

Message: TypeAlias = "tuple[bytes, bytes]"
"""A message: its id, ``milliseconds-sequence``, and its payload."""

Delivery: TypeAlias = "tuple[bytes, int, int]"
"""A delivered message: its payload, when it was last delivered (milliseconds of wall time), and how often.

There may be very many. Tuples of plain values cost Python's garbage collector nothing.
"""


class RQueue:
    """A reliable queue.

    Attributes:
        last: the two numbers of the last id, even if its message is gone.
        undelivered: the messages not delivered yet, in the order of their ids.
        delivered: by id, in the order of their last deliveries.
    """

    __slots__ = ("_room", "delivered", "last", "undelivered")

    def __init__(self) -> None:
        self.last = (0, 0)
        self.undelivered: deque[Message] = deque()
        self.delivered: OrderedDict[bytes, Delivery] = OrderedDict()  # a dict finds its first key slowly
        self._room = 0  # the largest size of ``delivered`` since it was built

    def __len__(self) -> int:
        return len(self.undelivered) + len(self.delivered)

    def copy(self) -> RQueue:
        """A copy with the same content."""
        other = RQueue()
        other.last = self.last
        other.undelivered, other.delivered = self.undelivered.copy(), self.delivered.copy()
        other._room = len(other.delivered)
        return other

    def push(self, payloads: list[bytes], now: int) -> list[bytes]:
        """Adds messages; ``now`` is wall time in milliseconds. Returns their ids. Raises ``CommandError``."""
        milliseconds, sequence = self.last
        if now > milliseconds:
            milliseconds, sequence = now, 0
        if sequence + len(payloads) > LARGEST:
            milliseconds, sequence = milliseconds + 1, 0
        if milliseconds > LARGEST:
            raise CommandError(QUEUE_EXHAUSTED)
        end = sequence + len(payloads)
        ids = [b"%d-%d" % (milliseconds, number) for number in range(sequence + 1, end + 1)]
        self.undelivered.extend(zip(ids, payloads, strict=True))
        self.last = milliseconds, end
        return ids

    def pop(self, count: int, now: int) -> list[Message]:
        """Delivers up to ``count`` of the oldest undelivered messages."""
        take = self.undelivered.popleft
        popped = [take() for _ in range(min(count, len(self.undelivered)))]
        self.delivered.update((each, (payload, now, 1)) for each, payload in popped)
        self._room = max(self._room, len(self.delivered))
        return popped

    def redelivered(self) -> Iterator[Message]:
        """The delivered messages, in the order in which they would be recovered."""
        return ((each, payload) for each, (payload, _, _) in self.delivered.items())

    def acknowledge(self, ids: Iterable[bytes]) -> list[bytes]:
        """Removes delivered messages; returns the ids that existed."""
        drop = self.delivered.pop
        found = [each for each in ids if drop(each, None) is not None]
        if len(self.delivered) * SPARSE < self._room > SMALL:
            self.delivered = OrderedDict(self.delivered)  # a dict does not shrink by itself
            self._room = len(self.delivered)
        return found

    def recover(self, count: int, elapsed: int, now: int) -> list[Message]:
        """Redelivers up to ``count`` messages that were last delivered at least ``elapsed`` milliseconds ago.

        It starts with the message whose last delivery is oldest and stops at the first that is too new. It
        redelivers no message twice. If the clock was set back, no time has passed.
        """
        delivered = self.delivered
        recovered = []
        for _ in range(min(count, len(delivered))):
            oldest = next(iter(delivered))
            payload, time, deliveries = delivered[oldest]
            if max(now - time, 0) < elapsed:
                break
            delivered[oldest] = payload, now, deliveries + 1
            delivered.move_to_end(oldest)
            recovered.append((oldest, payload))
        return recovered
