"""The terms of reliable queues: messages, where they are, and what a server can do."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import Any, Final

from pressure.codecs import Codec, codec_of, decoded


@dataclass(frozen=True, slots=True)
class ReliableKeys:
    """Where a queue is.

    Attributes:
        queue: The queue itself: of the module's type, or a stream.
        delayed: The sorted set of what is delivered later, by when, in milliseconds.
        dead: The queue of what was delivered too often, of the same type.
        deliveries: With the module, the hash of earlier deliveries by id; may be negative.
        beats: With the module, the sorted set of the times of heartbeats by id, in milliseconds.
        group: With a stream, the consumer group's name.
    """

    queue: bytes
    delayed: bytes
    dead: bytes
    deliveries: bytes
    beats: bytes
    group: bytes

    @classmethod
    def of(cls, queue: bytes, group: bytes) -> ReliableKeys:
        """Those of a queue."""
        delayed, dead, deliveries, beats = (
            queue + suffix for suffix in (b":delayed", b":dead", b":deliveries", b":beats")
        )
        return cls(queue, delayed, dead, deliveries, beats, group)

    @property
    def all(self) -> tuple[bytes, ...]:
        """In the order in which scripts take them."""
        return self.queue, self.delayed, self.dead, self.deliveries, self.beats


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message of a reliable queue.

    Attributes:
        id: The id that the server gave the message.
        data: The message's bytes.
        deliveries: How often the message was delivered, this delivery included; 0 if never.
    """

    id: bytes
    data: bytes
    deliveries: int = 1
    _codec: Codec = field(default_factory=lambda: codec_of(None), repr=False, compare=False)

    @property
    def value(self) -> Any:
        """The value that was pushed, decoded by the queue's codec; bytes if the queue has none.

        Raises:
            CodecError: The codec cannot decode the bytes.
        """
        return decoded(self._codec, self.data, [self.data])


@dataclass(frozen=True, slots=True)
class Pending:
    """A message that was delivered and not acknowledged yet.

    Attributes:
        message: The message.
        since: The time of its last delivery or heartbeat, in seconds since 1970 by the server's clock.
        idle: How many seconds ago that was.
    """

    message: Delivered
    since: float
    idle: float


@dataclass(frozen=True, slots=True)
class Info:
    """How many messages a reliable queue has at one moment, by their state.

    Attributes:
        last_id: The id of the message that was added last; empty if there never was one.
        undelivered: How many messages wait to be delivered.
        delivered: How many messages are delivered and not acknowledged yet.
        delayed: How many messages are delayed, or are to be retried, and not due yet.
        dead: How many messages the dead-letter queue holds.
    """

    last_id: bytes
    undelivered: int
    delivered: int
    delayed: int
    dead: int


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Which backend a reliable queue uses on this server, and how it differs from the other.

    Attributes:
        backend: ``"module"`` for the commands of RedisMQ, ``"stream"`` for a stream and a consumer group.
        recovers_oldest_delivery_first: Whether ``recover`` begins with the oldest delivery; if not, with the
            smallest id.
        inspects_by_index: Whether the server counts a place from the nearer end; if not, always from the
            beginning, so that places near the end cost more.
        counts_undelivered: Whether the server counts the messages that wait; if not, ``info`` subtracts the
            delivered ones from all.
        heartbeat_is_native: Whether a heartbeat counts for every client that recovers messages; if not, only
            for users of this package.
    """

    backend: str
    recovers_oldest_delivery_first: bool
    inspects_by_index: bool
    counts_undelivered: bool
    heartbeat_is_native: bool


#: A delayed message as it is stored: something unique, earlier deliveries, payload.
_DELAYED: Final = re.compile(rb"[0-9a-f]{32}:(\d{1,18}):(.*)", re.DOTALL)


def delayed_of(data: bytes, deliveries: int) -> bytes:
    """A message as a member of the sorted set of delayed ones."""
    return b"%s:%d:%s" % (uuid.uuid4().hex.encode(), deliveries, data)


def parts_of(member: bytes) -> tuple[bytes, int]:
    """Payload and earlier deliveries of such a member; what others put there is a payload."""
    found = _DELAYED.fullmatch(member)
    return (found[2], int(found[1])) if found else (member, 0)
