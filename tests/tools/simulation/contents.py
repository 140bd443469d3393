"""What is in a queue, in one state of the server."""

from __future__ import annotations

from collections.abc import Iterator

from pressure.keys import Keys

from .servers import Server, Value

__all__ = ["Contents", "short", "text"]


class Contents:
    """A queue's keys, read.

    Args:
        server: a state of the server.
        keys: of the queue.

    Attributes:
        limit: the bound; None if there is no queue.
        values: those that are in it, the newest first.
        unacked: those that are received and not acknowledged.
        tokens: how many there are that say that there is room.
        marks: how many there are of a close.
    """

    def __init__(self, server: Server, keys: Keys) -> None:
        self._of = dict(server.values)
        self._keys = keys
        bound = self._of.get(keys.bound)
        self.limit = int(bound) if isinstance(bound, bytes) else None
        self.values = self.elements(keys.queue)
        self.unacked = self.elements(keys.unacked)
        self.tokens = len(self.elements(keys.not_full))
        self.marks = len(self.elements(keys.closed))

    def elements(self, key: bytes) -> tuple[bytes, ...]:
        """Those of a list, from left to right."""
        value: Value = self._of.get(key, ())
        return value if isinstance(value, tuple) else ()

    @property
    def stored(self) -> tuple[bytes, ...]:
        """All values that the server has."""
        return (*self.values, *self.unacked)

    @property
    def room(self) -> bool:
        """Whether there is a queue, and it is not full."""
        return self.limit == 0 or len(self.stored) < (self.limit or 0)

    @property
    def roles(self) -> dict[bytes, int]:
        """How often each role is free."""
        return {key: len(self.elements(key)) for key in (self._keys.producer_free, self._keys.consumer_free)}

    def uncounted(self) -> Iterator[int]:
        """By how many messages, and bytes, the counters are more than what is there."""
        keys = self._keys
        there = (len(self.stored), sum(map(len, self.stored)))
        pairs = (keys.produced_messages, keys.consumed_messages), (keys.produced_bytes, keys.consumed_bytes)
        for (produced, consumed), count in zip(pairs, there, strict=True):
            yield self._number(produced) - self._number(consumed) - count

    def _number(self, key: bytes) -> int:
        value = self._of.get(key, b"0")
        return int(value) if isinstance(value, bytes) else 0

    def __str__(self) -> str:
        """The keys that there are."""
        return ", ".join(map(short, self._of))

    def __len__(self) -> int:
        return len(self._of)


def text(value: bytes) -> str:
    """A value for people."""
    return value.decode("utf-8", "backslashreplace")


def short(key: bytes) -> str:
    """A key as the documents have it, from the colon on."""
    return ":" + key.rpartition(b":")[2].decode()
