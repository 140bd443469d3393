"""Reliable queues, as the module RedisMQ has them: what was given out is kept until it is acknowledged.

Two lines: messages wait in the first, undelivered, in the order in which they were pushed; whoever pops one
moves it to the end of the second, delivered, which is ordered by the last delivery. There it can be found by
its id, so to acknowledge one costs the same whatever else is delivered; to recover the oldest costs what is
recovered. A queue with nothing in it is one all the same, and remembers its last id.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from .errors import QUEUE_EXHAUSTED, CommandError

__all__ = ["LARGEST", "Delivery", "Message", "RQueue"]

LARGEST: Final = (1 << 64) - 1
"""The largest number that either part of an id can be."""

SPARSE: Final = 4
"""The table of what is delivered is made anew when so many times more stood in it."""

SMALL: Final = 1000
"""A table of so few is not worth that."""

Message: TypeAlias = "tuple[bytes, bytes]"
"""What was pushed: its id, ``milliseconds-sequence``, and its payload."""

Delivery: TypeAlias = "tuple[bytes, int, int]"
"""A message that was given out: its payload, when that was last, in milliseconds of wall time, and how often.

Plain tuples of plain values are nothing to Python's collector of garbage, and there may be very many.
"""


class RQueue:
    """A reliable queue.

    Attributes:
        last: the two numbers of the id that was given last, even if its message is gone.
        undelivered: the messages nobody was given, in the order of their ids.
        delivered: by id, in the order in which they were given out last.
    """

    __slots__ = ("_room", "delivered", "last", "undelivered")

    def __init__(self) -> None:
        self.last = (0, 0)
        self.undelivered: deque[Message] = deque()
        self.delivered: OrderedDict[bytes, Delivery] = OrderedDict()  # a plain dict finds its first slowly
        self._room = 0  # the most that stood in the table of the delivered since it was made

    def __len__(self) -> int:
        return len(self.undelivered) + len(self.delivered)

    def copy(self) -> RQueue:
        """A queue of its own with the same content."""
        other = RQueue()
        other.last = self.last
        other.undelivered, other.delivered = self.undelivered.copy(), self.delivered.copy()
        other._room = len(other.delivered)
        return other

    def push(self, payloads: list[bytes], now: int) -> list[bytes]:
        """Adds messages at a wall time in milliseconds; returns their ids. Raises ``CommandError``."""
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
        """Gives out up to so many of the oldest messages that nobody was given."""
        take = self.undelivered.popleft
        popped = [take() for _ in range(min(count, len(self.undelivered)))]
        self.delivered.update((each, (payload, now, 1)) for each, payload in popped)
        self._room = max(self._room, len(self.delivered))
        return popped

    def redelivered(self) -> Iterator[Message]:
        """The messages that were given out, as recovering all of them would give them out."""
        return ((each, payload) for each, (payload, _, _) in self.delivered.items())

    def acknowledge(self, ids: Iterable[bytes]) -> list[bytes]:
        """Drops messages that were given out; returns the ids of those there were."""
        drop = self.delivered.pop
        found = [each for each in ids if drop(each, None) is not None]
        if len(self.delivered) * SPARSE < self._room > SMALL:
            self.delivered = OrderedDict(self.delivered)  # a table does not shrink by itself
            self._room = len(self.delivered)
        return found

    def recover(self, count: int, elapsed: int, now: int) -> list[Message]:
        """Gives out again up to so many messages that were given out so many milliseconds ago or earlier.

        It begins with the one whose last delivery is the longest ago and ends with the first that is too
        new. None is given out twice. Where the clock was set back, no time has passed.
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
